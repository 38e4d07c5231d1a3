"""Plans on ranks: the sharded product is the unsharded one, whatever is exchanged."""

from __future__ import annotations

import numpy as np
import pytest
from programs import fresh_seed
from runtime.plans import CUTS, EMPTY, NO_TORCH, compiled, kinds, matmul

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.emit.manifest import Manifest
from tessera_tools.emit.plan import Exchange, Plan, Tensor
from tessera_tools.runtime.ranks import PlanResult, run_plan
from tessera_tools.runtime.types import TYPES

SHAPE = (32, 64, 128)
TRANSPORTS = [
    "sockets",
    pytest.param("torch", marks=pytest.mark.skipif(bool(NO_TORCH), reason=NO_TORCH)),
]


def _operands(rng: np.random.Generator, shape: tuple[int, int, int] = SHAPE) -> tuple[np.ndarray, np.ndarray]:
    m, n, k = shape
    return tuple(rng.uniform(-1, 1, size).astype(np.float16) for size in ((m, k), (k, n)))  # type: ignore[return-value]


def _run(text: str, arguments: tuple[np.ndarray, ...], transport: str, **options: object) -> PlanResult:
    ptx, manifest = compiled(text)
    made = run_plan(
        ptx,
        manifest,
        manifest.plans[0],
        arguments,
        transport=transport,
        time_limit=60,
        **options,  # type: ignore[arg-type]
    )
    assert not made.disagreements
    assert not [finding for one in made.ranks for launch in one.launches for finding in launch.findings]
    return made


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("exchange", CUTS)
def test_a_sharded_product_is_the_unsharded_one(exchange: str, ranks: int) -> None:
    rng = np.random.default_rng(fresh_seed())
    arguments = _operands(rng)
    text = matmul(f"x = {ranks}", *CUTS[exchange], SHAPE)
    assert kinds(compiled(text)[1]) == [kind for kind in (exchange,) if kind not in ("nothing", "whole")]
    ((found, _),) = _run(text, arguments, "sockets", seed=int(rng.integers(100))).results
    a, b = (array.astype(np.float64) for array in arguments)
    np.testing.assert_allclose(found, a @ b, rtol=1e-5, atol=1e-4)
    ((whole, _),) = _run(matmul("x = 1", *CUTS["whole"], SHAPE), arguments, "sockets").results
    if exchange in ("all_reduce", "reduce_scatter"):
        np.testing.assert_allclose(found, whole, rtol=1e-5, atol=1e-4)  # the sum along K is in another order
    else:
        np.testing.assert_array_equal(found, whole)


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("exchange", [name for name in CUTS if name not in ("nothing", "whole")])
def test_every_transport_exchanges_alike(exchange: str, transport: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    arguments = _operands(rng)
    made = _run(matmul("x = 2", *CUTS[exchange], SHAPE), arguments, transport)
    a, b = (array.astype(np.float64) for array in arguments)
    np.testing.assert_allclose(made.results[0][0], a @ b, rtol=1e-5, atol=1e-4)
    assert {one.transport for one in made.ranks} == {
        "torch.distributed" if transport == "torch" else "sockets"
    }


def test_a_mesh_of_two_axes() -> None:
    rng = np.random.default_rng(fresh_seed())
    arguments = _operands(rng)
    text = matmul("x = 2, y = 2", "[{y}, {x}]", "[{x}, {}]", "[{x}, {y}]", SHAPE)
    assert kinds(compiled(text)[1]) == ["all_to_all", "reduce_scatter"] or len(kinds(compiled(text)[1])) >= 2
    a, b = (array.astype(np.float64) for array in arguments)
    np.testing.assert_allclose(_run(text, arguments, "sockets").results[0][0], a @ b, rtol=1e-5, atol=1e-4)


# -- exchanges alone


def _exchange(
    kind: str, name: str, array: np.ndarray, transport: str, ranks: int = 3, combine: str | None = None
) -> np.ndarray:
    """What ranks that begin with their parts of `array`, along its first dimension, have afterwards, joined again."""
    rows, columns = array.shape
    shape, split, gather = [rows // ranks, columns], None, None
    if kind in ("reduce_scatter", "all_to_all", "all_slice"):
        split = 1
        shape[1] //= ranks
    if kind in ("all_gather", "all_to_all"):
        gather = 0
        shape[0] *= ranks
    cut = (
        (None, "x")
        if kind == "all_to_all"
        else (None, None)
        if kind in ("all_gather", "all_reduce")
        else (None, "x")
    )
    plan = Plan(
        "exchange",
        (("x", ranks),),
        (
            Tensor("before", name, (rows // ranks, columns), ("x", None)),
            Tensor("after", name, tuple(shape), cut),
        ),
        (0,),
        (1,),
        (Exchange(kind, "x", 0, 1, split, gather, combine),),
    )
    manifest = Manifest("sm_80", "8.0", (), plans=(plan,))
    assert Manifest.from_json(manifest.to_json()) == manifest
    made = run_plan(EMPTY, manifest, plan, [array], transport=transport, time_limit=60)
    assert not made.disagreements
    return made.results[0][0]


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("name", ["f16", "bf16", "f64", "i16", "i32"])
@pytest.mark.parametrize("combine", ["sum", "max", "min"])
def test_reductions(combine: str, name: str, transport: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    type = TYPES[name]
    values = rng.integers(-40, 40, (6, 6))
    array = type.encode(values).reshape(values.shape)
    parts = np.split(values, 3)
    expected = {"sum": sum, "max": np.maximum.reduce, "min": np.minimum.reduce}[combine](parts)
    found = _exchange("all_reduce", name, array, transport, combine=combine)
    np.testing.assert_array_equal(type.decode(found), expected)
    scattered = _exchange("reduce_scatter", name, array, transport, combine=combine)
    np.testing.assert_array_equal(type.decode(scattered), expected)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_parts_change_their_places(transport: str) -> None:
    array = np.random.default_rng(fresh_seed()).integers(-100, 100, (6, 9)).astype(np.int32)
    np.testing.assert_array_equal(_exchange("all_gather", "i32", array, transport), array)
    np.testing.assert_array_equal(_exchange("all_to_all", "i32", array, transport), array)


# -- what goes wrong


def test_ranks_that_disagree_are_found() -> None:
    plan = Plan(
        "plan",
        (("x", 2),),
        (Tensor("a", "i32", (2,), ("x",)), Tensor("r", "i32", (2,), (None,))),
        (0,),
        (1,),
        (Exchange("all_slice", "x", 0, 1, split=0),),
    )
    broken = Plan(
        plan.name, plan.mesh, (plan.tensors[0], Tensor("r", "i32", (1,), (None,))), (0,), (1,), plan.steps
    )
    made = run_plan(
        EMPTY, Manifest("sm_80", "8.0", ()), broken, [np.arange(4, dtype=np.int32)], transport="sockets"
    )
    assert made.disagreements == ["ranks disagree: r[0] is 0 on rank 0, and 3 on rank 1"]


def test_an_argument_of_another_shape() -> None:
    ptx, manifest = compiled(matmul("x = 2", *CUTS["all_reduce"], SHAPE))
    a, b = _operands(np.random.default_rng(0))
    with pytest.raises(DiagnosticError, match="argument 'B' is float16 of 32x128; expected f16 of 128x64"):
        run_plan(ptx, manifest, manifest.plans[0], [a, a], transport="sockets")
    with pytest.raises(DiagnosticError, match="'main' takes 2 arguments, 3 given: A, B"):
        run_plan(ptx, manifest, manifest.plans[0], [a, b, b], transport="sockets")


def test_a_rank_that_fails_ends_all() -> None:
    ptx, manifest = compiled(matmul("x = 2", *CUTS["all_reduce"], SHAPE))
    arguments = _operands(np.random.default_rng(0))
    with pytest.raises(DiagnosticError, match="'gemm' does not end") as failure:
        run_plan(ptx, manifest, manifest.plans[0], arguments, transport="sockets", max_instructions=100)
    assert any("on rank" in note.message for note in failure.value.diagnostics[0].notes)


def test_without_torch_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tessera_tools.runtime.ranks.has_torch", lambda: False)
    ptx, manifest = compiled(matmul("x = 2", *CUTS["all_reduce"], SHAPE))
    with pytest.raises(DiagnosticError, match="torch cannot be imported, which --transport=torch needs"):
        run_plan(ptx, manifest, manifest.plans[0], _operands(np.random.default_rng(0)), transport="torch")
