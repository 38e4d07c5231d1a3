"""The options that show what passes do; `tessera-opt` and `tessera-translate` have the same.

options ──Inspection──▶ observers of the pass manager (dumps, times, progress), statistics, reports after the run
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING

from tessera_tools.cli.common import boolean, write_stderr
from tessera_tools.diagnostics import closest, error, show_operations

if TYPE_CHECKING:
    from tessera_tools.cli.command_line import OptionValues
    from tessera_tools.ir.actions import Watch
    from tessera_tools.ir.core import Operation
    from tessera_tools.ir.style import Style
    from tessera_tools.passes.base import Pass
    from tessera_tools.passes.debug import DebugPass
    from tessera_tools.passes.manager import Observer
    from tessera_tools.passes.pipeline import Pipeline
    from tessera_tools.passes.printing import PrintOptions
    from tessera_tools.passes.statistics import Statistics
    from tessera_tools.passes.timing import Timing

__all__ = ["Inspection", "style_of"]


def style_of(options: OptionValues) -> Style:
    """How IR is printed, by the options of a command."""
    from tessera_tools.ir.style import Style

    return Style(
        generic=options["mlir_print_op_generic"],
        debuginfo=options["mlir_print_debuginfo"],
        local_scope=options["mlir_print_local_scope"],
        pretty_debuginfo=options["mlir_pretty_debuginfo"],
        value_users=options["mlir_print_value_users"],
        skip_regions=options["mlir_print_skip_regions"],
        unique_ids=options["mlir_print_unique_ssa_ids"],
        name_locations=options["mlir_use_nameloc_as_prefix"],
        most_elements=options["mlir_elide_elementsattrs_if_larger"],
        most_resource=options["mlir_elide_resource_strings_if_larger"],
    )


class Inspection:
    """Shows the passes of one run of a command. `options` are click's; `doing` receives what the run does, for the
    progress line, or None between passes.

    The passes are imported only where they run, since a cached result needs none.
    """

    WATCHES = (
        "crash_reproducer", "debug_only", "debug_pass", "dump_pass_pipeline", "mlir_debug_counter",
        "mlir_generate_reproducer", "mlir_pass_pipeline_local_reproducer", "mlir_pass_statistics",
        "mlir_print_debug_counter", "mlir_print_ir_after", "mlir_print_ir_after_all", "mlir_print_ir_after_change",
        "mlir_print_ir_after_failure", "mlir_print_ir_diff",
        "mlir_print_ir_before", "mlir_print_ir_before_all", "mlir_print_ir_tree_dir",
        "mlir_print_op_on_diagnostic", "mlir_timing",
    )  # fmt: skip
    """The options that show the passes run."""

    def __init__(self, options: OptionValues, timing: Timing, doing: Callable[[str | None], None]) -> None:
        self._options = options
        self._timing = timing
        self._doing = doing
        show_operations(options["mlir_print_op_on_diagnostic"])
        self._local = _LocalPass() if options["mlir_pass_pipeline_local_reproducer"] else None

    def check(self) -> None:
        """Raises DiagnosticError for an option that names no pass, or needs another one."""
        from tessera_tools.passes.table import PASSES

        options = self._options
        if self._local is not None and not options["crash_reproducer"]:
            raise error(None, "--mlir-pass-pipeline-local-reproducer needs --crash-reproducer=FILE")
        for name in self._passes("before") | self._passes("after"):
            if name not in PASSES:
                raise error(None, f"'{name}', of --mlir-print-ir-before or -after, is not a registered pass")
        # Each reads an option, and raises what is wrong with it.
        _ = self._debug, self._watch

    @cached_property
    def style(self) -> Style:
        """How IR is printed."""
        return style_of(self._options)

    @cached_property
    def statistics(self) -> Statistics:
        """Where passes count."""
        from tessera_tools.passes.statistics import Statistics

        return Statistics()

    @cached_property
    def _debug(self) -> DebugPass:
        from tessera_tools.passes.debug import read_debug_pass

        return read_debug_pass(self._options["debug_pass"])

    @cached_property
    def _watch(self) -> Watch | None:
        from tessera_tools.ir.actions import KINDS, Watch, read_counters
        from tessera_tools.passes.table import PASSES

        options = self._options
        kinds = frozenset(filter(None, (options["debug_only"] or "").split(",")))
        for kind in kinds:
            if kind not in KINDS and kind not in PASSES:
                close = closest(kind, (*KINDS, *PASSES))
                hint = f"did you mean '{close}'?" if close else f"expected {', '.join(KINDS)} or a pass"
                raise error(None, f"--debug-only: nothing is logged as '{kind}'; {hint}")
        if not kinds and options["mlir_debug_counter"] is None and not options["mlir_print_debug_counter"]:
            return None
        return Watch(read_counters(options["mlir_debug_counter"] or ""), kinds, write_stderr)

    def watching(self) -> AbstractContextManager[None]:
        """Count and log actions inside the `with` block, as the options ask."""
        if not self.watches or self._watch is None:
            return nullcontext()
        from tessera_tools.ir.actions import watching

        return watching(self._watch)

    @property
    def off(self) -> frozenset[str]:
        """The passes to skip."""
        return self._debug.off if self._options["debug_pass"] else frozenset()

    @property
    def verify_each(self) -> bool:
        """Whether the IR is verified after each pass."""
        return boolean(self._options, "verify_each", True)

    @property
    def verification(self) -> bool | None:
        """`verify_each` of a compilation: None, if the user has not said it and does not see the passes run."""
        return None if self._options["verify_each"] is None and not self.watches else self.verify_each

    @property
    def timing(self) -> Timing | None:
        """Where passes report their times, if a report is wanted."""
        return self._timing if self._options["mlir_timing"] else None

    @property
    def watches(self) -> bool:
        """Whether the user wants to see the passes run: a cached result does not show them."""
        return any(self._options[one] for one in self.WATCHES)

    def observers(self) -> tuple[Observer, ...]:
        """The observers for the pass manager."""
        observers: list[Observer] = [_Doing(self._doing)]
        if self._local is not None:
            observers.append(self._local)
        printing = self._printing() if self._prints else None
        if printing is not None and printing.wanted:
            from tessera_tools.passes.printing import IRPrinting

            observers.append(IRPrinting(printing, write_stderr, _write_in_tree))
        if self._options["debug_pass"] and self._debug.time:
            from tessera_tools.passes.debug import PassTimes

            observers.append(PassTimes(self._debug.time, write_stderr))
        return tuple(observers)

    @property
    def _prints(self) -> bool:
        """True if an option may ask for IR between passes: the modules that print it are loaded only then."""
        return (
            any(
                value
                for name, value in self._options.items()
                if name == "debug_pass" or name.startswith("mlir_print_ir_")
            )
            or self._options["mlir_print_ir_tree_dir"] is not None
        )

    def starts(self, pipeline: Pipeline, text: Callable[[], str]) -> None:
        """Show the pipeline before it runs, and write its reproducer, if this is wanted. `text` is the input."""
        path = self._options["mlir_generate_reproducer"]
        if path is not None:
            from tessera_tools.emit.files import write_output
            from tessera_tools.passes.reproducer import Reproducer, with_reproducer

            write_output(path, with_reproducer(text(), Reproducer(pipeline.text(), self.verify_each)))
        if self._options["dump_pass_pipeline"]:
            write_stderr(f"Pass Manager with {len(pipeline.items)} passes:\n{pipeline.pretty()}\n\n")

    def reproducer(self, text: str, pipeline: str) -> tuple[str, str]:
        """The input and the pipeline of a reproducer: of the whole run, or of the pass that failed."""
        local = self._local.reproducer() if self._local is not None else None
        return local or (text, pipeline)

    def report(self) -> None:
        """Print the statistics and times that are wanted to stderr."""
        if self._options["mlir_pass_statistics"]:
            write_stderr(self.statistics.report(self._options["mlir_pass_statistics_display"] or "pipeline"))
        if self._options["mlir_timing"]:
            as_json = self._options["mlir_output_format"] == "json"
            write_stderr(self._timing.report(self._options["mlir_timing_display"] or "tree", as_json=as_json))
        if self._options["mlir_print_debug_counter"] and self._watch is not None:
            write_stderr(self._watch.report())

    def _printing(self) -> PrintOptions:
        from tessera_tools.passes.printing import PrintOptions

        options = self._options
        return PrintOptions(
            before=self._passes("before") | self._debug.dump,
            after=self._passes("after") | self._debug.dump,
            before_all=options["mlir_print_ir_before_all"],
            after_all=options["mlir_print_ir_after_all"],
            after_change=options["mlir_print_ir_after_change"],
            after_failure=options["mlir_print_ir_after_failure"],
            diff=options["mlir_print_ir_diff"],
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


class _LocalPass:
    """Keeps the module before the pass that runs."""

    def __init__(self) -> None:
        self._kept: tuple[str, str] | None = None

    def before(self, pass_: Pass, op: Operation) -> None:
        from tessera_tools.ir.printing import print_op

        pipeline = pass_.text()
        while op.parent_op is not None:
            pipeline = f"{op.name}({pipeline})"
            op = op.parent_op
        self._kept = print_op(op), f"{op.name}({pipeline})"

    def after(self, pass_: Pass, op: Operation) -> None:
        self._kept = None

    def failed(self, pass_: Pass, op: Operation) -> None:
        pass

    def reproducer(self) -> tuple[str, str] | None:
        """The module and the pipeline of the pass that failed; None if no pass did."""
        return self._kept


def _write_in_tree(path: str, text: str) -> None:
    from tessera_tools.emit.files import write_output

    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except OSError as failure:
        raise error(
            None, f"cannot create the directory '{os.path.dirname(path)}': {failure.strerror}"
        ) from None
    write_output(path, text)
