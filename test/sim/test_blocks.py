"""Blocks: straight-line code in batches gives the results, races and findings of instructions one by one."""

from __future__ import annotations

import numpy as np
import pytest
from sim.kernels import kernel, run

from tessera_tools import sim
from tessera_tools.sim import blocks, machine
from tessera_tools.sim.blocks import schedule

TILE = ".shared .align 16 .b8 tile[8192];"
FAR = "mov.u32 %r0, %tid.x; mul.wide.u32 %rd9, %r0, 4; add.s64 %rd8, %rd0, %rd9;"


def unrolled(*lines: str, times: int = 4) -> str:
    """The lines, each with {n} from 0: the first line for every n, then the second, and so on."""
    return "\n".join(line.format(n=n, m=n + 4, k=512 * n + 4) for line in lines for n in range(times))


def test_equal_instructions_of_two_functions_are_of_one_kind() -> None:
    """Ports are numbered through the module, and their kinds function by function."""
    body = "{{ .reg .b32 %r<3>; .reg .f32 %f<2>; {odd} add.u32 %r1, %r2, %r0; add.f32 %f1, %f1, %f0; ret; }}"
    module = sim.load(
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        f".func callee() {body.format(odd='')}\n"
        f".visible .entry k() {body.format(odd='mov.f32 %f0, 0f00000000; mov.u32 %r0, 0;')}\n"
    )
    kinds: dict[str, set[object]] = {}
    for inst, straight in zip(module.program.instructions, module.straight, strict=True):
        if inst.opcode == "add":
            assert straight is not None
            kinds.setdefault(inst.name, set()).add(straight.key)
    assert {name: len(keys) for name, keys in kinds.items()} == {"add.u32": 1, "add.f32": 1}


def steps_of(body: str) -> list[list[str]]:
    """The opcodes of each step of the kernel's code before its end."""
    module = sim.load(kernel(body, 1, TILE))
    begin = module.entry().start + 1  # after the load of the parameter
    found = schedule(module, begin, module.blocks.ends[begin])
    return [[module.program.instructions[pc].opcode for pc in step.pcs] for step in found]


def outcome(
    monkeypatch: pytest.MonkeyPatch, least: int, body: str, words: np.ndarray, together: float = 1.0
) -> tuple[list[str], int, list[int]]:
    """The kinds of findings, the number of instructions and the memory; blocks have at least `least` instructions."""
    monkeypatch.setattr(machine, "LEAST", least)
    monkeypatch.setattr(machine, "_TOGETHER", together)
    result, (out,) = run(kernel(LOOP.format(body=body), 1, TILE), words, block=(128,))
    return sorted(finding.kind for finding in result.findings), result.instructions, out.tolist()


LOOP = "mov.u32 %r30, 0; AGAIN: {body} add.u32 %r30, %r30, 1; setp.lt.u32 %p3, %r30, 4; @%p3 bra AGAIN;"
"""A block has a schedule from its second run on."""
ELEMENTS = FAR + unrolled(
    "ld.global.u32 %r{m}, [%rd8+{k}];",
    "cvt.rn.f32.u32 %f{n}, %r{m};",
    "fma.rn.f32 %f{n}, %f{n}, 0f3FC00000, 0f3E800000;",
    "cvt.rzi.u32.f32 %r{m}, %f{n};",
    "st.global.u32 [%rd8+{k}], %r{m};",
)


def test_equal_instructions_of_an_unrolled_loop_are_batches() -> None:
    found = steps_of(ELEMENTS)
    assert ["ld"] * 4 in found
    assert ["fma"] * 4 in found
    assert ["st"] * 4 in found


def test_a_batch_computes_what_its_instructions_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = int(np.random.default_rng().integers(1 << 30))
    print("seed", seed)
    words = np.random.default_rng(seed).integers(0, 1000, 513).astype(np.uint32)
    expected = outcome(monkeypatch, 1 << 30, ELEMENTS, words)
    assert outcome(monkeypatch, blocks.LEAST, ELEMENTS, words) == expected
    assert outcome(monkeypatch, blocks.LEAST, ELEMENTS, words, together=0.5) == expected
    assert expected[0] == []


def test_a_load_stays_behind_the_store_before_it() -> None:
    load, store = "ld.global.u32 {}, [%rd0];", "st.global.u32 [%rd0], %r2;"
    found = steps_of(load.format("%r1") + store + load.format("%r3") + "add.u32 %r4, %r3, 1;")
    assert found == [["ld"], ["st"], ["ld"], ["add"]]


