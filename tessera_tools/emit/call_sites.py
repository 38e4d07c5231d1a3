"""Call sites of inlined functions, in the `.loc` lines of PTX.

    .loc 1 441 11   // k.py:441:11 @[ k.py:448:40 ]          LLVM's output: the call site is a comment
    ──▶
    .loc 1 448 40                                            the call
    .loc 1 441 11, function_name $L__name0, inlined_at 1 448 40

PTX ISA, "Debugging Directives: .loc": `function_name` is a label in the section `.debug_str`; since PTX 7.2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tessera_tools.dialects.cuda_tile.debug_info import DILocAttr
from tessera_tools.emit.llvmir.debug import subprogram

_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)\s*(?://[^@]*(@\[.*\]))?")
_FILE = re.compile(r'\s*\.file\s+(\d+)\s+"(.*)"')
_COMMENT = re.compile(r"(?:^|\s+)// (?!\.globl|Generated).*$")
_FIRST_VERSION = (7, 2)


def with_call_sites(ptx: str, inlined: Mapping[str, tuple[DILocAttr, ...]]) -> str:
    """The PTX with the call sites of inlined functions, and without LLVM's comments.

    inlined: `DebugInfo.inlined`, by LLVM's comment. Other positions keep only the innermost one.
    """
    lines = ptx.splitlines()
    files = {match[2]: int(match[1]) for line in lines if (match := _FILE.match(line))}
    known = len(files)
    version = next((line.split()[1] for line in lines if line.startswith(".version")), "0.0")
    supported = tuple(map(int, version.split("."))) >= _FIRST_VERSION
    names: dict[str, int] = {}
    found: list[str] = []
    for line in lines:
        match = _LOC.match(line)
        if match is None:
            found += _without_comment(line)
            continue
        file, number, column, chain = match.groups()
        frames = inlined.get(f"{number}:{column} {chain}") if chain and supported else None
        plain = f"\t.loc\t{file} {number} {column}"
        if frames is None:
            found.append(plain)
            continue
        places = []
        for frame in frames[1:]:
            path, line_number, column_number = frame.start()
            index = files.setdefault(path, len(files) + 1)
            places.append(f"{index} {line_number} {column_number}")
        found.append(f"\t.loc\t{places[-1]}")
        here = [f"{file} {number} {column}", *places]
        for level in reversed(range(len(places))):
            function = subprogram(frames[level].scope)
            name = names.setdefault(function.linkage_name or function.label, len(names))
            found.append(f"\t.loc\t{here[level]}, function_name $L__name{name}, inlined_at {here[level + 1]}")
    found += [f'\t.file\t{index} "{path}"' for path, index in files.items() if index > known]
    if names:
        found += ["\t.section\t.debug_str", "\t{", *_strings(names), "\t}"]
    return "\n".join(found) + "\n"


def _without_comment(line: str) -> list[str]:
    """The line without LLVM's comment; empty if it has nothing else."""
    code = line if '"' in line else _COMMENT.sub("", line)
    return [code] if code or not line.strip() else []


def _strings(names: Mapping[str, int]) -> list[str]:
    lines: list[str] = []
    for name, number in names.items():
        lines.append(f"$L__name{number}:")
        lines += [f".b8 {byte}" for byte in (*name.encode(), 0)]
    return lines
