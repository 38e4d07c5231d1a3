"""The process that runs LLVM: reads requests from stdin and answers on stdout, until stdin ends.

    worker.py ──frame(request, LLVM IR)──▶ serve() ──ctypes──▶ libllvmlite.so (LLVM) ──frame(reply, text)──▶

Every compilation starts it, so it imports only builtins and ctypes: not `tessera_tools`, and not llvmlite's Python
layer (45 ms, compared with 15 ms for everything below). It calls the C functions that this layer calls; a test
compares the signatures below with those of llvmlite.

LLVM ends its process on a fatal error, with a message on stderr. The parent reads stderr and reports it.
"""

from __future__ import annotations

import _thread  # `threading` would take longer to import
import ctypes
import marshal
import os
import sys
import time
from ctypes import c_bool, c_char_p, c_int, c_size_t, c_uint, c_void_p

TYPE_CHECKING = False  # as in `typing`, whose import would take a noticeable part of the start-up time
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

TRIPLE = b"nvptx64-nvidia-cuda"

_TEXT_OUT = ctypes.POINTER(c_char_p)
_OBJECT = c_void_p

# Result and parameters of each `LLVMPY_` function.
SIGNATURES: dict[str, tuple[object, tuple[object, ...]]] = {
    "InitializeAllTargetInfos": (None, ()),
    "InitializeAllTargets": (None, ()),
    "InitializeAllTargetMCs": (None, ()),
    "InitializeAllAsmPrinters": (None, ()),
    "GetVersionInfo": (c_uint, ()),
    "SetCommandLine": (None, (c_char_p, c_char_p)),
    "DisposeString": (None, (c_void_p,)),
    "ContextCreate": (_OBJECT, ()),
    "ContextDispose": (None, (_OBJECT,)),
    "ParseAssembly": (_OBJECT, (_OBJECT, c_char_p, _TEXT_OUT)),
    "VerifyModule": (c_bool, (_OBJECT, _TEXT_OUT)),
    "PrintModuleToString": (None, (_OBJECT, _TEXT_OUT)),
    "SetDataLayout": (None, (_OBJECT, c_char_p)),
    "SetTarget": (None, (_OBJECT, c_char_p)),
    "DisposeModule": (None, (_OBJECT,)),
    "GetTargetFromTriple": (_OBJECT, (c_char_p, _TEXT_OUT)),
    "CreateTargetMachine": (
        _OBJECT,
        (_OBJECT, c_char_p, c_char_p, c_char_p, c_int, c_char_p, c_char_p, c_int, c_int, c_char_p),
    ),
    "CreateTargetMachineData": (_OBJECT, (_OBJECT,)),
    "CopyStringRepOfTargetData": (None, (_OBJECT, _TEXT_OUT)),
    "SetTargetMachineAsmVerbosity": (None, (_OBJECT, c_int)),
    "TargetMachineEmitToMemory": (_OBJECT, (_OBJECT, _OBJECT, c_int, _TEXT_OUT)),
    "GetBufferStart": (c_void_p, (_OBJECT,)),
    "GetBufferSize": (c_size_t, (_OBJECT,)),
    "DisposeMemoryBuffer": (None, (_OBJECT,)),
    "CreatePipelineTuningOptions": (_OBJECT, ()),
    "PTOSetLoopVectorization": (None, (_OBJECT, c_bool)),
    "PTOSetSLPVectorization": (None, (_OBJECT, c_bool)),
    "PTOSetLoopInterleaving": (None, (_OBJECT, c_bool)),
    "PTOSetLoopUnrolling": (None, (_OBJECT, c_bool)),
    "CreatePassBuilder": (_OBJECT, (_OBJECT, _OBJECT)),
    "DisposePassBuilder": (None, (_OBJECT,)),
    "buildPerModuleDefaultPipeline": (_OBJECT, (_OBJECT, c_int)),
    "CreateNewModulePassManager": (_OBJECT, ()),
    "RunNewModulePassManager": (None, (_OBJECT, _OBJECT, _OBJECT)),
    "DisposeNewModulePassManger": (None, (_OBJECT,)),  # the misspelling is llvmlite's
    "SetTimePasses": (None, (c_bool,)),
    "ReportAndResetTimings": (None, (_TEXT_OUT,)),
}


