"""What a command gives back, the same in every tier: exit, output, limits, time, its directory, its input."""

from __future__ import annotations

import os
import tempfile
import threading
import tracemalloc
from pathlib import Path

import pytest
from thetis_kernel.errors import WallError
from thetis_kernel.walls.command import Limits
from thetis_kernel.walls.runner import Runner
from thetis_kernel.walls.tier import Tier

from tests.support.walls import BARE, Bench, alive, bench, every_tier, mark

__all__ = ["bench", "mark"]

MIB = 1024 * 1024


@every_tier
def test_exit_code_output_in_order_and_no_input(tier: Tier, bench: Bench) -> None:
    text = "echo out; echo err >&2; echo out again; read line; echo read=$?; printf 'no newline'; exit 7"

    result = bench.run(tier, text)

    assert result.output == "out\nerr\nout again\nread=1\nno newline"
    assert (result.exit_code, result.signal) == (7, 0)
    assert not (result.timed_out or result.cancelled or result.truncated)
    assert result.total_bytes == len(result.output)
    assert result.notes == ()


@every_tier
def test_a_signal_is_reported_as_the_shell_does(tier: Tier, bench: Bench) -> None:
    result = bench.run(tier, "kill -KILL $$")

    assert (result.exit_code, result.signal) == (137, 9)


@every_tier
def test_a_command_starts_with_plain_signals(tier: Tier, bench: Bench) -> None:
    """Python ignores SIGPIPE; a command that inherits that runs `yes | head` with an error instead of an end."""
    result = bench.run(tier, "set -o pipefail; yes | head -1; echo $?")

    assert result.output == "y\n141\n"


@every_tier
def test_bytes_that_are_not_text_and_characters_written_in_two_parts(tier: Tier, bench: Bench) -> None:
    heard: list[str] = []
    text = r"printf 'a\xff\xfe\x00b'; printf '\xe2'; sleep 0.1; printf '\x82\xac\xc3'"

    result = bench.run(tier, text, on_output=heard.append)

    assert result.output == "a��\0b€�"
    assert "".join(heard) == result.output


@every_tier
def test_non_ascii_text_and_names_arrive_unchanged(tier: Tier, bench: Bench) -> None:
    result = bench.run(tier, "echo grüße > 'datei ☃'; cat *; set -- -x; echo $1")

    assert result.output == "grüße\n-x\n"
    assert (bench.worktree / "datei ☃").read_text() == "grüße\n"


@every_tier
def test_gigabytes_do_not_grow_memory(tier: Tier, bench: Bench) -> None:
    flood(tier, bench, 48)


@pytest.mark.slow
@every_tier
def test_a_whole_gigabyte_does_not_grow_memory(tier: Tier, bench: Bench) -> None:
    flood(tier, bench, 1024)


def flood(tier: Tier, bench: Bench, mebibytes: int) -> None:
    spill = bench.outside / "whole-output"
    text = f"echo first; head -c {mebibytes}M /dev/zero | tr '\\0' z; echo last"
    tracemalloc.start()

    result = bench.run(tier, text, output_bytes=64 * 1024, spill=spill, limits=Limits(spill_bytes=MIB))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert result.total_bytes == mebibytes * MIB + len("first\nlast\n")
    assert result.truncated
    assert result.output.startswith("first\nzzz")
    assert result.output.endswith("zzzlast\n")
    assert "bytes left out" in result.output
    assert len(result.output) < 65 * 1024
    assert result.spill == str(spill)
    assert spill.stat().st_size == MIB
    assert peak < 4 * MIB


@every_tier
def test_time_is_up(tier: Tier, bench: Bench, mark: str) -> None:
    result = bench.run(tier, f"echo begun; (setsid sleep {mark} &); sleep {mark}", timeout_ms=800)

    assert result.timed_out
    assert result.signal == 9
    assert result.output == "begun\n"
    assert alive(mark) == []


@every_tier
def test_cancelled(tier: Tier, bench: Bench, mark: str) -> None:
    cancel = threading.Event()

    result = bench.run(
        tier, f"(setsid sleep {mark} &); echo begun; sleep {mark}", cancel=cancel, on_output=lambda _: cancel.set()
    )

    assert result.cancelled
    assert not result.timed_out
    assert alive(mark) == []


@every_tier
def test_a_listener_that_raises_ends_the_command(tier: Tier, bench: Bench, mark: str) -> None:
    def listener(_: str) -> None:
        raise LookupError("from the listener")

    with pytest.raises(LookupError, match="from the listener"):
        bench.run(tier, f"(setsid sleep {mark} &); echo begun; sleep {mark}", on_output=listener)

    assert alive(mark) == []


