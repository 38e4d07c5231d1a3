"""`Function.tune`: the constants and options with which a kernel is fastest. The search is that of `tessera-tune`.

constants, options ──Search──▶ candidates ──processes or Ray──▶ lowered, compiled, run, compared ──▶ µs ──▶ fastest
                                  file ◀──each candidate, found again by its program and arguments──┘
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import importlib
import importlib.util
import inspect
import json
import os
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from tessera_tools.api.arrays import describe
from tessera_tools.api.launching import FindingsError
from tessera_tools.diagnostics import DiagnosticError, closest, error
from tessera_tools.emit.compile_cache import own_identity
from tessera_tools.emit.tunables import TUNABLES, Config
from tessera_tools.emit.tuned import CONSTANT, Database, Trial
from tessera_tools.ir.printing import print_op
from tessera_tools.records import dataclass, field, replace
from tessera_tools.runtime.types import Array
from tessera_tools.runtime.workers import wanted_processes
from tessera_tools.tuning.exploration import Exploration, config_key, progress_bar
from tessera_tools.tuning.pool import Local, Pool, RayPool
from tessera_tools.tuning.search import Search

if TYPE_CHECKING:
    from tessera_tools.api.compiling import Kernel
    from tessera_tools.dsl.function import Function

__all__ = ["Candidate", "Tuning", "tune"]

_WARM, _RUNS = 3, 20
"""Launches on a GPU before, and of, a measurement."""


@dataclass(frozen=True)
class Candidate:
    """One combination of constants and options."""

    constants: dict[str, object]
    microseconds: float | None
    """The clock's estimate, or the median of launches on the GPU; None if the candidate does not count."""
    why: str = ""
    """Why it does not count."""
    options: dict[str, object] = field(default_factory=dict[str, object])
    """The options of the compiler that are not left to it."""


@dataclass(frozen=True)
class Tuning:
    """What a search has found."""

    best: Function
    """The kernel with the constants and options of the fastest candidate."""
    candidates: list[Candidate]
    """In the order in which they were tried."""
    fastest: Candidate

    @property
    def constants(self) -> dict[str, object]:
        """Those of the fastest candidate."""
        return self.fastest.constants

    @property
    def options(self) -> dict[str, object]:
        """The options of the compiler of the fastest candidate."""
        return self.fastest.options


@dataclass(frozen=True)
class _Dimension:
    """A constant or an option whose first value is the reference's."""

    name: str
    first: object
    values: tuple[object, ...]
    """The others."""
    excludes: tuple[str, ...] = ()


def tune(
    function: Function,
    args: Sequence[object],
    grid: Callable[..., int | Sequence[int]],
    given: Mapping[str, object],
    *,
    search: str | Sequence[str],
    checked: Sequence[object] | None,
    target: str | None,
    measure: str,
    most: int,
    patience: int,
    seed: int,
    tolerance: float,
    file: str | os.PathLike[str] | None,
    parallel: int | None,
    ray: str | None,
    time_limit: float,
    progress: bool | Callable[[Candidate], object],
) -> Tuning:
    """As `Function.tune`, which has the defaults."""
    if measure not in ("clock", "gpu"):
        raise error(None, f"measure is {measure!r}; expected clock or gpu")
    for name, number in (
        ("most", most),
        ("patience", patience),
        ("parallel", 1 if parallel is None else parallel),
    ):
        if not isinstance(number, int) or number < 1:
            raise error(None, f"{name} is {number!r}; expected a number from 1")
    if ray is not None:
        _Place.of(function)
    space = _dimensions(function, given, search)
    task = _Task(
        function, args, grid, checked, target, measure, tolerance, {one.name: one.first for one in space}
    )
    kept = _Kept(task, file) if file is not None else None
    exploration = Exploration(Search([one for one in space if one.values], seed, most, patience), kept)
    pool: Pool | None = None
    try:
        first = kept.find({}) if kept is not None else None
        if first is None or first.cost is None:
            first = task.first()
        elif exploration.search.total > 1:
            task.expect()
        # What a cluster gets has the expected arrays.
        pool = (
            Local(task, parallel or wanted_processes(), time_limit)
            if ray is None
            else RayPool(task, "" if ray == "local" else ray, parallel, time_limit)
        )
        with _shown(exploration, task, progress) as show:
            exploration.run(first, pool, task.measured if measure == "gpu" else None, show)
    finally:
        if pool is not None:
            pool.close()
        if kept is not None:
            kept.close()
    best = exploration.ranked()[0]
    found = task.candidate(best)
    candidates = [task.candidate(trial) for trial in exploration.trials.values()]
    return Tuning(task.function_of(best.config), candidates, found)


