"""The executor itself: what it computes, and that it sees what a correct kernel never does."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from execution.executor import ExecutionError, GlobalMemory, Program, prepare, run
from execution.test_kernels import compiled, module_of, product

from tessera_tools.ir.builtin_attributes import i32
from tessera_tools.ir.core import Operation
from tessera_tools.parser import parse_module

GP, SP = "!llvm.ptr<1>", "!llvm.ptr<3>"


def program(body: str, threads: int = 64, shared: int = 1024) -> Program:
    """A kernel of a body that may use %tid, its pointers %in and %out, %smem, and the thread's own %s of 16 bytes."""
    text = f"""
llvm.mlir.global external @global_smem() {{addr_space = 3 : i32, alignment = 1024 : i64}} : !llvm.array<0 x i8>
llvm.func @kernel(%in: {GP}, %out: {GP}) attributes {{nvvm.kernel, nvvm.reqntid = array<i32: {threads}>,
                                             nv_tileaa.dynamic_shared_memory = {shared} : i32}} {{
  %smem = llvm.mlir.addressof @global_smem : {SP}
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %sixteen = llvm.mlir.constant(16 : i32) : i32
  %four = llvm.mlir.constant(4 : i32) : i32
  %zero = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %all = llvm.mlir.constant(-1 : i32) : i32
  %last = llvm.mlir.constant(31 : i32) : i32
  %bytes = llvm.mul %tid, %sixteen : i32
  %words = llvm.mul %tid, %four : i32
  %s = llvm.getelementptr %smem[%bytes] : ({SP}, i32) -> {SP}, i8
  %g = llvm.getelementptr %in[%bytes] : ({GP}, i32) -> {GP}, i8
  %o = llvm.getelementptr %out[%words] : ({GP}, i32) -> {GP}, i8
{body}
  llvm.return
}}
"""
    return prepare(parse_module(text, "kernel.mlir"))


def execute(body: str, data: np.ndarray | None = None, threads: int = 64, **options: int) -> np.ndarray:
    """What the kernel leaves in %out: 32 bits a thread."""
    memory = GlobalMemory()
    data = np.arange(4 * threads, dtype=np.uint32) if data is None else data
    out = np.zeros(threads, np.uint32)
    addresses = [memory.add(data), memory.add(out)]
    run(program(body, threads, **options), (1, 1, 1), addresses, memory)
    return memory.read_back(addresses[1], out)


STORE = f"llvm.store %v, %o : i32, {GP}"
THREADS = np.arange(64, dtype=np.uint32)


