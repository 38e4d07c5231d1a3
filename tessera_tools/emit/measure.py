"""Measures the resources of kernels: compiles a copy of the module, and reads the report of ptxas.

    tessera-opt --tile-analyze    ──▶ PassContext.measure(module, target)    ──▶ {"gemm": Measured(registers=181, …)}

Passes must not depend on LLVM and ptxas; their caller passes this function to them.
"""

from __future__ import annotations

from tessera_tools.diagnostics import DiagnosticError, collect
from tessera_tools.emit.driver import Options, compile_module
from tessera_tools.ir.core import Operation
from tessera_tools.passes.base import Measured
from tessera_tools.target import Target


def measure(module: Operation, target: Target) -> dict[str, Measured]:
    """The resources of a module's kernels for a target, by name; empty if ptxas is missing or the module does not
    compile; those errors are reported elsewhere."""
    copy = module.clone()
    try:
        with collect():
            made = compile_module(copy, Options(target, until="cubin", verify_each=False))
    except DiagnosticError:
        return {}
    shared = {kernel.name: kernel.dynamic_shared for kernel in made.manifest.kernels} if made.manifest else {}
    entries = made.report.entries if made.report is not None else {}
    return {
        name: Measured(used.registers, used.spill_stores, used.shared + shared.get(name, 0))
        for name, used in entries.items()
    }
