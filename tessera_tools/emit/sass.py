"""Cubin to SASS text with NVIDIA's nvdisasm.

cubin ──Nvdisasm.disassemble()──▶ SASS text ──opcodes()──▶ Counter({"HMMA": 128, "LDGSTS": 16, …})
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from tessera_tools.emit.errors import ToolError
from tessera_tools.emit.tools import TemporaryFolder, find_tool, os_reason
from tessera_tools.process import run, signal_name

__all__ = ["OPCODE", "SOURCE_LINE", "Nvdisasm", "opcodes"]

_SASS_LIMIT = 512 << 20
"""Limit of SASS text, in bytes; a kernel of a million instructions has a fifth of it."""


class Nvdisasm:
    """An nvdisasm executable. Usually created by `Nvdisasm.find()`."""

    def __init__(self, path: str) -> None:
        self.path = path

    @classmethod
    def find(cls, option: str | None = None) -> Nvdisasm:
        """By `option`, TESSERA_NVDISASM, the wheel, PATH, in that order. Raises ToolError if there is none."""
        return cls(find_tool("nvdisasm", option=option, wheel="nvidia-cuda-nvdisasm"))

    def disassemble(
        self, cubin: bytes, *, lineinfo: bool = False, options: Sequence[str] = (), time_limit: float = 120.0
    ) -> str:
        """The SASS of every function, code sections only; with `lineinfo`, source lines as comments.

        Raises ToolError if nvdisasm refuses the cubin, is killed by a signal, or exceeds `time_limit` seconds.
        """
        with TemporaryFolder("tessera-nvdisasm") as folder:
            source = folder.write("kernel.cubin", cubin)
            command = [self.path, "-c", *(["-gi"] if lineinfo else []), *options, source]
            try:
                finished = run(command, time_limit=time_limit, output_limit=_SASS_LIMIT)
            except OSError as failure:
                raise ToolError(
                    f"nvdisasm cannot be started at '{self.path}': {os_reason(failure)}",
                    "expected NVIDIA's nvdisasm; install it with pip install nvidia-cuda-nvdisasm",
                ) from None
        stderr = finished.stderr.decode("utf-8", "replace")
        if finished.timed_out:
            raise ToolError(f"nvdisasm timed out after {time_limit:g} s", details=stderr)
        if finished.flooded:
            raise ToolError(
                f"nvdisasm wrote more than {_SASS_LIMIT >> 20} MiB and was stopped",
                f"expected NVIDIA's nvdisasm at '{self.path}'",
            )
        if finished.signal is not None:
            raise ToolError(f"nvdisasm was killed by {signal_name(finished.signal)}", details=stderr)
        if not finished.succeeded:
            first = next((line for line in stderr.splitlines() if line.strip()), "no message")
            first = re.sub(r"^nvdisasm\s+\w+\s*:\s*", "", first).replace(source, "the cubin")
            raise ToolError(f"nvdisasm failed with status {finished.status}: {first}", details=stderr)
        if not finished.stdout.strip():
            raise ToolError(
                f"'{self.path}' succeeded, but wrote no output", "expected NVIDIA's nvdisasm", details=stderr
            )
        return finished.stdout.decode("utf-8", "replace")


# `/*0040*/  @!P0 LDG.E.128 R4, …`: an address, an optional guard, the opcode with its modifiers.
_BEFORE_OPCODE = r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P[T0-9]+\s+)?"
_INSTRUCTION = re.compile(rf"{_BEFORE_OPCODE}([A-Z][A-Z0-9_.]*)", re.MULTILINE)
OPCODE = re.compile(rf"{_BEFORE_OPCODE}([A-Z][A-Z0-9_]*)")
"""A line with an instruction: its opcode without modifiers."""
SOURCE_LINE = re.compile(r'^\s*//## File "(.+)", line (\d+)')
"""A line of `-gi` that names the source of the instructions after it: file and line."""


def opcodes(sass: str, *, modifiers: bool = False) -> Counter[str]:
    """The number of occurrences of each opcode; with `modifiers`, `HMMA.16816.F32` and `HMMA.1688.F32` are distinct.

    The NOPs that pad a function to its alignment are not counted.
    """
    names = _INSTRUCTION.findall(sass)
    counted = Counter(names if modifiers else (name.split(".", 1)[0] for name in names))
    del counted["NOP"]
    return counted
