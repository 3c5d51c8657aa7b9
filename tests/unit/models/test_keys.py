"""Where keys come from, who may read them, and which providers can be used."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest
from thetis_kernel.config.settings import Model, Settings
from thetis_kernel.errors import ModelError
from thetis_kernel.gateway import providers
from thetis_kernel.gateway.providers import Providers
from thetis_kernel.models.catalog import merged
from thetis_kernel.models.keys import key_of
from thetis_kernel.models.registry import configured, problems
from thetis_kernel.protocol.model import ConfigureModels, ProviderKey
from thetis_kernel.protocol.models import Finished, ModelEntry, ModelRequest, Provider

from tests.support.providers import KEY, ask


def at(key: str) -> Provider:
    return Provider(name="p", base_url="https://x", key=key)


def refused(key: str, handed: str = "") -> str:
    with pytest.raises(ModelError) as error:
        key_of(at(key), handed)
    return f"{error.value.message} {error.value.hint}"


def test_keys_of_the_environment_and_of_providers_without_one() -> None:
    assert key_of(at("env:X"), f" {KEY}\n") == KEY and key_of(at(""), "") == ""
    assert "variable X is not set" in refused("env:X")
    assert "neither" in refused(KEY) and KEY not in refused(KEY), "a key written where its place belongs is not repeated"


@pytest.mark.parametrize("content", ["", "\n", "two\nlines", "ключ", "a\0b", "\x1b[31m"])
def test_what_is_no_key(content: str, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(content)
    file.chmod(0o600)
    assert "not a key" in refused(f"file:{file}")


def test_a_key_file_must_be_ones_own_and_closed_to_others(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(KEY + "\n")
    file.chmod(0o600)
    assert key_of(at(f"file:{file}"), "") == KEY
    for mode in (0o640, 0o604, 0o644, 0o660):
        file.chmod(mode)
        assert "chmod 600" in refused(f"file:{file}")
    assert "cannot be read" in refused(f"file:{tmp_path}/none")
    assert "absolute" in refused("file:key")
    assert "no ordinary file" in refused("file:/dev/null")
    os.mkfifo(tmp_path / "pipe", 0o600)
    assert "no ordinary file" in refused(f"file:{tmp_path}/pipe"), "nobody waits for a pipe"


def test_the_system_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert "Install `keyring`" in refused("keyring:thetis/me")
    ring = types.ModuleType("keyring")
    ring.get_password = lambda service, user: KEY if (service, user) == ("thetis", "me") else None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", ring)
    assert key_of(at("keyring:thetis/me"), "") == KEY
    assert "keyring set thetis you" in refused("keyring:thetis/you")
    ring.get_password = lambda service, user: 1 / 0  # type: ignore[attr-defined]
    assert "does not open" in refused("keyring:thetis/me")


# -- providers

@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(providers, "_taken", {})


def ids(found: Providers) -> list[str]:
    return [model.id for model in found.models]


def test_without_a_key_there_is_the_rehearsal_model_alone_and_nothing_to_tell() -> None:
    found = Providers(Settings(), {})
    assert ids(found) == ["rehearsal"] and found.setup() is None and not found.problems


def test_a_key_brings_its_models_first_and_leaves_the_environment() -> None:
    environ = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "http://proxy.example/v1/", "PATH": "/bin"}
    found = Providers(Settings(), environ)
    assert ids(found)[0] == "claude-sonnet-5-5" and ids(found)[-1] == "rehearsal"
    setup = found.setup()
    assert setup is not None and setup.keys == [ProviderKey("anthropic", KEY)]
    assert setup.providers[0].base_url == "http://proxy.example" and KEY not in repr(setup)
    assert "ANTHROPIC_API_KEY" not in environ
    assert ids(Providers(Settings(), environ)) == ids(found), "another root of this process has it too"


def test_a_persons_own_providers() -> None:
    settings = Settings(providers=[Provider(name="local", base_url="http://127.0.0.1:8080"),
                                   Provider(name="lost", key="env:LOST"),
                                   Provider(name="keyless", base_url="https://y", key="env:NONE")],
                        models=[ModelEntry(id="smol", provider="local", window=4096)])
    found = Providers(settings, {})
    assert ids(found) == ["smol", "rehearsal"]
    assert len(found.problems) == 2 and "base_url" in found.problems[0] and "NONE" in found.problems[1]
    assert ids(Providers(settings, {"ANTHROPIC_API_KEY": KEY}))[:2] == ["smol", "claude-sonnet-5-5"]


def test_a_person_may_move_anthropic() -> None:
    settings = Settings(providers=[Provider(name="anthropic", key="file:/k")])
    setup = Providers(settings, {"ANTHROPIC_API_KEY": KEY}).setup()
    assert setup is not None and not setup.keys and setup.providers == [
        Provider(name="anthropic", base_url="https://api.anthropic.com", key="file:/k")]


def test_a_key_that_was_taken_stands_in_no_environment_of_the_process() -> None:
    code = ("import os; from thetis_kernel.gateway.wiping import take; before = open('/proc/self/environ').read()\n"
            "print(take(os.environ, 'OUR_KEY'), take(os.environ, 'OUR_KEY') == '')\n"
            "print(os.environ.get('OUR_KEY'), os.environ['OTHER'])\n"
            "after = open('/proc/self/environ').read(); print('canary' in before, 'canary' in after, 'OTHER=there' in after)")
    environ = {"OUR_KEY": KEY, "OTHER": "there", "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [KEY, "True", "None", "there", "True", "False", "True"]


# -- the catalogue and the table

def test_the_catalogue_is_whole_and_can_be_overridden() -> None:
    for model in merged([]):
        assert model.window >= model.max_output > 0 and model.price_input and model.price_output and model.label, model.id
    changed = merged([ModelEntry(id="claude-haiku-4-5", label="Mine", thinking="none"), ModelEntry(id="new", max_output=10**6)])
    by_id = {model.id: model for model in changed}
    assert by_id["claude-haiku-4-5"].label == "Mine" and by_id["claude-haiku-4-5"].price_input == Decimal("1")
    assert changed[0].id == "new" and changed[0].provider == "anthropic" and changed[0].max_output == changed[0].window


def test_a_setup_that_will_not_work_says_so_without_a_network() -> None:
    setup = ConfigureModels(providers=[at("env:X"), at("file:/nowhere/key")], fallback="nobody")
    told = problems(setup)
    assert len(told) == 3 and "X" in told[0] and "/nowhere/key" in told[1] and "nobody" in told[2]
    end = ask(configured(msgspec.structs.replace(setup, models=[ModelEntry(id="m", provider="p")]), {}).backend("m"),
              ModelRequest(model="m", system="", messages=[]))[-1]
    assert isinstance(end, Finished) and end.end == "auth" and "/nowhere/key" in end.detail


def test_a_root_may_not_say_where_keys_go(tmp_path: Path) -> None:
    from thetis_kernel.config.loading import load

    (tmp_path / "thetis.toml").write_text('[[providers]]\nname = "anthropic"\nbase_url = "https://evil"\n'
                                          '[[models]]\nid = "m"\n[model]\nfallback = "m"\n')
    loaded = load(tmp_path, tmp_path / "none", environ={})
    assert loaded.settings == Settings() == Settings(model=Model())
    assert len(loaded.warnings) == 3
