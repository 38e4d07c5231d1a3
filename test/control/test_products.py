"""Matrix products in loops that are left early, in branches, and skipped: their operands go through shared memory."""

from __future__ import annotations

import numpy as np
import pytest
from programs import TARGETS, check_tools, compiled, encode, fresh_seed, run

M, N, K, STEPS = 64, 32, 32, 6
A_VIEW = f"tensor_view<{M}x{K * STEPS}xf16, strides=[{K * STEPS},1]>"
B_VIEW = f"tensor_view<{K * STEPS}x{N}xf16, strides=[{N},1]>"
C_VIEW = f"tensor_view<{M}x{N}xf32, strides=[{N},1]>"
A_PART, B_PART = f"partition_view<tile=({M}x{K}), {A_VIEW}>", f"partition_view<tile=({K}x{N}), {B_VIEW}>"
C_PART = f"partition_view<tile=({M}x{N}), {C_VIEW}>"
A, B, C = f"tile<{M}x{K}xf16>", f"tile<{K}x{N}xf16>", f"tile<{M}x{N}xf32>"


def load(name: str, part: str, index: str, type: str) -> str:
    types = f"{part}, tile<i32> -> {type}, token"
    return f"%{name}, %{name}T = load_view_tko weak %{name}Q[{index}] token = %tok : {types}\n"


PRODUCT = f"""{load("a", A_PART, "%zero, %i", A)}    {load("b", B_PART, "%i, %zero", B)}
    %next = mmaf %a, %b, %acc : {A}, {B}, {C}"""


def kernel(body: str) -> str:
    """An entry that stores %r, made by `body` of %n and %skip."""
    numbers = "%n: tile<i32>, %skip: tile<i32>"
    return f"""entry @kernel(%ap: tile<ptr<f16>>, %bp: tile<ptr<f16>>, %cp: tile<ptr<f32>>, {numbers}) {{
  %tok = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %start = constant <f32: 0.0> : {C}
  %ax = assume div_by<16>, %ap : tile<ptr<f16>>
  %bx = assume div_by<16>, %bp : tile<ptr<f16>>
  %aV = make_tensor_view %ax, shape = [{M}, {K * STEPS}], strides = [{K * STEPS}, 1] : {A_VIEW}
  %bV = make_tensor_view %bx, shape = [{K * STEPS}, {N}], strides = [{N}, 1] : {B_VIEW}
  %cV = make_tensor_view %cp, shape = [{M}, {N}], strides = [{N}, 1] : {C_VIEW}
  %aQ = make_partition_view %aV : {A_PART}
  %bQ = make_partition_view %bV : {B_PART}
  %cQ = make_partition_view %cV : {C_PART}
  {body}
  %s = store_view_tko weak %r, %cQ[%zero, %zero] token = %tok : {C}, {C_PART}, tile<i32> -> token
  return
}}
"""


WHILE = f"""%r = loop iter_values(%i = %zero, %acc = %start) : tile<i32>, {C} -> {C} {{
    %done = cmpi greater_than_or_equal %i, %n, signed : tile<i32> -> tile<i1>
    if %done {{ break %acc : {C} }}
    %j = addi %i, %one : tile<i32>
    %skipped = cmpi equal %i, %skip, signed : tile<i32> -> tile<i1>
    if %skipped {{ continue %j, %acc : tile<i32>, {C} }}
    {PRODUCT}
    continue %j, %next : tile<i32>, {C}
  }}"""
FOR = f"""%r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %start) -> ({C}) {{
    %skipped = cmpi equal %i, %skip, signed : tile<i32> -> tile<i1>
    if %skipped {{ continue %acc : {C} }}
    {PRODUCT}
    continue %next : {C}
  }}"""
PLAIN = f"""%r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %start) -> ({C}) {{
    {PRODUCT}
    continue %next : {C}
  }}"""
BRANCH = f"""%r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %start) -> ({C}) {{
    %skipped = cmpi equal %i, %skip, signed : tile<i32> -> tile<i1>
    %chosen = if %skipped -> ({C}) {{
      yield %acc : {C}
    }} else {{
      {PRODUCT}
      yield %next : {C}
    }}
    continue %chosen : {C}
  }}"""
LATE = f"""%r = loop iter_values(%i = %zero, %acc = %start) : tile<i32>, {C} -> {C} {{
    %done = cmpi greater_than_or_equal %i, %n, signed : tile<i32> -> tile<i1>
    if %done {{ break %acc : {C} }}
    {PRODUCT}
    %j = addi %i, %one : tile<i32>
    %skipped = cmpi equal %i, %skip, signed : tile<i32> -> tile<i1>
    if %skipped {{ continue %j, %acc : tile<i32>, {C} }}
    continue %j, %next : tile<i32>, {C}
  }}"""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("body", [WHILE, FOR, BRANCH, LATE], ids=["while", "for", "branch", "late"])
