"""The clock's estimate as text and as JSON: time, rates, what bounds the kernel, where warps wait, and advice.

Estimate ──summary()──▶ lines for people          ──as_data()──▶ what `--timing=FILE` writes
         ──chart()────▶ bars of where the warps' time went, and the roofline
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tessera_tools.records import Json
from tessera_tools.sim.clock.timeline import WarpTime

if TYPE_CHECKING:
    from rich.table import Table

    from tessera_tools.runtime.timing import Estimate

__all__ = [
    "Role",
    "Roofline",
    "advice",
    "as_data",
    "bounds",
    "busy",
    "chart",
    "roles",
    "roof_chart",
    "roofline",
    "summary",
    "warp_lines",
]

_UNITS = {
    "issue": "issue slots",
    "tensor": "tensor cores",
    "shared": "shared memory",
    "l2": "L2 bandwidth",
    "dram": "DRAM bandwidth",
    "fma": "FMA units",
    "multiply": "integer multipliers",
    "alu": "ALU",
    "half": "packed half units",
    "special": "MUFU",
    "convert": "conversions",
    "shuffle": "shuffles",
    "double": "FP64 units",
}
_WAITS = {"full": "stage 'full'", "empty": "stage 'empty'", "flag": "a write of another CTA", "": "other"}
_PEAKS = {0.5: "tf32", 1.0: "f16", 2.0: "8-bit", 4.0: "4-bit", 16.0: "1-bit"}
"""By the rate of products."""
_FEW = 0.9
"""CTAs for this part of the SMs or fewer leave some unused."""
_BOUND = 0.6
"""A unit that is busy for this part of the time or more bounds the kernel."""
_SHOWN = 0.01


@dataclass(frozen=True, slots=True)
class Role:
    """Warps that do the same: `producer` issues TMA, `consumer` issues wgmma or tcgen05.mma."""

    name: str
    warps: int
    issued: float
    """Part of its time in which it issues."""
    stalls: dict[str, float]
    """Part of its time by what it waits for, the largest first."""


def busy(estimate: Estimate) -> dict[str, float]:
    """For each unit, the part of the time that it is busy, the largest first."""
    timeline = estimate.timeline
    partitions = int(estimate.table.value("schedulers")) * max(1, timeline.sms)
    counts = {"shared": max(1, timeline.sms), "l2": 1, "dram": 1}
    parts = {
        unit: cycles / (max(timeline.cycles, 1.0) * counts.get(unit, partitions))
        for unit, cycles in timeline.busy.items()
    }
    return dict(sorted(parts.items(), key=lambda one: -one[1]))


def roles(estimate: Estimate) -> list[Role]:
    """The roles of the warps, in alphabetical order."""
    found: dict[str, list[WarpTime]] = {}
    for warp in estimate.timeline.warps:
        found.setdefault(warp.role, []).append(warp)
    result: list[Role] = []
    for name, warps in sorted(found.items()):
        whole = sum(warp.end - warp.begin for warp in warps) or 1.0
        stalls: defaultdict[str, float] = defaultdict(float)
        for warp in warps:
            for what, cycles in warp.stalls.items():
                stalls[what] += cycles
        parts = {what: cycles / whole for what, cycles in sorted(stalls.items(), key=lambda one: -one[1])}
        result.append(Role(name, len(warps), sum(warp.issued for warp in warps) / whole, parts))
    return result


def bounds(estimate: Estimate) -> dict[str, float]:
    """For each unit, the seconds that the launch would take if nothing else took time, the longest first."""
    return {unit: part * estimate.seconds for unit, part in busy(estimate).items()}


@dataclass(frozen=True, slots=True)
class Roofline:
    """Where a kernel is under the roofs of its GPU."""

    intensity: float
    """Operations for each byte of DRAM; infinite if DRAM is not used."""
    reached: float
    """Operations a second."""
    compute: float
    """The roof of the units that the kernel uses, in operations a second."""
    memory: float
    """The slope: bytes of DRAM a second."""

    @property
    def roof(self) -> float:
        """What the kernel could reach, in operations a second."""
        return min(self.compute, self.memory * self.intensity)


def roofline(estimate: Estimate) -> Roofline | None:
    """The roofline of a launch; None if it counts no floating-point operations."""
    flops, table = sum(estimate.flops.values()), estimate.table
    if not flops:
        return None
    rate, scale = "fma_rate", 1.0
    if estimate.flops["wgmma"] or estimate.flops["tcgen05.mma"] or estimate.flops["mma.sync"]:
        scale = estimate.product_rate
    if estimate.flops["wgmma"] or estimate.flops["tcgen05.mma"]:
        rate = "tensor_f16"
    elif estimate.flops["mma.sync"]:
        rate = "mma_f16" if "mma_f16" in table.numbers else "tensor_f16"
    moved = estimate.timeline.dram_bytes * estimate.scale
    return Roofline(
        flops / moved if moved else float("inf"),
        flops / estimate.seconds,
        2 * table.value(rate) * scale * table.value("sms") * table.value("clock_mhz") * 1e6,
        table.value("dram_chip_gbs") * 1e9,
    )


def as_data(estimate: Estimate) -> dict[str, Json]:
    """Everything, as JSON has it. Times are in cycles of an SM and seconds, rates in units a second."""
    return {
        "target": estimate.target.name,
        "product": estimate.table.product,
        "clock_mhz": estimate.table.value("clock_mhz"),
        "instructions_from": estimate.source,
        "cycles": round(estimate.cycles),
        "seconds": estimate.seconds,
        "ctas": estimate.ctas,
        "simulated_ctas": estimate.simulated,
        "ctas_per_sm": estimate.timeline.resident,
        "surveyed_ctas": estimate.surveyed,
        "instructions": estimate.instructions,
        "executed_instructions": estimate.executed,
        "waves": estimate.waves,
        "registers": estimate.registers,
        "flops": dict(estimate.flops),
        "flops_per_second": sum(estimate.flops.values()) / estimate.seconds,
        "l2_bytes": round(estimate.timeline.l2_bytes * estimate.scale),
        "dram_bytes": round(estimate.timeline.dram_bytes * estimate.scale),
        "busy": {unit: round(part, 4) for unit, part in busy(estimate).items()},
        "bounds_seconds": bounds(estimate),
        "stages": estimate.timeline.stages,
        "stage_bytes": round(estimate.timeline.stage_bytes),
        "roles": [
            {
                "role": role.name,
                "warps": role.warps,
                "issuing": round(role.issued, 4),
                "waiting": {what: round(part, 4) for what, part in role.stalls.items()},
            }
            for role in roles(estimate)
        ],
        "warps": [
            {
                "cta": warp.cta,
                "warp": warp.warp,
                "role": warp.role,
                "begin_cycles": round(warp.begin),
                "end_cycles": round(warp.end),
                **_parts(warp),
            }
            for warp in _in_order(estimate)
        ],
        "advice": advice(estimate),
        "guesses": sorted(name for name, number in estimate.table.numbers.items() if number.guess),
    }


def _in_order(estimate: Estimate) -> list[WarpTime]:
    return sorted(estimate.timeline.warps, key=lambda warp: (warp.cta, warp.warp))


def _parts(warp: WarpTime) -> dict[str, Any]:
    """The parts of its time in which a warp issues, and waits; they add up to 1, except for what no cause is known."""
    whole = (warp.end - warp.begin) or 1.0
    waits = sorted(warp.stalls.items(), key=lambda one: -one[1])
    return {
        "issuing": round(warp.issued / whole, 4),
        "waiting": {what: round(cycles / whole, 4) for what, cycles in waits},
    }


_MOST_WARPS = 64
"""Warps that `warp_lines` shows."""


def warp_lines(estimate: Estimate) -> list[str]:
    """Where the time of each warp of what was replayed went, by CTA and warp."""
    warps = _in_order(estimate)
    lines: list[str] = []
    for warp in warps[:_MOST_WARPS]:
        parts = _parts(warp)
        waits = [
            f"{_WAITS.get(what, what)} {part:.0%}"
            for what, part in parts["waiting"].items()
            if part >= _SHOWN
        ]
        lines.append(
            f"  CTA {warp.cta} warp {warp.warp} {warp.role}: {warp.end - warp.begin:,.0f} cycles, "
            f"issues {parts['issuing']:.0%}; waits for {', '.join(waits) or 'nothing'}"
        )
    if len(warps) > _MOST_WARPS:
        lines.append(f"  {len(warps) - _MOST_WARPS} more warps are in the JSON of --timing=FILE")
    return lines


def summary(estimate: Estimate) -> list[str]:
    """Lines for people."""
    table, timeline = estimate.table, estimate.timeline
    clock = table.value("clock_mhz")
    lines = [
        f"estimate for {table.product} at {clock:.0f} MHz: {estimate.cycles:,.0f} cycles, {_time(estimate.seconds)} "
        f"without the launch (about {table.value('launch_us'):.0f} µs)"
    ]
    flops = sum(estimate.flops.values())
    moved = timeline.dram_bytes * estimate.scale
    rates: list[str] = []
    if flops:
        peak = 2 * table.value("tensor_f16") * estimate.product_rate * table.value("sms") * clock * 1e6
        rate = flops / estimate.seconds
        type = _PEAKS.get(estimate.product_rate, "f64")
        rates.append(f"{rate / 1e12:.1f} TFLOP/s ({rate / peak:.0%} of the {type} tensor peak)")
    gbs = moved / estimate.seconds / 1e9
    rates.append(f"{gbs:,.0f} GB/s of DRAM ({gbs / table.value('dram_chip_gbs'):.0%})")
    lines.append("  " + ", ".join(rates))
    lines.append(
        f"  {_ctas(estimate.ctas)}, {_ctas(timeline.resident)} on an SM, {estimate.waves:.2f} waves; "
        + (
            f"simulated: {_ctas(estimate.simulated)}, {estimate.surveyed} until their first loads; the others are "
            "extrapolated"
            if estimate.simulated < estimate.ctas
            else "all were simulated"
        )
    )
    if estimate.executed < estimate.instructions:
        lines.append(
            f"  {estimate.executed:,} of their {estimate.instructions:,} instructions were executed; the others are "
            "laps of loops in a steady state"
        )
    parts = [
        f"{_UNITS.get(unit, unit)} {part:.0%}" for unit, part in busy(estimate).items() if part >= _SHOWN
    ]
    lines.append(f"  busy: {', '.join(parts)}")
    for role in roles(estimate):
        waits = [
            f"{_WAITS.get(what, what)} {part:.0%}" for what, part in role.stalls.items() if part >= _SHOWN
        ]
        lines.append(f"  {role.name}: issues {role.issued:.0%}; waits for {', '.join(waits) or 'nothing'}")
    unit, alone = next(iter(bounds(estimate).items()), ("issue", 0.0))
    lines.append(
        f"  bound by {_UNITS.get(unit, unit)}: {_time(alone)} of {_time(estimate.seconds)}; the rest is latency and "
        "waits"
    )
    if (under := roofline(estimate)) is not None:
        which = "DRAM" if under.roof < under.compute else "compute"
        lines.append(
            f"  roofline: {under.intensity:,.1f} operations a byte of DRAM; {under.reached / 1e12:.1f} of "
            f"{under.roof / 1e12:.1f} TFLOP/s ({under.reached / under.roof:.0%}) under the roof of {which}"
        )
    if estimate.source == "SASS":
        lines.append("  instruction counts are those of the SASS")
    else:
        lines.append(f"  instruction counts are estimated from the PTX: {estimate.why_not_sass}")
    lines.append(f"  {advice(estimate)}")
    return lines


def _ctas(number: int) -> str:
    return f"{number:,} CTA{'' if number == 1 else 's'}"


def advice(estimate: Estimate) -> str:
    """One sentence: what bounds the kernel, and what may help."""
    parts = busy(estimate)
    unit, part = next(iter(parts.items()), ("issue", 0.0))
    sms = estimate.table.value("sms")
    if estimate.ctas < _FEW * sms:
        use = "uses" if estimate.ctas == 1 else "use"
        return (
            f"{_ctas(estimate.ctas)} {use} {min(estimate.ctas, int(sms))} of {sms:.0f} SMs: smaller tiles, or a split "
            "of the reduction, would use more"
        )
    if part >= _BOUND:
        return _ABOUT_UNIT.get(unit, f"{_UNITS.get(unit, unit)} bound the kernel ({{:.0%}} busy)").format(
            part
        )
    tail = estimate.waves - int(estimate.waves)
    if 0 < tail < 0.5 and estimate.waves < 4:
        return (
            f"the last of {estimate.waves:.2f} waves fills {tail:.0%} of the SMs: another tile size, or a persistent "
            "kernel, would waste less"
        )
    # Warps that only load wait by design.
    working = [role for role in roles(estimate) if role.name != "producer"]
    working = [role for role in working if role.name == "consumer"] or working
    waits: defaultdict[str, float] = defaultdict(float)
    for role in working:
        for what, share in role.stalls.items():
            waits[what] += share * role.warps / sum(one.warps for one in working)
    if not waits:
        return "nothing is waited for: the kernel is too short to say what bounds it"
    what = max(waits, key=lambda one: waits[one])
    share = waits[what]
    if what == "full":
        return _about_stages(estimate, share)
    if what == "memory" and estimate.timeline.copies:
        return f"warps wait {share:.0%} of their time for copies: more stages, or more CTAs on an SM, would hide it"
    return _ABOUT_WAIT.get(what, f"warps wait {{:.0%}} of their time for {what}").format(share)


def _about_stages(estimate: Estimate, share: float) -> str:
    """What helps consumers that wait for data: another stage, if shared memory has room for it."""
    stages, size = estimate.timeline.stages, estimate.timeline.stage_bytes
    wait = f"consumers wait {share:.0%} for stage 'full'"
    room = (estimate.target.max_shared_per_block or 0) - estimate.shared
    if size <= room:
        return f"{wait}: raise --num-stages to {stages + 1} (+{size / 1024:.0f} KiB)"
    return (
        f"{wait}: shared memory has no room for stage {stages + 1} ({size / 1024:.0f} KiB); smaller tiles, or "
        "multicast in a cluster, would help"
    )


_ABOUT_UNIT = {
    "tensor": "the tensor cores bound the kernel ({:.0%} busy): only fewer or narrower products would be faster",
    "dram": "DRAM bandwidth bounds the kernel ({:.0%} busy): fewer bytes, or more reuse in L2, would be faster",
    "l2": "L2 bandwidth bounds the kernel ({:.0%} busy): larger tiles, or multicast in a cluster, would read less",
    "shared": "shared memory bounds the kernel ({:.0%} busy): fewer bank conflicts, or operands in registers, help",
    "issue": "the issue slots bound the kernel ({:.0%} busy): fewer instructions would be faster",
    "special": "the MUFU bounds the kernel ({:.0%} busy): fewer elementary functions would be faster",
    "fma": "the FMA units bound the kernel ({:.0%} busy): fewer operations, or packed f16, would be faster",
    "alu": "integer and logic operations bound the kernel ({:.0%} busy): simpler addresses or masks would help",
    "multiply": "integer products bound the kernel ({:.0%} busy): simpler addresses would help",
    "half": "packed f16 operations bound the kernel ({:.0%} busy): fewer operations would be faster",
    "convert": "conversions bound the kernel ({:.0%} busy): fewer or packed conversions would be faster",
    "shuffle": "shuffles bound the kernel ({:.0%} busy): more elements in each thread would need fewer",
    "double": "the FP64 units bound the kernel ({:.0%} busy): f32 would be faster",
}
_ABOUT_WAIT = {
    "memory": "warps wait {:.0%} of their time for global memory: larger tiles or more CTAs on an SM have more "
    "bytes in flight",
    "empty": "warps wait {:.0%} of their time for an mbarrier that other warps signal: balance the roles' work",
    "flag": "warps wait {:.0%} of their time for what other CTAs write: fewer or earlier dependencies would help",
    "issue": "warps wait {:.0%} of their time for issue slots: fewer instructions would be faster",
    "barrier": "warps wait {:.0%} of their time for barriers: fewer of them, or more CTAs on an SM, would help",
    "shared": "warps wait {:.0%} of their time for shared memory: more warps would hide it",
    "tensor": "warps wait {:.0%} of their time for products: more of them in flight would hide it",
    "arithmetic": "warps wait {:.0%} of their time for arithmetic: more warps, or more independent work, would hide it",
}


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


_BAR = 50
"""Characters of a bar."""
_ROOF_ROWS, _ROOF_COLUMNS = 8, 50


def chart(estimate: Estimate) -> Table:
    """Bars of where the warps of each role spend their time; for a rich console."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 1), show_header=False)
    for role in roles(estimate):
        parts = {
            "issue slots": role.issued,
            **{_WAITS.get(what, what): part for what, part in role.stalls.items()},
        }
        name = f"{role.name} ({role.warps} warps)"
        for what, part in sorted(parts.items(), key=lambda one: -one[1]):
            if part >= _SHOWN:
                color = "green" if what == "issue slots" else "yellow"
                label = "issues" if what == "issue slots" else f"waits for {what}"
                table.add_row(name, label, f"{part:.0%}", Text("█" * max(1, round(part * _BAR)), color))
                name = ""
    return table


