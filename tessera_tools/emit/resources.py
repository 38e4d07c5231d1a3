"""The output of ptxas: its `-v` report of the resources of each kernel, and its messages.

ptxas's text ──parse_report()──▶ Report({"gemm": Resources(registers=128, …)}, [Message(…)])
"""

from __future__ import annotations

import re

from tessera_tools.records import dataclass, field, replace

__all__ = ["Message", "Report", "Resources", "parse_report", "spill_warning"]


@dataclass(frozen=True, slots=True)
class Resources:
    """The resources of one function. Sizes are in bytes; stack and spill sizes are per thread."""

    registers: int = 0
    barriers: int = 0
    shared: int = 0
    """Static shared memory of a block."""
    dynamic_shared: int = 0
    """Dynamic shared memory of a block, which the launch asks for; ptxas does not know it."""
    stack: int = 0
    """The stack frame of the function."""
    cumulative_stack: int = 0
    """Including the frames of called functions."""
    spill_stores: int = 0
    spill_loads: int = 0
    local: int = 0
    constants: dict[int, int] = field(default_factory=dict[int, int])
    """By constant bank."""
    textures: int = 0
    surfaces: int = 0
    samplers: int = 0
    is_entry: bool = False

    @property
    def all_shared(self) -> int:
        """Static and dynamic shared memory of a block."""
        return self.shared + self.dynamic_shared

    @property
    def spills(self) -> bool:
        return self.spill_stores > 0 or self.spill_loads > 0


@dataclass(frozen=True, slots=True)
class Message:
    """One message of ptxas; `line` counts from 1 in the PTX, if ptxas gives one."""

    severity: str
    """`fatal`, `error`, `warning` or `info`."""
    text: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """All messages of ptxas."""

    functions: dict[str, Resources]
    """By name, in ptxas's order: entries and device functions that were not inlined."""
    messages: list[Message]
    """Messages that are not part of the resource report."""
    global_bytes: int = 0
    constants: dict[int, int] = field(default_factory=dict[int, int])
    """Constant memory of the module, by bank."""

    @property
    def entries(self) -> dict[str, Resources]:
        return {name: used for name, used in self.functions.items() if used.is_entry}


# These are texts: `re` compiles them at their first use, and a result from the compile cache needs none of them.
# `ptxas info    : text`, `ptxas error   : text`, `ptxas file.ptx, line 7; error   : text`
_MESSAGE = (
    r"ptxas (?:(?P<file>.*?), line (?P<line>\d+); )?(?P<severity>info|warning|error|fatal) *: ?(?P<text>.*)"
)
_COMPILING = r"Compiling entry function '(.+)' for '\w+'"
_PROPERTIES = r"Function properties for '?([^']+)'?$"
_FRAME = r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
_USED = r"Used (\d+) registers?"
_COUNTS = {
    "barriers": r"(?:used )?(\d+) barriers?\b",
    "cumulative_stack": r"(\d+) bytes cumulative stack size",
    # Older releases split the size: `1024+0 bytes smem`.
    "shared": r"(\d+)(?:\+(\d+))? bytes smem",
    "local": r"(\d+)(?:\+(\d+))? bytes lmem",
    "textures": r"(\d+) textures?\b",
    "surfaces": r"(\d+) surfaces?\b",
    "samplers": r"(\d+) samplers?\b",
}
_CONSTANTS = r"(\d+) bytes cmem\[(\d+)\]"
_GLOBAL = r"(\d+) bytes gmem"


def parse_report(text: str) -> Report:
    """Read ptxas's output, in all forms since CUDA 11. Unknown lines become messages; they are not errors."""
    functions: dict[str, Resources] = {}
    messages: list[Message] = []
    global_bytes = 0
    module_constants: dict[int, int] = {}
    entry = ""  # the current entry, for `Used …`
    current = ""  # the function of the current line of properties
    for line in text.splitlines():
        frame = re.search(_FRAME, line)
        if frame:
            stack, stores, loads = (int(number) for number in frame.groups())
            if current:
                functions[current] = replace(
                    functions[current], stack=stack, spill_stores=stores, spill_loads=loads
                )
            continue
        found = re.match(_MESSAGE, line)
        if not found:
            # A continuation, or a message of another program such as the loader: append it to the previous message.
            if line.strip():
                messages.append(Message("info", line.strip()))
            continue
        text = found["text"].strip()
        if found["severity"] == "info" and not found["line"]:
            if compiling := re.match(_COMPILING, text):
                entry = current = compiling[1]
                functions[entry] = replace(functions.get(entry, Resources()), is_entry=True)
                continue
            if properties := re.match(_PROPERTIES, text):
                current = properties[1].strip()
                functions.setdefault(current, Resources())
                continue
            if used := re.match(_USED, text):
                name = entry or current
                functions[name] = _used(functions.get(name, Resources()), int(used[1]), text)
                continue
            size = re.match(_GLOBAL, text)
            if size or re.match(_CONSTANTS, text):
                global_bytes += int(size[1]) if size else 0
                module_constants.update(
                    (int(bank), int(count)) for count, bank in re.findall(_CONSTANTS, text)
                )
                continue
            if text.startswith("Compile time = "):
                entry = current = ""
                continue
        number = int(found["line"]) if found["line"] else None
        messages.append(Message(found["severity"], text, number))
    return Report(functions, messages, global_bytes, module_constants)


def _used(known: Resources, registers: int, text: str) -> Resources:
    counts: dict[str, int] = {}
    for name, pattern in _COUNTS.items():
        found = re.search(pattern, text)
        if found:
            counts[name] = sum(int(number) for number in found.groups() if number)
    constants = {int(bank): int(size) for size, bank in re.findall(_CONSTANTS, text)}
    # ptxas omits values of zero; a later report of the same function replaces the earlier one.
    return replace(known, registers=registers, constants=constants, **counts)


def spill_warning(kernel: str, used: Resources) -> str | None:
    """The warning about spills of `kernel`; None if it does not spill."""
    if not used.spills:
        return None
    return (
        f"kernel '{kernel}' spills registers: {used.spill_stores} bytes of spill stores and "
        f"{used.spill_loads} bytes of spill loads per thread, at {used.registers} registers; "
        "a smaller tile or more warps would avoid it"
    )