@every_tier
def test_returns_when_the_command_ends_whoever_holds_the_pipe(tier: Tier, bench: Bench, mark: str) -> None:
    result = bench.run(tier, f"sleep {mark} & (setsid sleep {mark} &); echo done")

    assert result.output == "done\n"
    assert result.exit_code == 0
    assert result.leftover == 2
    assert "2 background process(es) were ended with the command." in result.notes
    assert alive(mark) == []


@every_tier
def test_what_is_about_to_end_may_still_write(tier: Tier, bench: Bench) -> None:
    """The shell does not wait for process substitutions; their output belongs to the command all the same."""
    result = bench.run(tier, "echo through > >(sleep 0.02; cat)")

    assert result.output == "through\n"
    assert result.leftover == 0


@every_tier
def test_too_many_processes_end_the_command(tier: Tier, bench: Bench, mark: str) -> None:
    text = f"i=0; while [ $i -lt 160 ]; do setsid sleep {mark} & i=$((i+1)); done; sleep {mark}"

    result = bench.run(tier, text, limits=Limits(threads=40))

    if os.getuid() == 0:  # for others the kernel refuses the forks first, and the shell says so
        assert result.notes == ("Ended: more than 40 threads at once.",)
    else:
        assert result.notes or "fork" in result.output
    assert alive(mark) == []


@every_tier
def test_a_directory_that_was_deleted_is_replaced_by_the_first_root(tier: Tier, bench: Bench) -> None:
    sub = bench.worktree / "sub"
    sub.mkdir()

    first = bench.run(tier, "rmdir ../sub; echo deleted", cwd=sub)
    second = bench.run(tier, "pwd", cwd=sub)

    assert first.output == "deleted\n"
    assert second.output == f"{bench.worktree}\n"
    assert second.notes == (f"{sub} is gone or not a directory; the command ran in {bench.worktree}.",)


@every_tier
def test_a_directory_outside_the_roots_is_refused(tier: Tier, bench: Bench) -> None:
    (bench.worktree / "link").symlink_to(bench.outside)

    for cwd in (bench.outside, bench.worktree / "link", bench.worktree / ".." / ".."):
        with pytest.raises(WallError, match="outside the writable and readable roots"):
            bench.run(tier, "pwd", cwd=cwd)


@every_tier
def test_private_files_are_kept_between_commands_only_when_asked(
    tier: Tier, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept"
    usual = tmp_path / "usual"
    usual.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(usual))

    for expected in ("0\n", "1\n"):
        assert bench.run(tier, "ls $HOME | wc -l; echo x > $HOME/x", scratch=kept).output == expected
    for _ in range(2):
        assert bench.run(tier, "ls $HOME $TMPDIR | grep -cx x; touch $HOME/x $TMPDIR/x").output == "0\n"
    assert list(usual.iterdir()) == []


@every_tier
def test_an_earlier_command_cannot_spoil_the_private_directory(tier: Tier, bench: Bench, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    bench.run(tier, f"rm -rf $HOME $TMPDIR; ln -s {bench.outside} $HOME; touch $TMPDIR", scratch=kept)

    result = bench.run(tier, "touch $HOME/x $TMPDIR/x; echo $?", scratch=kept)

    assert result.output == "0\n"
    assert list(bench.outside.iterdir()) == []


@every_tier
def test_a_file_larger_than_allowed_is_not_written(tier: Tier, bench: Bench) -> None:
    result = bench.run(tier, "head -c 2M /dev/zero > big; echo $?", limits=Limits(file_bytes=MIB))

    assert "153" in result.output  # 128 + SIGXFSZ
    assert (bench.worktree / "big").stat().st_size == MIB


def test_many_at_once_keep_their_own_results(bench: Bench) -> None:
    results: dict[int, str] = {}

    def one(number: int) -> None:
        results[number] = bench.run(BARE, f"echo {number}").output

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    bench.run(BARE, "true")  # what starts helpers stays
    before, dead = len(os.listdir("/proc/self/fd")), zombies()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == {number: f"{number}\n" for number in range(8)}
    assert len(os.listdir("/proc/self/fd")) == before
    assert zombies() <= dead


def zombies() -> set[int]:
    """Children of this process nobody has waited for."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            except OSError:
                continue
            if fields[0] == b"Z" and int(fields[1]) == os.getpid():
                found.add(int(entry.name))
    return found


def test_without_a_wall_and_without_consent_nothing_runs(bench: Bench) -> None:
    with pytest.raises(WallError, match="There is no wall") as caught:
        Runner(BARE, bench.helpers).run(bench.command("touch ran"))

    assert caught.value.hint == "apt install bubblewrap"
    assert not (bench.worktree / "ran").exists()
