"""Consumer warpgroups that take turns with the tensor cores (ping-pong): where they do, that it is right, and that each
of its barriers is needed."""

from __future__ import annotations

import re
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import assembled, compiled, decode, fresh_seed, launch
from trials import Trial, missed, near

from tessera_tools.cli.opt import run as run_opt
from tessera_tools.cli.translate import run as run_translate

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_attention import Attention
from programs_of_products import Product

SMALL = Attention(rows=128, keys=32, width=128)
KERNELS = {
    "d64": Attention(width=64, keys=128),
    "d128": Attention(width=128, keys=128, element="bf16"),
    "few keys": SMALL,
    "divided": Attention(width=64, keys=64),
    "two loops": Attention(width=64, keys=128, causal=True, split=True),
}


def translated(text: str, *flags: str) -> tuple[str, str]:
    """(PTX, remarks and errors)."""
    result: Any = run_translate(
        ["--gpu-name=sm_90a", "--cache=off", "--mlir-to-ptx", "--remarks=text", *flags, "-o", "-"],
        text.encode(),
        None,
    )
    return result.stdout.decode(), result.stderr.decode()


@pytest.mark.parametrize("name", KERNELS)
def test_attention_takes_turns_by_its_price(name: str) -> None:
    ptx, remarks = translated(KERNELS[name].text())
    found = re.search(
        r"2 consumer warpgroups take turns with the tensor cores \(ping-pong\): an iteration takes (\d+) cycles "
        r"instead of (\d+) \[turns\]",
        remarks,
    )
    assert found is not None and int(found[1]) < int(found[2])
    assert ptx.count("bar.sync \t2") == 1, "the warpgroups meet after the loop only"
    assert "bar.arrive" in ptx


def test_one_warpgroup_becomes_two_that_take_turns() -> None:
    """The sums of 128 rows and 64 keys fit the threads of one."""
    ptx, remarks = translated(KERNELS["divided"].text())
    assert "a warp that loads and 2 consumer warpgroups: so that they take turns" in remarks
    assert ".reqntid 384" in ptx
    ptx, remarks = translated(KERNELS["divided"].text(), "--ping-pong=never")
    assert "a warp that loads and 1 consumer warpgroup: the fewest" in remarks
    assert "bar.arrive" not in ptx