def _dimensions(
    function: Function, given: Mapping[str, object], search: str | Sequence[str]
) -> list[_Dimension]:
    """The constants and options, each with its values."""
    tunables = {one.name: one for one in TUNABLES}
    parameters = function._parameters()
    found: list[_Dimension] = []
    for name, some in given.items():
        values = tuple(some) if isinstance(some, list | tuple | range) else (some,)
        if not values:
            raise error(
                None,
                f"there is nothing to tune: '{name}' has no values",
                "expected some values, as in n=(64, 128)",
            )
        if name in tunables and name not in parameters:
            one = tunables[name]
            for value in values:
                one.check(value)
            found.append(_Dimension(name, values[0], values[1:], one.excludes))
        else:
            found.append(_Dimension(CONSTANT + name, values[0], values[1:]))
    function.bind(**{one.name.removeprefix(CONSTANT): one.first for one in found if one.name not in tunables})
    names = list(tunables) if search == "all" else [search] if isinstance(search, str) else list(search)
    for name in names:
        if name not in tunables:
            near = closest(name, list(tunables))
            notes = [f"did you mean '{near}'?"] if near else []
            listed = ", ".join(tunables)
            raise error(
                None, f"search names the unknown option '{name}'; expected all, or some of {listed}", *notes
            )
        if name not in {one.name for one in found}:
            one = tunables[name]
            found.append(_Dimension(name, one.default, one.values, one.excludes))
    if not found:
        what = "there is nothing to tune: no constants are given"
        raise error(None, what, "expected some values, as in n=(64, 128), or options to search")
    return found


@contextlib.contextmanager
def _shown(
    exploration: Exploration, task: _Task, progress: bool | Callable[[Candidate], object]
) -> Iterator[Callable[[Trial | None], object]]:
    """What is called with each new trial."""
    if callable(progress):
        tell = progress
        yield lambda trial: None if trial is None else tell(task.candidate(trial))
    elif progress:
        with progress_bar(exploration) as show:
            yield show
    else:
        yield lambda trial: None


@dataclass(frozen=True)
class _Place:
    """Where another process finds a kernel: its source is read there, too."""

    module: str
    file: str
    name: str
    constants: dict[str, object]
    options: Mapping[str, object]

    @classmethod
    def of(cls, function: Function) -> _Place:
        """Raises DiagnosticError for a kernel that is not a variable of its module."""
        plain = function.function
        found = getattr(sys.modules.get(plain.__module__), plain.__name__, None)
        if getattr(found, "function", None) is not plain or not os.path.isfile(function.file):
            raise error(
                None,
                f"the workers of Ray cannot find the kernel '{plain.__name__}'",
                "define it at the top level of a file, under its own name",
            )
        return cls(
            plain.__module__,
            os.path.abspath(function.file),
            plain.__name__,
            function._constants,
            function.options,
        )

    def loaded(self) -> ModuleType:
        """The module in this process. A script that is none is run, under another name than `__main__`."""
        name = self.module if self.module != "__main__" else "__tessera_main__"
        module = sys.modules.get(name)
        if module is not None:
            return module
        try:
            return importlib.import_module(name)
        except ImportError:
            spec = importlib.util.spec_from_file_location(name, self.file)
            assert spec is not None and spec.loader is not None
            module = sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module

    def function(self) -> Function:
        """The kernel in this process."""
        return getattr(self.loaded(), self.name).bind(**self.constants).with_options(**self.options)


