"""Every attribute of a tile op changes what is compiled, or a remark says that it is ignored.

The attributes come from the declarations of the ops: one without a row in `CASES` fails the test.
"""

from __future__ import annotations

import pytest

from tessera_tools.diagnostics import DiagnosticError, collect
from tessera_tools.dialects.tile import DIALECT
from tessera_tools.emit.host import take_plans
from tessera_tools.ir.printing import print_op
from tessera_tools.ir.verifier import verify_or_raise
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pass

COPIED = "memref<64x64xf16>, memref<64x64xf16, 3>"
FRAGMENT = "memref<4x8xf32, 5>"
MATRICES = f"memref<64x64xf16, 3>, memref<64x64xf16, 3> -> {FRAGMENT}"
PRODUCT = (
    "%p = {op} %a, %b {{{attr}}} : "
    + MATRICES
    + "\ntile.store_global %p, %D : "
    + FRAGMENT
    + ", memref<64x64xf32>"
)
ROWS = (
    f"%f = tile.alloc_register : {FRAGMENT}\ntile.load_global_tile %D, %f : memref<64x64xf32>, {FRAGMENT}\n"
    "%r = {op} {attr} %f : " + FRAGMENT + " -> memref<4xf32, 5>\n"
    "tile.store_global %r, %V : memref<4xf32, 5>, memref<64xf32>"
)
COPY = "{op} %A, %a {{{attr}}} : " + COPIED + "\ntile.async_wait"
WAIT = (
    f"tile.cp_async %A, %a : {COPIED}\ntile.cp_commit_group\ntile.cp_async %A, %b : {COPIED}\n"
    "tile.cp_commit_group\n{op} {attr}"
)
COLLECTIVE = "%r = {op} %t {{{attr}}} : memref<8x8xf32> -> "
CACHE = ('cache_policy = "streaming"', "")
TRANSPOSES = {"transpose_a": ("transpose_a = true", ""), "transpose_b": ("transpose_b = true", "")}
OF_PRODUCT = {
    **TRANSPOSES,
    "accumulate": ("accumulate = true", ""),
    "layout": ('layout = "col_major"', ""),
    "precision": ('precision = "mixed"', ""),
}
WGMMA = 'intrinsic = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"'
WMMA = 'intrinsic = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"'


def named(intrinsic: str) -> dict[str, tuple[str, str]]:
    """The cases of a product that names its instruction."""
    cases = {key: (f"{one}, {intrinsic}", intrinsic) for key, (one, _) in OF_PRODUCT.items()}
    return {
        **cases,
        "intrinsic": (intrinsic, intrinsic.replace("m64n64k16", "m64n32k16").replace("k8", "k16")),
    }


OF_COPY = {
    "bypass_l1": ("bypass_l1 = false", ""),
    "double_buffer": ("double_buffer = true", ""),
    "stages": ("stages = 2", ""),
    "priority": ('priority = "high"', ""),
}
OF_ACCESS = {"coalesce": ("coalesce = false", ""), "cache_policy": CACHE}
X, GLOO = 'mesh_axis = "x"', 'implementation = "gloo"'

