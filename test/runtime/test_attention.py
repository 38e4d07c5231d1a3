"""Attention of whole tensors on ranks, however it is cut, against the unsharded one in NumPy's float64."""

from __future__ import annotations

import numpy as np
import pytest
from programs import decode, encode, fresh_seed
from runtime.plans import compiled
from runtime.test_host_ops import run

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.emit.plan import Exchange, Launch

Shape = tuple[int, ...]


def program(
    shapes: tuple[Shape, Shape, Shape], *, mesh: str = "x = 1", cuts: tuple[str, ...] = ("", "", "", ""),
    element: str = "f16", result: str = "", attributes: str = "",
) -> str:  # fmt: skip
    """A module with O = attention(Q, K, V); `cuts` are the shardings of the three and of O."""
    q, k, v = ("x".join(map(str, shape)) for shape in shapes)
    o = "x".join(map(str, (*shapes[0][:-1], shapes[2][-1])))
    types = [f"memref<{shape}x{element}>" for shape in (q, k, v)]
    out = f"memref<{o}x{result or element}>"
    said = [f" {{sharding = #tile.sharding<{cut}>}}" if cut else "" for cut in cuts]
    return f"""
module attributes {{tile.mesh = #tile.mesh<{mesh}>}} {{
  func.func @main(%Q: {types[0]}{said[0]}, %K: {types[1]}{said[1]}, %V: {types[2]}{said[2]}) -> ({out}{said[3]}) {{
    %O = tile.flash_attention %Q, %K, %V {{{attributes}}} : ({", ".join(types)}) -> {out}
    return %O : {out}
  }}
}}
"""


