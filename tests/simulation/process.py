"""One simulated process: it opens the store, does one thing after another, and is killed and started again."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from recollect import Memory
from recollect.dream.schedule import Schedule
from recollect.engine.dream import DreamOvertaken
from recollect.engine.dream_schedule import Dreams
from recollect.engine.embedding.embedder import EmbedderMismatch
from recollect.events.errors import InvalidInput, LogDamaged, RecollectError, UnknownMemory
from recollect.events.facts import Clustered

from . import judge
from .machine import ERRORS, Accident, Incarnation, Machine, Stopped
from .world import FORMULA, World, embedder_named

ACCIDENT_SHARE = 0.12
INTERVAL_S = 5.0
_DREAM = {"measure": {"questions": 0}, "cluster": {"memories_min": 6}}


class Process:
    def __init__(self, name: str, machine: Machine, world: World, *, calm: bool) -> None:
        self.name = name
        self.incarnation: Incarnation | None = None
        self.memory: Memory | None = None
        self._machine = machine
        self._world = world
        self._calm = calm
        self._operations: dict[str, tuple[Callable[[Memory], object], int]] = {
            "remember": (self._remember, 8),
            "remember many": (self._remember_many, 5),
            "upsert": (self._upsert, 4),
            "revise": (self._revise, 6),
            "forget": (lambda m: m.forget(world.some_id()), 2),
            "restore": (lambda m: m.restore(world.some_id()), 2),
            "link": (lambda m: m.link(world.some_id(), world.some_id(), "related"), 2),
            "access": (lambda m: m.access(world.some_id()), 2),
            "rate": (lambda m: m.rate(world.some_id(), "helpful"), 1),
            "supersede": (lambda m: m.supersede(world.some_id(), world.some_id()), 2),
            "recall": (self._recall, 8),
            "erase": (self._erase, 3),
            "erase in a cluster": (self._erase_members, 4),
            "retain": (self._retain, 3),
            "dream": (self._dream, 3),
            "dream by the clock": (self._dream_by_clock, 3),
            "undream": (self._undream, 2),
            "reembed": (self._reembed, 3),
            "seal": (self._seal, 8),
            "checkpoint": (lambda m: m.store.checkpoint(), 5),
            "reopen": (lambda m: m.close(), 4),
            "judge": (self._judge, 1),
        }

    def open(self) -> None:
        self._attempt("open", None)

    def catch_up(self) -> None:
        """Take over and fold all that there is."""
        assert self.memory is not None
        self.memory.store.log.sync()
        self.memory.store.catch_up()

    def close(self) -> None:
        assert self.memory is not None
        self.memory.close()

    def save_and_close(self) -> None:
        assert self.memory is not None
        self.memory.store.checkpoint()
        self.memory.close()

    def found_the_store(self) -> None:
        """Enough memories for shards, and often a cluster to erase from; nothing goes wrong yet."""
        world = self._world
        self.open()
        assert self.memory is not None
        ids = [f"m{number}" for number in range(world.rng.choice((4, 20, 34)))]
        self.memory.remember_many([{"id": id_, "content": world.text(id_)} for id_ in ids])
        if world.rng.random() < 0.7:
            self.memory.dream(phases=["cluster"], settings=_DREAM)

    def live(self, steps: int) -> None:
        """Until the steps are done, or the power is cut."""
        for _ in range(steps):
            if self._machine.lost_power:
                break
            self.step()
        if self._machine.lost_power:
            self.incarnation = self.memory = None

    def step(self) -> None:
        rng, scheduler = self._world.rng, self._machine.scheduler
        scheduler.now_s += rng.choice((0.01, 0.5, 4.0))
        names = [one for one in self._operations if one not in self._world.left_out]
        (name,) = rng.choices(names, [self._operations[one][1] for one in names])
        if self.memory is None:
            name = "open"
        scheduler.recent.append((self.name, f"== {name}"))
        scheduler.point(name)
        self._attempt(name, None if self._calm else self._accident(name))

    def _accident(self, name: str) -> Accident | None:
        """Seldom, but often where an operation takes a few steps, all of which matter."""
        rng = self._world.rng
        on_caches = name in ("seal", "checkpoint")
        if rng.random() > (0.3 if on_caches else ACCIDENT_SHARE):
            return None
        kind = rng.choices(("crash", "power", *ERRORS), (3, 1, 2, 2, 0.5, 0.5))[0]
        return Accident(rng.randint(1, rng.choice((3, 6) if on_caches else (3, 12, 40, 120))), kind)

    # --- one operation ---------------------------------------------------------------------------

    def _attempt(self, name: str, accident: Accident | None) -> None:
        world = self._world
        if self.incarnation is None:
            self.incarnation = Incarnation(self._machine)
        process = self.incarnation
        process.plan(accident)
        world.counts["operations"] += 1
        try:
            if self.memory is None:
                self.memory = self._open()
            else:
                self._operations[name][0](self.memory)
                if name == "reopen":
                    self.memory = None
        except Stopped:
            world.counts["crashes"] += process.happened is not None and process.happened.startswith("crash")
            self.incarnation = self.memory = None
        except (RecollectError, OSError) as error:
            self._refused(name, error)
        except Exception as error:  # noqa: BLE001 (an error that is no refusal is what we look for)
            where = traceback.extract_tb(error.__traceback__)[-1]
            self._wrong(
                name, f"{type(error).__name__} at {where.filename.rsplit('/', 1)[-1]}:{where.lineno}: {error}"
            )
        if process.happened is not None and not process.dead:
            world.counts["faults"] += 1
            world.counts["faults: " + process.happened.partition(" at ")[2].split()[0]] += 1
        process.plan(None)

    def _refused(self, name: str, error: RecollectError | OSError) -> None:
        assert self.incarnation is not None
        world, fault = self._world, self.incarnation.happened
        world.counts["refused"] += 1
        self._machine.scheduler.recent.append((self.name, f"refused: {type(error).__name__}: {error}"[:160]))
        if isinstance(error, EmbedderMismatch):
            self._close()
        elif name == "reopen":
            self.memory = None
        expected = isinstance(error, (InvalidInput, UnknownMemory, EmbedderMismatch, DreamOvertaken))
        if isinstance(error, LogDamaged):
            self._wrong(name, f"acknowledged data is called damaged: {error}")
        elif isinstance(error, OSError) and name not in ("seal", "checkpoint"):
            self._wrong(name, f"a bare {type(error).__name__}: {error}")
        elif fault is None and not expected:
            self._wrong(name, f"refused without a fault, {type(error).__name__}: {error}")
        elif (
            name == "recall"
            and not expected
            and fault
            and fault.split(" at ")[1].split()[0] in ("write", "sync")
        ):
            self._wrong(name, f"no answer because it could not be recorded ({fault}): {error}")

    def _wrong(self, name: str, what: str) -> None:
        self._world.finding(f"{name}: {what}")
        self._close()

    def _close(self) -> None:
        """Leave the store, to open it again with the next step."""
        assert self.incarnation is not None
        memory, self.memory = self.memory, None
        self.incarnation.call_off()
        try:
            with suppress(RecollectError, OSError):
                if memory is not None:
                    memory.close()
        except Stopped:
            self.incarnation = None

    def _open(self) -> Memory:
        machine = self._machine
        thinking = lambda: machine.scheduler.point("embed")  # noqa: E731
        for name in ("toy-a/1", "toy-b/1") * 3:  # another process may change it meanwhile
            with suppress(EmbedderMismatch):
                return Memory.open(
                    machine.folder,
                    embedder=embedder_named(name, thinking),
                    formula=FORMULA,
                    clock=self._clock,
                )
        raise AssertionError("the store has another embedder than its own two")

    def _clock(self) -> int:
        self._machine.scheduler.point("clock")
        return int(self._machine.scheduler.now_s * 1e6)

    # --- operations ------------------------------------------------------------------------------

    def _remember(self, memory: Memory) -> None:
        id_ = self._world.new_id()
        memory.remember(self._world.text(id_), id=id_)

    def _remember_many(self, memory: Memory) -> None:
        ids = [f"{self._world.new_id()}.{number}" for number in range(self._world.rng.randint(3, 12))]
        memory.remember_many([{"id": id_, "content": self._world.text(id_)} for id_ in ids])

    def _upsert(self, memory: Memory) -> None:
        id_ = self._world.some_id()
        memory.remember(self._world.text(id_), id=id_)

    def _revise(self, memory: Memory) -> None:
        id_ = self._world.some_id()
        memory.revise(id_, self._world.text(id_))

    def _recall(self, memory: Memory) -> None:
        for _ in range(self._world.rng.randint(1, 3)):
            memory.recall(self._world.question(), k=3, track=self._world.rng.random() < 0.5)
            self._world.counts["recalls"] += 1

    def _erase(self, memory: Memory) -> None:
        self._erase_these(
            memory, self._world.rng.sample(list(self._world.texts), k=self._world.rng.randint(1, 2))
        )

    def _erase_members(self, memory: Memory) -> None:
        """Erase out of the clusters in force, so that erasures meet in one event."""
        store = memory.store
        clustered = store.projections.graph.clusters.assigned(store.catch_up())
        fact = store.event(clustered).fact if clustered else None
        if isinstance(fact, Clustered) and fact.clusters:
            members = max(fact.clusters, key=lambda cluster: len(cluster.members)).members
            if members:
                self._erase_these(memory, [self._world.rng.choice(members)])

    def _erase_these(self, memory: Memory, ids: list[str]) -> None:
        """Only what is gone already, or was never there, may be refused."""
        head = memory.store.log.head
        try:
            self._world.erased.update(memory.erase(ids).ids)
            self._world.counts["erasures"] += 1
        except InvalidInput as error:
            with self._machine.scheduler.quietly():
                present = [id_ for id_ in ids if judge.could_be_erased(memory, id_, head)]
            if len(present) == len(ids) and self.incarnation and self.incarnation.happened is None:
                self._wrong("erase", f"refused beside other writers: {error}")
            raise

    def _retain(self, memory: Memory) -> None:
        """Erase the questions and answers of older recalls."""
        report = memory.retain(recalls=timedelta(seconds=self._world.rng.choice((1, 5, 20))))
        self._world.counts["retained"] += report.recalls

    def _dream(self, memory: Memory) -> None:
        phases = self._world.rng.choice((["cluster"],) * 9 + (None,))
        self._dreamt(memory, lambda: memory.dream(phases=phases, settings=_DREAM))

    def _dream_by_clock(self, memory: Memory) -> None:
        interval = int(INTERVAL_S * 1e6)
        failures: list[RecollectError] = []
        dreams = Dreams(
            memory,
            Schedule(interval=interval, gap_min=interval),
            lambda error: failures.append(error) if error else None,
        )
        report = dreams.look()
        if report is not None and report.committed:
            self._world.counts["dreams"] += 1
            self._world.scheduled.append(report.id)
        if failures:
            raise failures[-1]

    def _dreamt(self, memory: Memory, dream: Callable[[], object]) -> None:
        """A dream gives way to another dream or to the undoing of one, and to nothing else."""

        def dreamt() -> set[str]:
            adoptions = memory.store.projections.adoptions
            return {one.id for one in (*adoptions.dreams, *adoptions.undoings)}

        before = dreamt()
        try:
            dream()
            self._world.counts["dreams"] += 1
        except DreamOvertaken as error:
            with self._machine.scheduler.quietly():
                memory.store.catch_up()
            if dreamt() == before:
                self._wrong("dream", f"overtaken by no other dream: {error}")
            raise

    def _undream(self, memory: Memory) -> None:
        dreams = memory.store.projections.adoptions.dreams
        if dreams:
            memory.undream(dreams[-1].id)
            self._world.counts["dreams undone"] += 1

    def _reembed(self, memory: Memory) -> None:
        assert memory.embedder is not None
        other = "toy-b/1" if memory.embedder.name == "toy-a/1" else "toy-a/1"
        memory.reembed(embedder_named(other, lambda: self._machine.scheduler.point("embed")))
        self._world.counts["reembeddings"] += 1

    def _seal(self, memory: Memory) -> None:
        if memory.store.sealer.step() is not None:
            self._world.counts["shards"] += 1

    def _judge(self, memory: Memory) -> None:
        memory.store.log.sync()
        with self._machine.scheduler.quietly():
            judge.compare_view(self._world, self._machine, memory, f"{self.name}, in between")
