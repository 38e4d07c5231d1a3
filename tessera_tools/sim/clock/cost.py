"""What one execution of each PTX instruction costs: issue slots, units, the latency of its result, its registers.

    PTX line ──▶ [FFMA, MOV]              from the SASS of the kernel, assembled with one line for each PTX instruction
    else         by opcode and type       an estimate: ptxas merges, splits and removes instructions

Dependencies between instructions are those of the PTX registers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from tessera_tools.sim.program import (
    Address,
    Function,
    Group,
    Immediate,
    Instruction,
    Name,
    Operand,
    Pair,
    Program,
    Vector,
)
from tessera_tools.target.timing import Timing

__all__ = ["Cost", "costs", "product_rate"]

Register = tuple[int, int]
"""Bits and slot: one PTX register."""
Sass = Mapping[int, Sequence[tuple[int, str]]]
"""Places and opcodes of SASS instructions by PTX line."""


@dataclass(frozen=True, slots=True)
class Cost:
    """One execution by one warp."""

    slots: float
    """Issue slots of the warp's scheduler; 0 if ptxas has removed the instruction."""
    units: tuple[tuple[str, float], ...]
    """Units of the partition, and the cycles that each is busy."""
    latency: float
    """From issue to result, for what is not memory or tensor cores."""
    kind: str
    """What the replay does: `plain`, `load.shared`, `wgmma` …"""
    reads: tuple[Register, ...]
    writes: tuple[Register, ...]
    tensor: float = 0.0
    """Cycles of the partition's tensor core."""
    feed: float = 0.0
    """Bytes of shared memory that a warp's part of a wgmma reads."""
    group: int = 0
    """Of wait_group: how many groups may be left."""
    place: float = 0.0
    """Where ptxas has put it; within a basic block, its order is that of these numbers."""


_FMA = {"FFMA", "FADD", "FMUL", "FFMA2", "FADD2", "FMUL2"}
_HALF = {"HFMA2", "HADD2", "HMUL2", "HMNMX2", "HSETP2", "HSET2"}
_ALU = {
    "IADD3", "IADD", "LOP3", "LOP", "SHF", "SHL", "SHR", "ISETP", "FSETP", "SEL", "FSEL", "FMNMX", "IMNMX", "VIMNMX",
    "PRMT", "LEA", "MOV", "P2R", "R2P", "PLOP3", "IABS", "FSET", "BMSK", "SGXT", "LEPC", "VIADD", "VIADDMNMX",
}  # fmt: skip
_MULTIPLY = {"IMAD", "IMUL", "IDP"}
_SPECIAL = {"MUFU", "POPC", "FLO", "BREV", "F2I", "I2F", "F2F", "FRND", "I2FP"}
_CONVERT = {"F2FP"}
_SHUFFLE = {"SHFL", "REDUX", "MATCH"}
_DOUBLE = {"DFMA", "DADD", "DMUL", "DSETP"}
_ANCHORS = {
    "ld": ("LD", "ULD"), "st": ("ST",), "mma": ("HMMA", "IMMA", "DMMA", "QMMA", "OMMA"),
    "ldmatrix": ("LDSM",), "stmatrix": ("STSM",), "atom": ("ATOM",), "red": ("RED",), "ex2": ("MUFU",),
    "shfl": ("SHFL",), "wgmma": ("HGMMA", "IGMMA", "QGMMA"), "tcgen05": ("UTC", "LDT", "STT"),
    "cp": ("LDGSTS", "UTMALDG", "UTMASTG", "UBLKCP"), "bar": ("BAR",),
}  # fmt: skip
_WORK = _ANCHORS | {"mbarrier": ("SYNCS",), "barrier": ("BAR", "UCGABAR")}
"""The opcodes that tell where an instruction is; ptxas may move the others of its line, such as those of an address."""
_ELEMENTARY = {"ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos", "tanh"}
_LOGIC = {
    "setp", "selp", "min", "max", "and", "or", "xor", "not", "shl", "shr", "shf", "prmt", "lop3", "bfe", "bfi",
}  # fmt: skip
_REMOVED = {"mov", "cvta", "pragma"}
_NO_RESULT = {"bar", "barrier", "bra", "brx", "call", "ret", "exit", "trap", "setmaxnreg", "nanosleep"}


