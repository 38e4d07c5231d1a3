"""Results of `tessera-tune`: an SQLite file that --tuned and the Python interface read.

kernel, entry, target, class of shapes ──▶ results: the fastest configuration, its time, the untuned time
run (all that a measurement depends on), configuration ──▶ trials: what each candidate gave, to resume a search

A file may come from anywhere. It is refused unless it has exactly the tables below, so that no trigger or view of it
can run, and every value that is read is checked. Values are text and numbers; nothing in it is code.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TypeAlias
from urllib.parse import quote

from tessera_tools.diagnostics import DiagnosticError, error
from tessera_tools.emit.tunables import TUNABLES, Config, Value, config_text
from tessera_tools.records import dataclass

Column: TypeAlias = str | int | float | bytes | None
"""A value of SQLite."""

__all__ = ["CONSTANT", "Database", "Trial", "Tuned", "kernel_digest", "shapes_class", "tuned_config"]

_APPLICATION = 0x54545455
"""SQLite's `application_id` of these files: `TTTU`."""
_VERSION = 1
_LARGEST = 256 << 20
"""The maximum size of a file, in bytes."""
_STEPS = 50_000_000
"""Instructions of SQLite's machine that one query may take: a damaged file could otherwise make it endless."""
_TEXT = 4096
"""The longest text of a field."""
_HEAD = b"SQLite format 3\0"

_TABLES = {
    "results": "CREATE TABLE results (kernel TEXT, entry TEXT, target TEXT, shapes TEXT, measure TEXT, config TEXT, "
    "cost REAL, untuned REAL, PRIMARY KEY (kernel, entry, target, shapes)) WITHOUT ROWID",
    "trials": "CREATE TABLE trials (run TEXT, config TEXT, outcome TEXT, cost REAL, digest TEXT, message TEXT, "
    "PRIMARY KEY (run, config)) WITHOUT ROWID",
}
CONSTANT = "constexpr "
"""Before the name of a constant of a kernel in Python, whose value is text."""
_OUTCOMES = ("measured", "refused", "disagrees", "finding", "failed")


@dataclass(frozen=True, slots=True)
class Tuned:
    """The result of one search. Times are microseconds."""

    kernel: str
    """The digest of the module, from `kernel_digest`."""
    entry: str
    target: str
    """The target's name, such as sm_90."""
    shapes: str
    """The class of shapes, from `shapes_class`."""
    measure: str
    """`clock` or `gpu`."""
    config: dict[str, Value]
    cost: float
    untuned: float


@dataclass(frozen=True, slots=True)
class Trial:
    """What one candidate gave."""

    config: dict[str, Value]
    outcome: str
    """`measured`, `refused` (by the compiler), `disagrees` (with the untuned kernel), `finding` or `failed`; never
    written: `compiled`, before it is measured."""
    cost: float | None = None
    """Microseconds, if it was measured."""
    digest: str = ""
    """Of its PTX: candidates with the same code have the same time."""
    message: str = ""
    """Why it does not count."""


