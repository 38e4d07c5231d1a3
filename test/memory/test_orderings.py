"""Memory orderings and scopes: tile blocks that pass messages to each other, run on the simulated GPU."""

from __future__ import annotations

import re

import numpy as np
import pytest
from programs import TARGETS, check_tools, compiled, fresh_seed, run

MESSAGE = """
entry @kernel(%data: tile<ptr<f32>>, %flag: tile<ptr<i32>>, %out: tile<ptr<f32>>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %i = iota : tile<SIZExi32>
  %d1 = reshape %data : tile<ptr<f32>> -> tile<1xptr<f32>>
  %db = broadcast %d1 : tile<1xptr<f32>> -> tile<SIZExptr<f32>>
  %d = offset %db, %i : tile<SIZExptr<f32>>, tile<SIZExi32> -> tile<SIZExptr<f32>>
  %o1 = reshape %out : tile<ptr<f32>> -> tile<1xptr<f32>>
  %ob = broadcast %o1 : tile<1xptr<f32>> -> tile<SIZExptr<f32>>
  %o = offset %ob, %i : tile<SIZExptr<f32>>, tile<SIZExi32> -> tile<SIZExptr<f32>>
  %first = cmpi equal %x, %zero, signed : tile<i32> -> tile<i1>
  %t0 = make_token : token
  if %first {
    %v, %t1 = load_ptr_tko weak %d token=%t0 : tile<SIZExptr<f32>> -> tile<SIZExf32>, token
    %w = addf %v, %v : tile<SIZExf32>
    %t2 = store_ptr_tko weak %d, %w token=%t1 : tile<SIZExptr<f32>>, tile<SIZExf32> -> token
    %t3 = store_ptr_tko release SCOPE %flag, %one token=%t2 : tile<ptr<i32>>, tile<i32> -> token
  } else {
    %t5 = loop iter_values(%t = %t0) : token -> token {
      %f, %t1 = load_ptr_tko acquire SCOPE %flag token=%t : tile<ptr<i32>> -> tile<i32>, token
      %done = cmpi equal %f, %one, signed : tile<i32> -> tile<i1>
      if %done {
        break %t1 : token
      }
      continue %t1 : token
    }
    %v, %t2 = load_ptr_tko weak %d token=%t5 : tile<SIZExptr<f32>> -> tile<SIZExf32>, token
    %t3 = store_ptr_tko weak %o, %v token=%t2 : tile<SIZExptr<f32>>, tile<SIZExf32> -> token
  }
  return
}
"""


@pytest.mark.parametrize("scope", ["device", "sys"])
@pytest.mark.parametrize("size", [4, 256])
def test_a_message_arrives(size: int, scope: str) -> None:
    text = MESSAGE.replace("SIZE", str(size)).replace("SCOPE", scope)
    data = np.random.default_rng(fresh_seed()).standard_normal(size).astype(np.float32)
    for _ in range(3):
        found = run(text, data, np.zeros(1, np.int32), np.zeros(size, np.float32), grid=(2,))
        assert (found[2] == 2 * data).all()


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_has_the_instructions(target: str) -> None:
    text = MESSAGE.replace("SIZE", "64").replace("SCOPE", "device")
    check_tools(text, target)
    ptx = compiled(text, target).ptx
    assert re.search(r"ld\.acquire\.gpu\.global\S*\.\w32", ptx)
    assert re.search(r"st\.release\.gpu\.global\S*\.\w32", ptx)


COPY = """
entry @kernel(%in: tile<ptr<ELEMENT>>, %out: tile<ptr<ELEMENT>>) {
  %zero = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %in, shape = [35], strides = [1] : tensor_view<35xELEMENT, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(64), padding_value = zero, tensor_view<35xELEMENT, strides=[1]>>
  %o = make_tensor_view %out, shape = [64], strides = [1] : tensor_view<64xELEMENT, strides=[1]>
  %q = make_partition_view %o : partition_view<tile=(64), tensor_view<64xELEMENT, strides=[1]>>
  %t, %k = load_view_tko LOAD SCOPE %w[%zero] : partition_view<tile=(64), padding_value = zero, tensor_view<35xELEMENT, strides=[1]>>, tile<i32> -> tile<64xELEMENT>, token
  %k2 = store_view_tko STORE SCOPE %t, %q[%zero] token = %k : tile<64xELEMENT>, partition_view<tile=(64), tensor_view<64xELEMENT, strides=[1]>>, tile<i32> -> token
  return
}
"""  # noqa: E501


@pytest.mark.parametrize("element", ["i1", "i8", "f16", "bf16", "f8E4M3FN", "f32", "tf32", "f64", "i64"])
@pytest.mark.parametrize(
    ("load", "store", "scope"),
    [("relaxed", "relaxed", "device"), ("acquire", "release", "sys"), ("relaxed", "release", "tl_blk")],
)
def test_views_of_elements_of_any_width(load: str, store: str, scope: str, element: str) -> None:
    from programs import empty, random

    text = (
        COPY.replace("ELEMENT", element).replace("LOAD", load).replace("STORE", store).replace("SCOPE", scope)
    )
    given = random(element, (35,), np.random.default_rng(fresh_seed()))
    found = run(text, given, empty(element, (64,)), target="sm_90a")[1]
    assert found[:35].tobytes() == given.tobytes()
    assert not found[35:].view(np.uint8).any()
