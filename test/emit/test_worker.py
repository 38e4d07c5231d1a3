"""LLVM in its own process: what it makes, and that nothing it does reaches the compiler."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from emit.kernels import ABORTS, VECTOR_ADD

from tessera_tools.diagnostics import Position
from tessera_tools.emit import llvm_child
from tessera_tools.emit import worker as worker_module
from tessera_tools.emit.errors import ToolError
from tessera_tools.emit.llvm import emit_mir
from tessera_tools.emit.worker import Worker, _fatal_message, close_warm, warm
from tessera_tools.target import lookup

SM_80 = {"cpu": "sm_80", "features": "+ptx90"}


@pytest.fixture(autouse=True)
def no_llvm_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are programs, as they are for a command, unless a test says otherwise."""
    monkeypatch.setattr(worker_module, "_preloaded", [])


@pytest.fixture(params=["program", "copy"])
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    """A worker whose child loads LLVM, and one whose child is a copy of a process that has loaded it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_module, "_preloaded", [])
        if request.param == "copy":
            worker_module.preload()
        with Worker.start() as started:
            yield started


def test_the_child_says_what_its_llvm_is(worker: Worker):
    info = worker.info()
    assert info.version[0] == 22
    assert "sm_90a" in info.cpus
    assert info.max_ptx == 90


@pytest.mark.parametrize("limit", [0, 1024])
def test_a_limit_on_the_size_of_files_hides_no_gpu(limit: int):
    code = (
        "import resource; from tessera_tools.emit.worker import Worker\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
        "with Worker.start() as worker: print(*worker.info().cpus)"
    )
    # Python would keep what it could write of a file of byte code.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=60,
        env=environment,
    )
    assert "sm_80" in done.stdout.split()


def test_a_worker_starts_with_its_first_request():
    with Worker() as worker:
        assert worker.info().version


def test_a_worker_that_was_never_asked_is_closed():
    Worker().close()


def test_ptx_is_for_the_processor_and_version_asked(worker: Worker):
    ptx = worker.compile(VECTOR_ADD, cpu="sm_90a", features="+ptx83").texts["ptx"]
    assert ".version 8.3\n.target sm_90a\n" in ptx
    assert ".visible .entry vector_add(" in ptx


def test_optimized_ir_and_ptx_come_in_one_reply(worker: Worker):
    reply = worker.compile(VECTOR_ADD, ("llvm", "ptx"), **SM_80)
    assert "define ptx_kernel void @vector_add" in reply.texts["llvm"]
    assert ".entry vector_add" in reply.texts["ptx"]
    assert set(reply.seconds) == {"parse", "verify", "optimize", "print", "codegen", "wall"}


def test_the_level_decides_what_is_optimized(worker: Worker):
    ir = "define ptx_kernel void @k(ptr %p) {\n  %a = add i32 1, 2\n  store i32 %a, ptr %p\n  ret void\n}\n"
    assert "add i32 1, 2" in worker.compile(ir, ("llvm",), level=0, **SM_80).texts["llvm"]
    assert "store i32 3" in worker.compile(ir, ("llvm",), level=1, **SM_80).texts["llvm"]


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_every_level_makes_ptx(worker: Worker, level: int):
    assert "ret;" in worker.compile(VECTOR_ADD, level=level, **SM_80).texts["ptx"]


def test_llvm_times_its_passes_on_request(worker: Worker):
    reply = worker.compile(VECTOR_ADD, time_passes=True, **SM_80)
    assert "InstCombinePass" in reply.texts["timing"]


def test_good_ir_verifies(worker: Worker):
    assert worker.verify(VECTOR_ADD).texts == {}


@pytest.mark.parametrize(
    ("ir", "line", "column", "message"),
    [
        ("define void @k() {\n  ret i32\n}", 3, 1, "expected value token"),
        ("define void @k() {\n  call void @f()\n  ret void\n}", 2, 13, "use of undefined value '@f'"),
        ("nonsense", 1, 1, "expected top-level entity"),
        ("define void @k() {\n", 2, 1, "found end of file"),
    ],
)
def test_a_syntax_error_has_its_place_in_the_ir(
    worker: Worker, ir: str, line: int, column: int, message: str
):
    with pytest.raises(ToolError, match="LLVM cannot parse the IR: ") as caught:
        worker.verify(ir)
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)


def test_broken_ir_is_refused_with_the_verifiers_reason(worker: Worker):
    ir = (
        "define ptx_kernel void @k() {\na:\n  br label %c\nb:\n  %x = add i32 1, 1\n  br label %c\n"
        "c:\n  %y = add i32 %x, 1\n  ret void\n}"
    )
    with pytest.raises(ToolError, match="LLVM rejects its IR: Instruction does not dominate all uses!"):
        worker.verify(ir)


def test_a_nul_character_is_refused_with_its_line(worker: Worker):
    with pytest.raises(ToolError, match="^the LLVM IR contains a NUL character$") as caught:
        worker.verify("; one\n; \0\n")
    assert caught.value.line == 2


def test_a_refusal_leaves_the_child_alive(worker: Worker):
    before = worker._pid
    with pytest.raises(ToolError):
        worker.verify("nonsense")
    worker.verify(VECTOR_ADD)
    assert worker._pid == before


def test_llvm_ending_its_process_is_an_error_with_its_last_words(worker: Worker):
    with pytest.raises(
        ToolError, match=r"LLVM failed while generating code: Do not know how to promote"
    ) as caught:
        worker.compile(ABORTS, **SM_80)
    assert caught.value.hint == "the LLVM process died of SIGABRT"
    assert "LLVM ERROR: " in caught.value.details


def test_an_intrinsic_that_cannot_be_selected_is_an_error_with_its_name(worker: Worker):
    ir = (
        "define ptx_kernel void @k(ptr addrspace(3) %p) {\n"
        "  %v = call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %p)\n"
        "  %w = extractvalue { i32, i32, i32, i32 } %v, 0\n  store i32 %w, ptr addrspace(3) %p\n  ret void\n}\n"
        "declare { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3))\n"
    )
    with pytest.raises(ToolError, match=r"Cannot select: .*ldmatrix"):
        worker.compile(ir, cpu="sm_60", features="+ptx63")


@pytest.mark.parametrize(
    ("line", "text", "place"),
    [
        ("LLVM ERROR: Cannot select: t1", "Cannot select: t1", None),
        ("error: <unknown>:0:0: in function k: no", "in function k: no", None),
        ("error: /a b/k.mlir:3:7: in function k: no", "in function k: no", Position("/a b/k.mlir", 3, 7)),
        ("Stack dump:", "", None),
    ],
)
def test_the_reason_is_found_in_what_a_dying_llvm_writes(line: str, text: str, place: Position | None):
    assert _fatal_message(["noise", line, "0. Program arguments"]) == (text, place)


def test_a_child_that_has_died_is_replaced(worker: Worker):
    with pytest.raises(ToolError):
        worker.compile(ABORTS, **SM_80)
    assert ".entry vector_add" in worker.compile(VECTOR_ADD, **SM_80).texts["ptx"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_child_killed_from_outside_is_an_error_that_says_so(worker: Worker, number: signal.Signals):
    worker.info()
    os.kill(worker._pid, number)
    with pytest.raises(ToolError, match=f"LLVM died of {number.name} while compiling"):
        worker.compile(VECTOR_ADD, **SM_80)


FAULTS = """
import faulthandler, os, signal
from tessera_tools.emit import worker
faulthandler.enable(2)
worker.preload()
with worker.Worker.start() as one:
    one.info()
    os.kill(one._pid, signal.SIGSEGV)
    try:
        one.compile("", cpu="sm_80", features="+ptx90")
    except worker.ToolError as problem:
        print(problem)