def costs(
    program: Program, functions: Sequence[Function], table: Timing, sass: Sass, blocks: Sequence[int] = ()
) -> dict[int, Cost]:
    """The cost of each instruction of the functions, by its index.

    sass: places and opcodes of the SASS by PTX line; empty to estimate from the PTX. blocks: the places at which basic
    blocks of the SASS begin.
    """
    found: dict[int, Cost] = {}
    sass = _at_home(program, functions, sass, blocks)
    for function in functions:
        copies = _copies(program, function, sass)
        place, line = 0.0, 0
        # Hand-written PTX and inline assembly have several instructions on a line, which share its SASS.
        sharing = Counter(inst.line for inst in program.instructions[function.start : function.end])
        for pc in range(function.start, function.end):
            inst = program.instructions[pc]
            if sass:
                listed = Counter(opcode for _, opcode in sass.get(inst.line, ()))
                parts = sharing[inst.line]
                opcodes = {opcode: number / copies[pc] / parts for opcode, number in listed.items()}
                if not opcodes and _packs(inst):
                    opcodes = {"F2FP": 0.5}
                # A removed instruction stays after the one before it, as do those of one line.
                if parts == 1 or inst.line != line:
                    place = _place(inst, sass.get(inst.line, ()), place)
                line = inst.line
            else:
                opcodes, place = _estimate(inst), float(pc)
            found[pc] = _cost(inst, opcodes, table, place)
    return found


def _at_home(program: Program, functions: Sequence[Function], sass: Sass, blocks: Sequence[int]) -> Sass:
    """The SASS by PTX line, where each instruction is in the basic block of what does the line's work.

    ptxas gives instructions of other blocks the line of a product or of a copy: conversions of the results after a
    loop, addresses of an epilogue. They count for the next line that is at home in their block, otherwise for the one
    before.
    """
    if not blocks:
        return sass
    homes: dict[int, set[int]] = {}
    for function in functions:
        for inst in program.instructions[function.start : function.end]:
            for number, opcode in sass.get(inst.line, ()):
                if opcode.startswith(_WORK.get(inst.opcode, ())):
                    homes.setdefault(inst.line, set()).add(bisect_right(blocks, number))
    ordered = sorted((number, opcode, line) for line, listed in sass.items() for number, opcode in listed)
    found: dict[int, list[tuple[int, str]]] = {}
    astray: list[tuple[int, str]] = []
    block, last = 0, 0
    for number, opcode, line in ordered:
        here = bisect_right(blocks, number)
        if here != block:
            found.setdefault(last, []).extend(astray)
            block, last = here, 0
            astray.clear()
        if line in homes and here not in homes[line]:
            astray.append((number, opcode))
            continue
        last = line
        found.setdefault(line, []).extend([*astray, (number, opcode)])
        astray.clear()
    found.setdefault(last, []).extend(astray)
    return found


def _packs(inst: Instruction) -> bool:
    """True for a conversion to a half type: one instruction packs two."""
    return inst.opcode == "cvt" and "f32" in inst.modifiers[-1:] and bool({"f16", "bf16"} & {*inst.modifiers})


def _place(inst: Instruction, listed: Sequence[tuple[int, str]], before: float) -> float:
    """The place of the first opcode that does the instruction's work; of any, if there is none."""
    starts = _WORK.get(inst.opcode)
    if not listed:
        return before
    work = [number for number, opcode in listed if starts is not None and opcode.startswith(starts)]
    return float(min(work or (number for number, _ in listed)))


