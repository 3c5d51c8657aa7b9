"""The capabilities, and the one every import of the contract needs. `docs/contract.md` holds the same; a test compares them."""

from __future__ import annotations

from typing import Literal

Capability = Literal["none", "read", "state", "model", "delegate", "write", "exec", "http", "devkit", "branch", "config", "ssh"]

CAPABILITIES: dict[Capability, str] = {
    "none": "pure or local",
    "read": "files and the log",
    "state": "the conversation's own notes and keys",
    "model": "a completion",
    "delegate": "a sub-agent under the same mode",
    "write": "files of the checkout and the workspace",
    "exec": "commands and terminals on this machine",
    "http": "the network",
    "devkit": "the guests and skills of the conversation",
    "branch": "the conversation's branch beyond the commit after a turn",
    "config": "settings",
    "ssh": "another machine",
}
"""What each capability reaches."""

EFFECTS: frozenset[Capability] = frozenset({"write", "exec", "http", "devkit", "branch", "config", "ssh"})
"""Capabilities that reach outside the conversation: absent in every read-only mode, asked for in mode ask."""

IMPORTS: dict[str, Capability] = {
    "sys.log": "none",
    "sys.now-ms": "none",
    "sys.sleep": "none",
    "sys.kv-get": "state",
    "sys.kv-put": "state",
    "sys.code": "none",
    "sandbox.available": "none",
    "sandbox.read-file": "read",
    "sandbox.list-files": "read",
    "sandbox.search": "read",
    "sandbox.write-file": "write",
    "sandbox.exec": "exec",
    "sandbox.http": "http",
    "view.events": "read",
    "view.sessions": "read",
    "view.skills": "read",
    "session.read": "read",
    "session.append": "state",
    "session.poll-inbox": "none",
    "llm.complete": "model",
    "tooling.registry": "none",
    "tooling.invoke-many": "none",
    "files.read-file": "read",
    "files.write-file": "write",
    "files.edit-file": "write",
    "files.list-dir": "read",
    "files.search-files": "read",
    "files.find-files": "read",
    "terminal.run": "exec",
    "notes.remember": "state",
    "notes.recall": "state",
    "devkit.list-code": "read",
    "devkit.read-code": "read",
    "devkit.write-code": "devkit",
    "devkit.patch-code": "devkit",
    "devkit.remove-code": "devkit",
    "devkit.new-tool": "devkit",
    "devkit.history": "read",
    "devkit.roll-back": "devkit",
    "devkit.update-code": "devkit",
    "branch.status": "read",
    "branch.log": "read",
    "branch.commit": "branch",
    "branch.update-from-trunk": "branch",
    "branch.complete-merge": "branch",
    "branch.abort-merge": "branch",
    "branch.reset-to": "branch",
    "devkit.add-dependency": "devkit",
    "devkit.remove-dependency": "devkit",
    "devkit.list-dependencies": "read",
    "agents.spawn": "delegate",
    "agents.status": "delegate",
    "agents.transcript": "delegate",
    "agents.cancel": "delegate",
    "agents.profiles": "delegate",
    "wait.until": "none",
}
"""Every import of every world; a test walks the contract and fails on one that is missing here.

`tooling.invoke-many` itself is nothing: each operation it runs is permitted by its own name.
"""

CALLS: dict[str, Capability] = {
    "notes.remember-for-all": "write",
    "notes.recall-for-all": "read",
    "repository.clone": "http",
    "session.ask": "state",
    "session.recall-span": "read",
    "transcripts.list": "read",
    "transcripts.search": "read",
    "transcripts.read": "read",
    "skills.read": "read",
    "skills.find": "read",
    "skills.write": "devkit",
    "config.list": "read",
    "config.read": "read",
    "config.set": "config",
    "ssh-hosts.list": "read",
    "ssh-hosts.get": "read",
    "ssh-hosts.set": "ssh",
    "ssh-hosts.remove": "ssh",
    "ssh-hosts.rename": "ssh",
    "terminals.open": "exec",
    "terminals.run": "exec",
    "terminals.send": "exec",
    "terminals.signal": "exec",
    "terminals.close": "exec",
    "terminals.read": "read",
    "terminals.list": "read",
}
"""Operations without an import of their own: reached through `tooling.invoke-many` alone. Those on a terminal need `ssh`
where it is on another machine (toolhost.machines)."""

INSISTING = frozenset({
    "repository.clone", "skills.write", "terminals.open", "ssh-hosts.set", "ssh-hosts.remove", "ssh-hosts.rename",
})
"""Operations that may have to be put to a person whatever the mode says (`Intended.insists`)."""
