"""Paths of pictures and PDFs that are pasted, dropped or mentioned; and what becomes of them on Enter."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from textual import events
from thetis_kernel.errors import RemoteError
from thetis_kernel.protocol import client as c

from tests.support.fake_gateway import FakeGateway
from tests.support.fake_screen import screen
from tests.support.pictures import pdf, png
from thetis_tui.attachments import mentioned, pasted
from thetis_tui.chips import Chips


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "shot.png").write_bytes(png())
    (tmp_path / "my shot.png").write_bytes(png(shade=9))
    (tmp_path / "paper.txt").write_bytes(pdf())
    (tmp_path / "words.png").write_text("no picture")
    return tmp_path


@pytest.mark.parametrize("form", ["{}", "'{}'", '"{}"', "{} ", "file://{}", "{escaped}", "file://{quoted}"])
def test_a_dropped_path_is_known_in_every_form_terminals_give_it(files: Path, form: str) -> None:
    for name in ("shot.png", "my shot.png", "paper.txt"):
        path = str(files / name)
        text = form.format(path, escaped=path.replace(" ", "\\ "), quoted=quote(path))
        assert pasted(text) == [path], text


def test_several_files_and_what_is_no_file(files: Path) -> None:
    both = f"{files}/shot.png '{files}/my shot.png'"
    assert pasted(both) == [f"{files}/shot.png", f"{files}/my shot.png"]
    for other in ("", "shot.png", f"look at {files}/shot.png", f"{files}/words.png", f"{files}/missing.png", str(files),
                  "/dev/zero", f"{files}/shot.png and more", "file://elsewhere/x.png",
                  "~nobody/x.png", "/x" * 5000, "'/unclosed", "/\0"):
        assert pasted(other) == [], other


def test_mentions_are_pictures_and_pdfs_only(files: Path) -> None:
    root = str(files)
    text = f'see @shot.png, @"my shot.png" and @words.png @{root}/paper.txt me@shot.png @shot.png? @ada'
    assert mentioned(text, root) == [f"{root}/shot.png", f"{root}/my shot.png", f"{root}/paper.txt"]
    assert mentioned("@/gone/away.png", root) == ["/gone/away.png"], "somebody must say that it is not there"
    assert mentioned("@gone.png", root) == []


def test_a_chip_stands_for_the_path(files: Path) -> None:
    chips = Chips()
    first, second = chips.file(f"{files}/shot.png"), chips.file(f"{files}/my shot.png")
    assert first == "⟦picture 1: shot.png⟧" and chips.file(f"{files}/paper.txt") == "⟦PDF 3: paper.txt⟧"
    assert chips.unfold(f"{first} or {second}?") == f'@{files}/shot.png or @"{files}/my shot.png"?'
    assert chips.unfold("⟦picture 9: x⟧") == "⟦picture 9: x⟧"


async def test_a_dropped_picture_is_attached_on_enter(files: Path) -> None:
    async with screen(FakeGateway()) as s:
        s.desk.prompt.post_message(events.Paste(f"'{files}/shot.png'"))
        await s.until(lambda: s.desk.prompt.text == "⟦picture 1: shot.png⟧ ")
        await s.type("what is this")
        await s.pilot.press("enter")
        await s.until(lambda: s.gateway.asked(c.Submit))
        (attached,), (submitted,) = s.gateway.asked(c.AttachFile), s.gateway.asked(c.Submit)
        assert attached.path == f"{files}/shot.png" and [one.name for one in submitted.attachments] == ["shot.png"]
        assert submitted.text == f"@{files}/shot.png what is this"


async def test_what_cannot_be_attached_gives_the_words_back(files: Path) -> None:
    gateway = FakeGateway()
    gateway.errors[c.AttachFile] = RemoteError("shot.png cannot be attached: it has 9.0 MB.", hint="")
    async with screen(gateway) as s:
        await s.send(f"look at @{files}/shot.png")
        await s.until(lambda: s.desk.prompt.text == f"look at @{files}/shot.png")
        assert "9.0 MB" in " ".join(s.toasts()) and not s.gateway.asked(c.Submit)


async def test_a_pasted_path_of_anything_else_stands_as_it_is(files: Path) -> None:
    async with screen(FakeGateway()) as s:
        s.desk.prompt.post_message(events.Paste(f"{files}/words.png"))
        await s.until(lambda: s.desk.prompt.text == f"{files}/words.png")