def _copies(program: Program, function: Function, sass: Sass) -> dict[int, float]:
    """How often ptxas has copied each instruction by unrolling, as the instructions that it cannot split tell."""
    found: dict[int, float] = {}
    block: list[int] = []
    counts: dict[int, float] = {}
    """How often the most frequent opcode of an instruction occurs."""
    anchors: list[int] = []

    def close() -> None:
        copies = max(1.0, median(anchors)) if anchors else 1.0
        last = program.instructions[block[-1]] if block else None
        if last is not None and not anchors and _back(function, last) == block[0]:
            # The line that ptxas has split least.
            copies = min((counts[one] for one in block if counts.get(one)), default=1.0)
        found.update(dict.fromkeys(block, copies))
        block.clear()
        anchors.clear()

    targets = set(function.scope.labels.values())
    sharing = Counter(inst.line for inst in program.instructions[function.start : function.end])
    for pc in range(function.start, function.end):
        inst = program.instructions[pc]
        if pc in targets:
            close()
        block.append(pc)
        if sharing[inst.line] == 1 and inst.opcode != "bra" and (listed := sass.get(inst.line)):
            counts[pc] = float(max(Counter(opcode for _, opcode in listed).values()))
        starts = _ANCHORS.get(inst.opcode)
        if starts is not None and sharing[inst.line] == 1:
            number = sum(opcode.startswith(starts) for _, opcode in sass.get(inst.line, ()))
            if number:
                anchors.append(number)
        if inst.opcode in ("bra", "brx", "ret", "exit"):
            close()
    close()
    return found


def _back(function: Function, inst: Instruction) -> int | None:
    """Where a branch goes to; None for what is not a branch."""
    if inst.opcode != "bra" or not isinstance(inst.operands[-1], Name):
        return None
    return function.scope.labels.get(inst.operands[-1].name)


def _cost(inst: Instruction, opcodes: Mapping[str, float], table: Timing, place: float) -> Cost:
    value = table.value
    per = value("schedulers")
    rates = {
        "fma": value("fma_rate"),
        "half": value("half_rate") / 2,
        "multiply": value("multiply_rate"),
        "alu": value("integer_rate"),
        "special": value("special_rate"),
        "convert": value("convert_rate"),
        "shuffle": value("shuffle_rate"),
        "double": value("fma_rate") / 2,
    }
    busy: defaultdict[str, float] = defaultdict(float)
    slots = 0.0
    for opcode, number in opcodes.items():
        slots += number
        unit = _unit(opcode.split(".")[0])
        if unit == "multiply":
            # By the FMA units, or by one half of them if they are as many again.
            busy["fma"] += number * 32 * per / rates["fma"]
            if rates["fma"] == rates["multiply"]:
                continue
        elif unit == "convert" and rates["convert"] == rates["alu"]:
            unit = "alu"
        if unit is not None:
            busy[unit] += number * 32 * per / rates[unit]
    latency = value("arithmetic_latency")
    if "special" in busy:
        latency = value("special_latency")
    elif "shuffle" in busy:
        latency = value("shuffle_latency")
    # Instructions of one PTX instruction depend on each other, mostly.
    latency += value("arithmetic_latency") * max(0.0, slots - 1) / 2
    reads, writes = registers(inst)
    kind, tensor, feed, group = _kind(inst, table)
    if kind != "plain":
        slots = max(slots, 1.0)
    return Cost(slots, tuple(busy.items()), latency, kind, reads, writes, tensor, feed, group, place)


def _unit(opcode: str) -> str | None:
    for unit, opcodes in (
        ("fma", _FMA),
        ("multiply", _MULTIPLY),
        ("alu", _ALU),
        ("half", _HALF),
        ("special", _SPECIAL),
        ("convert", _CONVERT),
        ("shuffle", _SHUFFLE),
        ("double", _DOUBLE),
    ):
        if opcode in opcodes:
            return unit
    return None