def roof_chart(estimate: Estimate) -> list[str]:
    """The roofline as characters: operations a second over operations a byte, both logarithmic; `●` is the kernel."""
    under = roofline(estimate)
    if under is None or under.intensity == float("inf"):
        return []
    ridge = under.compute / under.memory
    low, high = min(under.intensity, ridge) / 8, max(under.intensity, ridge) * 8
    top, bottom = under.compute, min(under.reached, under.memory * low) / 1.5

    def column(value: float) -> int:
        return round(math.log(value / low) / math.log(high / low) * (_ROOF_COLUMNS - 1))

    def row(value: float) -> int:
        return _ROOF_ROWS - 1 - round(math.log(value / bottom) / math.log(top / bottom) * (_ROOF_ROWS - 1))

    cells = [[" "] * _ROOF_COLUMNS for _ in range(_ROOF_ROWS)]
    for at in range(_ROOF_COLUMNS):
        x = low * (high / low) ** (at / (_ROOF_COLUMNS - 1))
        y = min(top, under.memory * x)
        if y >= bottom:
            cells[row(y)][at] = "─" if x >= ridge else "╱"
    cells[row(under.reached)][column(under.intensity)] = "●"
    lines = [f"  {'TFLOP/s':>10}", *(f"  {'':>10}│{''.join(line)}" for line in cells)]
    lines[1] = f"  {top / 1e12:>10.1f}│{''.join(cells[0])}"
    lines[-1] = f"  {bottom / 1e12:>10.2f}│{''.join(cells[-1])}"
    left, right = f"{low:.3g}", f"{high:.3g} operations a byte"
    return [*lines, f"  {'':>10}└{left}{right:>{_ROOF_COLUMNS - len(left)}}"]