def test_each_thread_takes_its_own_way() -> None:
    body = f"""
  llvm.br ^loop(%zero, %zero : i32, i32)
^loop(%i: i32, %sum: i32):
  %more = llvm.icmp "ult" %i, %tid : i32
  llvm.cond_br %more, ^body, ^done
^body:
  %added = llvm.add %sum, %i : i32
  %next = llvm.add %i, %one : i32
  llvm.br ^loop(%next, %added : i32, i32)
^done:
  llvm.store %sum, %o : i32, {GP}"""
    assert (execute(body) == THREADS * (THREADS - 1) // 2).all()


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("llvm.mul %tid, %all : i32", -THREADS),
        ("llvm.sdiv %minus, %four : i32", (-(THREADS.astype(np.int64) // 4)).astype(np.uint32)),
        ("llvm.srem %minus, %four : i32", (-(THREADS.astype(np.int64) % 4)).astype(np.uint32)),
        ("llvm.udiv %minus, %four : i32", (-THREADS) // 4),
        ("llvm.ashr %minus, %one : i32", (-THREADS.astype(np.int64) >> 1).astype(np.uint32)),
        ("llvm.lshr %minus, %one : i32", (-THREADS) >> 1),
        ("llvm.intr.smax(%minus, %zero) : (i32, i32) -> i32", THREADS * 0),
        ("llvm.intr.umin(%minus, %four) : (i32, i32) -> i32", np.where(THREADS == 0, 0, 4)),
    ],
)
def test_integers_wrap_and_keep_their_sign(instruction: str, expected: np.ndarray) -> None:
    got = execute(f"  %minus = llvm.sub %zero, %tid : i32\n  %v = {instruction}\n  {STORE}")
    assert (got == expected.astype(np.uint32)).all()


def test_half_precision_rounds_to_even() -> None:
    values = np.array([1.0, 1.0 + 2.0**-11, 1.0 + 3 * 2.0**-11, 65520.0], np.float32)
    body = f"""
  %x = llvm.load %g : {GP} -> f32
  %h = llvm.fptrunc %x : f32 to f16
  %b = llvm.bitcast %h : f16 to i16
  %v = llvm.zext %b : i16 to i32
  {STORE}"""
    got = execute(body, np.resize(values, 256).astype(np.float32))
    assert (got == np.resize(values, 256).astype(np.float32)[::4].astype(np.float16).view(np.uint16)).all()


@pytest.mark.parametrize(
    ("kind", "by", "clamp", "expected"),
    [
        ("idx", 5, 31, lambda lane: lane * 0 + 5),
        ("bfly", 3, 31, lambda lane: lane ^ 3),
        ("down", 2, 31, lambda lane: np.where(lane < 30, lane + 2, lane)),
        ("up", 2, 0, lambda lane: np.where(lane >= 2, lane - 2, lane)),
        ("idx", 5, 0x181F, lambda lane: lane // 8 * 8 + 5),
    ],
)
def test_shuffles(kind: str, by: int, clamp: int, expected: Callable[[np.ndarray], np.ndarray]) -> None:
    body = f"""
  %by = llvm.mlir.constant({by} : i32) : i32
  %clamp = llvm.mlir.constant({clamp} : i32) : i32
  %v = nvvm.shfl.sync {kind} %all, %tid, %by, %clamp : i32 -> i32
  {STORE}"""
    lanes = np.arange(64) % 32
    assert (execute(body) == expected(lanes) + np.arange(64) // 32 * 32).all()


LOAD_MATRIX = f"""
  %x = llvm.load %g {{alignment = 16 : i64}} : {GP} -> vector<4xi32>
  llvm.store %x, %s {{alignment = 16 : i64}} : vector<4xi32>, {SP}
  nvvm.barrier0
  %m = nvvm.ldmatrix %s {{num = 4 : i32, layout = #nvvm.mma_layout<LAYOUT>,
      shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>}}
      : ({SP}) -> !llvm.struct<(i32, i32, i32, i32)>
  %v = llvm.extractvalue %m[2] : !llvm.struct<(i32, i32, i32, i32)>
  {STORE}"""


@pytest.mark.parametrize("layout", ["row", "col"])
def test_ldmatrix_gives_each_lane_two_elements_of_a_row_or_column(layout: str) -> None:
    elements = np.arange(64 * 8, dtype=np.uint16)
    got = execute(LOAD_MATRIX.replace("LAYOUT", layout), elements).view(np.uint16).reshape(2, 32, 2)
    for warp in range(2):
        matrix = elements.reshape(2, 4, 8, 8)[warp, 2]
        matrix = matrix if layout == "row" else matrix.T
        for lane in range(32):
            first = 2 * (lane % 4)
            assert list(got[warp, lane]) == list(matrix[lane // 4, first : first + 2])


RACES = {
    "a race": f"""
  llvm.store %tid, %s : i32, {SP}
  %next = llvm.getelementptr %smem[16] : ({SP}) -> {SP}, i8
  %v = llvm.load %next : {SP} -> i32""",
    "several threads to one byte": f"  llvm.store %tid, %smem : i32, {SP}",
    "never written": f"  %v = llvm.load %s : {SP} -> i32",
    "not a multiple of 4": f"""
  %odd = llvm.getelementptr %s[2] : ({SP}) -> {SP}, i8
  llvm.store %tid, %odd : i32, {SP}""",
    "of 1024 bytes of shared memory": f"""
  %far = llvm.getelementptr %s[16] : ({SP}) -> {SP}, i8
  llvm.store %tid, %far : i32, {SP}""",
    "row 0, byte 1024 of buffer 0": f"""
  %far = llvm.getelementptr %g[16] : ({GP}) -> {GP}, i8
  %v = llvm.load %far : {GP} -> i32""",
    "where no buffer is": f"""
  %away = llvm.mlir.constant(-35184372088832 : i64) : i64
  %far = llvm.getelementptr %in[%away] : ({GP}, i64) -> {GP}, i8
  %v = llvm.load %far : {GP} -> i32""",
    "written before": f"""
  llvm.store %tid, %o : i32, {GP}
  llvm.store %tid, %o : i32, {GP}""",
    "others have returned": """
  %few = llvm.icmp "ult" %tid, %four : i32
  llvm.cond_br %few, ^wait, ^end
^wait:
  nvvm.barrier0
  llvm.br ^end
^end:""",
    "others wait at another": """
  %few = llvm.icmp "ult" %tid, %four : i32
  llvm.cond_br %few, ^wait, ^other
^wait:
  nvvm.barrier0
  llvm.br ^end
^other:
  nvvm.barrier0
  llvm.br ^end
^end:""",
    "some lanes are elsewhere": f"""
  llvm.store %all, %s : i32, {SP}
  %few = llvm.icmp "ult" %tid, %four : i32
  llvm.cond_br %few, ^some, ^end
^some:
  %m = nvvm.ldmatrix %s {{num = 1 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>,
      eltType = #nvvm.ld_st_matrix_elt_type<b16>}} : ({SP}) -> i32
  llvm.br ^end
^end:""",
    "names other lanes": "  %v = nvvm.shfl.sync idx %one, %tid, %zero, %last : i32 -> i32",
    "does not come to an end": "  llvm.br ^loop\n^loop:\n  llvm.br ^loop\n^never:",
}


@pytest.mark.parametrize("message", RACES)
def test_what_no_correct_kernel_does_is_an_error(message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("execution.executor.MAX_STEPS", 100)
    with pytest.raises(ExecutionError, match=re.escape(message)):
        execute(RACES[message])


COPY = f"nvvm.cp.async.shared.global %s, %g, 16, cache = cg : {SP}, {GP}"
COMMIT, WAIT_ALL = "nvvm.cp.async.commit.group", "nvvm.cp.async.wait.group 0"
LOAD = f"%v = llvm.load %s : {SP} -> i32"
NEIGHBOR = f"""%with = llvm.xor %bytes, %sixteen : i32
  %t = llvm.getelementptr %smem[%with] : ({SP}, i32) -> {SP}, i8
  %v = llvm.load %t : {SP} -> i32"""


def lines(*parts: str) -> str:
    return "\n  ".join(parts)


def test_a_copy_has_arrived_after_its_group_was_waited_for() -> None:
    assert (execute(lines(COPY, COMMIT, WAIT_ALL, LOAD, STORE)) == THREADS * 4).all()
    got = execute(lines(COPY, COMMIT, WAIT_ALL, "nvvm.barrier0", NEIGHBOR, STORE))
    assert (got == (THREADS ^ 1) * 4).all()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ((COPY, COMMIT, LOAD), "a cp.async is on its way"),
        ((COPY, COMMIT, "nvvm.barrier0", LOAD), "a cp.async is on its way"),
        ((COPY, WAIT_ALL, LOAD), "a cp.async is on its way"),
        ((COPY, COMMIT, "nvvm.cp.async.wait.group 1", LOAD), "a cp.async is on its way"),
        ((COPY, COMMIT, WAIT_ALL, NEIGHBOR), "a race"),
        ((COPY, COMMIT, COPY), "a cp.async is on its way"),
        ((COPY, COMMIT, WAIT_ALL, "nvvm.barrier0", NEIGHBOR, COPY), "a race"),
    ],
)
def test_a_copy_arrives_as_late_as_it_may(body: tuple[str, ...], message: str) -> None:
    with pytest.raises(ExecutionError, match=message):
        execute(lines(*body))


def test_a_copy_of_nothing_brings_zeros_and_does_not_look_at_its_source() -> None:
    nowhere = f"%far = llvm.getelementptr %g[100000] : ({GP}) -> {GP}, i8"
    copy = f"nvvm.cp.async.shared.global %s, %far, 16, cache = cg, %COUNT : {SP}, {GP}, i32"
    body = lines(nowhere, copy, COMMIT, WAIT_ALL, LOAD, STORE)
    assert (execute(body.replace("%COUNT", "%zero")) == 0).all()
    with pytest.raises(ExecutionError, match="a cp.async of 4 bytes"):
        execute(body.replace("%COUNT", "%four"))


# -- the tests of kernels have teeth: one wrong op in a kernel, and they fail

GEMM = "test/corpus/gemm_f16_64x64x32.mlir"


def ops(module: Operation, name: str) -> list[Operation]:
    return [op for op in module.walk() if op.name == name]


def drop_barrier(module: Operation) -> None:
    ops(module, "nvvm.barrier0")[0].erase()


def drop_last_barrier(module: Operation) -> None:
    ops(module, "nvvm.barrier0")[-1].erase()


def wait_for_less(module: Operation) -> None:
    # The loop's, not the one behind it.
    wait = next(op for op in ops(module, "nvvm.cp.async.wait.group") if op.attributes["n"].value)  # type: ignore[attr-defined]
    wait.attributes["n"] = i32(wait.attributes["n"].value + 1)  # type: ignore[attr-defined]


def transpose_a(module: Operation) -> None:
    first, *_ = ops(module, "nvvm.ldmatrix")
    first.attributes["layout"] = next(
        op.attributes["layout"]
        for op in ops(module, "nvvm.ldmatrix")
        if op.attributes["layout"] is not first.attributes["layout"]
    )


def swap_fragments(module: Operation) -> None:
    mma = ops(module, "nvvm.mma.sync")[0]
    a = mma.operands
    mma.set_operands([a[0], a[2], a[1], *a[3:]])


def read_elsewhere(module: Operation) -> None:
    """The last load from shared memory reads where the first does."""
    loads = ops(module, "nvvm.ldmatrix")
    loads[1].set_operand(0, loads[0].operand(0))


def copy_always(module: Operation) -> None:
    """No bounds check on the first copy."""
    copy = ops(module, "nvvm.cp.async.shared.global")[-1]
    size = copy.operand(2)
    while size.defining_op is not None and size.defining_op.name == "llvm.select":
        size = size.defining_op.operand(1)
    copy.set_operand(2, size)


def store_always(module: Operation) -> None:
    """No bounds check on the last store: the branch around it goes there in both cases."""
    store = ops(module, "llvm.store")[-1].parent
    branch = next(op for op in ops(module, "llvm.cond_br") if op.successors[0] is store)
    branch.set_successors([branch.successors[0]] * 2)


@pytest.mark.parametrize(
    "break_it",
    [
        drop_barrier,
        drop_last_barrier,
        wait_for_less,
        transpose_a,
        swap_fragments,
        read_elsewhere,
        copy_always,
        store_always,
    ],
    ids=lambda f: f.__name__,
)
def test_a_wrong_kernel_is_found(break_it: Callable[[Operation], None]) -> None:
    module = module_of(GEMM, "sm_80")
    break_it(module)
    with pytest.raises((ExecutionError, AssertionError)):
        product(prepare(module), (72, 72, 104), (64, 64), np.random.default_rng(1))


def test_the_kernel_that_is_broken_above_is_right() -> None:
    product(compiled(GEMM, "sm_80"), (72, 72, 104), (64, 64), np.random.default_rng(1))
