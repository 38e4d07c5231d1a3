"""mma.sp.sync and mma.block_scale: every variant of the PTX ISA is compiled by ptxas, and what it lacks is refused."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from programs import assembled, fresh_seed

from tessera_tools import sim
from tessera_tools.cli.opt import run as opt
from tessera_tools.cli.translate import run as translate

SMALL = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
HALVES = "vector<2xf16>"


class Variant(NamedTuple):
    """The registers and attributes of one product."""

    op: str
    a: tuple[int, str]
    b: tuple[int, str]
    sums: tuple[int, str]
    attributes: str
    target: str

    def text(self, result: str = "%d") -> str:
        """The op; its operands are arguments of `kernel`."""
        groups: list[str] = []
        for name, (count, type) in zip("ABC", (self.a, self.b, self.sums), strict=True):
            kind = {"i32": "i", HALVES: "h", "f32": "f"}[type]
            groups.append(f"{name}[{', '.join(f'%{kind}{i}' for i in range(count))}]")
        if ".sp" in self.op:
            groups += ["sparseMetadata[%i0]", "selector[%s]"]
        if "block_scale" in self.op:
            groups += ["scaleA[%i1, %z, %z]", "scaleB[%i2, %z, %z]"]
        struct = f"!llvm.struct<({', '.join([self.sums[1]] * self.sums[0])})>"
        types = f"({self.a[1]}, {self.b[1]}, {self.sums[1]}) -> {struct}"
        return f"{result} = nvvm.{self.op} {' '.join(groups)} {{{self.attributes}}} : {types}"


def kernel(lines: list[str]) -> str:
    """A kernel whose arguments are registers of each type."""
    arguments = ["%p: !llvm.ptr<1>", *(f"%i{i}: i32" for i in range(4))]
    arguments += [f"%h{i}: {HALVES}" for i in range(4)] + [f"%f{i}: f32" for i in range(4)]
    body = "\n  ".join(lines)
    return f"""llvm.func @k({", ".join(arguments)}) attributes {{nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>}} {{
  %s = llvm.mlir.constant(0 : i32) : i32
  %z = llvm.mlir.constant(0 : i16) : i16
  {body}
  llvm.return
}}
"""


def shape(k: int) -> str:
    return f"shape = #nvvm.shape<m = 16, n = 8, k = {k}>"


def types(a: str, b: str) -> str:
    return f"multiplicandAPtxType = #nvvm.mma_type<{a}>, multiplicandBPtxType = #nvvm.mma_type<{b}>"


def sparse_variants() -> Iterator[Variant]:
    sync = "mma.sp.sync"
    for ordered in ("", "orderedMetadata, "):
        for k in (16, 32):
            count = k // 8
            for sums in ((2, HALVES), (4, "f32")):
                yield Variant(sync, (count, HALVES), (count, HALVES), sums, ordered + shape(k), "sm_90a")
            bf16 = f"{ordered}{types('bf16', 'bf16')}, {shape(k)}"
            yield Variant(sync, (count, "i32"), (count, "i32"), (4, "f32"), bf16, "sm_90a")
            tf32 = f"{ordered}{types('tf32', 'tf32')}, {shape(k // 2)}"
            yield Variant(sync, (count, "i32"), (count, "i32"), (4, "f32"), tf32, "sm_90a")
            for (a, b), overflow in itertools.product(
                itertools.product(("s8", "u8"), repeat=2), ("wrapped", "satfinite")
            ):
                how = f"intOverflowBehavior = #nvvm.mma_int_overflow<{overflow}>"
                bytes_ = f"{ordered}{how}, {types(a, b)}, {shape(2 * k)}"
                yield Variant(sync, (count, "i32"), (count, "i32"), (4, "i32"), bytes_, "sm_90a")
        for a, b in itertools.product(("e4m3", "e5m2"), repeat=2):
            attributes = f"{ordered}{types(a, b)}, {shape(64)}"
            yield Variant(sync, (4, "i32"), (4, "i32"), (4, "f32"), attributes, "sm_90a")
    for a, b in itertools.product(SMALL, repeat=2):
        for sums in ((2, HALVES), (4, "f32")):
            attributes = f"kind = #nvvm.mma_kind<f8f6f4>, orderedMetadata, {types(a, b)}, {shape(64)}"
            yield Variant(sync, (4, "i32"), (4, "i32"), sums, attributes, "sm_120a")


def scaled_variants() -> Iterator[Variant]:
    for op, left, k in (("mma.block_scale", 4, 32), ("mma.sp.block_scale", 4, 64)):
        right = 2 if op == "mma.block_scale" else 4
        for a, b in itertools.product(SMALL, repeat=2):
            yield Variant(
                op,
                (left, "i32"),
                (right, "i32"),
                (4, "f32"),
                scales(k, a, b, "mxf8f6f4", "x1", "ue8m0"),
                "sm_120a",
            )
        for kind, size, format in (
            ("mxf4", "x2", "ue8m0"),
            ("mxf4nvf4", "x2", "ue8m0"),
            ("mxf4nvf4", "x4", "ue4m3"),
        ):
            attributes = scales(2 * k, "e2m1", "e2m1", kind, size, format)
            yield Variant(op, (left, "i32"), (right, "i32"), (4, "f32"), attributes, "sm_120a")


def scales(k: int, a: str, b: str, kind: str, size: str, format: str) -> str:
    scale = (
        f"scaleVecSize = #nvvm.scale_vec_size<{size}>, blockScaleFormat = #nvvm.block_scale_format<{format}>"
    )
    return f"{shape(k)}, {types(a, b)}, {scale}, kind = #nvvm.block_scale_kind<{kind}>"


@pytest.mark.parametrize("target", ["sm_90a", "sm_120a"])
def test_every_variant_of_the_isa_is_assembled(target: str) -> None:
    variants = [v for v in (*sparse_variants(), *scaled_variants()) if v.target == target]
    text = kernel([variant.text(f"%d{i}") for i, variant in enumerate(variants)])
    done = translate(["--mlir-to-ptx", f"--gpu-name={target}", "-"], text.encode())
    assert done.exit_code == 0, done.stderr.decode()
    ptx = done.stdout.decode()
    assert len(re.findall(r"^\s*mma\.", ptx, re.MULTILINE)) == len(variants)
    assembled(ptx, target)  # raises what ptxas says


FP8 = next(v for v in sparse_variants() if "e4m3" in v.attributes)
NARROW = next(v for v in sparse_variants() if "e2m1" in v.attributes)
BYTES = next(v for v in sparse_variants() if "s8" in v.attributes)
HALF = next(sparse_variants())
SCALED = next(v for v in scaled_variants() if "mxf4>" in v.attributes)
SPARSE_SCALED = next(v for v in scaled_variants() if v.op == "mma.sp.block_scale" and "mxf4>" in v.attributes)


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        (FP8._replace(a=(2, "i32"), b=(2, "i32")),
         "Could not match types for the A operands; expected one of 4xi32 but got i32, i32"),
        (HALF._replace(a=(1, HALVES)), "Could not match types for the A operands; expected one of 2xvector<2xf16>"),
        (HALF._replace(attributes="shape = #nvvm.shape<m = 8, n = 8, k = 4>"),
         "unimplemented variant for MMA shape <8, 8, 4>"),
        (HALF._replace(attributes=shape(64)), "unimplemented variant for MMA shape <16, 8, 64>"),
        (HALF._replace(sums=(4, "i32")), "Could not match types for the C operands"),
        (BYTES._replace(attributes=f"{types('s8', 's8')}, {shape(32)}"), "requires intOverflowBehavior attribute"),
        (BYTES._replace(attributes=f"{types('s8', 's4')}, {shape(32)}"), "multiplies s8 by s4; expected s8 or u8"),
        (HALF._replace(attributes=f"intOverflowBehavior = #nvvm.mma_int_overflow<wrapped>, {shape(16)}"),
         "has intOverflowBehavior with f16; only integers saturate"),
        (FP8._replace(sums=(2, HALVES)), "has sums of f16, which need kind = #nvvm.mma_kind<f8f6f4>"),
        (NARROW._replace(attributes=NARROW.attributes.replace("orderedMetadata, ", "")), "which needs orderedMetadata"),
        (FP8._replace(attributes=FP8.attributes.replace("e4m3", "e2m3")),
         "multiplies e2m3, which needs kind = #nvvm.mma_kind<f8f6f4>"),
        (SCALED._replace(attributes=SCALED.attributes.replace("x2", "x4")),
         "unsupported ScaleVecSize attribute for mma.m16n8k64.mxf4"),
        (SCALED._replace(attributes=SCALED.attributes.replace("k = 64", "k = 16")),
         "unsupported Geom for mma with block scaling"),
        (SPARSE_SCALED._replace(attributes=SPARSE_SCALED.attributes.replace("e2m1", "e4m3")),
         "unsupported MMATypes attribute for mma.m16n8k128.(mxf4nvf4|mxf4)"),
    ],
)  # fmt: skip
def test_what_the_isa_lacks_is_refused(variant: Variant, message: str) -> None:
    done = opt(["-"], kernel([variant.text()]).encode())
    assert done.exit_code == 1
    assert message in done.stderr.decode()


def test_a_selector_is_an_immediate() -> None:
    text = kernel([HALF.text().replace("selector[%s]", "selector[%i1]")])
    assert opt(["-"], text.encode()).exit_code == 0
    done = translate(["--mlir-to-ptx", "--gpu-name=sm_90a", "-"], text.encode())
    assert done.exit_code == 1
    assert re.search(
        rb"<stdin>:\d+:\d+: error: 'nvvm.mma.sp.sync' op needs a constant as selector", done.stderr
    )


def test_registers_that_the_instruction_does_not_have_are_refused_when_translated() -> None:
    """Upstream's op takes any registers."""
    text = kernel([SCALED._replace(a=(1, "i32")).text()])
    assert opt(["-"], text.encode()).exit_code == 0
    done = translate(["--mlir-to-ptx", "--gpu-name=sm_120a", "-"], text.encode())
    assert done.exit_code == 1
    assert b"Could not match types for the A operands; expected one of 4xi32 but got i32" in done.stderr