"""


def test_a_copy_of_a_process_with_faulthandler_dies_of_a_signal_and_not_of_what_python_writes():
    done = subprocess.run(
        [sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True, timeout=60
    )
    assert "LLVM died of SIGSEGV while compiling" in done.stdout


def test_a_child_that_hangs_is_ended_at_the_time_limit():
    with Worker.start(time_limit=0.5) as worker:
        worker.info()
        os.kill(worker._pid, signal.SIGSTOP)
        begin = time.monotonic()
        with pytest.raises(ToolError, match=r"LLVM was still compiling after 0.5 s and was stopped"):
            worker.compile(VECTOR_ADD, **SM_80)
        assert time.monotonic() - begin < 10
        assert worker.compile(VECTOR_ADD, **SM_80).texts["ptx"]


def loops_in_a_row(count: int) -> str:
    """LLVM IR of so many loops, each of as many iterations as its argument says."""
    lines = ["define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {", "e0:", "  br label %h1"]
    for i in range(1, count + 1):
        before = f"%a{i - 1}" if i > 1 else "0"
        lines += [
            f"h{i}:",
            f"  %i{i} = phi i32 [ 0, %e{i - 1} ], [ %j{i}, %b{i} ]",
            f"  %a{i} = phi i32 [ {before}, %e{i - 1} ], [ %c{i}, %b{i} ]",
            f"  %t{i} = icmp slt i32 %i{i}, %n",
            f"  br i1 %t{i}, label %b{i}, label %e{i}",
            f"b{i}:",
            f"  %s{i} = add i32 %a{i}, %i{i}",
            f"  %c{i} = mul i32 %s{i}, %s{i}",
            f"  %j{i} = add i32 %i{i}, 1",
            f"  br label %h{i}",
            f"e{i}:",
            f"  br label %h{i + 1}" if i < count else f"  store i32 %a{i}, ptr addrspace(1) %p",
        ]
    return "\n".join([*lines, "  ret void", "}", ""])


def test_the_error_of_the_time_limit_says_which_phase_took_the_time():
    with Worker.start(time_limit=2.0) as worker:
        assert worker.compile(loops_in_a_row(3), **SM_80).texts["ptx"]
        with pytest.raises(
            ToolError, match=r"LLVM was still generating code after 2 s and was stopped"
        ) as caught:
            worker.compile(loops_in_a_row(1500), **SM_80, optimize=False)
    assert caught.value.hint is not None and "4,501 basic blocks" in caught.value.hint


def test_a_large_request_to_a_child_that_hangs_ends_too():
    with Worker.start(time_limit=0.5) as worker:
        worker.info()
        os.kill(worker._pid, signal.SIGSTOP)
        with pytest.raises(ToolError, match="was stopped"):
            worker.compile(VECTOR_ADD + "; padding\n" * 100_000, **SM_80)


def test_llvm_options_reach_llvm_and_what_it_prints_comes_back():
    with Worker.start(["-print-after=finalize-isel"]) as worker:
        reply = worker.compile(VECTOR_ADD, **SM_80)
    assert "# Machine code for function vector_add: IsSSA, TracksLiveness" in reply.warnings


def test_a_missing_library_is_an_error_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(ToolError, match="llvmlite's LLVM library was not found") as caught:
        Worker.start()
    assert "pip install" in (caught.value.hint or "")


def test_a_library_that_is_none_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: os.PathLike[str]):
    folder = os.path.join(tmp_path, "llvmlite", "binding")
    os.makedirs(folder)
    with open(os.path.join(folder, "libllvmlite.so"), "w", encoding="ascii") as file:
        file.write("no library")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with Worker.start() as worker, pytest.raises(ToolError, match="LLVM cannot be loaded: .*file too short"):
        worker.info()


@pytest.mark.parametrize(
    ("python", "reason"),
    [("/no/such/python", "No such file or directory"), ("", "sys.executable is not set")],
)
def test_a_process_that_cannot_be_started_is_an_error(
    monkeypatch: pytest.MonkeyPatch, python: str, reason: str
):
    monkeypatch.setattr(sys, "executable", python)
    with pytest.raises(ToolError) as caught:
        Worker.start()
    assert caught.value.message == f"the LLVM process cannot be started: {reason}"


def test_closing_leaves_no_process_and_no_descriptor():
    before = len(os.listdir("/proc/self/fd"))
    worker = Worker.start()
    worker.info()
    pid = worker._pid
    worker.close()
    worker.close()
    assert len(os.listdir("/proc/self/fd")) == before
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, 0)


def test_a_worker_that_was_never_asked_closes_at_once(monkeypatch: pytest.MonkeyPatch):
    """It is ended, not waited for: that it loads LLVM takes time."""
    limits: list[float] = []

    def reaped(pid: int, deadline: float) -> None:
        limits.append(deadline - time.monotonic())

    monkeypatch.setattr("tessera_tools.emit.worker.reap", reaped)
    worker = Worker.start()
    pid = worker._pid
    worker.close()
    assert max(limits) <= 0
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, 0)


def test_the_child_ends_with_its_parent():
    code = (
        "import os; from tessera_tools.emit.worker import Worker\n"
        "w = Worker.start(); w.info(); print(w._pid, flush=True); os._exit(0)"
    )
    pid = int(
        subprocess.run([sys.executable, "-c", code], timeout=60, capture_output=True, check=True).stdout
    )
    for _ in range(100):
        if not os.path.exists(f"/proc/{pid}"):
            return
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                return
        time.sleep(0.02)
    raise AssertionError("the child is still there")


def test_the_child_calls_llvmlite_by_its_own_signatures():
    if importlib.util.find_spec("llvmlite") is None:
        pytest.skip("llvmlite is not installed")
    import llvmlite.binding  # noqa: F401  # declares every function
    from llvmlite.binding import ffi

    for name, (_, parameters) in llvm_child.SIGNATURES.items():
        theirs = getattr(ffi.lib, "LLVMPY_" + name).argtypes
        if theirs is not None:
            assert len(theirs) == len(parameters), name


@pytest.fixture
def preloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM is loaded in this process."""
    monkeypatch.setattr(worker_module, "_preloaded", [])
    worker_module.preload()


