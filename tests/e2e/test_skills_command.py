"""`thetis skills`: the list with whose each is, one shown, a directory checked, and exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.thetis import World

GOOD = '+++\nname = "{name}"\nbrief = "Does."\n+++\nText \u001b[31mhere.\n'


def test_list_show_and_lint(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.make_repository({"README.md": "# Test\n"})
    listed = world.run("skills")
    assert ["careful-surgery", "shipped"] in [line.split()[:2] for line in listed.stdout.splitlines()]
    table = json.loads(world.run("skills", "--json").stdout)
    assert table["problems"] == [] and len(table["cards"]) >= 6
    assert "Find the edges" in world.run("skills", "show", "careful-surgery").stdout
    missing = world.run("skills", "show", "careful", check=False)
    assert missing.returncode == 2 and "careful-surgery" in missing.stderr

    skills = tmp_path / "mine"
    skills.mkdir()
    (skills / "good.md").write_text('+++\nname = "good"\nbrief = "Does."\n+++\nText.\n')
    assert world.run("skills", "lint", str(skills)).stdout == "1 skill can be used.\n"
    (skills / "bad.md").write_text(GOOD.format(name="other"))
    bad = world.run("skills", "lint", str(skills), check=False)
    assert bad.returncode == 1 and "\x1b" not in bad.stdout
    assert "bad.md:2: name must be 'bad'" in bad.stdout and "bad.md:5: It holds characters" in bad.stdout