class _Task:
    """Makes and measures the candidates of one kernel, as `tuning.pool.Task`."""

    def __init__(
        self,
        function: Function,
        args: Sequence[object],
        grid: Callable[..., int | Sequence[int]],
        checked: Sequence[object] | None,
        target: str | None,
        measure: str,
        tolerance: float,
        start: Mapping[str, object],
    ) -> None:
        self.function, self.args, self.grid, self.target = function, args, grid, target
        self.checked = args if checked is None else checked
        self.measure, self.tolerance, self.start = measure, tolerance, dict(start)
        self.expected: list[Array] = []
        """The arrays that the first candidate leaves."""
        self._functions: dict[str, Function] = {}

    def __getstate__(self) -> dict[str, object]:
        """For a task of Ray. Raises DiagnosticError for a kernel that another process cannot find."""
        place, grid = _Place.of(self.function), getattr(self.grid, "__name__", "")
        beside = getattr(sys.modules[place.module], grid, None) is self.grid
        given = {"function": place, "grid": grid if beside else self.grid, "_functions": {}}
        return {**self.__dict__, **given}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        place = state["function"]
        assert isinstance(place, _Place)
        self.function = place.function()
        if isinstance(state["grid"], str):
            self.grid = getattr(place.loaded(), state["grid"])

    def __call__(self, config: Config, known: Mapping[str, Trial], only_compile: bool) -> Trial:
        """What a candidate gives. The expected arrays must be there."""
        config = dict(config)
        try:
            digest = self.digest(config)
        except DiagnosticError as failure:
            return Trial(config, "refused", message=_line(failure))
        if digest in known:
            return replace(known[digest], config=config)
        trial = Trial(config, "compiled", None, digest)
        return trial if only_compile else self.measured(trial)

    def measured(self, trial: Trial) -> Trial:
        """The measurement of a candidate that can be compiled."""
        try:
            found = self.results(trial.config)
            if not all(
                _agree(one, other, self.tolerance) for one, other in zip(found, self.expected, strict=True)
            ):
                why = "its results differ from those of the first candidate"
                return replace(trial, outcome="disagrees", message=why)
            return replace(trial, outcome="measured", cost=self.time(trial.config))
        except FindingsError as failure:
            return replace(trial, outcome="finding", message=_line(failure))
        except DiagnosticError as failure:
            return replace(trial, outcome="failed", message=_line(failure))

    def first(self) -> Trial:
        """The first candidate, whose results are the reference. Raises DiagnosticError, FindingsError."""
        self.expect()
        return Trial({}, "measured", self.time({}), self.digest({}))

    def expect(self) -> None:
        """Run the first candidate for its results."""
        found = self.results({})
        before = [np.asarray(one) for one in self.checked if describe(one) is not None]
        if all(np.array_equal(one, other) for one, other in zip(before, found, strict=True)):
            raise error(
                None, f"'{self.function.function.__name__}' changes no array, so that candidates cannot be "
                "compared", "check the grid and the arguments",
            )  # fmt: skip
        self.expected = found

    # -- one configuration

    def constants_of(self, config: Config) -> dict[str, object]:
        """The constants, by their names."""
        whole = {**self.start, **config}
        return {n.removeprefix(CONSTANT): v for n, v in whole.items() if n.startswith(CONSTANT)}

    def options_of(self, config: Config) -> dict[str, object]:
        """The options that are not left to the compiler, also those that the kernel has from elsewhere."""
        defaults = {one.name: one.default for one in TUNABLES}
        return {n: v for n, v in self._given(config).items() if v != defaults[n]}

    def _given(self, config: Config) -> dict[str, object]:
        """The options of the kernel and those of the search, which replace them: also by the compiler's choice."""
        whole = {**self.function.options, **self.start, **config}
        return {n: v for n, v in whole.items() if not n.startswith(CONSTANT)}

    def candidate(self, trial: Trial) -> Candidate:
        """A trial as it is shown."""
        config = trial.config
        return Candidate(self.constants_of(config), trial.cost, trial.message, self.options_of(config))

    def function_of(self, config: Config) -> Function:
        """The kernel with the constants and options, which is compiled once."""
        key = config_key(config)
        if key not in self._functions:
            bound = self.function.bind(**self.constants_of(config))
            self._functions = {key: bound.with_options(**self._given(config))}
        return self._functions[key]

    def grid_of(self, config: Config, args: Sequence[object]) -> int | Sequence[int]:
        """The grid of a launch; raises DiagnosticError if the function of the caller cannot be called so."""
        constants = self.constants_of(config)
        with contextlib.suppress(ValueError):
            try:
                inspect.signature(self.grid).bind(*args, **constants)
            except TypeError as problem:
                names = "".join(f", {name}=" for name in constants)
                raise error(
                    None,
                    f"the grid is no function of the arguments and constants: {problem}",
                    f"it is called as grid(*args{names})",
                ) from None
        return self.grid(*args, **constants)

    def kernel(self, config: Config, args: Sequence[object]) -> Kernel:
        """The compiled kernel for some arguments."""
        return self.function_of(config).compiled(args, target=self.target)

    def digest(self, config: Config) -> str:
        """What tells code apart: that of both launches, and their grids."""
        parts: list[str] = []
        for args in (self.args, self.checked):
            kernel = self.kernel(config, args)
            code = kernel.cubin if self.measure == "gpu" else kernel.ptx.encode()
            parts += [hashlib.sha256(code).hexdigest(), repr(self.grid_of(config, args))]
        return _digest(parts)

    def time(self, config: Config) -> float:
        """Microseconds of the timed launch."""
        launch = self.function_of(config)[self.grid_of(config, self.args)]
        if self.measure == "gpu":
            args = copy.deepcopy(tuple(self.args))
            runs = [launch(*args, target=self.target, device="cuda") for _ in range(_WARM + _RUNS)]
            return statistics.median(one.seconds for one in runs[_WARM:]) * 1e6
        estimate = launch(*self.args, target=self.target, timing=True).estimate
        assert estimate is not None
        return estimate.seconds * 1e6

    def results(self, config: Config) -> list[Array]:
        """The arrays that the launch that is compared leaves."""
        ours = copy.deepcopy(tuple(self.checked))
        device = "cuda" if self.measure == "gpu" else "sim"
        launch = self.function_of(config)[self.grid_of(config, ours)]
        launch(*ours, target=self.target, device=device)
        return [np.asarray(one) for one in ours if describe(one) is not None]


