"""`print-op-stats`: print how many operations of each kind there are."""

from __future__ import annotations

import json
import sys
from collections import Counter

from tessera_tools.ir.core import Operation
from tessera_tools.passes.base import Pass, PassContext, option
from tessera_tools.records import dataclass


@dataclass(frozen=True)
class PrintOpStats(Pass):
    """Prints to stderr, as a table or as a JSON object."""

    name = "print-op-stats"
    title = "PrintOpStats"
    summary = "print statistics of operations"

    json_: bool = option(False, "print a JSON object")

    def run(self, op: Operation, context: PassContext) -> bool:
        counts = Counter([op.name, *(inner.name for inner in op.walk())])
        ordered = dict(sorted(counts.items()))
        sys.stderr.write(_as_json(ordered) if self.json_ else _as_table(ordered))
        return False


def _as_json(counts: dict[str, int]) -> str:
    lines = ",\n".join(f"  {json.dumps(name)} : {count}" for name, count in counts.items())
    return f"{{\n{lines}\n}}\n"


def _as_table(counts: dict[str, int]) -> str:
    """The names in columns, with their dots aligned."""
    parts = {name: name.split(".", 1) if "." in name else ["", name] for name in counts}
    left = max(len(prefix) for prefix, _ in parts.values())
    right = max(len(rest) for _, rest in parts.values())
    text = "Operations encountered:\n-----------------------\n"
    for name, count in counts.items():
        prefix, rest = parts[name]
        text += f"  {prefix:>{left}}{'.' if prefix else ' '}{rest:<{right}} , {count}\n"
    return text
