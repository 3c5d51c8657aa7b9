"""Opening and closing a root: the lock, the log, the children, and the parts of the gateway put together.

`Gateway.open` does only what a first screen needs and warms the rest in the background; `close` ends every turn with its
one terminator, stops the children and gives the lock back.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

from thetis_kernel import __version__
from thetis_kernel.client import GatewayClient
from thetis_kernel.config.loading import Loaded
from thetis_kernel.config.modes import Modes
from thetis_kernel.errors import ThetisError
from thetis_kernel.forge.artifacts import ArtifactStore
from thetis_kernel.forge.service import Forge
from thetis_kernel.gateway.approvals import Approvals
from thetis_kernel.gateway.body.dependencies import Packages
from thetis_kernel.gateway.body.door import DevKitDoor
from thetis_kernel.gateway.body.outside import Outside
from thetis_kernel.gateway.body.project import BranchGuests, ProjectRepository, is_one
from thetis_kernel.gateway.body.repository import BodyRepository
from thetis_kernel.gateway.body.revalidation import Revalidation
from thetis_kernel.gateway.body.service import Bodies
from thetis_kernel.gateway.body.toolwatch import ToolWatch
from thetis_kernel.gateway.body.watchdog import Watchdog
from thetis_kernel.gateway.branches.agent import AgentBranch
from thetis_kernel.gateway.branches.git import Git
from thetis_kernel.gateway.branches.merge import Merging
from thetis_kernel.gateway.branches.worktrees import Worktrees
from thetis_kernel.gateway.broadcast import Broadcast
from thetis_kernel.gateway.children.purse import Purses, home_of
from thetis_kernel.gateway.children.recovery import settle_left
from thetis_kernel.gateway.children.service import Children
from thetis_kernel.gateway.cloning import Cloning
from thetis_kernel.gateway.collecting import tidy
from thetis_kernel.gateway.consent import Consent
from thetis_kernel.gateway.control import open_control
from thetis_kernel.gateway.conversations import Conversations
from thetis_kernel.gateway.door import handlers
from thetis_kernel.gateway.fleet import Fleet
from thetis_kernel.gateway.guests import Guests
from thetis_kernel.gateway.judging import SPARE_S, DisposableJudge
from thetis_kernel.gateway.kernels import Kernels
from thetis_kernel.gateway.log import Log
from thetis_kernel.gateway.machines import Machines
from thetis_kernel.gateway.models import ModelRelay
from thetis_kernel.gateway.net import Net
from thetis_kernel.gateway.pages import Pages
from thetis_kernel.gateway.placing import take
from thetis_kernel.gateway.probing import prober_of
from thetis_kernel.gateway.providers import Providers
from thetis_kernel.gateway.questions import Questions
from thetis_kernel.gateway.recalling import Recalling
from thetis_kernel.gateway.recovery import recover
from thetis_kernel.gateway.rendering import Renderer
from thetis_kernel.gateway.repository import Repository
from thetis_kernel.gateway.resuming import Cut
from thetis_kernel.gateway.rules import Rules
from thetis_kernel.gateway.runtimes import Runtimes
from thetis_kernel.gateway.secrets import gathered
from thetis_kernel.gateway.settings import SettingsDoor
from thetis_kernel.gateway.skills.service import Skills
from thetis_kernel.gateway.spending import Spending
from thetis_kernel.gateway.spills import Spills
from thetis_kernel.gateway.timemachine.keeping import Keeping
from thetis_kernel.gateway.timemachine.service import TimeMachine
from thetis_kernel.gateway.transcripts import Transcripts
from thetis_kernel.gateway.trust import TrustedTree, survey, trusted
from thetis_kernel.gateway.turns import Turns
from thetis_kernel.gateway.workers import Workers
from thetis_kernel.ipc.aio import AsyncPeer
from thetis_kernel.ipc.pair import join
from thetis_kernel.ipc.unix import UnixServer
from thetis_kernel.paths import RootPaths, shipped_artifacts
from thetis_kernel.protocol.client import CLIENT_TELLS, Holder, ModeInfo, Notice, Progress, StateChanged, Status
from thetis_kernel.protocol.ids import short
from thetis_kernel.store.store import Store
from thetis_kernel.walls.tier import Tier
from thetis_kernel.wasm.runtimes import Progress as BuildProgress

SAFE = "Safe mode: the guests that ship with Thetis serve every conversation; what was changed in one is kept and waits."

TOLD_EVERY_S = 0.2
"""Between two lines of a conversation whose sub-agents move."""


class Gateway:
    """One open root."""

    def __init__(self, paths: RootPaths, loaded: Loaded, store: Store, *, unwalled: bool, can_ask: bool,
                 safe: bool = False, holder: Holder = "run", runtimes: Runtimes | None = None) -> None:
        self.paths = paths
        self.holder: Holder = holder
        self.safe = safe
        self.settings = loaded.settings
        self.settings_door = SettingsDoor.of(paths.root, loaded)
        offer, untrusted = survey(paths.root)
        tree = TrustedTree(offer) if trusted(offer) and not safe else None
        self.notices = [*([SAFE] if safe else []), *filter(None, [untrusted]), *loaded.warnings]
        self.scrubber = gathered(self.settings, paths.root)
        self.broadcast = Broadcast(self.scrubber)
        self.log = Log(store, self.broadcast, self.scrubber)
        self.runtimes = (runtimes or Runtimes()).telling(self._building)
        self.fleet = Fleet(paths.data, self.runtimes, self._incident, self.settings.worker.idle_minutes * 60)
        self.consent = Consent(paths.data, self.broadcast, standing=unwalled or self.settings.walls.unwalled, can_ask=can_ask)
        providers = Providers(self.settings)
        self.scrubber.learn(*providers.secrets)
        self.notices += providers.problems
        self.spending = Spending(self.settings, store)
        self.models = ModelRelay(self.fleet, self.log, self.broadcast, providers, self.spending, self.changed,
                                 self.settings.context.summary_model, self.settings.model.by_mode)
        self.judge = DisposableJudge(self.fleet.runtimes, spare_s=SPARE_S)
        self.artifacts = ArtifactStore(paths.artifacts)
        self.repository = Repository(self.fleet, self.log, paths, self.settings, self.broadcast)
        own_guests = (ProjectRepository(self.fleet, paths, tree, self.repository.ensure_worktree, lambda: self.log.scrubber.known)
                      if is_one(paths.root, tree) else BodyRepository(self.fleet, paths))
        checkouts = paths.worktrees if own_guests.in_project else paths.bodies
        self.bodies = Bodies(own_guests, Forge(self.artifacts, self.judge), self.log,
                             lambda world: self.fleet.runtimes("compiler", world),
                             Packages(paths.base / "packages", self.settings.dependencies.index, self.consent.allowed))
        self.guests = Guests(self.fleet, shipped_artifacts(), self.settings.tools, None if safe else self.bodies,
                             self.log.append, tree)
        self.watchdog = Watchdog(self.bodies, self.log, resting=safe)
        self.renderer = Renderer(self.fleet, self.guests, self.watchdog)
        self.pages = Pages(self.log, self.renderer)
        self.modes = Modes.of(self.settings)
        self.turns = Turns(self.log, self.repository, self.guests, self.models, self.settings, self.modes, self.watchdog,
                           self.changed)
        self.rules = Rules(paths.data)
        self.approvals = Approvals(self.log, self.rules, self.settings.approvals.wait_minutes * 60, self.turns.go_on,
                                   self.changed)
        self.workers = Workers(self.fleet, self.log, self.models, self.broadcast, self.turns.at_work,
                               self.consent.allowed, self.approvals,
                               Net(self.fleet, self.log, self.settings.tools, self.modes, self.scrubber),
                               DevKitDoor(self.bodies, self.guests, self.log, self.modes, SAFE if safe else "",
                                          ToolWatch(self.bodies, self.guests, self.watchdog)),
                               Spills(paths.spill, self.scrubber))
        self.turns.workers = self.workers
        self.workers.notice = self.turns.notice
        self.cloning = Cloning(self.log, self.modes, self.broadcast, paths)
        self.skills = Skills(self.log, self.bodies, self.modes, tree, self.settings.paths.skills)
        self.recalling = Recalling(self.log, self.turns.running)
        self.questions = Questions(self.log, self.turns)
        branches = self.branches = Git(self.fleet, self.log, paths)
        self.branch = AgentBranch(branches, self.modes, self.workers.turn)
        self.merging = Merging(
            branches, self._at_work, self.repository.ensure_worktree,
            lambda session, text, event_id: self.turns.submit(session, text, event_id, with_changes=False))
        self.worktrees = Worktrees(branches, self._at_work)
        self.fleet.hold = self.worktrees.hold
        self.kernels = Kernels(branches, paths.base / "kernels", own_guests.in_project and not safe, self.fleet.probe,
                               self.workers.discard)
        self.fleet.kernel = self.kernels.for_worker
        keeping = Keeping(branches)
        self.workers.before_effect = keeping.before
        self.timemachine = TimeMachine(branches, keeping, self.turns.quiet, self.repository.ensure_worktree)
        self.turns.before.append(self.timemachine.settle)
        self.machines = Machines(self.log, self.modes, paths)
        self.workers.more += [self.cloning.asks, self.skills.asks, Transcripts(self.log).asks, self.recalling.handlers,
                              self.machines.asks, self.branch.asks]
        self.turns.before.append(self.skills.offer)
        if not safe:
            self.turns.before.append(self.bodies.merging.look)
        if own_guests.in_project and not safe:
            branch_guests = BranchGuests(self.bodies, tree)
            self.turns.before.append(branch_guests.look)
            self.merging.red = branch_guests.red
        self.children = self._children()
        self.repository.run_setup = self.workers.set_up
        self.conversations = Conversations(
            self.log, self.models, self.spending, paths.root, paths.worktrees, self.modes, self.settings.agent.default_mode,
            self.settings.model.default,
            self._turn_runs, self.fleet.parked)
        self.revalidation = Revalidation(self.bodies, self.log, checkouts, self.conversations.find, self.fleet.runtimes)
        self.outside = Outside(self.bodies, checkouts, self.conversations.find, self.broadcast.publish)
        self.conversations.children = self.children.glance
        self._close_requested: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._soon: set[str] = set()
        self._control: UnixServer | None = None

    @staticmethod
    async def open(paths: RootPaths, loaded: Loaded, *, unwalled: bool = False, can_ask: bool = False,
                   warm: bool = True, safe: bool = False, holder: Holder = "run", runtimes: Runtimes | None = None) -> Gateway:
        """Take the root's lock and open it. Raises StoreLocked when another kernel has it, ConfigError, StoreError.

        `unwalled`: the person allowed commands without walls for this run. `can_ask`: a screen can put questions.
        `warm`: start what a turn will need, and the control socket; a command that only looks needs neither.
        `safe`: the guests that ship serve every conversation, whatever was changed in it or is trusted in the root.
        `holder`: what keeps it going. `runtimes`: perhaps begun already; the gateway's from here on.
        """
        paths = take(paths, loaded.settings.paths)
        store = await asyncio.to_thread(Store.open, paths.data)
        try:
            gateway = Gateway(paths, loaded, store, unwalled=unwalled, can_ask=can_ask, safe=safe, holder=holder,
                              runtimes=runtimes)
            gateway.fleet.reap()
            gateway.cloning.sweep()
            cut = Cut(paths.base)
            if holder == "daemon":
                await asyncio.to_thread(cut.note, store)
            gateway.notices += [*store.notices, *await recover(gateway.log)]
            left, problems = await settle_left(gateway.log, gateway.settings.subagents.max_result_bytes)
            gateway.notices += problems
            for parent, children in left.items():
                gateway.children.found(parent, children)
            if warm:
                await asyncio.to_thread(gateway.artifacts.sweep)  # before anybody can have something judged
                gateway._control = await open_control(paths.socket, gateway._admit, paths.socket_note)
        except BaseException:
            await asyncio.to_thread(store.close)
            raise
        if warm:
            gateway._warm(gateway._know_keys())  # first: where there is a provider, a first turn waits for its SDK most
            gateway._warm(gateway.repository.inspect())
            gateway._warm(gateway.guests.agent())
            gateway._warm(tidy(gateway.artifacts, store, ArtifactStore(shipped_artifacts())))
            if not safe:
                if not gateway.bodies.repository.in_project:  # there the agent itself writes into the checkout
                    gateway._warm(gateway.outside.watch())
                gateway._warm(gateway._look_at_common())
                gateway._warm(gateway._judge_again())
                gateway._warm(prober_of(gateway).watch())
        if holder == "daemon":
            gateway._warm(cut.resume(gateway.log, gateway.turns))
            gateway.workers.keep_spare()
        return gateway

    def _warm(self, work: Any) -> None:
        """Start something that will be needed; its failure is told where it is needed."""
        async def run() -> None:
            try:
                await work
            except ThetisError as error:
                self.broadcast.publish(Notice(level="warn", message=error.message, hint=error.hint))

        self._keep(asyncio.create_task(run()))

    async def _know_keys(self) -> None:
        """Start what holds the keys, then look through what an earlier gateway left, whose secrets are known by now."""
        try:
            await self.models.warm()
        finally:
            self.workers.spills.look_through_all()

    async def _judge_again(self) -> None:
        """After a change of contract, runtimes or gate: every changed guest, with progress; who fails is told."""
        def progress(done: int, total: int) -> None:
            self.broadcast.publish(Progress(what="Judging the guests of conversations again", done=done, total=total))

        for failure in await self.revalidation.run(progress):
            self.broadcast.publish(Notice(level="warn", message=failure.sentence, session=failure.session,
                                          hint="`thetis self show` says more; its agent or you can mend it."))
            await self.guests.own_again(failure.session, failure.aspect)

    def _keep(self, task: asyncio.Task[Any]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def expect_turn(self, session: str) -> None:
        """A conversation was made, so words will follow: have its worker ready."""
        self._warm(self.workers.ensure(session))

    async def connect(self) -> GatewayClient:
        """A client in this process."""
        client: list[GatewayClient] = []
        theirs = AsyncPeer(role="client", other="the gateway", tells={kind: lambda tell: client[0].heard(tell)
                                                                       for kind in CLIENT_TELLS})
        client.append(GatewayClient(theirs))
        await join(self._admit(), theirs)
        return client[0]

    def _admit(self) -> AsyncPeer:
        """The gateway's end of a new client's channel."""
        peers: list[AsyncPeer] = []
        role = "daemon" if self.holder == "daemon" else "gateway"  # a client waits for a daemon's return
        peer = AsyncPeer(role=role, other="a client", asks=handlers(self, lambda: peers[0]))
        peers.append(peer)
        self.broadcast.join(peer)
        peer.closed.add_done_callback(lambda _: self.broadcast.leave(peer))
        return peer

    async def status(self, *, walls: bool = True) -> Status:
        """What this root is working with."""
        tier = await asyncio.to_thread(self._probe) if walls else None
        self.consent.hint = tier.hint if tier else self.consent.hint
        info = await self.repository.inspect()
        models = await self.models.models()
        peculiar = [f"{notice.sentence} {notice.hint}".strip() for notice in info.notices]
        return Status(
            version=__version__, root=str(self.paths.root), root_kind=info.kind, trunk=info.trunk,
            walls=tier.name if tier else "unknown", walls_sentence=tier.sentence if tier else "",
            walls_hint=tier.hint if tier else "", consent=self.consent.answer_so_far, models=models,
            modes=[ModeInfo(id=m.id, label=m.label, read_only=m.read_only, description=m.description, asks=bool(m.ask))
                   for m in self.modes.all()],
            default_model=self.settings.model.default or models[0].id, default_mode=self.settings.agent.default_mode,
            notices=[*self.notices, *peculiar], uncommitted=await self.repository.count_changes(),
            root_problem="" if info.usable else f"{info.sentence} {info.hint}".strip(), root_offer=info.offer, safe=self.safe,
            pid=os.getpid(), holder=self.holder)

    def _children(self) -> Children:
        """Sub-agents, and everybody who has to know of them."""
        async def models() -> list[str]:
            return [info.id for info in await self.models.models()]

        purses = Purses(self.log, self.spending, self.settings)
        children = Children(self.log, self.turns, purses, self.settings, self.modes, models, self.repository.commit_turn,
                            self.changed)
        self.turns.children = children
        self.models.limit, self.models.paid = purses.reached, children.after_call
        self.workers.answered, self.workers.moved = children.answered, self.changed
        self.workers.more.append(children.asks)
        return children

    def _probe(self) -> Tier:
        from thetis_kernel.walls.probe import probe  # late: only a screen wants to know

        return probe(os.environ.get("PATH", ""), (self.paths.root, self.paths.worktrees))

    def changed(self, session: str) -> None:
        """A conversation's line changed: tell the clients. A sub-agent's is its own hearers' business, and its parent's."""
        state = self.log.known(session)
        if state is not None and home_of(session, state) != session:
            self._changed_soon(home_of(session, state))

        async def tell() -> None:
            try:
                line = await self.conversations.get(session)
            except ThetisError:
                return  # deleted meanwhile
            self.broadcast.publish(StateChanged(conversation=line), session if line.parent else "")

        self._keep(asyncio.create_task(tell()))

    def _changed_soon(self, session: str) -> None:
        """Many sub-agents move at once; their parent's line is told a few times a second."""
        if session in self._soon:
            return
        self._soon.add(session)

        async def tell() -> None:
            await asyncio.sleep(TOLD_EVERY_S)
            self._soon.discard(session)
            self.changed(session)

        self._keep(asyncio.create_task(tell()))

    async def _look_at_common(self) -> None:
        """The common guests follow the shipped ones; where they cannot, it is said. A merge that was cut short is finished."""
        for sentence in await self.bodies.merging.look_at_common():
            self.broadcast.publish(Notice(level="warn", message=sentence))
        for sentence in await self.merging.finish():
            self.broadcast.publish(Notice(level="info", message=sentence))

    def _turn_runs(self, session: str) -> bool:
        return self.turns.running(session) is not None

    def _at_work(self, session: str) -> bool:
        """Whether somebody works in the conversation's checkout, a sub-agent perhaps."""
        return bool(self.turns.at_work(session))

    def _building(self, progress: BuildProgress) -> None:
        what = f"Building the guest runtimes, once for this machine ({progress.world or progress.step})"
        self.broadcast.publish(Progress(what=what, done=progress.done, total=progress.total))

    def _incident(self, code: str, message: str, data: dict[str, Any]) -> None:
        """Something about a child: told to everybody; a worker's death in a turn also stands in that log."""
        session = str(data.get("name", "")).partition(":")[2]
        told = self.kernels.died(session, message) if code in ("child-crashed", "child-hung") and session else None
        if told is not None:
            self._warm(told)
        where = f" (conversation {short(session)})" if session else ""
        self.broadcast.publish(Notice(level="error", message=f"{message}{where}", session=session))

    def request_close(self, wait_s: float = 0.0) -> None:
        """Ask whoever runs this gateway to close it, once turns had `wait_s` seconds for their end."""
        if not self._close_requested.done():
            self._close_requested.set_result(wait_s)

    async def close_requested(self) -> float:
        """Return, with the seconds turns have, when a client asked for the end."""
        return await asyncio.shield(self._close_requested)

    async def close(self, *, park: bool = False) -> None:
        """End every turn, stop the children, close the log, give the lock back. `park`: turns are cut, to be gone on with."""
        await self.turns.close(park=park)
        await self.workers.spills.close()
        self.children.close()
        for task in list(self._tasks):
            task.cancel()
        if self._control is not None:
            self._control.close()
        await self.judge.close()
        await self.fleet.close()
        self.runtimes.close()
        await asyncio.to_thread(self.log.store.close)