@pytest.mark.usefixtures("preloaded")
def test_a_copy_makes_what_a_program_makes():
    with Worker.start() as copy:
        made = copy.compile(VECTOR_ADD, **SM_80).texts
        (command,) = Path(f"/proc/{copy._pid}/cmdline").read_bytes().split(b"\0")[:1]
    assert command == Path("/proc/self/cmdline").read_bytes().split(b"\0")[0]
    with Worker.start(["-some-option"]) as program:
        assert program.compile(VECTOR_ADD, **SM_80).texts == made
        assert b"llvm_child" in Path(f"/proc/{program._pid}/cmdline").read_bytes()


@pytest.mark.usefixtures("preloaded")
def test_a_copy_has_no_descriptor_of_its_parent():
    """It would keep the pipes of other workers open."""
    with Worker.start() as first, Worker.start() as second:
        assert first.info() == second.info()
        assert len(os.listdir(f"/proc/{second._pid}/fd")) == 4  # its streams, and another one for replies


@pytest.mark.usefixtures("preloaded")
def test_a_copy_makes_mir():
    assert "name:            vector_add" in emit_mir(VECTOR_ADD, lookup("sm_80"), ptx_version=90).texts["mir"]


def test_without_a_library_nothing_is_preloaded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker_module, "_preloaded", [])
    monkeypatch.setattr(sys, "path", ["/nowhere"])
    worker_module.preload()
    with pytest.raises(ToolError, match="library was not found"):
        Worker.start()