def test_instructions_that_wait_for_others_join_those_that_wait_as_long() -> None:
    """Four loads wait for the stores, and four others for their addresses."""
    found = steps_of(
        unrolled(
            "st.global.u32 [%rd0+{k}], %r{n};",
            "add.s64 %rd{m}, %rd0, {k};",
            "ld.global.u32 %r{m}, [%rd0+{k}];",
            "ld.global.u32 %r1{n}, [%rd{m}+{k}];",
        )
    )
    assert ["ld"] * 8 in found


def test_stores_to_one_address_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    body = (
        FAR
        + "mov.u32 %r1, 1; mov.u32 %r2, 2; mov.u32 %r3, 3;"
        + "".join(f"st.global.u32 [%rd8], %r{n};" for n in (1, 2, 3))
    )
    assert ["st"] * 3 in steps_of(body)
    kinds, _, out = outcome(monkeypatch, blocks.LEAST, body, np.zeros(128, np.uint32))
    assert (kinds, set(out)) == ([], {3})


def test_a_store_of_a_register_that_is_overwritten_stays_before_the_write() -> None:
    found = steps_of("st.global.u32 [%rd0], %r1; add.u32 %r1, %r1, 1; st.global.u32 [%rd0+4], %r1;")
    assert found == [["st"], ["add"], ["st"]]


def test_instructions_with_other_numbers_in_their_closures_are_no_batch() -> None:
    assert ["shl", "shl"] not in steps_of("".join(f"shl.b32 %r{n}, %r9, {n};" for n in range(9)))
    assert steps_of("".join(f"add.u32 %r{n}, %r9, {n};" for n in range(8))) == [["add"] * 8]


def test_a_race_inside_a_batch_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    body = FAR + "mov.u32 %r1, tile;" + "".join(f"add.u32 %r{n}, %r0, {n}; " for n in range(2, 6))
    body += "".join(f"st.shared.u32 [%r1+{4 * n}], %r{n};" for n in range(2, 6))
    one_by_one = outcome(monkeypatch, 1 << 30, body, np.zeros(128, np.uint32))
    batched = outcome(monkeypatch, blocks.LEAST, body, np.zeros(128, np.uint32))
    assert set(batched[0]) == set(one_by_one[0]) == {"race"}


def test_a_load_out_of_bounds_inside_a_batch_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    words = np.zeros(500, np.uint32)
    kinds, _, _ = outcome(monkeypatch, blocks.LEAST, ELEMENTS, words)
    assert set(kinds) == {"out-of-bounds"}


HOP = (
    FAR
    + """
  and.b32 %r1, %r0, 3; setp.eq.u32 %p0, %r1, 0; mov.u32 %r2, 7; @%p0 bra JOIN;
  ld.global.u32 %r2, [%rd8]; add.u32 %r2, %r2, %r0; st.global.u32 [%rd8], %r2;
JOIN: shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1; st.global.u32 [%rd8+512], %r3;
"""
)


def test_a_gang_hops_over_code_that_some_lanes_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_TOGETHER", 1.0)
    gangs: list[int] = []
    ordinary = machine.Cluster.run_gang

    def watched(cluster: machine.Cluster, *rest: object) -> None:
        gangs.append(1)
        ordinary(cluster, *rest)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(machine.Cluster, "run_gang", watched)
    words = np.arange(256, dtype=np.uint32)
    result, (out,) = run(kernel(HOP), words, block=(128,))
    assert not result.findings
    assert len(gangs) == 1
    lane = np.arange(128)
    own = np.where(lane % 4 == 0, 7, 2 * lane)
    assert out[:128].tolist() == np.where(lane % 4 == 0, lane, 2 * lane).tolist()
    assert out[128:].tolist() == own[lane ^ 1].tolist()


def test_a_hop_counts_and_computes_as_diverged_warps_do(monkeypatch: pytest.MonkeyPatch) -> None:
    words = np.arange(256, dtype=np.uint32)
    found = []
    for share in (0.0, 1.0):
        monkeypatch.setattr(machine, "_TOGETHER", share)
        result, (out,) = run(kernel(HOP), words, block=(128,))
        found.append((result.instructions, out.tolist()))
    assert found[0] == found[1]


def test_warps_part_where_a_hop_has_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_TOGETHER", 1.0)
    body = FAR + "setp.lt.u32 %p0, %r0, 96; @%p0 bra JOIN; ld.global.u32 %r1, [%rd8]; JOIN: mov.u32 %r2, 1;"
    result, _ = run(kernel(body), np.zeros(96, np.uint32), block=(128,))
    (finding,) = result.findings
    assert (finding.kind, finding.count) == ("out-of-bounds", 32)