def test_a_product_is_skipped_in_one_iteration(body: str, target: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    a, b = rng.standard_normal((M, K * STEPS)), rng.standard_normal((K * STEPS, N))
    a, b = a.astype(np.float16), b.astype(np.float16)
    n, skip = int(rng.integers(1, STEPS + 1)), int(rng.integers(0, STEPS))
    kept = [i for i in range(n) if i != skip]
    columns = [k for i in kept for k in range(i * K, (i + 1) * K)]
    exact = a[:, columns].astype(np.float64) @ b[columns].astype(np.float64)
    *_, found = run(
        kernel(body), encode("f16", a), encode("f16", b), np.zeros((M, N), np.float32), n, skip, target=target
    )
    np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-3)


def test_a_while_loop_is_pipelined_as_a_for_loop() -> None:
    lines = WHILE.splitlines()
    plain = "\n".join(line for line in lines if "skip" not in line)
    assert compiled(kernel(WHILE)).ptx.count("cp.async.wait_group") == 0
    assert compiled(kernel(plain)).ptx.count("cp.async.wait_group") > 0
    rng = np.random.default_rng(fresh_seed())
    a, b = rng.standard_normal((M, K * STEPS)), rng.standard_normal((K * STEPS, N))
    a, b = a.astype(np.float16), b.astype(np.float16)
    for n in (0, 1, STEPS):
        exact = a[:, : n * K].astype(np.float64) @ b[: n * K].astype(np.float64)
        *_, found = run(kernel(plain), encode("f16", a), encode("f16", b), np.zeros((M, N), np.float32), n, 0)
        np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("target", TARGETS)
def test_sums_that_start_from_a_constant(target: str, mode: str) -> None:
    """wgmma adds to registers that have the constant before its fence."""
    text = kernel(PLAIN).replace("<f32: 0.0>", "<f32: 2.5>")
    assert ("wgmma" in compiled(text, target).ptx) == (target == "sm_90a")
    rng = np.random.default_rng(fresh_seed())
    a, b = rng.standard_normal((M, K * STEPS)), rng.standard_normal((K * STEPS, N))
    a, b = a.astype(np.float16), b.astype(np.float16)
    for n in (0, 1, STEPS):
        exact = a[:, : n * K].astype(np.float64) @ b[: n * K].astype(np.float64) + 2.5
        *_, found = run(text, a, b, np.zeros((M, N), np.float32), n, 0, target=target, mode=mode)
        np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("factor", ["constant", "computed"])
@pytest.mark.parametrize("target", TARGETS)
def test_a_factor_of_constants(target: str, factor: str, mode: str) -> None:
    """A is all 1.5, or 1 below the diagonal and 0 elsewhere: LLVM shares its constants."""
    ints = f"tile<{M}x{K}xi32>"
    made = {
        "constant": f"%a = constant <f16: 1.5> : {A}",
        "computed": f"""%rows0 = iota : tile<{M}xi32>
    %rows1 = reshape %rows0 : tile<{M}xi32> -> tile<{M}x1xi32>
    %rows = broadcast %rows1 : tile<{M}x1xi32> -> {ints}
    %columns0 = iota : tile<{K}xi32>
    %columns1 = reshape %columns0 : tile<{K}xi32> -> tile<1x{K}xi32>
    %columns2 = broadcast %columns1 : tile<1x{K}xi32> -> {ints}
    %width = constant <i32: {K}> : tile<i32>
    %before0 = muli %i, %width : tile<i32>
    %before1 = reshape %before0 : tile<i32> -> tile<1x1xi32>
    %before = broadcast %before1 : tile<1x1xi32> -> {ints}
    %columns = addi %columns2, %before : {ints}
    %below = cmpi greater_than_or_equal %rows, %columns, signed : {ints} -> tile<{M}x{K}xi1>
    %ones = constant <f16: 1.0> : {A}
    %zeros = constant <f16: 0.0> : {A}
    %a = select %below, %ones, %zeros : tile<{M}x{K}xi1>, {A}""",
    }[factor]
    text = kernel(PLAIN).replace(load("a", A_PART, "%zero, %i", A), made + "\n")
    assert ("wgmma" in compiled(text, target).ptx) == (target == "sm_90a")
    rng = np.random.default_rng(fresh_seed())
    a = np.full((M, K * STEPS), 1.5) if factor == "constant" else np.tri(M, K * STEPS)
    b = rng.standard_normal((K * STEPS, N)).astype(np.float16)
    for n in (0, 1, STEPS):
        exact = a[:, : n * K] @ b[: n * K].astype(np.float64)
        given = np.zeros(a.shape, np.float16), b, np.zeros((M, N), np.float32)
        *_, found = run(text, *given, n, 0, target=target, mode=mode)
        np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-3)


def test_the_tools_take_products_in_loops_that_are_left_early() -> None:
    check_tools(kernel(WHILE), *TARGETS)
