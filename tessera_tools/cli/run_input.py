"""The input of `tessera-run`: converts MLIR, bytecode, LLVM IR, PTX or a cubin to the code that a device loads.

FILE ──kind──▶ compile to PTX (and a cubin for cuda) ──▶ Loaded(code, manifest, name for findings)
"""

from __future__ import annotations

import os
import re
from math import prod
from typing import TYPE_CHECKING, Any

from tessera_tools.analysis.persistent import LARGE
from tessera_tools.api.inputs import (
    DEFAULT_GPU,
    find_target,
    is_binary,
    kind_of,
    parse_input,
    tuned_for_input,
)
from tessera_tools.cli.common import read_input, write_reproducer
from tessera_tools.diagnostics import DiagnosticError, InternalFault, Position, Sources, error
from tessera_tools.emit.compile_cache import Entry, key_of, once
from tessera_tools.emit.compiled import Compiled, Options
from tessera_tools.emit.errors import ToolError
from tessera_tools.emit.manifest import Manifest
from tessera_tools.emit.tunables import given_config, is_of_compiler
from tessera_tools.records import dataclass, replace
from tessera_tools.target import Target, lookup
from tessera_tools.target.timing import timing

if TYPE_CHECKING:
    from tessera_tools.cli.command_line import OptionValues
    from tessera_tools.passes.manager import Observer
    from tessera_tools.report import Recording

__all__ = ["Loaded", "fills", "load_input", "registers"]


@dataclass(slots=True)
class Loaded:
    """The code to run: PTX or a cubin. `name` denotes the PTX in messages; `compiled` is true if it was compiled
    here."""

    name: str
    code: str | bytes
    manifest: Manifest | None
    compiled: bool
    target: Target | None
    """The requested or compiled GPU; None for the target of the PTX."""
    read: bytes = b""
    """The input."""
    options: Options | None = None
    """How it was compiled; None for code."""
    recording: Recording | None = None
    """What its compilation did, if it was recorded."""


def load_input(options: OptionValues, sources: Sources, *, record: bool = False) -> Loaded:
    """Read the input of a command line, and compile it if necessary. record: for a report. Raises DiagnosticError."""
    name, data = read_input(options["input"])
    kind = kind_of(name, data)
    cuda = options["device"] == "cuda"
    target = find_target(options["gpu_name"]) if options["gpu_name"] is not None else None
    if kind in ("ptx", "cubin") and options.get("tuned") is not None:
        what = "PTX" if kind == "ptx" else "a cubin"
        raise error(None, f"--tuned applies to what is compiled here; '{name}' is {what}")
    if kind == "cubin":
        return _cubin(name, data, options["manifest"], cuda, target)
    if kind in ("mlir", "llvmir") and options["manifest"] is not None:
        raise error(None, f"--manifest belongs to a .ptx or .cubin; '{name}' is compiled here")
    text = "" if is_binary(data) else data.decode("utf-8", "replace")
    sources.add(name, text)
    if kind == "ptx":
        if b"\0" in data:
            raise error(Position(name, 1, 1), "this is not PTX: it contains null bytes")
        given = options["manifest"]
        manifest = _manifest(given) if given is not None else _adjacent_manifest(name, text)
        return Loaded(name, text, manifest, False, target, data)
    config: dict[str, Any] = given_config(options)
    if not is_of_compiler(config.get("cluster")):
        config.pop("cluster", None)
    if options.get("tuned") is not None:
        config = tuned_for_input(
            options["tuned"],
            data,
            name,
            options["gpu_name"],
            config,
            entry=options["entry"],
            shapes=options.get("shapes"),
        )
    if options.get("launches") is None and fills(options.get("grid"), target):
        config["launches"] = LARGE
    elif kind == "mlir" and "split_k" not in config:
        config["tile_blocks"] = tile_blocks(options.get("grid"))
        config["arguments"] = tuple(map(_integer, options.get("arg") or ()))
    # Line information has no run-time cost, and lets findings report source lines.
    asked = Options(
        target or find_target(DEFAULT_GPU),
        "cubin" if cuda else "ptx",
        lineinfo=kind == "mlir",
        verify_each=True if record else None,
        **config,
        plain_abi=options.get("abi") == "plain",
    )
    recording = key = None
    if record:
        from tessera_tools.report import Recording

        recording = Recording(name)
    elif options.get("cache") != "off":
        key = key_of(data, name, asked, target)
    compiled = _compile_text if kind == "llvmir" else _compile_module
    made = once(key, name, lambda: Entry(compiled(data, name, target, asked, recording))).compiled
    assert made.manifest is not None
    return Loaded(
        f"<ptx of {name}>",
        made.stages[asked.until],
        made.manifest,
        True,
        lookup(made.manifest.target),
        data,
        asked,
        recording,
    )


