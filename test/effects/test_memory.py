"""alloca, global and get_global: memory that no argument points to."""

from __future__ import annotations

import numpy as np
import pytest
from programs import TARGETS, check_tools, empty, encode, fresh_seed, launch, random, run

SPREAD = """
    %p1 = reshape %p : tile<ptr<ELEMENT>> -> tile<1xptr<ELEMENT>>
    %p2 = broadcast %p1 : tile<1xptr<ELEMENT>> -> tile<COUNTxptr<ELEMENT>>
    %q = offset %p2, %i : tile<COUNTxptr<ELEMENT>>, tile<COUNTxi32> -> tile<COUNTxptr<ELEMENT>>
    %o1 = reshape %o : tile<ptr<ELEMENT>> -> tile<1xptr<ELEMENT>>
    %o2 = broadcast %o1 : tile<1xptr<ELEMENT>> -> tile<COUNTxptr<ELEMENT>>
    %r = offset %o2, %i : tile<COUNTxptr<ELEMENT>>, tile<COUNTxi32> -> tile<COUNTxptr<ELEMENT>>
"""


@pytest.mark.parametrize("target", TARGETS)
def test_memory_of_a_tile_block_is_its_own(target: str) -> None:
    """Each tile block turns its numbers around in it; every thread has the same address, and it is aligned."""
    count = 256
    text = f"""
  entry @kernel(%out: tile<ptr<i32>>, %addresses: tile<ptr<i64>>) {{
    %x, %y, %z = get_tile_block_id : tile<i32>
    %i = iota : tile<{count}xi32>
    %p = alloca num_elem = {count}, alignment = 512 : tile<ptr<i32>>
    %other = alloca num_elem = 1, alignment = 4 global : tile<ptr<i32>>
    %n = constant <i32: {count}> : tile<i32>
    %start = muli %x, %n : tile<i32>
    %o = offset %out, %start : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    {SPREAD.replace("ELEMENT", "i32").replace("COUNT", str(count))}
    %x1 = reshape %x : tile<i32> -> tile<1xi32>
    %xs = broadcast %x1 : tile<1xi32> -> tile<{count}xi32>
    %v = muli %i, %xs : tile<{count}xi32>
    %t1 = store_ptr_tko weak %q, %v : tile<{count}xptr<i32>>, tile<{count}xi32> -> token
    %last = constant <i32: {count - 1}> : tile<{count}xi32>
    %j = subi %last, %i : tile<{count}xi32>
    %qj = offset %p2, %j : tile<{count}xptr<i32>>, tile<{count}xi32> -> tile<{count}xptr<i32>>
    %w, %t2 = load_ptr_tko weak %qj token=%t1 : tile<{count}xptr<i32>> -> tile<{count}xi32>, token
    %t3 = store_ptr_tko weak %r, %w : tile<{count}xptr<i32>>, tile<{count}xi32> -> token
    %address = ptr_to_int %p : tile<ptr<i32>> -> tile<i64>
    %a = offset %addresses, %x : tile<ptr<i64>>, tile<i32> -> tile<ptr<i64>>
    %t4 = store_ptr_tko weak %a, %address : tile<ptr<i64>>, tile<i64> -> token
    return
  }}
"""
    for schedule in ("late", "early"):
        (out, addresses), _ = launch(
            text,
            np.zeros(4 * count, np.int32),
            np.zeros(4, np.int64),
            grid=(4,),
            target=target,
            mode=schedule,
        )
        assert not np.any(addresses % 512)
        assert np.array_equal(out.reshape(4, count), np.arange(4)[:, None] * np.arange(count)[::-1])
    check_tools(text, target)


def test_memory_goes_back_at_the_end_of_its_block_however_it_is_left() -> None:
    """3000 times 4 KiB is more than the heap has."""
    text = """
  entry @kernel(%out: tile<ptr<i32>>) {
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %two = constant <i32: 2> : tile<i32>
    %most = constant <i32: 3000> : tile<i32>
    %last = loop iter_values(%k = %zero) : tile<i32> -> tile<i32> {
      %p = alloca num_elem = 1024, alignment = 16 : tile<ptr<i32>>
      %t = store_ptr_tko weak %p, %k : tile<ptr<i32>>, tile<i32> -> token
      %next = addi %k, %one : tile<i32>
      %odd = remi %k, %two signed : tile<i32>
      %is_odd = cmpi equal %odd, %one, signed : tile<i32> -> tile<i1>
      if %is_odd {
        continue %next : tile<i32>
      }
      %x, %u = load_ptr_tko weak %p token=%t : tile<ptr<i32>> -> tile<i32>, token
      %end = cmpi greater_than_or_equal %x, %most, signed : tile<i32> -> tile<i1>
      if %end {
        break %x : tile<i32>
      }
      continue %next : tile<i32>
    }
    %v = store_ptr_tko weak %out, %last : tile<ptr<i32>>, tile<i32> -> token
    return
  }
"""
    (out,) = run(text, np.zeros(1, np.int32))
    assert out[0] == 3000


