"""The options that show what passes do; `tessera-opt` and `tessera-translate` have the same.

options ──Inspection──▶ observers of the pass manager (dumps, times, progress), statistics, reports after the run
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from tessera_tools.cli.common import boolean, write_stderr
from tessera_tools.diagnostics import error
from tessera_tools.emit.files import write_output
from tessera_tools.ir.core import Operation
from tessera_tools.ir.style import Style
from tessera_tools.passes.base import Pass
from tessera_tools.passes.debug import PassTimes, read_debug_pass
from tessera_tools.passes.pipeline import Pipeline
from tessera_tools.passes.printing import IRPrinting, PrintOptions
from tessera_tools.passes.statistics import Statistics
from tessera_tools.passes.table import PASSES
from tessera_tools.passes.timing import Timing

__all__ = ["Inspection", "style_of"]


def style_of(options: Mapping[str, Any]) -> Style:
    """How IR is printed, by the options of a command."""
    return Style(
        generic=options["mlir_print_op_generic"],
        debuginfo=options["mlir_print_debuginfo"],
        local_scope=options["mlir_print_local_scope"],
    )


class Inspection:
    """Shows the passes of one run of a command. `options` are click's; `doing` receives what the run does, for the
    progress line, or None between passes.

    Raises DiagnosticError for an option that names no pass.
    """

    def __init__(
        self, options: Mapping[str, Any], timing: Timing, doing: Callable[[str | None], None]
    ) -> None:
        self._options = options
        self._timing = timing
        self._doing = doing
        self._debug = read_debug_pass(options["debug_pass"])
        self.statistics = Statistics()
        self.style = style_of(options)
        for name in self._passes("before") | self._passes("after"):
            if name not in PASSES:
                raise error(None, f"'{name}', of --mlir-print-ir-before or -after, is not a registered pass")

    @property
    def off(self) -> frozenset[str]:
        """The passes to skip."""
        return self._debug.off

    @property
    def verify_each(self) -> bool:
        """Whether the IR is verified after each pass."""
        return boolean(self._options, "verify_each", True)

    @property
    def timing(self) -> Timing | None:
        """Where passes report their times, if a report is wanted."""
        return self._timing if self._options["mlir_timing"] else None

    @property
    def watches(self) -> bool:
        """Whether the user wants to see the passes run: a cached result does not show them."""
        options = self._options
        reports = (
            "debug_pass",
            "mlir_timing",
            "mlir_pass_statistics",
            "dump_pass_pipeline",
            "crash_reproducer",
        )
        return self._printing().wanted or any(options[one] for one in reports)

    def observers(self) -> tuple[Any, ...]:
        """The observers for the pass manager."""
        observers: list[Any] = [_Doing(self._doing)]
        printing = self._printing()
        if printing.wanted:
            observers.append(IRPrinting(printing, write_stderr, _write_in_tree))
        if self._debug.time:
            observers.append(PassTimes(self._debug.time, write_stderr))
        return tuple(observers)

    def starts(self, pipeline: Pipeline) -> None:
        """Show the pipeline before it runs, if this is wanted."""
        if self._options["dump_pass_pipeline"]:
            write_stderr(f"Pass Manager with {len(pipeline.items)} passes:\n{pipeline.pretty()}\n\n")

    def report(self) -> None:
        """Print the statistics and times that are wanted to stderr."""
        if self._options["mlir_pass_statistics"]:
            write_stderr(self.statistics.report(self._options["mlir_pass_statistics_display"] or "pipeline"))
        if self._options["mlir_timing"]:
            write_stderr(self._timing.report(self._options["mlir_timing_display"] or "tree"))

    def _printing(self) -> PrintOptions:
        options = self._options
        return PrintOptions(
            before=self._passes("before") | self._debug.dump,
            after=self._passes("after") | self._debug.dump,
            before_all=options["mlir_print_ir_before_all"],
            after_all=options["mlir_print_ir_after_all"],
            after_change=options["mlir_print_ir_after_change"],
            after_failure=options["mlir_print_ir_after_failure"],
            module_scope=options["mlir_print_ir_module_scope"],
            tree_dir=options["mlir_print_ir_tree_dir"],
            style=self.style,
        )

    def _passes(self, when: str) -> frozenset[str]:
        given = self._options[f"mlir_print_ir_{when}"] or ""
        return frozenset(name.strip() for name in given.split(",") if name.strip())


class _Doing:
    """Updates the text of the progress line."""

    def __init__(self, say: Callable[[str | None], None]) -> None:
        self._say = say

    def before(self, pass_: Pass, op: Operation) -> None:
        self._say(f"running {pass_.name}")

    def after(self, pass_: Pass, op: Operation) -> None:
        self._say(None)

    def failed(self, pass_: Pass, op: Operation) -> None:
        pass


def _write_in_tree(path: str, text: str) -> None:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except OSError as failure:
        raise error(
            None, f"cannot create the directory '{os.path.dirname(path)}': {failure.strerror}"
        ) from None
    write_output(path, text)