def test_starting_a_worker_loads_no_llvm_in_the_compiler():
    code = (
        "import sys; from tessera_tools.emit.worker import Worker; Worker.start().close()\n"
        "print('llvmlite' in sys.modules, 'subprocess' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], timeout=60, capture_output=True, check=True)
    assert done.stdout.split() == [b"False", b"False"]


@pytest.fixture
def kept() -> Iterator[Worker]:
    """The warm worker of this thread, new for each test."""
    close_warm()
    yield warm()
    close_warm()


def test_a_thread_keeps_its_worker(kept: Worker):
    kept.info()
    pid = kept._pid
    assert warm() is kept
    assert kept._pid == pid


def test_a_kept_worker_that_was_killed_is_replaced(kept: Worker):
    kept.info()
    pid = kept._pid
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert warm()._pid != pid
    assert kept.info().version


def test_a_kept_worker_for_which_other_code_has_waited_is_replaced(kept: Worker):
    kept.info()
    pid = kept._pid
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert warm().info().version


def test_another_thread_has_its_own_worker_which_ends_with_it(kept: Worker):
    """The system ends the child with its thread: no other thread can use it."""
    found: list[tuple[Worker, int]] = []

    def use() -> None:
        warm().info()
        found.append((warm(), warm()._pid))

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert found[0][0] is not kept
    with pytest.raises(ChildProcessError):
        os.waitpid(found[0][1], 0)
    assert kept.info().version


def test_a_forked_process_starts_its_own_and_leaves_its_parents_alone(kept: Worker):
    kept.info()
    pid = kept._pid
    child = os.fork()
    if not child:
        own = 0
        try:
            worker = warm()
            own = worker is not kept and worker.info().version[0] == 22 and worker._pid != pid
            close_warm()
        finally:
            os._exit(0 if own else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert warm()._pid == pid
    assert kept.verify(VECTOR_ADD)


def test_a_kept_worker_ends_with_the_program():
    code = "from tessera_tools.emit.worker import warm; w = warm(); w.info(); print(w._pid)"
    done = subprocess.run([sys.executable, "-c", code], timeout=60, capture_output=True, check=True)
    assert not done.stderr
    assert not os.path.exists(f"/proc/{int(done.stdout)}")