def test_a_product_with_scales_runs() -> None:
    """Ones, scaled by 2^a and 2^b: every sum is 64 * 2^(a + b), and c is added."""
    rng = np.random.default_rng(fresh_seed())
    a, b, c = (int(rng.integers(-6, 7)) for _ in range(3))
    ones = 0x22222222  # e2m1 has 1.0 as 2
    words = [f"%one = llvm.mlir.constant({ones} : i32) : i32"]
    for name, value in (("i1", 0x0101 * (127 + a)), ("i2", 0x0101 * (127 + b))):
        words.append(f"%{name}x = llvm.mlir.constant({value} : i32) : i32")
    words.append(f"%c = llvm.mlir.constant({float(c)} : f32) : f32")
    product = re.sub(
        r"(?<= )([AB])\[([^\]]*)\]",
        lambda m: f"{m[1]}[{', '.join(['%one'] * len(m[2].split(',')))}]",
        SCALED.text(),
    )
    product = (
        re.sub(r"C\[[^\]]*\]", "C[%c, %c, %c, %c]", product)
        .replace("[%i1,", "[%i1x,")
        .replace("[%i2,", "[%i2x,")
    )
    text = kernel([
        *words, product, "%tid = nvvm.read.ptx.sreg.tid.x : i32",
        "%at = llvm.getelementptr %p[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32",
        "%v = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>",
        "llvm.store %v, %at : f32, !llvm.ptr<1>",
    ])  # fmt: skip
    text = re.sub(r"@k\(.*\) attributes", "@k(%p: !llvm.ptr<1>) attributes", text)
    done = translate(["--mlir-to-ptx", "--gpu-name=sm_120a", "-"], text.encode())
    assert done.exit_code == 0, done.stderr.decode()
    module = sim.load(done.stdout.decode(), file="k.ptx")
    held = module.memory.allocate(np.zeros(32, np.float32), "sums")
    result = module.launch("k", (1,), (32,), [held])
    assert not result.findings, result.findings.text("k.ptx")
    assert (held.array() == 64 * 2.0 ** (a + b) + c).all()