def kernel_digest(text: str) -> str:
    """The key of a module, from its printed text without locations: spacing and comments do not count."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def shapes_class(grid: Sequence[int], arguments: Sequence[int | None]) -> str:
    """The class of a launch: integers are rounded up to a power of two, and `r` marks those that are not a multiple of
    16. `-` stands for buffers and floats, which do not count.

    >>> shapes_class((8, 8, 1), [None, 1000, 4096, 4096, 1])
    '8x8x1:-,1024r,4096,4096,1'
    """
    return f"{'x'.join(map(_rounded, grid))}:{','.join('-' if n is None else _rounded(n) for n in arguments)}"


def _rounded(number: int) -> str:
    if -2 < number < 2:
        return str(number)
    size = 1 << (abs(number) - 1).bit_length()
    ragged = "r" if abs(number) > 16 and number % 16 else ""
    return f"{'-' if number < 0 else ''}{size}{ragged}"


class Database:
    """One file of results. Every method raises DiagnosticError for a file that is not one, or cannot be used."""

    def __init__(self, path: str, *, create: bool = False) -> None:
        """Open `path` for reading; with `create` also for writing, and create it if it is missing."""
        self.path = path
        fresh = create and (not os.path.exists(path) or os.path.getsize(path) == 0)
        if not fresh:
            self._check_head()
        mode = "rwc" if create else "ro"
        with self._refusals():
            self.db = sqlite3.connect(
                f"file:{quote(os.path.abspath(path))}?mode={mode}", uri=True, timeout=30, isolation_level=None
            )
        try:
            with self._refusals():
                self.db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1 << 20)
                self.db.execute("PRAGMA trusted_schema = OFF")
                self.db.execute("PRAGMA cell_size_check = ON")
                if fresh:
                    self._create()
            self._check_tables()
        except BaseException:
            self.db.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self.db.close()

    def results(self, kernel: str, target: str) -> list[Tuned]:
        """The results for a kernel and a target, in the order of their entries and shapes."""
        query = "SELECT entry, shapes, measure, config, cost, untuned FROM results WHERE kernel = ? AND target = ?"
        return [
            Tuned(kernel, self._text(a), target, self._text(b), self._measure(c), self._config(d), *self._times(e, f))
            for a, b, c, d, e, f in self._rows(f"{query} ORDER BY entry, shapes", kernel, target)
        ]  # fmt: skip

    def keep(self, found: Tuned) -> None:
        """Write a result, over an earlier one of the same kernel, entry, target and shapes."""
        with self._refusals():
            self.db.execute(
                "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (found.kernel, found.entry, found.target, found.shapes, found.measure, _json(found.config),
                 found.cost, found.untuned),
            )  # fmt: skip

    def trials(self, run: str) -> list[Trial]:
        """What the candidates of a run gave."""
        query = "SELECT config, outcome, cost, digest, message FROM trials WHERE run = ? ORDER BY config"
        found: list[Trial] = []
        for config, outcome, cost, digest, message in self._rows(query, run):
            if outcome not in _OUTCOMES:
                raise self._bad(f"the outcome {outcome!r:.40}")
            measured = self._time(cost) if outcome == "measured" else None
            found.append(
                Trial(self._config(config), outcome, measured, self._text(digest), self._text(message))
            )
        return found

    def add(self, run: str, trial: Trial) -> None:
        """Write what a candidate gave."""
        values = (_json(trial.config), trial.outcome, trial.cost, trial.digest, trial.message[:1000])
        with self._refusals():
            self.db.execute("INSERT OR REPLACE INTO trials VALUES (?, ?, ?, ?, ?, ?)", (run, *values))

    def forget(self, run: str) -> None:
        """Remove the trials of a run."""
        with self._refusals():
            self.db.execute("DELETE FROM trials WHERE run = ?", (run,))

    # -- refusals

    def _check_head(self) -> None:
        try:
            # To open a pipe would wait for its writer.
            if not os.path.isdir(self.path) and not stat.S_ISREG(os.stat(self.path).st_mode):
                raise self._bad("no regular file")
            with open(self.path, "rb") as file:
                head, size = file.read(len(_HEAD)), os.fstat(file.fileno()).st_size
        except OSError as failure:
            reason = (failure.strerror or str(failure)).lower()
            raise error(None, f"cannot open the tuning results '{self.path}': {reason}") from None
        if head != _HEAD:
            raise self._bad("no SQLite file")
        if size > _LARGEST:
            raise self._bad(f"{size:,} bytes; at most {_LARGEST:,} are read")

    def _create(self) -> None:
        self.db.execute("BEGIN IMMEDIATE")
        self.db.execute(f"PRAGMA application_id = {_APPLICATION}")
        self.db.execute(f"PRAGMA user_version = {_VERSION}")
        for text in _TABLES.values():
            self.db.execute(text.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS", 1))
        self.db.execute("COMMIT")

    def _check_tables(self) -> None:
        (application,) = self._one("PRAGMA application_id")
        (version,) = self._one("PRAGMA user_version")
        if application != _APPLICATION:
            raise self._bad("an SQLite file of another program")
        if version != _VERSION:
            raise self._bad(f"version {version} of the format; expected {_VERSION}")
        found = {str(name): str(sql) for name, sql in self._rows("SELECT name, sql FROM sqlite_schema")}
        if found != _TABLES:
            other = sorted(name for name in found.keys() | _TABLES if found.get(name) != _TABLES.get(name))
            raise self._bad(f"another definition of '{other[0][:40]}'")

    def _rows(self, query: str, *values: str) -> list[tuple[Column, ...]]:
        left = [_STEPS // 10_000]

        def tick() -> int:
            left[0] -= 1
            return int(left[0] < 0)

        with self._refusals():
            self.db.set_progress_handler(tick, 10_000)
            try:
                with closing(self.db.execute(query, values)) as cursor:
                    return cursor.fetchmany(100_000)
            finally:
                self.db.set_progress_handler(None, 0)

    def _one(self, query: str) -> tuple[Column, ...]:
        return self._rows(query)[0]

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as failure:
            raise error(None, f"cannot use the tuning results '{self.path}': {failure}") from None
        except (sqlite3.Error, UnicodeError, OverflowError) as failure:
            raise self._bad(str(failure)) from None

    def _bad(self, found: str) -> DiagnosticError:
        return error(
            None, f"'{self.path}' is not a file of tuning results: found {found}",
            "expected a file that tessera-tune wrote",
        )  # fmt: skip

    def _text(self, value: object) -> str:
        if not isinstance(value, str) or len(value) > _TEXT:
            raise self._bad(f"{value!r:.40} in place of a text")
        return value

    def _measure(self, value: object) -> str:
        if value not in ("clock", "gpu"):
            raise self._bad(f"the measure {value!r:.40}")
        return str(value)

    def _time(self, value: object) -> float:
        if not isinstance(value, float) or not math.isfinite(value) or value < 0:
            raise self._bad(f"{value!r:.40} in place of a time")
        return value

    def _times(self, cost: object, untuned: object) -> tuple[float, float]:
        return self._time(cost), self._time(untuned)

    def _config(self, value: object) -> dict[str, Value]:
        try:
            data = json.loads(self._text(value))
        except (ValueError, RecursionError):
            raise self._bad(f"the configuration {value!r:.40}") from None
        allowed = {one.name: one.values for one in TUNABLES}
        if not isinstance(data, dict):
            raise self._bad(f"the configuration {value!r:.40}")
        for name, number in data.items():
            if name.startswith(CONSTANT) and isinstance(number, str):
                continue  # it is only shown
            if name not in allowed:
                raise self._bad(f"the unknown tunable '{name[:40]}'")
            if type(number) not in (int, str) or number not in allowed[name]:
                raise self._bad(f"{name} = {number!r:.40}")
        return data


def _json(config: Config) -> str:
    return json.dumps(dict(sorted(config.items())))


def tuned_config(
    path: str, kernel: str, target: str, *, entry: str | None = None, shapes: str | None = None
) -> dict[str, Value] | None:
    """The configuration that the file `path` records for a kernel and a target; None if it has none.

    kernel: from `kernel_digest`. entry: only results of this entry. shapes: only results of this class of shapes;
    otherwise all classes must agree. Raises DiagnosticError if they do not, and for a file that is not usable.
    """
    database = Database(path)
    try:
        rows = database.results(kernel, target)
    finally:
        database.close()
    rows = [row for row in rows if entry in (None, row.entry) and shapes in (None, row.shapes)]
    if not rows:
        return None
    different = [row for row in rows if row.config != rows[0].config]
    if different:
        listed = [
            f"{row.entry}, shapes {row.shapes}: {config_text(row.config)}" for row in (rows[0], *different)
        ]
        raise error(
            None, f"'{path}' has different results for entries or shapes of this kernel", *listed[:8],
            "choose with --shapes=CLASS, or with --entry of tessera-run",
        )  # fmt: skip
    return rows[0].config