def expected(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool, scale: float = 0.0) -> np.ndarray:
    scores = q @ np.swapaxes(k, -1, -2) * (scale or 1 / np.sqrt(q.shape[-1]))
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def operands(shapes: tuple[Shape, Shape, Shape], element: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """As the element type has them, and in float64.  Rows of Q and K grow, so that ranks differ in their maxima."""
    rng = np.random.default_rng(fresh_seed())
    made = [rng.standard_normal(shape) * 2 for shape in shapes]
    made[1] *= np.linspace(0.2, 2, shapes[1][-2])[:, None]
    given = [encode(element, a) for a in made]
    return given, [decode(element, a) for a in given]


def check(
    text: str, shapes: tuple[Shape, Shape, Shape], element: str = "f16", result: str = "", **options: object
) -> None:
    given, wide = operands(shapes, element)
    (found,) = run(text, *given)
    limit = 2.0**-6 if "bf16" in (element, result) else 2.0**-9
    wanted = expected(*wide, **options)  # type: ignore[arg-type]
    got = decode(result or element, found)
    np.testing.assert_allclose(got, wanted, rtol=2 * limit, atol=4 * limit)


B, H, S, D = 1, 4, 80, 16
WHOLE = ((B, H, S, D),) * 3
CUTS = {
    "batch": ("[{x}, {}, {}, {}]",) * 4,
    "heads": ("[{}, {x}, {}, {}]",) * 4,
    "queries": ("[{}, {}, {x}, {}]", "", "", "[{}, {}, {x}, {}]"),
    "keys": ("", "[{}, {}, {x}, {}]", "[{}, {}, {x}, {}]", ""),
    "keys, to queries": ("", "[{}, {}, {x}, {}]", "[{}, {}, {x}, {}]", "[{}, {}, {x}, {}]"),
    "keys of K alone": ("", "[{}, {}, {x}, {}]", "", ""),
    "depth of values": ("", "", "[{}, {}, {}, {x}]", "[{}, {}, {}, {x}]"),
    "depth of queries": ("[{}, {}, {}, {x}]", "", "", ""),
}
KINDS = {
    "batch": [], "heads": [], "queries": [], "keys": ["all_reduce"] * 3,
    "keys, to queries": ["all_reduce", "reduce_scatter", "reduce_scatter"],
    "keys of K alone": ["all_slice", *["all_reduce"] * 3], "depth of values": [], "depth of queries": ["all_gather"],
}  # fmt: skip


@pytest.mark.parametrize("ranks, causal", [(2, True), (4, False)], ids=["2, causal", "4"])
@pytest.mark.parametrize("cut", CUTS)
def test_cut_in_every_way(cut: str, ranks: int, causal: bool) -> None:
    shapes = ((B, 4, S, D),) * 3 if cut != "batch" else ((4, 1, S, D),) * 3
    text = program(shapes, mesh=f"x = {ranks}", cuts=CUTS[cut], attributes="causal" * causal)
    kinds = [step.kind for step in compiled(text)[1].plans[0].steps if isinstance(step, Exchange)]
    # Positions are cut without an exchange of data.
    assert [kind for kind in kinds if not (causal and kind == "all_slice")] == [
        kind for kind in KINDS[cut] if not (causal and kind == "all_slice")
    ]
    check(text, shapes, causal=causal)


def test_a_mesh_of_two_axes() -> None:
    """Heads along one axis, keys along the other."""
    cut = ("[{}, {a}, {}, {}]", "[{}, {a}, {x}, {}]", "[{}, {a}, {x}, {}]", "[{}, {a}, {x}, {}]")
    text = program(WHOLE, mesh="a = 2, x = 2", cuts=cut, attributes="causal")
    check(text, WHOLE, causal=True)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize(
    "shapes",
    [
        ((100, 32), (60, 32), (60, 48)),
        ((3, 70, 40), (3, 130, 40), (3, 130, 8)),
        ((1, 2, 64, 128), (1, 2, 192, 128), (1, 2, 192, 128)),
        ((4, 16), (2, 16), (2, 16)),
    ],
    ids=str,
)
def test_extents_that_tiles_do_not_divide(shapes: tuple[Shape, Shape, Shape], ranks: int) -> None:
    dims = len(shapes[0])
    keys = f"[{', '.join(['{}'] * (dims - 2))}{', ' * (dims > 2)}{{x}}, {{}}]"
    for causal in (False, True):
        text = program(shapes, mesh=f"x = {ranks}", cuts=("", keys, keys, ""), attributes="causal" * causal)
        check(text, shapes, causal=causal)


@pytest.mark.parametrize("element, result", [("bf16", "bf16"), ("f16", "f32"), ("bf16", "f16")])
def test_types_and_scales(element: str, result: str) -> None:
    shapes = ((64, 64),) * 3
    keys = ("", "[{x}, {}]", "[{x}, {}]", "[{x}, {}]")
    for mesh, cuts in (("x = 1", ("", "", "", "")), ("x = 2", keys)):
        text = program(
            shapes, mesh=mesh, cuts=cuts, element=element, result=result, attributes="scale = 0.25 : f32"
        )
        check(text, shapes, element, result, causal=False, scale=0.25)


def test_attention_between_products() -> None:
    """Projections, attention, and a projection of its result, with the sequence cut: what each needs is exchanged."""
    text = """
module attributes {tile.mesh = #tile.mesh<x = 2>} {
  func.func @main(%X: memref<128x64xf16> {sharding = #tile.sharding<[{x}, {}]>}, %Wq: memref<64x32xf16>,
                  %Wk: memref<64x32xf16>, %Wv: memref<64x32xf16>, %Wo: memref<32x64xf16>)
      -> (memref<128x64xf32, 5> {sharding = #tile.sharding<[{x}, {}]>}) {
    %q = tile.mma %X, %Wq : memref<128x64xf16>, memref<64x32xf16> -> memref<128x32xf16, 5>
    %k = tile.mma %X, %Wk : memref<128x64xf16>, memref<64x32xf16> -> memref<128x32xf16, 5>
    %v = tile.mma %X, %Wv : memref<128x64xf16>, memref<64x32xf16> -> memref<128x32xf16, 5>
    %o = tile.flash_attention %q, %k, %v {causal}
        : (memref<128x32xf16, 5>, memref<128x32xf16, 5>, memref<128x32xf16, 5>) -> memref<128x32xf16, 5>
    %y = tile.mma %o, %Wo : memref<128x32xf16, 5>, memref<32x64xf16> -> memref<128x64xf32, 5>
    return %y : memref<128x64xf32, 5>
  }
}
"""
    rng = np.random.default_rng(fresh_seed())
    x, *weights, wo = (
        (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float16)
        for shape in ((128, 64), (64, 32), (64, 32), (64, 32), (32, 64))
    )
    x = (x * np.sqrt(128)).astype(np.float16)
    (found,) = run(text, x, *weights, wo)
    q, k, v = ((x.astype(np.float64) @ w).astype(np.float16).astype(np.float64) for w in weights)
    o = expected(q, k, v, True).astype(np.float16).astype(np.float64)
    np.testing.assert_allclose(found, o @ wo, rtol=2e-2, atol=2e-2)


def test_the_steps_of_cut_keys() -> None:
    """Parts, their maxima, what they are by one maximum, sums, and the division."""
    text = program(WHOLE, mesh="x = 2", cuts=CUTS["keys"])
    steps = compiled(text)[1].plans[0].steps
    words = [
        step.kernel.rsplit("_", 1)[0] if isinstance(step, Launch) else f"{step.kind} {step.combine}"
        for step in steps
    ]
    assert words == [
        "tile_attention", "all_reduce max", "tile_attention_rescale", "all_reduce sum", "all_reduce sum",
        "tile_attention_divide",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "shapes, element, message",
    [
        (((64, 32), (64, 32), (64, 300)), "f16", "a depth of up to 256 is supported"),
        (((64, 32), (64, 32), (64, 32)), "f32", "f16 and bf16, into f16, bf16 or f32, are supported"),
        (((64, 31), (64, 31), (64, 31)), "f16", "rows must be multiples of 4 bytes"),
    ],
)
def test_what_no_kernel_is_written_for(
    shapes: tuple[Shape, Shape, Shape], element: str, message: str
) -> None:
    with pytest.raises(DiagnosticError) as raised:
        compiled(program(shapes, element=element))
    assert message in raised.value.diagnostics[0].message


def test_keys_that_ranks_do_not_divide() -> None:
    shapes = ((64, 32), (63, 32), (63, 32))
    with pytest.raises(
        DiagnosticError,
        match=": dimension 0 has 63 elements, which is not divisible by the 2 ranks of 'x'",
    ):
        compiled(program(shapes, mesh="x = 2", cuts=("", "[{x}, {}]", "[{x}, {}]", "")))