@pytest.mark.parametrize("warps", [0, 4])
def test_a_product_alone_keeps_its_warpgroup(warps: int) -> None:
    """Turns are of no use where the tensor cores have no pause, and a hint that asks for one warpgroup is followed."""
    ptx, remarks = translated(Product(m=128, n=32, warps=warps).text())
    assert "a warp that loads and 1 consumer warpgroup" in remarks
    assert "bar.arrive" not in ptx


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("blocks", [1, 2, 5])
@pytest.mark.parametrize("name", KERNELS)
def test_results(name: str, blocks: int, mode: str) -> None:
    rng, kernel = np.random.default_rng(fresh_seed()), KERNELS[name]
    queries = int(rng.integers(1, 2 * kernel.rows))
    keys = blocks * kernel.keys - int(rng.integers(0, kernel.keys))
    args, expected = kernel.case(queries, keys, rng)
    grid = (-(-queries // kernel.rows),)
    found = launch(kernel.text(), *args, target="sm_90a", grid=grid, mode=mode)[0][3]
    np.testing.assert_allclose(decode(kernel.element, found), expected, rtol=2e-2, atol=2e-2)


def test_eight_schedules_agree() -> None:
    rng = np.random.default_rng(fresh_seed())
    args, expected = SMALL.case(100, 5 * 32 - 3, rng)
    for seed in range(8):
        mode = "late" if seed % 2 else "early"
        found = launch(SMALL.text(), *args, target="sm_90a", seed=seed, mode=mode)[0][3]
        np.testing.assert_allclose(decode("f16", found), expected, rtol=2e-2, atol=2e-2)


PRODUCTS = {
    "two warpgroups": Product(m=128, n=128, k=32, outer=True, steps=5),
    "two along N": Product(m=64, n=256, k=16, steps=5),
    "four warpgroups": Product(m=256, n=32, k=32, warps=16, steps=5),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_take_turns_when_asked(name: str) -> None:
    product, rng = PRODUCTS[name], np.random.default_rng(fresh_seed())
    m, n, k = product.m, product.n * (2 if product.outer else 1), product.steps * product.k
    arrays = [rng.standard_normal(s).astype(np.float16) for s in ((m, k), (k, n))]
    args: list[Any] = []
    for array in (*arrays, np.zeros((m, n), np.float32)):
        args += [array, *map(np.int32, array.shape), np.int32(array.shape[1])]
    assert "bar.arrive" not in compiled(product.text(), "sm_90a").ptx
    assert "bar.arrive" in compiled(product.text(), "sm_90a", 3, "always").ptx
    found = launch(product.text(), *args, target="sm_90a", ping_pong="always")[0][2]
    np.testing.assert_allclose(
        found, arrays[0].astype(np.float64) @ arrays[1].astype(np.float64), rtol=1e-3, atol=1e-3
    )


def test_a_remark_says_why_products_take_no_turns() -> None:
    _, remarks = translated(PRODUCTS["two warpgroups"].text())
    assert re.search(
        r"the 2 consumer warpgroups do not take turns with the tensor cores: an iteration would take \d+ cycles "
        r"instead of \d+ \[turns\]",
        remarks,
    )


def test_a_remark_says_that_tiles_leave_no_registers() -> None:
    ptx, remarks = translated(Attention(rows=128, keys=256, width=64).text())
    assert "do not take turns with the tensor cores: their tiles need 224 registers of a thread" in remarks
    assert "bar.arrive" not in ptx


@pytest.mark.parametrize("asked", ["auto", "always"])
def test_turns_that_are_asked_for_are_required(asked: str) -> None:
    """A later pass that cannot give them refuses, and does not leave them out."""
    flags = ["--convert-cuda-tile-to-tileaa=gpu-name=sm_90a", "--convert-tileaa-to-tileas"]
    result: Any = run_opt(
        [*flags, f"--tileas-schedule=ping-pong={asked}", "-o", "-"], KERNELS["d128"].text().encode(), None
    )
    assert ("nv_tileas.turns_required" in result.stdout.decode()) == (asked == "always")


def test_the_chart_shows_the_phase_of_each_warpgroup() -> None:
    """One has its turn where the other one has none."""
    flags = ["--convert-cuda-tile-to-tileaa=gpu-name=sm_90a", "--convert-tileaa-to-tileas"]
    result: Any = run_opt(
        [*flags, "--tileas-schedule=chart", "-o", "-"], KERNELS["d128"].text().encode(), None
    )
    rows = re.findall(r"warpgroup (\d) phase +(\d+) \|([ =]+)\| turn", result.stderr.decode())
    interval = re.search(r"nv_tileas.interval = (\d+)", result.stdout.decode())
    assert interval is not None
    assert [(group, int(phase)) for group, phase, _ in rows] == [("0", 0), ("1", int(interval[1]) // 2)]
    assert [i for i, (a, b) in enumerate(zip(rows[0][2], rows[1][2], strict=True)) if a == b == "="] in (
        [],
        [0],
    )


def test_an_option_forbids_turns() -> None:
    ptx, remarks = translated(SMALL.text(), "--ping-pong=never")
    assert "bar.arrive" not in ptx
    assert "[turns]" not in remarks


@pytest.mark.parametrize(
    ("text", "flags", "why"),
    [
        (
            Product(m=128, n=32, warps=4).text(),
            [],
            "it has one consumer warpgroup, because a hint or an option",
        ),
        (Product("f32", "f32").text(), [], "it has no consumer warpgroups"),
        (Product(m=128, n=128, k=16, b_twice=True).text(), [], "of operands that no consumer computes"),
        (SMALL.text(), ["--abi=plain"], "without agents, which the plain ABI and a number of warps exclude"),
    ],
    ids=["one warpgroup", "no agents", "computed operand", "plain ABI"],
)
def test_turns_that_cannot_be_had_are_an_error(text: str, flags: list[str], why: str) -> None:
    _, errors = translated(text, "--ping-pong=always", *flags)
    assert "ping-pong=always" in errors and why in errors


def test_the_pass_knows_three_words() -> None:
    result: Any = run_opt(["--tileas-schedule=ping-pong=often", "-o", "-"], b"", None)
    assert "'often'" in result.stderr.decode()


@pytest.mark.parametrize("name", ["d64", "d128"])
def test_ptxas_serializes_nothing_and_spills_nothing(name: str) -> None:
    """Named barriers have constant numbers: the CTA's, two agents', two turns'."""
    made = assembled(compiled(KERNELS[name].text(), "sm_90a").ptx, "sm_90a")
    assert made.report is not None
    assert [w for w in made.warnings if "C75" in w] == []
    for resources in made.report.entries.values():
        assert (resources.spill_stores, resources.spill_loads, resources.barriers) == (0, 0, 5)


def without_each_barrier(ptx: str) -> list[tuple[str, str]]:
    """(the line, the text without it) for each barrier of the turns."""
    lines = ptx.split("\n")
    found = [n for n, line in enumerate(lines) if re.match(r"\s*@%p\d+ bar\.(sync|arrive) [34], 256;", line)]
    return [(lines[n].strip(), "\n".join([*lines[:n], *lines[n + 1 :]])) for n in found]


@pytest.mark.parametrize(
    ("kernel", "barriers"),
    [
        pytest.param(SMALL, 13, id="around the end of the loop"),
        pytest.param(Attention(rows=128, keys=64, width=128), 9, id="within an iteration"),
    ],
)
def test_every_barrier_of_a_turn_is_needed(kernel: Attention, barriers: int) -> None:
    """Without one, a warpgroup waits forever, or another one arrives twice."""
    args, expected = kernel.case(kernel.rows, 6 * kernel.keys, np.random.default_rng(fresh_seed()))
    made = compiled(kernel.text(), "sm_90a")
    changed = without_each_barrier(made.ptx)
    assert len(changed) == barriers, "the first turn; waits and arrivals of two warpgroups"
    trial = Trial(
        args, "sm_90a", (1,), near(3, expected, 2e-2, "f16"), list(product(("late", "early"), range(4)))
    )
    numbered = ((str(number), ptx) for number, (_, ptx) in enumerate(changed))
    left = [int(number) for number in missed(made, numbered, trial)]
    # Behind the loop, the last warpgroup gives a turn that nobody takes. Without its wait before the loop, it is a turn
    # ahead; at the end it waits for what it has announced itself, which a barrier allows and not every schedule finds.
    ahead, given = 6, len(changed) - 1
    assert set(left) - {ahead} == {given} if barriers == 13 else not left
