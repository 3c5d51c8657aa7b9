"""Tool groups: which tools a conversation is likely to want, decided once and only ever widened.

A group allocates, it permits nothing: what may be done is the mode's and the host's to say. Every tool belongs to exactly
one group. Withholding one is cheap in tokens and dear in capability, so one matching tag admits it, what nearly every task
needs is always there, and nothing is taken away again. Must not know the log.
"""

from __future__ import annotations

import re
from typing import Any

from thetis_guest.lenient import flag, mapping, number, objects, strings, text

EXTRA = "extra"
"""The group of tools that name none, or one that nobody here knows; always on, so that nothing disappears."""
_WORD = re.compile(r"[a-z0-9_]+")


class Group:
    """`tags`: words, or neighbouring words, of an opening message that admit it. `tools`: the agent's own tools in it."""

    def __init__(self, brief: str, tools: str, tags: str = "", always: bool = False) -> None:
        self.brief = brief
        self.tools = frozenset(tools.split())
        self.tags = tuple(tuple(_WORD.findall(tag)) for tag in tags.split(",") if tag.strip())
        self.always = always


GROUPS: dict[str, Group] = {
    "core": Group(
        "notes, plan, todos, questions to the person, waiting, and finding tools",
        "remember recall recall_span plan_write plan_edit plan_read todo_write todo_update ask_user tool_search wait",
        always=True,
    ),
    "files": Group(
        "reading, searching and changing files, and commands", "read list search find edit write run", always=True
    ),
    "skills": Group("texts on how to do one kind of work well", "use_skill find_skills write_skill", always=True),
    "shell": Group(
        "terminals that keep their state, programs that go on running, repositories to clone",
        "terminal_open terminal_run terminal_read terminal_send terminal_signal terminal_close terminal_list git_clone",
        "terminal,terminals,shell,bash,zsh,server,serve,daemon,background,process,watch,interactive,repl,debugger,gdb,ssh,"
        "build,compile,test,tests,script,npm,cargo,docker,make,start,restart,port,clone,upstream,repository,install,deploy",
    ),
    "subagents": Group(
        "agents with a context of their own that work on a part and report",
        "spawn_agent agent_status agent_transcript cancel_agent agent_profiles",
        "agent,agents,subagent,subagents,sub agents,sub agent,delegate,delegates,parallel,concurrently,children,split up,"
        "survey,audit,each of,in depth,thorough,thoroughly,research",
    ),
    "selfmod": Group(
        "reading and rewriting the agent, its tools and the renderer of the screen",
        "list_code read_code new_tool write_code patch_code remove_code code_history roll_back add_dependency "
        "remove_dependency list_dependencies update_code",
        "yourself,your own code,yourself a tool,me a tool,new tool,own tools,renderer,guest,guests,"
        "rewrite you,roll back,rollback,wasm,component,"
        "dependency,dependencies,package,packages,agent_core,thetis",
    ),
    "branch": Group(
        "the conversation's branch: commits of one's own, bringing the trunk in, going back",
        "branch_status branch_log branch_commit update_from_trunk complete_merge abort_merge reset_branch",
        "branch,branches,trunk,main branch,merge,merging,rebase,conflict,conflicts,conflicting,commit,commits,revert,git,"
        "update from",
    ),
    "transcripts": Group(
        "other conversations of this repository: listed, searched, read",
        "list_conversations search_conversations read_conversation",
        "conversation,conversations,transcript,transcripts,last time,other time,yesterday,last week,we discussed,we decided,"
        "you told,you said,earlier session,sessions",
    ),
    "ssh": Group(
        "shells on other machines: which there are, adding and changing them",
        "ssh_host_list ssh_host_get ssh_host_set ssh_host_remove ssh_host_rename",
        "ssh,remote,remotely,host,hosts,machine,machines,box,boxes,another machine,production,staging,cluster,vm,vps",
    ),
    "config": Group(
        "the settings in this branch's thetis.toml",
        "list_config read_config set_config",
        "config,configuration,configure,setting,settings,toml,option,options,preference,preferences,theme",
    ),
    "web": Group(
        "pages of the web",
        "",
        "web,website,webpage,url,urls,http,https,internet,online,fetch,download,link,links,api,news,docs",
    ),
    "data": Group(
        "queries over JSON and tables",
        "",
        "json,csv,tsv,table,tables,column,columns,rows,spreadsheet,data,dataset,aggregate,jq",
    ),
    "code": Group("outlines of source files", "", always=True),
    EXTRA: Group("tools of this conversation that belong to no other group", "", always=True),
}
"""In the order they are told. Words that stand in nearly every message are no tags: they would admit always."""


