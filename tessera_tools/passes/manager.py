"""The pass manager: runs a pipeline on an op, with verification, printing, timing and statistics.

    PassManager(Pipeline, …).run(module)
        for each pass:  print before ▶ pass.run ▶ verify ▶ print after       failure ▶ reproducer, DiagnosticError

A pass fails by raising DiagnosticError.  Any other exception is a bug in the pass: it becomes an `InternalFault`
that names pass, op and location, not a traceback (except with TESSERA_DEBUG=1).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from tessera_tools.diagnostics import Diagnostic, DiagnosticError, HasStart, InternalFault, emit
from tessera_tools.ir.actions import executes, log, logs, runs
from tessera_tools.ir.builtin_attributes import symbol_text
from tessera_tools.ir.core import Operation, UnregisteredOp
from tessera_tools.ir.symbols import symbol_name
from tessera_tools.ir.traits import IsolatedFromAbove
from tessera_tools.passes import stages
from tessera_tools.passes.base import Measure, Pass, PassContext, measure_nothing
from tessera_tools.passes.pipeline import ANY, Pipeline, parse_pipeline
from tessera_tools.passes.statistics import Statistics

if TYPE_CHECKING:
    from tessera_tools.passes.timing import Timing

__all__ = ["InternalFault", "Observer", "PassManager", "describe"]


class Observer(Protocol):
    """An observer of passes, for example `IRPrinting`."""

    def before(self, pass_: Pass, op: Operation) -> None: ...

    def after(self, pass_: Pass, op: Operation) -> None: ...

    def failed(self, pass_: Pass, op: Operation) -> None: ...


def describe(op: Operation) -> str:
    """`'func.func' @gemm`: the description of an op in errors."""
    name = symbol_name(op)
    return f"'{op.name}'" + ("" if name is None else f" {symbol_text(name)}")


class PassManager:
    """Runs one pipeline.

    observers: called around every pass, in order; `after` and `failed` in reverse.
    on_failure: called with (text of a pipeline that fails on the same input, failing pass, op) before the
        error is raised; the result (a note, or None) is added to the error. It writes reproducers.
        verify_stages: check the specs of the stages around passes (`stages.py`); by default, as verify_each.
        off: names of passes to skip.
        explains: passes explain their decisions in remarks.
        measure: returns the resources of compiled kernels to passes.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        *,
        verify_each: bool = True,
        observers: tuple[Observer, ...] = (),
        timing: Timing | None = None,
        statistics: Statistics | None = None,
        on_failure: Callable[[DiagnosticError, Pass, Operation], str | None] | None = None,
        verify_stages: bool | None = None,
        verify_ends: bool = False,
        off: frozenset[str] = frozenset(),
        explains: bool = False,
        measure: Measure = measure_nothing,
    ) -> None:
        self.pipeline = pipeline
        self._explains = explains
        self._verify_stages = verify_each if verify_stages is None else verify_stages
        self._off = off
        self._holds = ""
        """The spec in `stages.SPECS` that the module satisfies; "" if none is known to hold."""
        self._measure = measure
        self.statistics = statistics or Statistics()
        self._verify_each = verify_each
        self._verify_ends = verify_ends and not verify_each
        self._observers = observers
        self._timing = timing
        self._on_failure = on_failure
        self._nested: dict[tuple[str, str], Pipeline] = {}

    def run(self, op: Operation) -> None:
        """Run the pipeline on `op`, in place. Raises DiagnosticError if a pass or the verifier fails."""
        if self.pipeline.anchor not in (op.name, ANY):
            failure = DiagnosticError(
                Diagnostic(
                    "error", op.location, f"a pipeline on '{self.pipeline.anchor}' cannot run on '{op.name}'"
                )
            )
            failure.diagnostics[0].note(f"begin the pipeline with '{op.name}(…)'")
            raise failure
        self.statistics.ran(self.pipeline)
        self._run(self.pipeline, op)
        if self._verify_ends and op.parent_op is None:
            self._check_end("at the end of the pipeline", op)

    # What runs passes returns False if each says that it changed nothing.

    def _run(self, pipeline: Pipeline, op: Operation) -> bool:
        changed = False
        for group in _groups(pipeline):
            changed |= self._run_pass(group, op) if isinstance(group, Pass) else self._run_nested(group, op)
        return changed

    def _run_nested(self, group: list[Pipeline], op: Operation) -> bool:
        changed = False
        anchors = list(dict.fromkeys(nested.anchor for nested in group))
        name = f"'{anchors[0]}' Pipeline" if len(anchors) == 1 else f"Pipeline Collection : {anchors}"
        with self._scope(name, id(group[0])):
            for region in op.regions:
                for block in list(region.blocks):
                    for inner in list(block.operations):
                        # A pass on a previous op may have erased this one.
                        if inner.parent is not block:
                            continue
                        for nested in group:
                            if nested.anchor == inner.name or (nested.anchor == ANY and _is_isolated(inner)):
                                changed |= self._run(nested, inner)
        return changed

    def _run_pass(self, pass_: Pass, op: Operation) -> bool:
        if pass_.name in self._off:
            return False
        on_stages = op.parent_op is None and self._check_before(pass_, op)
        if on_stages and self._verify_ends and pass_.name in stages.ENDS:
            self._check_end(f"before pass '{pass_.name}'", op)
        for observer in self._observers:
            observer.before(pass_, op)
        context = PassContext(
            self.statistics.of(pass_),
            self._run_text,
            self._measure,
            explains=self._explains,
            source=pass_.name,
        )
        with self._scope(pass_.shown, id(pass_)):
            runs(pass_.name)
            changed = False
            try:
                changed = executes("pass-execution") and pass_.run(op, context) is not False
            except DiagnosticError as failure:
                self._fail(failure, pass_, op)
            except (RecursionError, MemoryError):
                raise
            except Exception as fault:
                if os.environ.get("TESSERA_DEBUG") == "1":
                    raise
                self._fail(_internal(fault, pass_, op), pass_, op)
            else:
                if self._verify_each and changed:
                    self._verify(pass_, op)
                if on_stages:
                    self._check_after(pass_, op, changed)
                if logs("pass-manager"):
                    outcome = "done" if changed else "unchanged"
                    log("pass-manager", f"{pass_.text()} on {describe(op)}: {outcome}")
        runs("")
        for observer in reversed(self._observers):
            observer.after(pass_, op)
        return changed

    def _check_before(self, pass_: Pass, op: Operation) -> bool:
        """Warn about a pass that does not apply to the stage, and return False; fail if the module does not satisfy the
        requirements of the pass."""
        reason = stages.unknown_stage(pass_.name, op)
        if reason is not None:
            emit(Diagnostic("warning", op.location, reason))
            return False
        need = stages.NEEDS.get(pass_.name, "")
        if need and self._verify_stages and need != self._holds:
            self._check_spec(need, f"required by pass '{pass_.name}'", pass_, op, at_entry=True)
        return True

    def _check_after(self, pass_: Pass, op: Operation, changed: bool) -> None:
        """Fail if the module does not satisfy the spec that the pass establishes, or the one that held before it."""
        promised = stages.PROMISES.get(pass_.name, "" if pass_.name in stages.ENDS else self._holds)
        if promised and self._verify_stages and (changed or promised != self._holds):
            self._check_spec(promised, f"after pass '{pass_.name}' on {describe(op)}", pass_, op)
        self._holds = promised

    def _check_end(self, when: str, op: Operation) -> None:
        """Fail if the module does not verify, or does not satisfy the spec that its passes have established."""
        from tessera_tools.ir.verifier import verify_or_raise

        with self._scope("(V) Verifier", "verifier"):
            verify_or_raise(op)
        if self._holds:
            with self._scope("(V) Stage", "stages"):
                failure = stages.problems(op, self._holds, at_entry=False)
            if failure is not None:
                failure.diagnostics[0].note(when)
                raise failure

    def _check_spec(
        self, spec: str, when: str, pass_: Pass, op: Operation, *, at_entry: bool = False
    ) -> None:
        with self._scope("(V) Stage", "stages"):
            failure = stages.problems(op, spec, at_entry)
        if failure is not None:
            failure.diagnostics[0].note(when)
            self._fail(failure, pass_, op)

    def _verify(self, pass_: Pass, op: Operation) -> None:
        from tessera_tools.ir.verifier import verify

        with self._scope("(V) Verifier", "verifier"):
            found = verify(op)
        if found:
            failure = DiagnosticError(*found)
            found[0].note(f"the IR does not verify after pass '{pass_.name}' on {describe(op)}")
            self._fail(failure, pass_, op)

    def _fail(self, failure: DiagnosticError, pass_: Pass, op: Operation) -> None:
        for observer in reversed(self._observers):
            observer.failed(pass_, op)
        if self._on_failure is not None:
            note = self._on_failure(failure, pass_, op)
            if note:
                failure.diagnostics[-1].note(note)
        raise failure

    def _run_text(self, text: str, op: Operation) -> bool:
        """Run a pipeline for a pass; it is parsed once, so that reports accumulate its runs."""
        key = (op.name, text)
        pipeline = self._nested.get(key)
        if pipeline is None:
            pipeline = self._nested[key] = parse_pipeline(f"{op.name}({text})")
        with self._scope(f"'{op.name}' Pipeline", id(pipeline)):
            return self._run(pipeline, op)

    def _scope(self, name: str, key: object):
        return nullcontext() if self._timing is None else self._timing.scope(name, key)


