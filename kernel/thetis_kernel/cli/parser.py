"""Words to a namespace. argparse: it starts in 13 ms where the alternatives take 100 (docs/adr/0002)."""

from __future__ import annotations

import argparse
import difflib
import re
from typing import NoReturn

from thetis_kernel.cli.commands import sections
from thetis_kernel.cli.elsewhere import config_words, connect_words, publish_words, ssh_words

EPILOG = "Without a command the screen opens. `thetis COMMAND --help` says more of each."
_UNKNOWN = re.compile(r"argument (?:COMMAND|ACTION): invalid choice: '(.*)' \(choose from (.*)\)", re.DOTALL)


class _Words(argparse.ArgumentParser):
    """Says which word was meant instead of all there are."""

    def error(self, message: str) -> NoReturn:
        unknown = _UNKNOWN.fullmatch(message)
        if unknown is None:
            super().error(message)
        word = unknown[1]
        near = difflib.get_close_matches(word, re.findall(r"[\w-]+", unknown[2]), n=1)
        hint = f"Did you mean `{self.prog} {near[0]}`?" if near else f"`{self.prog} --help` lists them."
        if " " in word and not near and self.prog == "thetis":
            hint = 'To say something to the agent: thetis run "..."'
        self.exit(2, f"thetis: There is no command {f'{self.prog} {word}'[:80]!r}.\n  {hint}\n")


def parse(arguments: list[str]) -> argparse.Namespace:
    """The parsed command line; prints usage and exits with status 2 when it does not fit."""
    parser, _ = words()
    return parser.parse_args(arguments)