def tile_blocks(grid: str | None) -> int:
    """The tile blocks of `--grid`; 0 without it."""
    extents = re.findall(r"\d{1,10}", grid or "")
    return prod(map(int, extents)) if extents else 0


def _integer(argument: str) -> str:
    """The integer that an `--arg` is; `?` for any other."""
    found = re.fullmatch(r"i(?:8|16|32|64):(-?\d{1,20})", argument)
    return found[1] if found is not None else "?"


def fills(grid: str | None, target: Target | None) -> bool:
    """Whether a launch of `--grid` has more tile blocks than the GPU has SMs, twice over."""
    table = timing(target) if target is not None else None
    return table is not None and tile_blocks(grid) >= 2 * table.value("sms")


def _compile_text(
    data: bytes, name: str, target: Target | None, options: Options, recording: Recording | None
) -> Compiled:
    """LLVM IR to PTX or a cubin."""
    from tessera_tools.emit.driver import compile_text, target_of_text

    text = data.decode("utf-8", "replace")
    chosen = target or find_target(target_of_text(text, "llvmir") or DEFAULT_GPU)
    options = replace(options, target=chosen)
    made = compile_text(text, "llvmir", options)
    if recording is not None:
        from tessera_tools.report import record_text

        record_text(text, "llvmir", recording, options, made=made)
    return made


def _compile_module(
    data: bytes, name: str, target: Target | None, options: Options, recording: Recording | None
) -> Compiled:
    """MLIR or bytecode to PTX or a cubin."""
    from tessera_tools.emit.driver import compile_module, declared_target, remaining_pipeline, stage_of
    from tessera_tools.ir.printing import print_op
    from tessera_tools.ir.verifier import verify_or_raise

    module = parse_input(data, name)
    if not is_binary(data):
        verify_or_raise(module)
    chosen = target or find_target(declared_target(module) or DEFAULT_GPU)
    options = replace(options, target=chosen, explains=recording is not None)
    pipeline = remaining_pipeline(options, stage_of(module)).text()
    source = print_op(module) if is_binary(data) else data.decode("utf-8", "replace")

    def compiled(*observers: Observer) -> Compiled:
        return compile_module(module, options, observers=observers)

    try:
        if recording is None:
            return compiled()
        from tessera_tools.report import record_module

        text = None if is_binary(data) else source
        return record_module(module, recording, options, text, compile=compiled)
    except InternalFault as failure:
        from tessera_tools.passes.reproducer import Reproducer

        failure.diagnostics[-1].note(write_reproducer(None, source, Reproducer(pipeline)))
        raise


def _cubin(name: str, data: bytes, manifest: str | None, cuda: bool, target: Target | None) -> Loaded:
    if not cuda:
        raise error(
            None,
            f"'{name}' is a cubin: the simulated GPU runs PTX",
            "use the .ptx or .mlir that it was compiled from, or use --device=cuda",
        )
    path = manifest or f"{os.path.splitext(name)[0]}.json"
    if manifest is None and not os.path.exists(path):
        raise error(
            None,
            f"the cubin '{name}' has no launch manifest '{path}' next to it",
            "name it with --manifest=FILE",
        )
    return Loaded(name, data, _manifest(path), False, target)


_BESIDE = ("{stem}.json", "{folder}/7-cubin.json")
"""Possible names of the manifest of PTX: next to it, and the name that --save-temps uses for its cubin."""


def _adjacent_manifest(name: str, ptx: str) -> Manifest | None:
    """The manifest of the kernels in the PTX, if there is one next to it."""
    if name == "<stdin>":
        return None
    from tessera_tools.emit.kernels import kernels_of_ptx

    entries = {kernel.name for kernel in kernels_of_ptx(ptx)}
    for pattern in _BESIDE:
        path = pattern.format(stem=os.path.splitext(name)[0], folder=os.path.dirname(name) or ".")
        if os.path.isfile(path):
            try:
                found = _manifest(path)
            except DiagnosticError:
                continue  # another kind of JSON
            if found.kernels and {kernel.name for kernel in found.kernels} <= entries:
                return found
    return None


def _manifest(path: str) -> Manifest:
    shown, raw = read_input(path)
    return Manifest.from_json(raw, name=f"'{shown}'")


def registers(ptx: str, entry: str, target: Target) -> int:
    """Registers per thread as reported by ptxas; 0 if there is no ptxas, or it refuses the PTX."""
    from tessera_tools.emit.driver import compile_text

    try:
        made = compile_text(ptx, "ptx", Options(target, "cubin"))
    except ToolError:
        return 0
    used = made.report.functions.get(entry) if made.report is not None else None
    return used.registers if used is not None else 0