def _estimate(inst: Instruction) -> dict[str, float]:
    """The SASS that an instruction becomes, by its opcode and type."""
    opcode, modifiers = inst.opcode, set(inst.modifiers)
    wide = bool(modifiers & {"b64", "u64", "s64"})
    if opcode in _REMOVED:
        return {}
    if opcode in _ELEMENTARY:
        return {"MUFU": 1.0} if "ftz" in modifiers or "f16x2" in modifiers else {"MUFU": 1.0, "FMUL": 2.0}
    if opcode in ("fma", "add", "sub", "mul", "mad", "neg", "abs"):
        if "f32" in modifiers:
            return {"FFMA": 1.0}
        if modifiers & {"f16x2", "bf16x2", "f16", "bf16"}:
            return {"HFMA2": 1.0}
        if "f64" in modifiers:
            return {"DFMA": 1.0}
        return {"IMAD" if opcode in ("mul", "mad") else "IADD3": 2.0 if wide else 1.0}
    if opcode == "cvt":
        floats = modifiers & {"f16", "bf16", "f16x2", "bf16x2", "e4m3x2", "e5m2x2"}
        return {"F2FP": 1.0} if floats else {"F2I": 1.0} if modifiers & {"f32", "f64"} else {"MOV": 1.0}
    if opcode in ("div", "rem"):
        return {"IMAD": 20.0} if not modifiers & {"f32", "f64"} else {"MUFU": 1.0, "FFMA": 8.0}
    if opcode in _LOGIC:
        return {"LOP3": 2.0 if wide else 1.0}
    if opcode in ("popc", "clz", "bfind", "brev"):
        return {"POPC": 1.0}
    if opcode == "shfl":
        return {"SHFL": 1.0}
    return {"OTHER": 1.0}


_RATES = {
    "f16": 1.0, "bf16": 1.0, "tf32": 0.5, "e4m3": 2.0, "e5m2": 2.0, "s8": 2.0, "u8": 2.0, "f64": 1 / 16, "s4": 4.0,
    "u4": 4.0, "b1": 16.0, "kind::tf32": 0.5, "kind::i8": 2.0, "kind::f8f6f4": 2.0, "kind::mxf8f6f4": 2.0,
    "kind::mxf4": 4.0, "kind::mxf4nvf4": 4.0,
}  # fmt: skip
"""By element type, how often the rate of 16-bit products (NVIDIA's data sheets of A100, H100 and B200)."""


def product_rate(inst: Instruction) -> float:
    """How often the rate of 16-bit products an mma, wgmma or tcgen05.mma has."""
    modifiers = inst.modifiers
    if inst.opcode == "mma":
        modifiers = modifiers[-3:-1]
    elif inst.opcode == "wgmma":
        modifiers = modifiers[-1:]
    return min((_RATES[one] for one in modifiers if one in _RATES), default=1.0)


def _kind(inst: Instruction, table: Timing) -> tuple[str, float, float, int]:
    """What the replay does with the instruction; cycles of the tensor core, bytes that feed it, and the group."""
    name, modifiers = inst.name, inst.modifiers
    opcode = inst.opcode
    if opcode == "mma":
        m, n, k = _shape(modifiers)
        rate = table.numbers.get("mma_f16", table.numbers["tensor_f16"]).value * product_rate(inst)
        return "mma", m * n * k / (rate / table.value("schedulers")), 0.0, 0
    if name.startswith("wgmma.mma_async"):
        m, n, k = _shape(modifiers)
        bits = 16 / product_rate(inst)
        rate = table.value("tensor_f16") * product_rate(inst)
        cycles = m * n * k / rate
        from_registers = len(inst.operands) > 1 and isinstance(inst.operands[1], Vector)
        a = 0 if from_registers else m * k * bits / 8
        if from_registers:
            cycles = max(cycles, table.value("wgmma_rs_floor"))
        return "wgmma", cycles, (a + n * k * bits / 8) / 4, 0
    for start, kind in _STARTS:
        if name.startswith(start):
            group = 0
            if kind.endswith("wait"):
                group = next((int(op.value) for op in inst.operands if isinstance(op, Immediate)), 0)
            return kind, 0.0, 0.0, group
    if opcode in ("ld", "st", "atom", "red", "ldu"):
        if "shared" in modifiers or "shared::cta" in modifiers or "shared::cluster" in modifiers:
            return "load.shared" if opcode == "ld" else "store.shared", 0.0, 0.0, 0
        if "param" in modifiers or "const" in modifiers:
            return "plain", 0.0, 0.0, 0
        return _GLOBAL[opcode], 0.0, 0.0, 0
    return "plain", 0.0, 0.0, 0