# op → (statements, attribute → two ways to write it)
CASES: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {
    "tile.allreduce": (
        COLLECTIVE + "memref<8x8xf32>",
        {
            "mesh_axis": (f'{X}, reduction_kind = "sum"', 'mesh_axis = "y", reduction_kind = "sum"'),
            "implementation": (f'{X}, reduction_kind = "sum", {GLOO}', f'{X}, reduction_kind = "sum"'),
            "reduction_kind": (f'{X}, reduction_kind = "sum"', f'{X}, reduction_kind = "max"'),
        },
    ),
    "tile.allgather": (
        COLLECTIVE + "memref<16x8xf32>",
        {
            "mesh_axis": (f"{X}, dim = 0 : i64", 'mesh_axis = "y", dim = 0 : i64'),
            "implementation": (f"{X}, dim = 0 : i64, {GLOO}", f"{X}, dim = 0 : i64"),
            "dim": (f"{X}, dim = 0 : i64", f"{X}, dim = 1 : i64"),
        },
    ),
    "tile.reduce_scatter": (
        COLLECTIVE + "memref<4x8xf32>",
        {
            "mesh_axis": (
                f'{X}, dim = 0 : i64, reduction_kind = "sum"',
                'mesh_axis = "y", dim = 0 : i64, reduction_kind = "sum"',
            ),
            "implementation": (
                f'{X}, dim = 0 : i64, reduction_kind = "sum", {GLOO}',
                f'{X}, dim = 0 : i64, reduction_kind = "sum"',
            ),
            "dim": (
                f'{X}, dim = 0 : i64, reduction_kind = "sum"',
                f'{X}, dim = 1 : i64, reduction_kind = "sum"',
            ),
            "reduction_kind": (
                f'{X}, dim = 0 : i64, reduction_kind = "sum"',
                f'{X}, dim = 0 : i64, reduction_kind = "min"',
            ),
        },
    ),
    "tile.all_to_all": (
        COLLECTIVE + "memref<4x16xf32>",
        {
            "mesh_axis": (
                f"{X}, split_dim = 0 : i64, gather_dim = 1 : i64",
                'mesh_axis = "y", split_dim = 0 : i64, gather_dim = 1 : i64',
            ),
            "implementation": (
                f"{X}, split_dim = 0 : i64, gather_dim = 1 : i64, {GLOO}",
                f"{X}, split_dim = 0 : i64, gather_dim = 1 : i64",
            ),
            "split_dim": (
                f"{X}, split_dim = 0 : i64, gather_dim = 1 : i64",
                f"{X}, split_dim = 1 : i64, gather_dim = 1 : i64",
            ),
            "gather_dim": (
                f"{X}, split_dim = 0 : i64, gather_dim = 1 : i64",
                f"{X}, split_dim = 0 : i64, gather_dim = 0 : i64",
            ),
        },
    ),
    "tile.all_slice": (
        COLLECTIVE + "memref<4x8xf32>",
        {
            "mesh_axis": (f"{X}, dim = 0 : i64", 'mesh_axis = "y", dim = 0 : i64'),
            "implementation": (f"{X}, dim = 0 : i64, {GLOO}", f"{X}, dim = 0 : i64"),
            "dim": (f"{X}, dim = 0 : i64", f"{X}, dim = 1 : i64"),
        },
    ),
    "tile.launch": (
        "%r = {op} {attr} (%t) : (memref<8x8xf32>) -> memref<8x8xf32>",
        {"callee": ("@k grid [1]", "@l grid [1]"), "grid": ("@k grid [1]", "@k grid [2]")},
    ),
    "tile.flash_attention": (
        "%r = {op} %q, %q, %q {{{attr}}} : (memref<64x64xf16>, memref<64x64xf16>, memref<64x64xf16>) "
        "-> memref<64x64xf16>",
        {"scale": ("scale = 0.5 : f32", "scale = 0.25 : f32"), "causal": ("causal", "")},
    ),
    "tile.alloc_register": (
        f"%f = {{op}} {{{{{{attr}}}}}} : {FRAGMENT}\ntile.load_global_tile %D, %f : memref<64x64xf32>, {FRAGMENT}",
        {"layout": ('layout = "col_major"', ""), "vector_width": ("vector_width = 4", "")},
    ),
    "tile.alloc_shared": (
        f"%c = {{op}} {{{{{{attr}}}}}} : memref<64x64xf16, 3>\ntile.cp_async %A, %c : {COPIED}\ntile.async_wait",
        {
            "swizzle": ('swizzle = "xor"', ""),
            "swizzle_size": ('swizzle = "xor", swizzle_size = 32', 'swizzle = "xor"'),
            "size": ("size = 4096", ""),
            "alignment": ("alignment = 256", ""),
        },
    ),
    "tile.apply": (
        f"%f = tile.alloc_register : {FRAGMENT}\ntile.load_global_tile %D, %f : memref<64x64xf32>, {FRAGMENT}\n"
        f"%g = {{op}} {{attr}}(%f) : ({FRAGMENT}) -> {FRAGMENT}\n"
        f"tile.store_global %g, %D : {FRAGMENT}, memref<64x64xf32>",
        {"function": ('"math.exp"', '"math.rsqrt"')},
    ),
    **{
        op: (
            "%n = {op} {{{attr}}} : index\n%x = tile.load_global %D[%n, %n] : memref<64x64xf32>\n"
            "tile.store_global_element %x, %D[%i, %n] : memref<64x64xf32>",
            {"axis": ("axis = 1 : i64", "axis = 2 : i64")},
        )
        for op in ("tile.block_id", "tile.num_blocks")
    },
    "tile.cp_async": (COPY, OF_COPY),
    "tile.cp_async_cg": (COPY, {**OF_COPY, "cache_level": ('cache_level = "L1"', "")}),
    "tile.tma_load": (COPY, {**OF_COPY, "tile_size": ("tile_size = array<i64: 64, 64>", "")}),
    "tile.cp_wait_group": (WAIT, {"pending": ("0", "1")}),
    "tile.wait_group": (WAIT, {"pending": ("0", "1")}),
    "tile.load_global": (
        "%x = {op} %D[%i, %i] {{{attr}}} : memref<64x64xf32>\n"
        "tile.store_global_element %x, %D[%i, %i] : memref<64x64xf32>",
        OF_ACCESS,
    ),
    "tile.store_global_element": (
        "%x = tile.load_global %D[%i, %i] : memref<64x64xf32>\n{op} %x, %D[%i, %i] {{{attr}}} : memref<64x64xf32>",
        OF_ACCESS,
    ),
    "tile.load_global_tile": (
        f"%f = tile.alloc_register : {FRAGMENT}\n{{op}} %D, %f {{{{{{attr}}}}}} : memref<64x64xf32>, {FRAGMENT}\n"
        f"tile.store_global %f, %D : {FRAGMENT}, memref<64x64xf32>",
        OF_ACCESS,
    ),
    "tile.store_global": (
        f"%f = tile.alloc_register : {FRAGMENT}\ntile.load_global_tile %D, %f : memref<64x64xf32>, {FRAGMENT}\n"
        f"{{op}} %f, %D {{{{{{attr}}}}}} : {FRAGMENT}, memref<64x64xf32>",
        OF_ACCESS,
    ),
    "tile.load_global_vector": (
        "%x = {op} %D[%i, %i] {{{attr}}} : memref<64x64xf32>",
        {
            "vector_width": ("vector_width = 2", "vector_width = 8"),
            "coalesce": ("vector_width = 2, coalesce = false", "vector_width = 2"),
            "cache_policy": ('vector_width = 2, cache_policy = "streaming"', "vector_width = 2"),
        },
    ),
    "tile.store_global_vector": (
        "%x = tile.load_global_vector %D[%i, %i] {{vector_width = 2}} : memref<64x64xf32>\n"
        "{op} %x, %D[%i, %i] {{{attr}}} : memref<64x64xf32>",
        {
            "vector_width": ("vector_width = 2", "vector_width = 4"),
            "coalesce": ("vector_width = 2, coalesce = false", "vector_width = 2"),
            "cache_policy": ('vector_width = 2, cache_policy = "streaming"', "vector_width = 2"),
        },
    ),
    "tile.load_shared_vector": (
        "%x = {op} %a[%i, %i] {{{attr}}} : memref<64x64xf16, 3>",
        {"vector_width": ("vector_width = 2", "vector_width = 16")},
    ),
    "tile.store_shared_vector": (
        "%x = tile.load_shared_vector %a[%i, %i] {{vector_width = 2}} : memref<64x64xf16, 3>\n"
        "{op} %x, %b[%i, %i] {{{attr}}} : memref<64x64xf16, 3>",
        {"vector_width": ("vector_width = 2", "vector_width = 4")},
    ),
    "tile.mma": (PRODUCT, OF_PRODUCT),
    "tile.wgmma": (PRODUCT, named(WGMMA)),
    "tile.wmma": (PRODUCT, named(WMMA)),
    "tile.reduce": (ROWS, {"kind": ("max", "min")}),
    "tile.warp_reduce": (ROWS, {"kind": ("max", "min")}),
    "tile.profile_marker": (
        "{op} {attr}",
        {
            "kind": ('"compute_start", "x"', '"compute_end", "x"'),
            "subject": ('"compute_start", "x"', '"compute_start", "y"'),
        },
    ),
}
ATTRIBUTES = [
    (op.name, field.key)
    for op in DIALECT.ops.values()
    if op.name.startswith("tile.")
    for field in op.definition.attributes
]
HOST = (
    "tile.allreduce", "tile.allgather", "tile.reduce_scatter", "tile.all_to_all", "tile.all_slice", "tile.launch",
    "tile.flash_attention",
)  # fmt: skip
KERNELS = "".join(
    f"func.func @{name}(%s: memref<8x8xf32>, %d: memref<8x8xf32>) attributes {{tessera.kernel}} {{ return }}\n"
    for name in "kl"
)