def words() -> tuple[argparse.ArgumentParser, dict[str, str]]:
    """(what reads the command line, what is said of each command)."""
    parser: argparse.ArgumentParser = _Words(prog="thetis", usage="thetis [OPTION ...] [COMMAND ...]",
                                              description="A terminal for coding agents that can rewrite themselves.",
                                              formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", "-V", action="store_true", help="print the version and exit")
    _common(parser)
    parser.add_argument("--conversation", metavar="ID", default="", help="open this conversation")
    parser.add_argument("--unwalled", action="store_true", help="allow commands without walls where there are none")
    _safe(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", prog="thetis", help=argparse.SUPPRESS)

    run = commands.add_parser("run", help="one turn without a screen",
                              description="Say something to the agent, print its answer, exit 0 when the turn finished.")
    run.add_argument("prompt", metavar="PROMPT", help="what to say; - reads standard input")
    run.add_argument("--conversation", metavar="ID", default="", help="go on with this conversation")
    run.add_argument("--mode", default="", help="mode of a new conversation (agent, ask, plan, chat, or one of yours)")
    run.add_argument("--model", default="", help="model of a new conversation")
    run.add_argument("--attach", metavar="FILE", action="append", default=[],
                     help="show the model a picture or a PDF (may be repeated)")
    run.add_argument("--with-changes", action="store_true", help="include the root's uncommitted changes in the new branch")
    run.add_argument("--unwalled", action="store_true", help="allow commands without walls where there are none")
    _safe(run)
    _common(run)
    _json(run, "print each log event as a line of JSON, nothing else")

    listing = commands.add_parser("ls", help="list conversations")
    listing.add_argument("--all", action="store_true", help="archived ones too")
    listing.add_argument("--children", action="store_true", help="sub-agents too, each below its conversation")
    _common(listing)
    _json(listing, "print a JSON list")

    log = commands.add_parser("log", help="print a conversation's event log")
    log.add_argument("conversation", metavar="ID")
    log.add_argument("--after", type=int, default=0, metavar="SEQ", help="only events after this one")
    _common(log)
    _json(log, "one JSON event a line")

    show = commands.add_parser("show", help="print a conversation as text, or what it changed")
    show.add_argument("conversation", metavar="ID")
    show.add_argument("--diff", action="store_true", help="the patch of its branch against its base")
    _common(show)
    _json(show, "print JSON")

    answer = commands.add_parser("answer", help="answer what the agent asked", description=(
        "Without answers, show what is asked. With one answer to each question, give them and follow the turn that goes on."))
    answer.add_argument("conversation", metavar="ID")
    answer.add_argument("answers", metavar="ANSWER", nargs="*", help="a letter, an option, or words of your own")
    answer.add_argument("--question", metavar="ID", default="", help="which, when several are open (default: the newest)")
    answer.add_argument("--unwalled", action="store_true", help="allow commands without walls where there are none")
    _common(answer)
    _json(answer, "print each log event as a line of JSON; without answers, the questions")

    compact = commands.add_parser("compact", help="sum up the middle of a long conversation now",
                                  description="Nothing is lost: the log keeps every event, and the agent can read them again.")
    compact.add_argument("conversation", metavar="ID")
    compact.add_argument("hint", metavar="HINT", nargs="?", default="", help="what the summary shall keep")
    _common(compact)

    usage = commands.add_parser("usage", help="what conversations used and cost",
                                description="Read from the log: of one conversation, or of all of this root.")
    usage.add_argument("conversation", metavar="ID", nargs="?", default="")
    usage.add_argument("--by", choices=("day", "model", "tool", "child"), action="append", default=[],
                       help="what was spent by day, by model, by sub-agent, or what tools did (may be repeated)")
    usage.add_argument("--tools", action="store_true", help="what their tools cost, and whether grouping them pays here")
    _common(usage)
    _json(usage, "print a JSON object")

    trust = commands.add_parser(
        "trust", help="what this checkout brings with it, and whether you trust it",
        description="Guests, skills, settings, commands and paths of a checkout are used only when you trusted exactly them.")
    trust.add_argument("--yes", action="store_true", help="trust what is shown, without a question")
    trust.add_argument("--revoke", action="store_true", help="take it back")
    trust.add_argument("--list", action="store_true", help="every checkout you trust")
    _common(trust)
    _json(trust, "print JSON")

    rules = commands.add_parser("rules", help="what you allowed for good in this root",
                                description="Effects that mode ask does not ask about any more in this root.")
    deeds = rules.add_subparsers(dest="action", metavar="ACTION")
    add = deeds.add_parser("add", help="allow something for good")
    add.add_argument("effect", metavar="EFFECT", help="exec, write, http, ...")
    add.add_argument("pattern", metavar="PATTERN", help="a command, path or host; `git diff *`, `src/**`")
    revoke = deeds.add_parser("revoke", help="take a rule back")
    revoke.add_argument("id", metavar="ID", help="as the list names it")
    for one in (rules, add, revoke):
        _common(one)
        one.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print a JSON list")
    rules.set_defaults(json=False)

    _care(commands)
    _daemon(commands)
    _skills(commands)
    _branches(commands)
    _past(commands)
    connect_words(commands, _common)
    publish_words(commands, _common)

    setup = commands.add_parser("setup", help="build the guest runtimes now")
    setup.add_argument("--force", action="store_true", help="build them again")
    _json(setup, "print progress as JSON lines")

    doctor = commands.add_parser("doctor", help="check this machine, this root and its log, or one conversation",
                                 description="Exit 1 when something is wrong.")
    doctor.add_argument("--quick", action="store_true", help="do not read every log")
    doctor.add_argument("--conversation", metavar="ID", default="",
                        help="check this conversation: its log, and whether a model would take its history (none is asked)")
    _common(doctor)
    _json(doctor, "print a JSON object")

    config_words(commands, _common)
    ssh_words(commands, _common)
    _own(commands)
    helps = {one.dest: one.help or "" for one in commands._get_subactions()}
    parser.epilog = f"{sections(helps)}\n\n{EPILOG}"
    return parser, helps


def _care(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    disk = commands.add_parser("disk", help="what Thetis keeps for this root, and what old conversations may give back",
                               description="Nothing goes by itself. An open conversation keeps everything, however old it is.")
    disk.add_argument("--older-than", metavar="DAYS", default="", help="conversations nobody wrote to for so long: 90d")
    disk.add_argument("--prune", action="store_true", help="remove their long outputs, and worktrees that hold nothing")
    disk.add_argument("--logs", action="store_true", help="with --prune: archived conversations whole")
    _common(disk)
    _json(disk, "print a JSON list")
    export = commands.add_parser("export", help="a conversation as one file, to be shown to others",
                                 description="Secrets and everything of the registry of machines are taken out.")
    export.add_argument("conversation", metavar="ID", help="a conversation, or the beginning of its id")
    form = export.add_mutually_exclusive_group()
    for name, what in (("md", "as Markdown (default)"), ("json", "every event, one JSON object a line"), ("html", "as one page")):
        form.add_argument(f"--{name}", dest="form", action="store_const", const=name, default="md", help=what)
    export.add_argument("--output", "-o", metavar="FILE", default="", help="a new file (default: standard output)")
    _common(export)


def _daemon(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    daemon = commands.add_parser("daemon", help="a gateway without a screen, to which `thetis` and `thetis run` attach",
                                 description="Its turns go on without anybody, and by themselves after a crash.")
    actions = daemon.add_subparsers(dest="action", metavar="ACTION", required=True)
    start = actions.add_parser("start", help="start it")
    stop = actions.add_parser("stop", help="end it; running turns get some time and are parked then")
    restart = actions.add_parser("restart", help="end it and start it again")
    status = actions.add_parser("status", help="whether it runs; exit 3 when it does not")
    logs = actions.add_parser("logs", help="what it wrote down")
    logs.add_argument("--lines", "-n", type=int, default=50, metavar="N", help="the last N (default 50)")
    logs.add_argument("--follow", "-f", action="store_true", help="and what comes")
    unit = actions.add_parser("unit", help="a systemd user unit that runs it")
    unit.add_argument("--install", action="store_true", help="write it where systemd looks")
    serve = actions.add_parser("serve", help="be the daemon, in the foreground (what the unit runs)")
    serve.add_argument("--kept", action="store_true", help=argparse.SUPPRESS)
    serve.add_argument("--ready", type=int, default=-1, help=argparse.SUPPRESS)
    for one in (start, restart, serve):
        one.add_argument("--unwalled", action="store_true", help="allow commands without walls where there are none")
    for one in (stop, restart):
        one.add_argument("--wait", type=float, default=10.0, metavar="SECONDS", help="what turns get to finish (default 10)")
        one.add_argument("--now", action="store_true", help="park turns at once")
    for one in (start, stop, restart, status, logs, unit, serve):
        _common(one)
        _json(one, "print JSON")


def _skills(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    skills = commands.add_parser("skills", help="the skills the agent can be given, and what is wrong with others",
                                 description="Texts on how to do one kind of work: shipped, your own, a trusted checkout's.")
    deeds = skills.add_subparsers(dest="action", metavar="ACTION")
    show = deeds.add_parser("show", help="print one")
    show.add_argument("name", metavar="NAME")
    lint = deeds.add_parser("lint", help="check a directory of skills, whoever's it is")
    lint.add_argument("directory", metavar="DIR")
    for one in (skills, show, lint):
        _common(one)
        one.add_argument("--conversation", metavar="ID", default=argparse.SUPPRESS, help="with the skills it wrote itself")
        one.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
    skills.set_defaults(json=False, conversation="")


def _branches(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    merge = commands.add_parser("merge", help="merge a conversation: one commit on its trunk",
                                description="The conversation's own commits are kept below refs/thetis. A checkout with "
                                            "uncommitted work is refused and left as it is.")
    merge.add_argument("--into", metavar="BRANCH", default="", help="another branch than the trunk; made if it is not there")
    merge.add_argument("-m", "--message", metavar="TEXT", default="", help="the commit's message (default: title and subjects)")
    merge.add_argument("--dry-run", action="store_true", help="say what would happen, and change nothing of yours")
    merge.add_argument("--resolve", action="store_true", help="have the conversation settle what conflicts")
    diff = commands.add_parser("diff", help="what a conversation changed, as a patch")
    diff.add_argument("--stat", action="store_true", help="the files with their lines instead")
    apply = commands.add_parser("apply", help="write what a conversation changed into your checkout, uncommitted",
                                description="Refused whole for a file you have changed too. Index and HEAD stay.")
    path = commands.add_parser("path", help="where a conversation's worktree is")
    for one in (merge, diff, apply, path):
        one.add_argument("conversation", metavar="ID", help="a conversation, or the beginning of its id")
        _common(one)
        _json(one, "print JSON")
    kernel = commands.add_parser("kernel", help="in a checkout of Thetis: run a conversation with the kernel of its own branch",
                                 description="Nothing of a branch's kernel runs before you approved exactly that tree.")
    kernel.add_argument("conversation", metavar="ID", help="a conversation, or the beginning of its id")
    word = kernel.add_mutually_exclusive_group()
    word.add_argument("--approve", action="store_true", help="run exactly this tree from now on")
    word.add_argument("--revoke", action="store_true", help="take that back")
    _common(kernel)
    _json(kernel, "print JSON")
    trees = commands.add_parser("worktrees", help="the worktrees of this root's conversations: size, age, what is in them",
                                description="Only those Thetis made.")
    trees.add_argument("--prune", action="store_true", help="remove those whose work is committed and on another branch too")
    _common(trees)
    _json(trees, "print a JSON list")


def _past(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    rewind = commands.add_parser("rewind", help="go back to right before a message, files too; without a number, the list",
                                 description="Nothing is lost: the log keeps everything, and `thetis undo` takes it back.")
    rewind.add_argument("--only", choices=("talk", "files"), default="", help="the conversation alone, or its files alone")
    undo = commands.add_parser("undo", help="take the last rewind back, until something new was said")
    fork = commands.add_parser("fork", help="a new conversation with this one's beginning and files")
    for one in (rewind, undo, fork):
        one.add_argument("conversation", metavar="ID", help="a conversation, or the beginning of its id")
        if one is not undo:
            one.add_argument("message", metavar="NUMBER", nargs="?", type=int, default=0, help="of a message, as the list has it")
        _common(one)
        _json(one, "print JSON")


def _own(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    own = commands.add_parser("self", help="the guests a conversation runs on: what changed in them, and the way back",
                              description="The agent, the renderer and the tools of one conversation.")
    actions = own.add_subparsers(dest="action", metavar="ACTION", required=True)
    for action, what, guest, more, of_more in _SELF:
        one = actions.add_parser(action, help=what)
        if guest:
            one.add_argument("guest", metavar="GUEST", nargs="?" if guest == "?" else None, default="",
                             help="agent, gateway/tui or tool/NAME")
        if more:
            name = more.rstrip("?")
            one.add_argument(name, metavar=name.upper(), nargs="?" if more.endswith("?") else None, default="", help=of_more)
        one.add_argument("--conversation", metavar="ID", default="", help="default: the one used last")
        _common(one)
        _json(one, "print a JSON object")


_SELF = (
    ("ls", "which guests serve", "", "", ""),
    ("log", "every revision, newest first", "?", "", ""),
    ("show", "a revision: who, when, why, the verdict and the change", "!", "revision?", "default: the one that serves"),
    ("diff", "what a revision changed", "!", "revision?",
     "against the one before it (default: what serves, against the shipped one)"),
    ("rollback", "serve an earlier revision again", "!", "revision?",
     "a revision, or shipped (default: the one before the present)"),
    ("pin", "keep the agent from changing a guest", "!", "revision?",
     "the revision to serve, shipped, or none to take the pin away (default: what serves)"),
    ("update", "bring what this project's common guests and the shipped ones became into its own", "?", "", ""),
    ("merge", "put its guests among the common ones, with which later conversations begin", "?", "", ""),
    ("path", "where a guest lies, to edit it in an editor: it is judged when it is saved", "?", "", ""),
    ("packages", "the packages guests have taken in", "?", "", ""),
    ("take", "take a pure-Python package into a guest", "!", "requirement", "a name, with versions if they matter"),
    ("drop", "take a package out of a guest", "!", "name", "the package"),
)
"""Of `thetis self`: the action, what it does, whether it takes a guest ("?" may, "!" must), what else, and what that is."""


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--root", metavar="DIR", default=argparse.SUPPRESS, help="the repository (default: the one around here)")
    parser.add_argument("--no-local", action="store_true", default=argparse.SUPPRESS, help="ignore thetis.local.toml")


def _safe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--safe", action="store_true",
                        help="with the agent, renderer and tools that ship, whatever a conversation or this checkout changed")


def _json(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--json", action="store_true", help=what)
