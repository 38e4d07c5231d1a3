"""`tessera-run --ranks=N`: runs a program on N GPUs, as defined by the plan in its launch manifest.

plan, --arg ──▶ whole arrays ──runtime/ranks.py──▶ whole results ──▶ --out, --expect, --report ──▶ status
"""

from __future__ import annotations

import copy
import sys
from typing import TYPE_CHECKING

import numpy as np

from tessera_tools.cli.common import write_stderr
from tessera_tools.cli.run_arguments import Arguments
from tessera_tools.cli.run_input import Loaded
from tessera_tools.diagnostics import error
from tessera_tools.emit.files import OutputSet
from tessera_tools.emit.plan import Launch, Plan
from tessera_tools.records import dataclass
from tessera_tools.runtime.arguments import BufferSpec, parse_argument
from tessera_tools.runtime.ranks import PlanResult, check_arguments, run_plan
from tessera_tools.runtime.report import as_json
from tessera_tools.runtime.types import Array, Type
from tessera_tools.sim.findings import Findings

if TYPE_CHECKING:
    from tessera_tools.cli.command_line import OptionValues

__all__ = ["Program", "check_options", "plan_of", "run_ranks"]


_OF_ONE_KERNEL = (
    "grid",
    "block",
    "cluster",
    "shared",
    "launch",
    "schedules",
    "stats",
    "param",
    "resident",
    "processes",
    "time_limit",
)


@dataclass(frozen=True, slots=True)
class _Whole:
    """A whole result, as `Contents` for --out and --expect."""

    content: Array
    type: Type

    def array(self) -> Array:
        return self.content


def check_options(options: OptionValues) -> None:
    """Raises DiagnosticError for options that apply to a single kernel."""
    if (options["report"] or "").endswith(".html"):
        raise error(
            None,
            "--report writes JSON with --ranks; a page shows one kernel",
            "use a name that ends in .json",
        )
    for name in _OF_ONE_KERNEL:
        if options[name]:
            raise error(
                None,
                f"--{name.replace('_', '-')} applies to a single kernel; with --ranks, the plan defines the launches",
            )
    if options["modes"] == "both":
        raise error(None, "--modes=both runs each schedule twice; with --ranks, expected late or early")


def plan_of(loaded: Loaded, entry: str | None, ranks: int) -> Plan:
    """The plan to run: the one named by --entry, or the only one. Raises DiagnosticError."""
    plans = loaded.manifest.plans if loaded.manifest is not None else ()
    names = ", ".join(f"'{plan.name}'" for plan in plans)
    if not plans:
        raise error(
            None,
            "--ranks: the input has no host function",
            "docs/distributed.md shows one; for PTX, specify the plans with --manifest=FILE",
        )
    chosen = [plan for plan in plans if entry in (None, plan.name)]
    if len(chosen) != 1:
        if entry is None:
            raise error(None, f"there are {len(plans)} host functions: {names}", "name one with --entry")
        raise error(None, f"there is no host function '{entry}'; found {names}")
    plan = chosen[0]
    if plan.ranks != ranks:
        mesh = " x ".join(f"{axis} = {extent}" for axis, extent in plan.mesh)
        raise error(
            None,
            f"--ranks is {ranks}, but '{plan.name}' is for {plan.ranks} rank{'s' if plan.ranks != 1 else ''} ({mesh})",
        )
    return plan


@dataclass(frozen=True, slots=True)
class Program:
    """The program to run, checked: all information from options and files."""

    loaded: Loaded
    plan: Plan
    arguments: Arguments
    arrays: list[Array]

    @classmethod
    def of(cls, loaded: Loaded, options: OptionValues) -> Program:
        """Raises DiagnosticError if the options do not match the plan."""
        plan = plan_of(loaded, options["entry"], options["ranks"])
        arguments = Arguments(options)
        arguments.read()
        names = _results(plan)
        for name in [*(name for name, _ in arguments.outs), *(one.buffer for one in arguments.expectations)]:
            if name not in names:
                there = ", ".join(names) or "none"
                raise error(None, f"there is no result '{name}'; '{plan.name}' returns {there}")
        arrays = _arrays(plan, options)
        check_arguments(plan, arrays)
        return cls(loaded, plan, arguments, arrays)