class _Kept:
    """The candidates of earlier searches, in a file of `tessera-tune`: those that have the same program, options and
    arguments."""

    def __init__(self, task: _Task, file: str | os.PathLike[str]) -> None:
        self.task = task
        self.same: list[object] = [own_identity(), task.target, task.measure, task.tolerance, self._code({})]
        self.same += [_digests(task.args), _digests(task.checked), task.options_of({})]
        self.database = Database(os.fspath(file), create=True)

    def close(self) -> None:
        """Close the file."""
        self.database.close()

    def find(self, config: Config) -> Trial | None:
        """What a candidate gave, if its program is the same."""
        key = self._key(config)
        return (
            next((replace(one, config=dict(config)) for one in self.database.trials(key)), None)
            if key
            else None
        )

    def add(self, trial: Trial) -> None:
        """Write what a candidate gave."""
        key = self._key(trial.config)
        if key:
            self.database.add(key, replace(trial, config=json.loads(config_key(trial.config))))

    def _key(self, config: Config) -> str:
        """The key of a candidate; empty if there is no program to know it by."""
        try:
            return _digest([self.same, self._code(config), self.task.options_of(config)])
        except DiagnosticError:
            return ""

    def _code(self, config: Config) -> list[str]:
        """The programs of both launches, which arguments may decide, and their grids."""
        task, found = self.task, list[str]()
        bound = task.function.bind(**task.constants_of(config))
        for some in (task.args, task.checked):
            found.append(hashlib.sha256(print_op(bound.__tessera_module__(some)[0]).encode()).hexdigest())
            found.append(repr(task.grid_of(config, some)))
        return found


def _digest(parts: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _line(failure: Exception) -> str:
    return str(failure).splitlines()[0]


def _digests(arguments: Sequence[object]) -> list[str]:
    """The contents of arguments: the simulated GPU runs with them."""
    found: list[str] = []
    for one in arguments:
        if describe(one) is None:
            found.append(repr(one))
            continue
        array = np.asarray(one)
        content = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
        found.append(f"{array.dtype} {array.shape} {array.strides} {content}")
    return found


def _agree(found: Array, expected: Array, tolerance: float) -> bool:
    """Whether integers are equal, and floats differ by at most a share of the greatest magnitude."""
    if found.dtype.kind in "iub":
        return bool(np.array_equal(found, expected))
    x, y = found.astype(np.float64), expected.astype(np.float64)
    limit = tolerance * float(np.abs(y).max(initial=0.0, where=np.isfinite(y)))
    with np.errstate(invalid="ignore"):
        return bool(((x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= limit)).all())