def test_where_there_is_no_memory_left_the_kernel_traps() -> None:
    text = """
  entry @kernel() {
    %p = alloca num_elem = 10000000, alignment = 16 : tile<ptr<i8>>
    return
  }
"""
    with pytest.raises(AssertionError, match="executed a trap"):
        launch(text)


@pytest.mark.parametrize(
    "element", ["i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "tf32", "f8E4M3FN"]
)
def test_a_global_begins_with_its_value_and_is_written_to(element: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    if element[0] == "i":
        numbers = random(element, (16,), rng)
        shown = ", ".join(("false", "true")[v] if element == "i1" else str(v) for v in numbers.tolist())
    else:
        values = rng.integers(-8, 9, 16) / 2
        numbers, shown = encode(element, values), ", ".join(map(str, values.tolist()))
    text = f"""
cuda_tile.module @m {{
  global @state alignment = 32 <{element}: [{shown}]> : tile<16x{element}>
  global private constant @kept <{element}: [{shown}]> : tile<16x{element}>
  entry @kernel(%o: tile<ptr<{element}>>, %b: tile<ptr<{element}>>) {{
    %i = iota : tile<16xi32>
    %p = get_global @state : tile<ptr<{element}>>
    {SPREAD.replace("ELEMENT", element).replace("COUNT", "16")}
    %x, %t1 = load_ptr_tko weak %q : tile<16xptr<{element}>> -> tile<16x{element}>, token
    %t2 = store_ptr_tko weak %r, %x : tile<16xptr<{element}>>, tile<16x{element}> -> token
    %last = constant <i32: 15> : tile<16xi32>
    %j = subi %last, %i : tile<16xi32>
    %qj = offset %p2, %j : tile<16xptr<{element}>>, tile<16xi32> -> tile<16xptr<{element}>>
    %t3 = store_ptr_tko weak %qj, %x token=%t1 : tile<16xptr<{element}>>, tile<16x{element}> -> token
    %y, %t4 = load_ptr_tko weak %q token=%t3 : tile<16xptr<{element}>> -> tile<16x{element}>, token
    %sixteen = constant <i32: 16> : tile<16xi32>
    %r2 = offset %r, %sixteen : tile<16xptr<{element}>>, tile<16xi32> -> tile<16xptr<{element}>>
    %t5 = store_ptr_tko weak %r2, %y : tile<16xptr<{element}>>, tile<16x{element}> -> token
    %k = get_global @kept : tile<ptr<{element}>>
    %k1 = reshape %k : tile<ptr<{element}>> -> tile<1xptr<{element}>>
    %k2 = broadcast %k1 : tile<1xptr<{element}>> -> tile<16xptr<{element}>>
    %k3 = offset %k2, %i : tile<16xptr<{element}>>, tile<16xi32> -> tile<16xptr<{element}>>
    %z, %t6 = load_ptr_tko weak %k3 : tile<16xptr<{element}>> -> tile<16x{element}>, token
    %b1 = reshape %b : tile<ptr<{element}>> -> tile<1xptr<{element}>>
    %b2 = broadcast %b1 : tile<1xptr<{element}>> -> tile<16xptr<{element}>>
    %b3 = offset %b2, %i : tile<16xptr<{element}>>, tile<16xi32> -> tile<16xptr<{element}>>
    %t7 = store_ptr_tko weak %b3, %z : tile<16xptr<{element}>>, tile<16x{element}> -> token
    return
  }}
}}
"""
    out, kept = run(text, empty(element, (32,)), empty(element, (16,)))
    assert out[:16].tobytes() == numbers.tobytes()
    assert out[16:].tobytes() == numbers[::-1].tobytes()
    assert kept.tobytes() == numbers.tobytes()
    check_tools(text, "sm_80", "sm_120a")