def group_of(name: str, declared: str = "") -> str:
    """The group of a tool: the agent's own by the table, a tool guest's as its manifest declares."""
    for identifier, group in GROUPS.items():
        if name in group.tools:
            return identifier
    return declared if declared in GROUPS else EXTRA


def routed(turn: dict[str, Any], opening: str) -> dict[str, str]:
    """The groups a conversation begins with, and why, in the order of the table: all kinds of evidence count alike."""
    configured = strings(mapping(turn, "tool_groups"), "always_on")
    skilled = {tag.removeprefix("tool-group:") for skill in objects(turn, "skills") for tag in strings(skill, "tags")}
    words = _WORD.findall(opening.lower())
    why: dict[str, str] = {}
    for identifier, group in GROUPS.items():
        if group.always:
            why[identifier] = "always on"
        elif identifier in configured:
            why[identifier] = "configured"
        elif identifier in skilled:
            why[identifier] = "a skill"
        elif found := _matching(words, group):
            why[identifier] = f"the word {found!r}"
    return why


def _matching(words: list[str], group: Group) -> str:
    """The first tag that stands in the message, its words beside each other; "" for none."""
    for tag in group.tags:
        if any(tuple(words[at : at + len(tag)]) == tag for at in range(len(words) - len(tag) + 1)):
            return " ".join(tag)
    return ""


class Loaded:
    """The groups of a conversation. `pinned`: why each was admitted, in that order; anybody may have written it, so unknown
    names are dropped and those that are always on come back."""

    def __init__(self, turn: dict[str, Any], pinned: dict[str, Any]) -> None:
        self.grouping = flag(mapping(turn, "tool_groups"), "grouping")
        self.why = {
            identifier: text(told, "why") or "loaded" for identifier, told in pinned.items() if identifier in GROUPS
        }
        self.at = {identifier: number(told, "at") for identifier, told in pinned.items()}
        """The event after which each was loaded."""
        self.routed = bool(self.why)
        always = {identifier: "always on" for identifier, group in GROUPS.items() if group.always}
        self.why = {**always, **self.why}

    def has(self, group: str) -> bool:
        """Whether the group's tools are offered."""
        return not self.grouping or group in self.why

    def admit(self, group: str, why: str, at: int) -> bool:
        """Load one more, after event `at`; whether it was not loaded before."""
        if self.has(group):
            return False
        self.why[group], self.at[group] = why, at
        return True


def found(query: str, tools: list[tuple[str, str, str]], limit: int = 3) -> list[str]:
    """The groups whose tools fit a query best. `tools`: (name, description, group)."""
    wanted = set(_WORD.findall(query.lower().replace("_", " ").replace("-", " ")))
    scores: dict[str, int] = {}
    for name, description, group in tools:
        names = set(_WORD.findall(name.lower().replace("_", " ").replace("-", " ")))
        told = set(_WORD.findall(description.lower()))
        score = 3 * len(wanted & names) + len({word for word in wanted & told if len(word) > 3})
        scores[group] = max(scores.get(group, 0), score)
    for identifier, group_ in GROUPS.items():
        if identifier in scores and (identifier in wanted or any(set(tag) <= wanted for tag in group_.tags)):
            scores[identifier] += 3
    best = sorted((-score, identifier) for identifier, score in scores.items() if score > 0)
    return [identifier for _, identifier in best[:limit]]