def _results(plan: Plan) -> list[str]:
    return [f"result{number}" for number in range(len(plan.results))]


def run_ranks(program: Program, options: OptionValues, max_instructions: int) -> tuple[int, bool]:
    """Run the plan; returns (findings and disagreements, whether an --expect failed)."""
    loaded, plan, arguments = program.loaded, program.plan, program.arguments
    names = _results(plan)
    assert loaded.manifest is not None
    made = run_plan(
        loaded.code,
        loaded.manifest,
        plan,
        program.arrays,
        transport=options["transport"] or "auto",
        file=loaded.name,
        gpu_name=loaded.target.name if loaded.target is not None else None,
        device=options["device"] or "sim",
        seed=options["seed"] or 0,
        mode=options["modes"] or "late",
        max_instructions=max_instructions,
    )
    findings = _findings(made).under(options["findings"] or "warnings")
    buffers: dict[str, _Whole] = {
        name: _Whole(*result) for name, result in zip(names, made.results, strict=True)
    }
    to_stdout = options["report"] == "-"
    for one in made.ranks:
        for launch in one.launches:
            (sys.stderr if to_stdout else sys.stdout).write(launch.output)
    for finding in findings:
        write_stderr(finding.text(loaded.name))
    for text in made.disagreements:
        write_stderr(f"error: {text}\n")
    checks = arguments.check(buffers)
    for check in checks:
        write_stderr(f"{'error: ' if check.wrong else ''}{check.text}\n")
    found, wrong = len(findings.of("error")) + len(made.disagreements), any(check.wrong for check in checks)
    write_stderr(_summary(plan, made, findings.summary(len(made.disagreements))))
    with OutputSet() as outputs:
        for path, raw in arguments.outputs(buffers):
            outputs.add(path, raw)
        if options["report"] is not None:
            outputs.add(options["report"], _report(plan, made, findings, wrong))
    return found, wrong


def _arrays(plan: Plan, options: OptionValues) -> list[Array]:
    """The whole arguments."""
    found: list[Array] = []
    for number, text in enumerate(options["arg"]):
        given = parse_argument(text)
        if not isinstance(given, BufferSpec):
            raise error(None, f"'{text}': host functions take arrays, as in A=rand:f16:128x64")
        array, _ = given.array(np.random.default_rng([options["seed"] or 0, number]))
        found.append(array)
    return found


def _findings(made: PlanResult) -> Findings:
    findings = Findings()
    for rank, one in enumerate(made.ranks):
        for launch in one.launches:
            for finding in launch.findings:
                noted = copy.copy(finding)
                noted.notes = [*noted.notes, f"on rank {rank}"]
                findings.add(noted)
    return findings


def _summary(plan: Plan, made: PlanResult, found: str) -> str:
    launches = sum(isinstance(step, Launch) for step in plan.steps)
    exchanges = len(plan.steps) - launches
    instructions = sum(launch.instructions for one in made.ranks for launch in one.launches)
    return (
        f"{plan.name}: {plan.ranks} rank{'s' if plan.ranks != 1 else ''} over {made.ranks[0].transport}, "
        f"{launches} launch{'es' if launches != 1 else ''} and {exchanges} exchange{'s' if exchanges != 1 else ''} "
        f"each: {instructions:,} warp instructions in {made.seconds:.2f} s, "
        f"{found}\n"
    )


def _report(plan: Plan, made: PlanResult, findings: Findings, wrong: bool) -> str:
    bad = bool(findings.of("error")) or bool(made.disagreements)
    head = {
        "status": "finding" if bad else "wrong answer" if wrong else "success",
        "plan": plan.name,
        "mesh": dict(plan.mesh),
        "transport": made.ranks[0].transport,
        "disagreements": made.disagreements,
    }
    return as_json(head, [launch for one in made.ranks for launch in one.launches], list(findings))
