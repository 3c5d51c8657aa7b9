"""The registry of machines: what it takes, that it fails alone (reliability S2), that nobody but a person vouches for it."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thetis_kernel.config.loading import load
from thetis_kernel.errors import ConfigError, Refused, ThetisError
from thetis_kernel.ssh.host import OPTIONS, Host, HostError, made
from thetis_kernel.ssh.registry import FILE, Registry
from thetis_kernel.ssh.trust import Trust
from thetis_kernel.ssh.way import chain, way_to

MALFORMED: dict[str, bytes] = {
    "truncated": b'[build]\nhost = "a', "duplicate key": b'[a]\nhost = "x"\nhost = "y"\n',
    "BOM": b'\xef\xbb\xbf[a]\nhost = "x"\n',
    "NUL": b'[a]\nhost = "x\x00"\n', "bad UTF-8": b'[a]\nhost = "\xff"\n', "5000 nested arrays": b"a = " + b"[" * 5000,
    "5000-digit int": b"[a]\nport = " + b"9" * 5000, "20k-part dotted key": b".".join([b"a"] * 20_000) + b" = 1\n",
    "too large": b"#" * (256 * 1024 + 1), "no table": b"a = 1\n", "unknown field": b'[a]\nhost = "x"\nproxy = "y"\n',
    "no host": b'[a]\nuser = "x"\n', "a command": b'[a]\nhost = "x"\noptions = ["ProxyCommand=id"]\n',
    "a key itself": b'[a]\nhost = "x"\nidentity_file = "-----BEGIN OPENSSH PRIVATE KEY-----"\n',
    "a name": b'["a b"]\nhost = "x"\n',
}


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    root = tmp_path / "root"
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return Registry(root)


def write(registry: Registry, content: bytes | str, mode: int = 0o600) -> None:
    registry.file.write_bytes(content if isinstance(content, bytes) else content.encode())
    registry.file.chmod(mode)


@pytest.mark.parametrize("name", sorted(MALFORMED))
def test_s2_a_malformed_registry_fails_its_own_read_and_nothing_else(registry: Registry, tmp_path: Path, name: str) -> None:
    write(registry, MALFORMED[name])
    for use in (registry.all, lambda: registry.get("a"), lambda: registry.set("b", {"host": "x"}), lambda: registry.remove("a"),
                lambda: registry.rename("a", "b"), lambda: chain("a", registry)):
        with pytest.raises(ConfigError, match=r"ssh-hosts\.local\.toml"):
            use()
    assert registry.file.read_bytes() == MALFORMED[name], "never rewritten by a failed read"
    assert load(registry.root, tmp_path / "none", environ={}).warnings == [], "the configuration does not look at it"


def test_the_line_that_is_wrong_is_named(registry: Registry) -> None:
    write(registry, '[good]\nhost = "x"\n\n[bad]\nhost = "x"\nport = "many"\n')
    with pytest.raises(ConfigError, match=r"ssh-hosts\.local\.toml:4: bad: port") as refused:
        registry.all()
    assert "many" not in refused.value.message


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o606])
def test_one_that_others_can_read_is_not_used(registry: Registry, mode: int) -> None:
    write(registry, '[a]\nhost = "x"\n', mode)
    with pytest.raises(ConfigError, match="open to other users"):
        registry.all()


def test_one_that_leads_elsewhere_is_not_used(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "other").write_text('[a]\nhost = "x"\n')
    (tmp_path / "other").chmod(0o600)
    registry.file.symlink_to(tmp_path / "other")
    with pytest.raises(ConfigError):
        registry.all()
    registry.file.unlink()
    os.mkfifo(registry.file, 0o600)
    with pytest.raises(ConfigError, match="ordinary"):
        registry.all()


def test_comments_stay_and_the_file_is_a_persons_own(registry: Registry) -> None:
    old = '# mine\n[a]\nhost = "x"  # the old one\nport = 2222\n\n# another\n[b]\nhost = "y"\njump = "a"\n'
    write(registry, old)
    registry.set("a", {"host": "z", "user": "me"})
    assert registry.file.read_text() == old.replace('"x"  #', '"z"  #').replace("port = 2222\n", 'port = 2222\nuser = "me"\n')
    registry.set("a", {"port": 22, "user": ""})
    assert "2222" not in registry.file.read_text() and "# the old one" in registry.file.read_text()
    registry.rename("a", "gate")
    assert registry.get("b").jump == "gate" and "# the old one" in registry.file.read_text()
    with pytest.raises(HostError, match="reached through it"):
        registry.remove("gate")
    registry.remove("b")
    registry.remove("gate")
    assert registry.all() == {} and "# mine" in registry.file.read_text()
    assert registry.file.stat().st_mode & 0o777 == 0o600


NAMES = st.sampled_from(["a", "b.c", "gate-1", "D"])
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "host": st.sampled_from(["h.example", "10.0.0.1", "fe80::1"]), "port": st.integers(1, 65535),
    "user": st.sampled_from(["", "root", "a.b"]), "identity_file": st.sampled_from(["", "~/.ssh/id", "/k"]),
    "options": st.lists(st.sampled_from(["Compression=yes", "ConnectTimeout=5"]), max_size=2),
    "description": st.text(st.characters(min_codepoint=32, max_codepoint=0x24F, exclude_categories=["Cc"]), max_size=20),
}


@given(st.lists(st.tuples(NAMES, st.sets(st.sampled_from(sorted(FIELDS)), min_size=1).flatmap(
    lambda names: st.fixed_dictionaries({"host": FIELDS["host"]} | {name: FIELDS[name] for name in names}))), max_size=5))
@settings(deadline=None, max_examples=40)
def test_what_was_set_is_read(tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, dict[str, Any]]]) -> None:
    registry = Registry(tmp_path_factory.mktemp("r"))
    wanted: dict[str, dict[str, Any]] = {}
    for name, fields in changes:
        wanted[name] = {**wanted.get(name, {}), **fields}
        registry.set(name, fields)
        assert registry.all() == {key: made(key, one) for key, one in wanted.items()}


def test_git_ignores_it_in_every_checkout(registry: Registry, tmp_path: Path) -> None:
    run = ["git", "-C", str(registry.root), "-c", "user.name=x", "-c", "user.email=x@x"]
    subprocess.run([*run, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run([*run, "worktree", "add", "-q", str(tmp_path / "wt")], check=True)
    (registry.root / ".git/info/exclude").write_text("*.log")
    before = subprocess.run([*run, "config", "--list", "--local"], capture_output=True, check=True).stdout
    registry.set("a", {"host": "x"})
    registry.set("b", {"host": "x"})
    (tmp_path / "wt" / FILE).write_text("secret")
    for checkout in (registry.root, tmp_path / "wt"):
        told = subprocess.run(["git", "-C", str(checkout), "status", "--short"], capture_output=True, text=True, check=True)
        assert told.stdout == ""
    exclude = (registry.root / ".git/info/exclude").read_text()
    assert exclude.startswith("*.log\n") and exclude.count(FILE) == 1
    assert subprocess.run([*run, "config", "--list", "--local"], capture_output=True, check=True).stdout == before


@pytest.mark.parametrize("option", [
    "ProxyCommand=id", "LocalCommand=id", "PermitLocalCommand=yes", "KnownHostsCommand=id", "StrictHostKeyChecking=no",
    "Include=/x",
    "UserKnownHostsFile=/dev/null", "ForwardAgent=yes", "Match=exec id", "ProxyJump=x", "PKCS11Provider=/x.so", "SendEnv=*",
    "IdentityFile=/x", "XAuthLocation=/x", "proxycommand=id", "ProxyCommand id", "-oProxyCommand=id", "Ciphers=a b",
    "Ciphers=`id`",
    "ConnectTimeout=0", "ConnectTimeout=1e9", "Compression", "SecurityKeyProvider=/x.so", "RemoteCommand=id",
])
def test_s5_options_that_run_forward_or_loosen_are_refused(option: str) -> None:
    with pytest.raises(HostError, match=r"option .*(not allowed|does not fit)"):
        made("a", {"host": "x", "options": [option]})
    assert len(OPTIONS) == 10


@pytest.mark.parametrize("fields", [
    {"host": "-oProxyCommand=id"}, {"host": "x y"}, {"host": "x;id"}, {"host": ""}, {"host": "x\n"}, {"host": "$(id)"},
    {"port": 0},
    {"port": 70_000}, {"port": True}, {"user": "-l"}, {"user": "a b"}, {"user": "a;b"}, {"identity_file": "id_rsa"},
    {"identity_file": "/x\n/y"}, {"remote_cwd": "a\0b"}, {"remote_cwd": "\x1b[2J"}, {"description": "a\nb"},
    {"description": "\u202egnp"}, {"jump": "../x"}, {"description": "x" * 501}, {"options": ["Compression=yes"] * 21},
])
def test_s5_fields_that_are_no_such_thing_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(HostError) as refused:
        made("a", {"host": "x", **fields})
    assert "id" not in refused.value.message.split(": ")[-1].split() and "\x1b" not in str(refused.value)


def test_jumps_end(registry: Registry) -> None:
    for name, jump in (("a", "b"), ("b", "c"), ("c", "a")):
        registry.set(name, {"host": "x", "jump": jump})
    with pytest.raises(HostError, match="circle"):
        chain("a", registry)
    registry.set("c", {"jump": ""})
    assert [name for name, _ in chain("a", registry)] == ["c", "b", "a"]
    registry.set("c", {"jump": "d"})
    with pytest.raises(HostError, match="no machine 'd'"):
        chain("a", registry)


# Trust


def test_nothing_is_reached_that_nobody_vouched_for(registry: Registry, tmp_path: Path) -> None:
    trust = Trust(tmp_path)
    host = registry.set("a", {"host": "x", "jump": "gate"})
    gate = registry.set("gate", {"host": "y"})
    trust.vouch("a", host)
    with pytest.raises(Refused, match="vouched for the way to gate"):
        way_to("a", registry, trust)
    trust.vouch("gate", gate)
    way = way_to("a", registry, trust)
    assert [step.name for step in way.steps] == ["gate", "a"] and way.unknown == way.steps[0]


@pytest.mark.parametrize("fields", [{"host": "evil"}, {"port": 23}, {"user": "root"}, {"identity_file": "/other"}, {"jump": "g"},
                                    {"options": ["Compression=yes"]}])
def test_a_way_that_changed_in_anything_is_another_way(registry: Registry, tmp_path: Path, fields: dict[str, Any]) -> None:
    """Who can write the registry, a clone for example, cannot lead a person's key elsewhere."""
    trust = Trust(tmp_path)
    registry.set("g", {"host": "g"})
    trust.vouch("g", registry.get("g"))
    trust.vouch("a", registry.set("a", {"host": "x"}))
    way_to("a", registry, trust)
    registry.set("a", {"description": "words", "remote_cwd": "/srv"})
    way_to("a", registry, trust)
    registry.set("a", fields)
    with pytest.raises(Refused):
        way_to("a", registry, trust)
    other = Registry(tmp_path / "root")
    other.rename("a", "b")
    registry.set("b", {name: msgspec.to_builtins(Host(host="x")).get(name, {"port": 22, "options": []}.get(name, ""))
                       for name in fields})
    with pytest.raises(Refused):  # the same way, and nobody vouched for it under this name
        way_to("b", registry, trust)