class LlvmError(Exception):
    """LLVM refused its input; the text is LLVM's. `stage` is the step that failed."""

    def __init__(self, stage: str, text: str) -> None:
        super().__init__(text)
        self.stage = stage
        self.text = text


LINE_OPTIONS = ("-pick-merged-source-locations", "-use-unknown-locations=Disable")
"""Moved or merged instructions keep one of their source lines, not line 0."""


_known_features: list[tuple[list[str], list[int]]] = []
"""What LLVM has printed."""


class Llvm:
    """The functions above, on one loaded library, with LLVM's targets initialized."""

    def __init__(self, library: str, options: list[str]) -> None:
        self._library = ctypes.CDLL(library)
        self._functions: dict[str, object] = {}
        for name in ("TargetInfos", "Targets", "TargetMCs", "AsmPrinters"):
            self.call("InitializeAll" + name)
        self.set_options(*LINE_OPTIONS, *options)
        failure = c_char_p()
        self._target = self.call("GetTargetFromTriple", TRIPLE, ctypes.byref(failure))
        if not self._target:
            raise LlvmError("start", f"this LLVM has no NVPTX back end: {self._take(failure)}")
        self._machines: dict[tuple[str, str, int], tuple[int, bytes]] = {}

    def call(self, name: str, *arguments: object) -> int:
        """Call `LLVMPY_<name>`; objects are addresses."""
        function = self._functions.get(name)
        if function is None:
            function = getattr(self._library, "LLVMPY_" + name)
            # Functions that add a pass have the same signature; the table does not list them.
            function.restype, function.argtypes = SIGNATURES.get(name, (None, (_OBJECT,)))
            self._functions[name] = function
        return function(*arguments)  # pyright: ignore[reportCallIssue]  # a ctypes function pointer

    def _take(self, text: c_char_p) -> str:
        """The text at this address; frees it."""
        result = (text.value or b"").decode("utf-8", "replace")
        if text:
            self.call("DisposeString", text)
        return result

    @property
    def version(self) -> tuple[int, int, int]:
        packed = self.call("GetVersionInfo")
        return packed >> 16 & 255, packed >> 8 & 255, packed & 255

    def known_features(self) -> tuple[list[str], list[int]]:
        """Processors and PTX versions (times ten) that this LLVM supports.

        LLVM prints them on stderr for `+help`, once in a process.
        """
        if _known_features:
            return _known_features[0]
        saved = os.dup(2)
        # A pipe, because a limit on the size of files also cuts files in memory; a thread reads it, because it may be
        # smaller than the listing.
        listing, writer = os.pipe()
        pieces: list[bytes] = []
        complete = _thread.allocate_lock()
        complete.acquire()

        def read() -> None:
            while piece := os.read(listing, 1 << 16):
                pieces.append(piece)
            complete.release()

        _thread.start_new_thread(read, ())
        try:
            os.dup2(writer, 2)
            self._new_machine("", "+help", 0)
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            os.close(writer)
            complete.acquire()
            os.close(listing)
        text = b"".join(pieces).decode("utf-8", "replace")
        names = [
            words[0] for words in map(str.split, text.splitlines()) if len(words) > 1 and words[1] == "-"
        ]
        cpus = sorted({name for name in names if name.startswith("sm_")})
        versions = sorted({int(name[3:]) for name in names if name[:3] == "ptx" and name[3:].isdigit()})
        _known_features.append((cpus, versions))
        return cpus, versions

    def _new_machine(self, cpu: str, features: str, level: int) -> int:
        machine = self.call(
            "CreateTargetMachine",
            self._target,
            TRIPLE,
            cpu.encode(),
            features.encode(),
            level,
            b"default",  # relocation and code model: NVPTX has only one of each
            b"default",
            0,
            0,
            b"",
        )
        if not machine:
            raise LlvmError("start", f"LLVM cannot create a target machine for '{cpu}' with '{features}'")
        return machine

    def machine(self, cpu: str, features: str, level: int) -> tuple[int, bytes]:
        """The target machine and its data layout; cached by arguments."""
        key = (cpu, features, level)
        known = self._machines.get(key)
        if known is None:
            machine = self._new_machine(cpu, features, level)
            layout = c_char_p()
            data = self.call("CreateTargetMachineData", machine)
            self.call("CopyStringRepOfTargetData", data, ctypes.byref(layout))
            known = self._machines[key] = machine, self._take(layout).encode()
        return known

    def parse(self, context: int, text: bytes, layout: bytes) -> int:
        """A module for our triple. Raises LlvmError with LLVM's `<string>:line:column: error: …`."""
        failure = c_char_p()
        module = self.call("ParseAssembly", context, text, ctypes.byref(failure))
        if not module:
            raise LlvmError("parse", self._take(failure))
        self.call("SetTarget", module, TRIPLE)
        self.call("SetDataLayout", module, layout)
        return module

    def verify(self, module: int) -> None:
        failure = c_char_p()
        broken = self.call("VerifyModule", module, ctypes.byref(failure))
        text = self._take(failure)
        if broken:
            raise LlvmError("verify", text)

    def optimize(self, module: int, machine: int, level: int, passes: list[str]) -> None:
        """LLVM's pipeline for -O<level>, or only `passes` (the names after `LLVMPY_module_Add…Pass`)."""
        tuning = self.call("CreatePipelineTuningOptions")
        # The code of a thread is scalar; our passes already vectorized accesses for the hardware.
        self.call("PTOSetLoopVectorization", tuning, False)
        self.call("PTOSetSLPVectorization", tuning, False)
        self.call("PTOSetLoopInterleaving", tuning, False)
        self.call("PTOSetLoopUnrolling", tuning, level > 1)
        builder = self.call("CreatePassBuilder", machine, tuning)
        if passes:
            manager = self.call("CreateNewModulePassManager")
            for name in passes:
                self.call(f"module_Add{name}Pass", manager)
        else:
            manager = self.call("buildPerModuleDefaultPipeline", builder, level)
        self.call("RunNewModulePassManager", manager, module, builder)
        self.call("DisposeNewModulePassManger", manager)
        self.call("DisposePassBuilder", builder)

    def print(self, module: int) -> bytes:
        text = c_char_p()
        self.call("PrintModuleToString", module, ctypes.byref(text))
        result = text.value or b""
        self.call("DisposeString", text)
        return result

    def emit(self, module: int, machine: int) -> bytes:
        """Run the code generator: PTX, or MIR when `-stop-after` is set."""
        failure = c_char_p()
        buffer = self.call("TargetMachineEmitToMemory", machine, module, 0, ctypes.byref(failure))
        if not buffer:
            raise LlvmError("codegen", self._take(failure))
        result = ctypes.string_at(self.call("GetBufferStart", buffer), self.call("GetBufferSize", buffer))
        self.call("DisposeMemoryBuffer", buffer)
        return result

    def set_options(self, *options: str) -> None:
        for option in options:
            self.call("SetCommandLine", b"tessera", option.encode())

    def pass_times(self) -> bytes:
        text = c_char_p()
        self.call("ReportAndResetTimings", ctypes.byref(text))
        return self._take(text).encode()


