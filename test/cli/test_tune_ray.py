"""`tessera-tune --ray`: the same search by the tasks of a local Ray cluster."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from programs import fresh_seed

from tessera_tools.cli import tune
from tessera_tools.cli.tune_measure import Candidates, Job, Reference
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.emit.tuned import Trial
from tessera_tools.target import lookup
from tessera_tools.tuning import pool as tuning_pool
from tessera_tools.tuning.pool import RayPool

pytest.importorskip("ray", reason="the extra [ray]")

ROOT = Path(__file__).resolve().parents[2]
VECTOR_ADD = [
    str(ROOT / "examples" / "vector_add.mlir"), "--gpu-name=sm_80", "--grid=2", "--search=num-warps",
    *("--arg=a=rand:f32:2000", "--arg=i32:2000", "--arg=i32:1"),
    *("--arg=b=rand:f32:2000", "--arg=i32:2000", "--arg=i32:1"),
    *("--arg=c=zeros:f32:2000", "--arg=i32:2000", "--arg=i32:1"),
]  # fmt: skip


@pytest.fixture(scope="module")
def session() -> Iterator[Path]:
    """The folder of Ray's files. Its name is short, because sockets are in it."""
    path = Path(tempfile.mkdtemp(prefix="ray", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module")
def cluster(session: Path) -> Iterator[Any]:
    """A local cluster of two workers, with little memory."""
    import ray

    patch = pytest.MonkeyPatch()
    patch.setenv("PYTHONPATH", str(ROOT))
    # A worker cannot import the functions of this module.
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    ray.init(
        address="local", num_cpus=2, include_dashboard=False, object_store_memory=80 << 20, log_to_driver=False,
        logging_level="ERROR", _temp_dir=str(session),
    )  # fmt: skip
    yield ray
    ray.shutdown()
    patch.undo()


def processes_of(session: Path) -> list[int]:
    """The processes that name the folder of a cluster's files."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(session).encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def ended(session: Path, seconds: float = 20) -> bool:
    """Whether all processes of a cluster end in time."""
    deadline = time.monotonic() + seconds
    while processes_of(session):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def trials(path: Path) -> list[tuple[Any, ...]]:
    database = sqlite3.connect(path)
    rows = database.execute("SELECT config, outcome, cost FROM trials ORDER BY config").fetchall()
    database.close()
    return rows


def pool(time_limit: float) -> RayPool:
    """A pool of tasks that do not get as far as their job."""
    job = Job(b"", "k", lookup("sm_80"), None, {}, (1, 1, 1), "clock")
    return RayPool(Candidates(job, Reference({})), "", None, time_limit)


def die(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fail(*_: Any) -> None:
    raise RecursionError("too deep")


def test_the_result_is_that_of_local_processes(cluster: Any, tmp_path: Path) -> None:
    seed = fresh_seed()
    local, remote = tmp_path / "local.sqlite", tmp_path / "ray.sqlite"
    for path, how in ((local, ["--processes=2"]), (remote, ["--ray"])):
        done = tune.run([*VECTOR_ADD, f"--seed={seed}", "-o", str(path), *how])
        assert done.exit_code == 0, done.stderr.decode()
    assert trials(local) == trials(remote)
    assert len(trials(local)) > 5


def test_a_worker_that_dies_is_a_failed_candidate(cluster: Any) -> None:
    own = pool(100)
    own.task = cluster.remote(max_retries=0)(die)
    found = dict(own.run([{"num_warps": 1}, {"num_warps": 2}], {}, False))
    assert [found[number].outcome for number in (0, 1)] == ["failed", "failed"]
    assert "its task ended without a result" in found[0].message


def test_an_exception_of_a_worker_is_a_failed_candidate(cluster: Any) -> None:
    own = pool(100)
    own.task = cluster.remote(max_retries=0)(fail)
    ((_, trial),) = own.run([{"num_warps": 1}], {}, False)
    assert trial.outcome == "failed" and "RecursionError: too deep" in trial.message


def test_a_candidate_has_a_time_limit(cluster: Any) -> None:
    own = pool(0.001)
    ((_, trial),) = own.run([{"num_warps": 1}], {}, False)
    assert trial.outcome == "failed" and "took more than 0.001 seconds" in trial.message


def test_a_cluster_without_a_free_cpu_is_an_error(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    @cluster.remote(num_cpus=2)
    def other_work() -> None:
        time.sleep(1000)

    busy = other_work.remote()
    try:
        deadline = time.monotonic() + 20
        while cluster.available_resources().get("CPU", 0) and time.monotonic() < deadline:
            time.sleep(0.05)
        monkeypatch.setattr(tuning_pool, "_START", 0.25)
        with pytest.raises(DiagnosticError) as found:
            list(pool(0.25).run([{"num_warps": 1}, {"num_warps": 2}], {}, False))
        assert "no task of the Ray cluster ended in 0.5 seconds" in str(found.value)
        assert "0 of the cluster's 2 CPUs are free" in str(found.value)
    finally:
        cluster.cancel(busy, force=True)


def test_a_search_that_ends_early_ends_its_tasks(cluster: Any, tmp_path: Path) -> None:
    note = tmp_path / "pid"

    def one_hangs(task: Any, config: Any, *_: Any) -> Trial:
        if config["num_warps"] == 1:
            note.write_text(str(os.getpid()))
            time.sleep(1000)
        while not note.exists():
            time.sleep(0.05)
        return Trial(config, "failed")

    own = pool(100)
    own.task = cluster.remote(max_retries=0)(one_hangs)
    running = own.run([{"num_warps": 1}, {"num_warps": 2}], {}, False)
    assert next(running)[0] == 1
    process = Path("/proc", note.read_text())
    assert process.exists()
    running.close()
    deadline = time.monotonic() + 20
    while process.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not process.exists()


@pytest.mark.parametrize("how", ["done", "interrupted"])
def test_nothing_is_left_running(how: str, tmp_path: Path) -> None:
    session = Path(tempfile.mkdtemp(prefix="ray", dir="/tmp"))
    environment = {**os.environ, "RAY_TMPDIR": str(session), "PYTHONPATH": str(ROOT)}
    argv = [
        sys.executable,
        "-m",
        "tessera_tools.cli.tune",
        *VECTOR_ADD,
        "-o",
        str(tmp_path / "t.sqlite"),
        "--ray",
    ]
    if how == "done":
        argv += ["--processes=2", "--most=3"]
    else:  # a search that takes long
        argv = [word for word in argv if not word.startswith("--search")] + ["--processes=1"]
    child = subprocess.Popen(
        argv, env=environment, start_new_session=True, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  # a worker of pytest-xdist ignores it
    )  # fmt: skip
    try:
        if how == "interrupted":
            while child.poll() is None and not (tmp_path / "t.sqlite").exists():
                time.sleep(0.05)
            while child.poll() is None and len(trials(tmp_path / "t.sqlite")) < 2:
                time.sleep(0.05)
            os.killpg(child.pid, signal.SIGINT)  # Ctrl-C of a terminal
        _, err = child.communicate(timeout=100)
        assert child.returncode == (0 if how == "done" else 130), err.decode()
        if how == "interrupted":
            assert b"run the same command to resume" in err and b"Traceback" not in err
        assert ended(session), processes_of(session)
    finally:
        child.kill()
        shutil.rmtree(session, ignore_errors=True)