def test_a_book_that_cannot_be_read_vouches_for_nothing(registry: Registry, tmp_path: Path) -> None:
    trust = Trust(tmp_path)
    host = registry.set("a", {"host": "x"})
    trust.vouch("a", host)
    trust.accept(host, "ssh-ed25519 AAAA", instead=False)
    content = trust.file.read_text()
    assert "x" not in [word.strip('", :') for word in content.split()] and trust.file.stat().st_mode & 0o777 == 0o600
    for broken in (b"{", b"[]", b'{"ways": 1}', b"\xff", b'{"more": {}}', b"[" * 100_000):
        trust.file.write_bytes(broken)
        with pytest.raises(ConfigError, match="no machine is trusted"):
            way_to("a", registry, trust)
        assert trust.file.read_bytes() == broken


def test_a_new_key_takes_the_place_of_all_others(tmp_path: Path) -> None:
    trust, host = Trust(tmp_path), Host(host="X.example", port=2)
    for number in range(10):
        trust.accept(host, f"ssh-rsa {number}", instead=False)
    assert trust.keys(Host(host="x.EXAMPLE", port=2)) == [f"ssh-rsa {number}" for number in range(2, 10)]
    trust.accept(host, "ssh-ed25519 new", instead=True)
    assert trust.keys(host) == ["ssh-ed25519 new"] and trust.keys(Host(host="x.example")) == []


def _one_of_many(root: Path, number: int) -> None:
    Registry(root).set(f"m{number}", {"host": "x", "port": number + 1})


def test_writers_side_by_side_lose_nothing(registry: Registry) -> None:
    """Complaint 114 (claude-code#28922, #29217, #3117, #40226): a shared file torn by parallel sessions."""
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_one_of_many, args=(registry.root, number)) for number in range(6)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert {name: one["port"] for name, one in tomllib.loads(registry.file.read_text()).items()} == {
        f"m{number}": number + 1 for number in range(6)}


def test_errors_are_of_the_tree() -> None:
    assert issubclass(HostError, ThetisError)