def compile_module(
    llvm: Llvm, request: dict[str, object], text: bytes, begins: Callable[[str], None]
) -> tuple[dict[str, object], list[bytes]]:
    """Serve `request["want"]`, a list of `verify`, `llvm`, `ptx`, `mir`; returns the reply and the texts in that order.

    `begins` is called with each phase, for the error at a time limit.
    """
    want = list(request["want"])  # pyright: ignore[reportArgumentType]
    level = int(request["level"])  # pyright: ignore[reportArgumentType]
    cpu, features = str(request["cpu"]), str(request["features"])
    machine, layout = llvm.machine(cpu, features, level)
    generator, _ = llvm.machine(cpu, features, int(request["code_level"]))  # pyright: ignore[reportArgumentType]
    clock = time.perf_counter
    times: dict[str, float] = {}
    results: list[bytes] = []
    if "mir" in want:
        prepare_mir(llvm, machine, layout, str(request["stop_after"]))
    context = llvm.call("ContextCreate")
    begin = clock()
    module = llvm.parse(context, text, layout)
    times["parse"] = clock() - begin
    begin = clock()
    llvm.verify(module)
    times["verify"] = clock() - begin
    if request.get("time_passes"):
        llvm.call("SetTimePasses", True)
    if request.get("optimize", True) and want != ["verify"]:
        begins("optimizing")
        begin = clock()
        llvm.optimize(module, machine, level, list(request.get("passes") or []))  # pyright: ignore[reportArgumentType]
        times["optimize"] = clock() - begin
    for what in want:
        begin = clock()
        if what == "llvm":
            results.append(llvm.print(module))
            times["print"] = clock() - begin
        elif what in ("ptx", "mir"):
            # Comments such as `// %bb.0:` and `// begin inline asm` are not used and cost codegen time. Only for
            # inlined
            # functions they are needed: they give the call sites.
            begins("generating code")
            llvm.call("SetTargetMachineAsmVerbosity", generator, int(b"inlinedAt:" in text))
            results.append(llvm.emit(module, generator))
            times["codegen"] = clock() - begin
    if request.get("time_passes"):
        results.append(llvm.pass_times())
    llvm.call("DisposeModule", module)
    llvm.call("ContextDispose", context)
    return {"times": times}, results


