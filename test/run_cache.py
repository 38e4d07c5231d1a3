"""What one test run computes once: results shared by all of its workers.

    @once_in_a_run             first call in any worker ──▶ computed, and written to the run's folder
    def compiled(text, target): …     every other call  ──▶ read from there

`conftest.py` makes the folder for each run and removes it, so that a result is never older than the sources.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import os
import pickle
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

VARIABLE = "TESSERA_TEST_RUN"
"""The environment variable that tells workers the folder."""

Result_co = TypeVar("Result_co", covariant=True)


class Shared(Protocol[Result_co]):
    """A function whose results a run shares."""

    def __call__(self, *args: Any, **options: Any) -> Result_co: ...

    def cache_clear(self) -> None:
        """Forget the results that this process holds; the run's folder keeps them."""


def make_folder() -> str | None:
    """Make the folder of this run, which only this user can enter; None in a worker, which inherits its run's."""
    if VARIABLE in os.environ:
        return None
    os.environ[VARIABLE] = tempfile.mkdtemp(prefix="tessera-test-run-")
    return os.environ[VARIABLE]


def remove_folder(folder: str) -> None:
    """End the run: remove the folder with all results."""
    del os.environ[VARIABLE]
    shutil.rmtree(folder, ignore_errors=True)


def once_in_a_run(make: Callable[..., Result_co]) -> Shared[Result_co]:
    """As functools.cache, but for all processes of a test run.

    A call with an argument that has its default value is the same call as one without it. The arguments are told apart
    by `repr`; the result must be picklable. An exception is not kept.
    """
    signature = inspect.signature(make)

    def shared(*args: Any, **options: Any) -> Result_co:
        given = signature.bind(*args, **options)
        given.apply_defaults()
        return kept(*given.args, **given.kwargs)

    @functools.cache
    def kept(*args: Any, **options: Any) -> Result_co:
        folder = os.environ.get(VARIABLE)
        if folder is None:
            return make(*args, **options)
        key = repr((make.__module__, make.__qualname__, args, sorted(options.items())))
        path = Path(folder, hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest())
        if path.exists():
            return pickle.loads(path.read_bytes())
        result = make(*args, **options)
        # Whole or not at all: another worker may be reading.
        temporary = path.with_name(f"{path.name}.{os.getpid()}")
        temporary.write_bytes(pickle.dumps(result))
        temporary.replace(path)
        return result

    found = cast("Shared[Result_co]", functools.wraps(make)(shared))
    found.cache_clear = kept.cache_clear
    return found
