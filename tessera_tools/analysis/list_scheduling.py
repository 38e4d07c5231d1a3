"""List scheduling: an order for the operations of a block, which threads run one at a time.

    tasks, dependences, tiles in registers ─ ordered() ─▶ an order ─ timed() ─▶ the start of each task, and the length

The order is found from the end of the block to its start.  Of the tasks whose users are all placed, the one comes next
that can end last, because then the fewest cycles are lost.  So a load comes as far in front of its user as its latency
needs and no further, and a tile is in registers no longer than that.  A task that would need more registers than there
are is placed only if every other one would, too.

Sources: W. Landskov et al., "Local Microcode Compaction Techniques", Computing Surveys 12(3) (1980); J. R. Goodman and
W.-C. Hsu, "Code Scheduling and Register Allocation in Large Basic Blocks", ICS (1988).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from tessera_tools.analysis.modulo_scheduling import Dependence
from tessera_tools.records import dataclass, field

__all__ = ["Graph", "Task", "Tile", "Timed", "ordered", "pressure", "timed"]


@dataclass(frozen=True, slots=True)
class Task:
    """One operation."""

    threads: int = 0
    """Cycles for which it occupies the threads."""
    latency: int = 0
    """Cycles from its start to its result."""
    reserved: Mapping[str, int] = field(default_factory=dict)
    """Cycles for which it occupies other resources, from its start, while the threads go on."""
    inside: int = 0
    """Registers of what it computes inside, those of its operands included; for a loop."""


@dataclass(eq=False, slots=True)
class Tile:
    """A tile in registers: how many of a thread; its task, or None if it is made before the block; its users, where the
    number of tasks stands for the code after the block."""

    size: int
    maker: int | None
    users: frozenset[int]


@dataclass(frozen=True, slots=True)
class Graph:
    """The operations of a block, in the order of the program.  Every dependence goes forward in it."""

    tasks: Sequence[Task]
    dependences: Sequence[Dependence]
    tiles: Sequence[Tile] = ()


@dataclass(frozen=True, slots=True)
class Timed:
    """Start cycles of the tasks, and when the last of them has ended."""

    cycles: tuple[int, ...]
    length: int


def timed(graph: Graph, order: Iterable[int]) -> Timed:
    """When the tasks start if the threads run them in this order."""
    before: list[list[Dependence]] = [[] for _ in graph.tasks]
    for one in graph.dependences:
        before[one.target].append(one)
    cycles, now, last = [0] * len(graph.tasks), 0, 0
    free: dict[str, int] = {}
    for number in order:
        task = graph.tasks[number]
        start = max((cycles[one.source] + one.latency for one in before[number]), default=0)
        start = max([start, now if task.threads else 0, *(free.get(name, 0) for name in task.reserved)])
        cycles[number] = start
        now = max(now, start + task.threads)
        for name, amount in task.reserved.items():
            free[name] = start + amount
        last = max(last, start + max([task.threads, task.latency, *task.reserved.values()]))
    return Timed(tuple(cycles), last)


def pressure(graph: Graph, order: Sequence[int], inside: bool = False) -> int:
    """The most registers of a thread that hold tiles at once; `inside`: only in tasks that compute inside."""
    end = len(order)
    place = {number: position for position, number in enumerate(order)}
    place[len(graph.tasks)] = end
    spans: list[tuple[int, int, Tile]] = []
    for tile in graph.tiles:
        start = -1 if tile.maker is None else place[tile.maker]
        spans.append((start, max((place[user] for user in tile.users), default=start), tile))
    most = 0
    for position, number in enumerate(order):
        if inside and not graph.tasks[number].inside:
            continue
        into = [tile for start, last, tile in spans if start < position <= last]
        out = [tile for start, last, tile in spans if start <= position < last]
        most = max(most, _at(graph.tasks[number], number, into, out))
    return most


def _at(task: Task, number: int, into: Collection[Tile], out: Collection[Tile]) -> int:
    """Registers while a task runs, with the tiles that are live before it and after it."""
    needed = max(sum(tile.size for tile in into), sum(tile.size for tile in out))
    if task.inside:
        beside = sum(tile.size for tile in into if number not in tile.users)
        needed = max(needed, beside + task.inside)
    return needed


def ordered(graph: Graph, budget: int) -> list[int]:
    """An order of the tasks that takes little time, and as far as possible no more than `budget` registers."""
    return _Backward(graph, budget).run()


class _Backward:
    """The search for an order, from the end of the block; times are cycles before the end."""

    def __init__(self, graph: Graph, budget: int) -> None:
        self.graph, self.budget = graph, budget
        self.before: list[list[Dependence]] = [[] for _ in graph.tasks]
        self.left = [0] * len(graph.tasks)
        """For each task, how many of its users are not placed."""
        for one in graph.dependences:
            self.before[one.target].append(one)
            self.left[one.source] += 1
        self.least = [task.latency for task in graph.tasks]
        """For each task, the fewest cycles from its start to the end, by the users that are placed."""
        self.now = 0
        self.taken: dict[str, int] = {}
        self.live = {tile for tile in graph.tiles if len(graph.tasks) in tile.users}
        self.uses: list[list[Tile]] = [[] for _ in graph.tasks]
        self.makes: list[list[Tile]] = [[] for _ in graph.tasks]
        for tile in graph.tiles:
            for user in tile.users:
                if user < len(graph.tasks):
                    self.uses[user].append(tile)
            if tile.maker is not None:
                self.makes[tile.maker].append(tile)
        self.depth = timed(graph, range(len(graph.tasks))).cycles

    def run(self) -> list[int]:
        """The order."""
        ready = [number for number, left in enumerate(self.left) if not left]
        order: list[int] = []
        while ready:
            best = min(ready, key=self._rank)
            ready.remove(best)
            order.append(best)
            self._place(best)
            for one in self.before[best]:
                self.left[one.source] -= 1
                if not self.left[one.source]:
                    ready.append(one.source)
        return order[::-1]

    def _rank(self, number: int) -> tuple[int, int, int, int]:
        """The task with the lowest rank is placed next."""
        over = max(0, self._registers(number) - self.budget)
        task = self.graph.tasks[number]
        return over, self._start(number) - task.threads, -self.depth[number], -number

    def _start(self, number: int) -> int:
        """Cycles from the latest start of a task to the end of the block."""
        task = self.graph.tasks[number]
        start = max(self.least[number], self.now + task.threads if task.threads else 0)
        return max([start, *(self.taken.get(name, 0) + amount for name, amount in task.reserved.items())])

    def _registers(self, number: int) -> int:
        into = (self.live - set(self.makes[number])) | set(self.uses[number])
        return _at(self.graph.tasks[number], number, into, self.live)

    def _place(self, number: int) -> None:
        task, start = self.graph.tasks[number], self._start(number)
        if task.threads:
            self.now = start
        for name in task.reserved:
            self.taken[name] = start
        self.live = (self.live - set(self.makes[number])) | set(self.uses[number])
        for one in self.before[number]:
            self.least[one.source] = max(self.least[one.source], start + one.latency)