_HELD = "tessera_held"


def prepare_mir(llvm: Llvm, machine: int, layout: bytes, stop_after: str) -> None:
    """Make `emit` print MIR after the pass `stop_after`; once in a process, before any other emission.

    `-stop-after` replaces the assembly printer by LLVM's MIR printer. In LLVM 22, the assembly printer gives the
    target machine the MC context in which NVPTX's instruction selection creates its parameter symbols. Without it,
    instruction selection reads a null pointer (llc sets the context itself; the C interface has no function for
    it). Therefore the context of another emission is used: a thread compiles a small function and blocks inside the
    code generator, because it writes that function's `-print-after` dump into a full pipe that is
    never read. Its context stays alive until this process ends, right after the reply.
    """
    import fcntl
    import termios
    import threading

    # Much more text than the pipe below holds (one page), so that the writer certainly blocks.
    body = "".join(f"  store volatile i32 {i}, ptr %p\n" for i in range(2500))
    source = f"define void @{_HELD}(ptr %p) {{\n{body}  ret void\n}}\n".encode()
    module = llvm.parse(llvm.call("ContextCreate"), source, layout)
    llvm.set_options("-print-after=finalize-isel", f"-filter-print-funcs={_HELD}")
    unread, full = os.pipe()
    fcntl.fcntl(full, fcntl.F_SETPIPE_SZ, 1)
    stderr = os.dup(2)
    os.dup2(full, 2)
    holder = threading.Thread(target=llvm.emit, args=(module, machine), daemon=True)
    holder.start()
    # After the dump has begun, the thread sleeps only on its write to the full pipe, or briefly on a lock of the
    # allocator: therefore it is checked twice.
    looks = 0
    while looks < 2:
        time.sleep(0.001)
        waiting = fcntl.ioctl(unread, termios.FIONREAD, b"\0\0\0\0")
        looks = looks + 1 if any(waiting) and _sleeps(holder.native_id) else 0
    # LLVM writes warnings to descriptor 2 unbuffered: from here on they reach the parent again. The pending write of
    # the thread keeps its own reference to the pipe.
    os.dup2(stderr, 2)
    llvm.set_options(f"-stop-after={stop_after}")