_GLOBAL = {
    "ld": "load.global", "ldu": "load.global", "st": "store.global", "atom": "atomic", "red": "store.global",
}  # fmt: skip
_STARTS = (
    ("tcgen05.mma", "umma"),
    ("tcgen05.cp", "umma"),
    ("tcgen05.commit", "umma.commit"),
    ("tcgen05.ld", "tmem.load"),
    ("tcgen05.st", "tmem.store"),
    ("tcgen05.wait", "tmem.wait"),
    ("clusterlaunchcontrol.try_cancel", "cancel"),
    ("wgmma.commit_group", "wgmma.commit"),
    ("wgmma.wait_group", "wgmma.wait"),
    ("cp.async.commit_group", "copy.commit"),
    ("cp.async.wait_group", "copy.wait"),
    ("cp.async.wait_all", "copy.wait"),
    ("cp.async.mbarrier.arrive", "copy.arrive"),
    ("cp.async.bulk.commit_group", "bulk.commit"),
    ("cp.async.bulk.wait_group", "bulk.wait"),
    ("cp.async.bulk.prefetch", "plain"),
    ("cp.async.bulk", "bulk"),
    ("cp.reduce.async.bulk", "bulk"),
    ("cp.async", "copy"),
    ("ldmatrix", "load.shared"),
    ("stmatrix", "store.shared"),
    ("mbarrier.try_wait", "phase.wait"),
    ("mbarrier.test_wait", "phase.wait"),
    ("mbarrier.arrive", "phase.arrive"),
    ("mbarrier.complete_tx", "phase.arrive"),
    ("bar.warp", "plain"),
    ("barrier.cluster.arrive.relaxed", "cluster.relaxed"),
    ("barrier.cluster.arrive", "cluster.arrive"),
    ("barrier.cluster.wait", "cluster.meet"),
    ("bar", "barrier"),
    ("fence", "fence"),
    ("membar", "fence"),
)


def _shape(modifiers: Sequence[str]) -> tuple[int, int, int]:
    """`m16n8k16` → 16, 8, 16."""
    text = next(one for one in modifiers if one.startswith("m") and "n" in one and "k" in one)
    m, rest = text[1:].split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


def registers(inst: Instruction) -> tuple[tuple[Register, ...], tuple[Register, ...]]:
    """The registers that an instruction reads and writes."""
    scope = inst.scope
    reads: list[Register] = []
    writes: list[Register] = []

    def visit(operand: Operand | None, found: list[Register]) -> None:
        if isinstance(operand, Name):
            register = scope.register(operand.name)
            if register is not None:
                found.append((register.type.bits, register.slot))
        elif isinstance(operand, Address):
            visit(operand.base, reads)
        elif isinstance(operand, Vector | Group):
            for element in operand.elements:
                visit(element, found)
        elif isinstance(operand, Pair):
            visit(operand.first, found)
            visit(operand.second, found)

    for number, operand in enumerate(inst.operands):
        result = not number and inst.opcode not in _NO_RESULT
        visit(operand, writes if result else reads)
    if inst.predicate is not None:
        visit(Name(inst.predicate.name), reads)
    if inst.opcode == "wgmma":
        # The accumulators are ready at the wait, which the replay knows.
        return tuple(dict.fromkeys(reads)), ()
    return tuple(dict.fromkeys(reads)), tuple(dict.fromkeys(writes))