def program(op: str, attribute: str) -> str:
    """A module with the op, whose attribute is written so."""
    body = CASES[op][0].format(op=op, attr=attribute)
    if op in HOST:
        return (
            f"module attributes {{tile.mesh = #tile.mesh<x = 2, y = 2>}} {{\n{KERNELS}"
            f"func.func @f(%t: memref<8x8xf32>, %q: memref<64x64xf16>) {{\n{body}\nreturn\n}}\n}}"
        )
    return f"""
func.func @k(%A: memref<64x64xf16>, %D: memref<64x64xf32>, %V: memref<64xf32>, %i: index)
    attributes {{tessera.kernel}} {{
  %a = tile.alloc_shared : memref<64x64xf16, 3>
  %b = tile.alloc_shared : memref<64x64xf16, 3>
  tile.cp_async %A, %a : {COPIED}
  tile.cp_async %A, %b : {COPIED}
  tile.async_wait
  tile.barrier
  {body}
  return
}}"""


def compiled(op: str, attribute: str) -> tuple[str, list[str]]:
    """(what the op becomes, or the error that refuses it; the remarks)."""
    with collect() as diagnostics:
        try:
            module = parse_module(program(op, attribute), "t.mlir")
            verify_or_raise(module)
            plans = take_plans(module)
            pipeline = Pipeline("builtin.module")
            pipeline.add(parse_pass("convert-tile-to-tileas"))
            PassManager(pipeline, verify_each=True).run(module)
            text = f"{plans}\n{print_op(module)}"
        except DiagnosticError as failure:
            text = f"refused: {failure.diagnostics[0].message}"
    return text, [d.message for d in diagnostics if d.severity == "remark"]


def test_every_attribute_has_a_case() -> None:
    known = {(op, key) for op, (_, attributes) in CASES.items() for key in attributes}
    assert known == set(ATTRIBUTES)


@pytest.mark.parametrize(("op", "key"), ATTRIBUTES)
def test_an_attribute_decides_something_or_is_said_to_be_ignored(op: str, key: str) -> None:
    (one, remarks), (other, more) = (compiled(op, attribute) for attribute in CASES[op][1][key])
    refused = [text for text in (one, other) if text.startswith("refused")]
    assert len(refused) < 2, refused
    ignored = any(remark.startswith(f"{key} ") and " is ignored: " in remark for remark in remarks + more)
    assert one != other or ignored, one