def _sleeps(thread_id: int | None) -> bool:
    """True if the thread sleeps in the kernel, and was not merely preempted."""
    try:
        with open(f"/proc/self/task/{thread_id}/stat", "rb") as status:
            return status.read().rpartition(b") ")[2].startswith(b"S")
    except FileNotFoundError:
        raise LlvmError("codegen", "the emission whose context MIR needs has ended early") from None


def read_exactly(descriptor: int, count: int) -> bytes:
    """Read `count` bytes, or fewer at the end of the input."""
    parts: list[bytes] = []
    while count:
        part = os.read(descriptor, min(count, 1 << 20))
        if not part:
            break
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of the data, also if the pipe accepts it in parts."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def frame(head: dict[str, object], texts: list[bytes]) -> bytes:
    """Eight bytes of length, then the marshaled head (which lists the texts' lengths), then the texts.

    `marshal` is not safe for foreign data, but both ends are the same interpreter. Importing `json`
    would take a tenth of the start-up time.
    """
    packed = marshal.dumps({**head, "lengths": [len(text) for text in texts]})
    return len(packed).to_bytes(8, "little") + packed + b"".join(texts)


def load(library: str, options: list[str]) -> tuple[Llvm, dict[str, object]]:
    """LLVM, and its description. Raises OSError, AttributeError and LlvmError if it cannot be loaded."""
    begin = time.perf_counter()
    llvm = Llvm(library, options)
    cpus, versions = llvm.known_features()
    start = time.perf_counter() - begin
    return llvm, {"version": llvm.version, "cpus": cpus, "ptx": versions, "start": start}


def serve(loaded: Callable[[], tuple[Llvm, dict[str, object]]]) -> None:
    """Describe the LLVM that `loaded` returns, then answer requests until stdin ends."""
    # A fatal error of LLVM is reported by its message; a core file is not useful.
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    # Replies are written to a private copy of stdout: output of LLVM cannot mix with them.
    replies = os.dup(1)
    os.dup2(2, 1)
    try:
        llvm, ready = loaded()
    except (OSError, AttributeError, LlvmError) as failure:
        write_all(replies, frame({"error": "start", "text": str(failure)}, []))
        return
    write_all(replies, frame(ready, []))
    while len(length := read_exactly(0, 8)) == 8:
        request = marshal.loads(read_exactly(0, int.from_bytes(length, "little")))
        texts = [read_exactly(0, size) for size in request["lengths"]]
        try:
            reply = frame(
                *compile_module(
                    llvm, request, texts[0], lambda phase: write_all(replies, frame({"phase": phase}, []))
                )
            )
        except LlvmError as failure:
            reply = frame({"error": failure.stage, "text": failure.text}, [])
        write_all(replies, reply)
        if "mir" in request["want"]:
            break  # the options of `prepare_mir` cannot be reset


def serve_until_end(loaded: Callable[[], tuple[Llvm, dict[str, object]]]) -> NoReturn:
    """`serve`, then end the process."""
    try:
        serve(loaded)
    except BrokenPipeError:
        pass  # the parent has ended; no one reads the answer
    except KeyboardInterrupt:
        pass
    # Skip the interpreter's shutdown: there is nothing to clean up, and the blocked thread would disturb it.
    os._exit(0)


def main(parent: int) -> None:
    """`python -c 'import llvm_child; llvm_child.main(PID)' LIBRARY [OPTION…]`; `parent` is the id of the requesting
    process."""
    # As `tessera_tools.process.end_with_parent`, without its import: during a long compilation, the end of stdin is not
    # seen.
    set_death_signal = getattr(ctypes.CDLL(None), "prctl", None)
    if set_death_signal is not None:
        set_death_signal(1, 9, 0, 0, 0)  # PR_SET_PDEATHSIG, SIGKILL
    if os.getppid() != parent:
        os._exit(1)
    serve_until_end(lambda: load(sys.argv[1], sys.argv[2:]))
