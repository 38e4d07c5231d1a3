"""Printing IR around passes: MLIR's dump headers on stderr, or a tree of files.

// -----// IR Dump After CSE (cse) //----- //
// -----// IR Dump After CSE (cse) ('func.func' operation: @f) //----- //      at module scope
// -----// IR Dump After CSE Failed (cse) //----- //
// -----// IR Diff After CSE (cse) //----- //                                   only the changed lines
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from difflib import unified_diff
from typing import TYPE_CHECKING

from tessera_tools.ir.builtin_attributes import symbol_text
from tessera_tools.ir.style import PLAIN, Style
from tessera_tools.ir.symbols import symbol_name
from tessera_tools.records import dataclass

if TYPE_CHECKING:
    from tessera_tools.ir.core import Operation
    from tessera_tools.passes.base import Pass

__all__ = ["IRPrinting", "PrintOptions"]


@dataclass(frozen=True)
class PrintOptions:
    """What to print, and how; the names are those of MLIR's `--mlir-print-ir-…` flags."""

    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    before_all: bool = False
    after_all: bool = False
    after_change: bool = False
    after_failure: bool = False
    diff: bool = False
    """Print what a pass changed, in place of the IR after it. Alone, it asks for the changes of every pass."""
    module_scope: bool = False
    tree_dir: str | None = None
    """The folder of the tree of files. Alone, it asks for a dump after every pass."""
    style: Style = PLAIN

    @property
    def wanted(self) -> bool:
        """True if anything is printed."""
        return bool(self._selects or self.tree_dir is not None)

    @property
    def every(self) -> bool:
        """True if there is a dump after every pass, or after every one that changed the IR."""
        alone = self.tree_dir is not None and not self._selects
        return self.after_all or alone or ((self.after_change or self.diff) and not self.after)

    @property
    def _selects(self) -> bool:
        return bool(
            self.before
            or self.after
            or self.before_all
            or self.after_all
            or self.after_change
            or self.after_failure
            or self.diff
        )


class IRPrinting:
    """Prints as the options define; the manager calls `before`, `after` and `failed` around every pass.

    write: receives the text of dumps. write_file: receives path and text of each file of the tree.
    """

    def __init__(
        self, options: PrintOptions, write: Callable[[str], object], write_file: Callable[[str, str], object]
    ) -> None:
        self._options = options
        self._write = write
        self._write_file = write_file
        self._fingerprints: list[bytes] = []
        self._texts: list[str] = []
        """The IR before the passes that run, if changes are printed."""
        self._aliases: dict[str, str] = {}
        """The same aliases before and after each pass, so that a new layout does not change every line."""
        self._counters: dict[Operation, int] = {}

    def before(self, pass_: Pass, op: Operation) -> None:
        if self._options.after_change:
            self._fingerprints.append(self._fingerprint(op))
        if self._options.diff:
            self._texts.append(self._text(self._shown(op)))
        if self._options.before_all or pass_.name in self._options.before:
            self._dump(f"Before {pass_.shown} ({pass_.name})", pass_, op)

    def after(self, pass_: Pass, op: Operation) -> None:
        options = self._options
        changed = True
        if options.after_change:
            changed = self._fingerprints.pop() != self._fingerprint(op)
        before = self._texts.pop() if options.diff else ""
        # As in MLIR: after-change and after-failure narrow after-all and after=…, and imply after-all if given alone.
        if options.after_failure or not changed or not (options.every or pass_.name in options.after):
            return
        if options.diff:
            self._dump_change(before, pass_, op)
        else:
            self._dump(f"After {pass_.shown} ({pass_.name})", pass_, op)

    def failed(self, pass_: Pass, op: Operation) -> None:
        options = self._options
        if options.after_change and self._fingerprints:
            self._fingerprints.pop()
        if options.diff and self._texts:
            self._texts.pop()
        if options.after_failure or options.every or options.after_change or pass_.name in options.after:
            self._dump(f"After {pass_.shown} Failed ({pass_.name})", pass_, op)

    def _shown(self, op: Operation) -> Operation:
        """What is printed for a pass on `op`."""
        if self._options.module_scope:
            while op.parent_op is not None:
                op = op.parent_op
        return op

    def _dump(self, what: str, pass_: Pass, op: Operation) -> None:
        self._write_dump(f"IR Dump {what}", self._text(self._shown(op)), pass_, op)

    def _dump_change(self, before: str, pass_: Pass, op: Operation) -> None:
        """Print the lines that a pass changed, with three lines around them, as `diff -u` does."""
        after = self._text(self._shown(op))
        if after == before:
            return
        changes = unified_diff(before.splitlines(), after.splitlines(), n=3, lineterm="")
        lines = [line for number, line in enumerate(changes) if number > 1]  # without the names of files
        self._write_dump(f"IR Diff After {pass_.shown} ({pass_.name})", "\n".join(lines), pass_, op)

    def _write_dump(self, title: str, body: str, pass_: Pass, op: Operation) -> None:
        shown = self._shown(op)
        place = ""
        if shown is not op:
            name = symbol_name(op)
            symbol = "" if name is None else f": {symbol_text(name)}"
            place = f" ('{op.name}' operation{symbol})"
        text = f"// -----// {title}{place} //----- //\n{body}\n\n"
        if shown.parent_op is None:
            text += "\n"
        if self._options.tree_dir is None:
            self._write(text)
        else:
            self._write_file(self._tree_path(pass_, op), text)

    def _text(self, op: Operation) -> str:
        from tessera_tools.ir.printing import print_op

        aliases = self._aliases if self._options.diff else None
        return print_op(op, style=self._options.style, aliases=aliases).rstrip("\n")

    def _fingerprint(self, op: Operation) -> bytes:
        from tessera_tools.ir.printing import print_op

        return hashlib.sha1(
            print_op(op, generic=True, debuginfo=True).encode("utf-8", "surrogateescape")
        ).digest()

    def _tree_path(self, pass_: Pass, op: Operation) -> str:
        """`builtin_module_no-symbol-name/func_func_f/0_1_cse.mlir`: numbered by the dumps of each op on the path."""
        self._counters[op] = self._counters.get(op, -1) + 1
        numbers: list[str] = []
        folders: list[str] = []
        current: Operation | None = op
        while current is not None:
            numbers.append(str(self._counters.setdefault(current, 0)))
            # A symbol may contain any character; a path contains only those that every file system allows.
            symbol = re.sub(r"[^\w.$-]", "_", symbol_name(current) or "no-symbol-name")[:100]
            folders.append(f"{current.name.replace('.', '_')}_{symbol}")
            current = current.parent_op
        file = f"{'_'.join(reversed(numbers))}_{pass_.name}.mlir"
        return os.path.join(self._options.tree_dir or "", *reversed(folders), file)