def _groups(pipeline: Pipeline) -> Iterator[Pass | list[Pipeline]]:
    """Passes, and groups of adjacent nested pipelines, which run together on each nested op."""
    group: list[Pipeline] = []
    for item in pipeline.items:
        if isinstance(item, Pipeline):
            # `any` is not grouped with named ops: both may run on the same op.
            if group and (item.anchor == ANY) != (group[0].anchor == ANY):
                yield group
                group = []
            group.append(item)
            continue
        if group:
            yield group
            group = []
        yield item
    if group:
        yield group


def _is_isolated(op: Operation) -> bool:
    return not isinstance(op, UnregisteredOp) and op.has_trait(IsolatedFromAbove)


def _internal(fault: Exception, pass_: Pass, op: Operation) -> InternalFault:
    """The one-line error for an exception in a pass."""
    inner = _innermost(fault.__traceback__) or op
    location: HasStart = inner.location
    if location.start() is None:
        location = op.location
    at = "" if inner is op else f" at '{inner.name}'"
    return InternalFault.of(fault, f"in pass '{pass_.name}' on {describe(op)}{at}", location)


def _innermost(trace: TracebackType | None) -> Operation | None:
    """The op that the innermost frame of the project was processing, from its local variable `op`."""
    found: Operation | None = None
    while trace is not None:
        local = trace.tb_frame.f_locals.get("op")
        if isinstance(local, Operation) and local.parent is not None:
            found = local
        trace = trace.tb_next
    return found
