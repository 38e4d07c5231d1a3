"""Loops whose factors are computed, and do not all have a buffer in shared memory of their own.

The state of a recurrence (Sₖ₊₁ = Sₖ + Wₖᵀ·(Xₖ·Sₖ)) and what is computed from it are factors of later products.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from programs import Array, compiled, fresh_seed, launch

from tessera_tools.cli.translate import run as translate

STEPS = 3


class Recurrence(NamedTuple):
    """S is `k` × `n`, each step has `rows` rows of X and W; the second sum of each step is stored: 2·X·S."""

    rows: int
    k: int
    n: int

    def text(self) -> str:
        rows, k, n = self

        def view(height: int, width: int) -> tuple[str, str]:
            tensor = f"tensor_view<{height}x{width}xf32, strides=[{width},1]>"
            return tensor, f"partition_view<tile=({min(rows, height)}x{width}), {tensor}>"

        (x, xp), (y, yp) = view(STEPS * rows, k), view(STEPS * rows, n)
        s = f"tensor_view<{k}x{n}xf32, strides=[{n},1]>"
        sp = f"partition_view<tile=({k}x{n}), {s}>"

        def tile(height: int, width: int, element: str = "f32") -> str:
            return f"tile<{height}x{width}x{element}>"

        step, narrow, state = tile(rows, k), tile(rows, n), tile(k, n)
        return f"""
entry @kernel(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>, %d: tile<ptr<f32>>, %steps: tile<i32>) {{
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %xv = make_tensor_view %a, shape = [{STEPS * rows}, {k}], strides = [{k}, 1] : {x}
  %wv = make_tensor_view %b, shape = [{STEPS * rows}, {k}], strides = [{k}, 1] : {x}
  %yv = make_tensor_view %c, shape = [{STEPS * rows}, {n}], strides = [{n}, 1] : {y}
  %sv = make_tensor_view %d, shape = [{k}, {n}], strides = [{n}, 1] : {s}
  %xs = make_partition_view %xv : {xp}
  %ws = make_partition_view %wv : {xp}
  %ys = make_partition_view %yv : {yp}
  %sp = make_partition_view %sv : {sp}
  %first, %t0 = load_view_tko weak %sp[%zero, %zero] : {sp}, tile<i32> -> {state}, token
  %none = constant <f32: 0.0> : {narrow}
  %last = for %i in (%zero to %steps, step %one) : tile<i32> iter_values(%before = %first) -> ({state}) {{
    %p, %t1 = load_view_tko weak %xs[%i, %zero] : {xp}, tile<i32> -> {step}, token
    %pp = addf %p, %p : {step}
    %pt = ftof %p : {step} -> {tile(rows, k, "tf32")}
    %ppt = ftof %pp : {step} -> {tile(rows, k, "tf32")}
    %st = ftof %before : {state} -> {tile(k, n, "tf32")}
    %u = mmaf %pt, %st, %none : {tile(rows, k, "tf32")}, {tile(k, n, "tf32")}, {narrow}
    %v = mmaf %ppt, %st, %none : {tile(rows, k, "tf32")}, {tile(k, n, "tf32")}, {narrow}
    %t3 = store_view_tko weak %v, %ys[%i, %zero] : {narrow}, {yp}, tile<i32> -> token
    %q, %t2 = load_view_tko weak %ws[%i, %zero] : {xp}, tile<i32> -> {step}, token
    %qt = permute %q [1, 0] : {step} -> {tile(k, rows)}
    %qtt = ftof %qt : {tile(k, rows)} -> {tile(k, rows, "tf32")}
    %ut = ftof %u : {narrow} -> {tile(rows, n, "tf32")}
    %next = mmaf %qtt, %ut, %before : {tile(k, rows, "tf32")}, {tile(rows, n, "tf32")}, {state}
    continue %next : {state}
  }}
  %t4 = store_view_tko weak %last, %sp[%zero, %zero] : {state}, {sp}, tile<i32> -> token
  return
}}
"""

    def check(self, target: str, **options: Any) -> None:
        """Compare with NumPy: small integers, of which every sum is exact."""
        rows, k, n = self
        rng = np.random.default_rng(fresh_seed())

        def sparse(height: int, width: int) -> Array:
            values = rng.integers(-1, 2, (height, width)) * (rng.random((height, width)) < 2 / width)
            return values.astype(np.float32)

        x, w, state = sparse(STEPS * rows, k), sparse(STEPS * rows, k), sparse(k, n)
        outputs, now = np.zeros((STEPS * rows, n)), state.astype(np.float64)
        for i in range(STEPS):
            part = slice(i * rows, (i + 1) * rows)
            outputs[part] = 2 * x[part] @ now
            now = now + w[part].astype(np.float64).T @ (x[part] @ now)
        assert np.abs(now).max() < 1 << 10
        arguments = x, w, np.zeros_like(outputs, np.float32), state.copy(), np.int32(STEPS)
        got = launch(self.text(), *arguments, target=target, **options)[0]
        assert np.array_equal(got[2], outputs)
        assert np.array_equal(got[3], now)


def shared(case: Recurrence, target: str) -> int:
    """Bytes of shared memory."""
    (kernel,) = compiled(case.text(), target).manifest.kernels
    return kernel.dynamic_shared + kernel.static_shared


APART, IN_TURN, WITHOUT = Recurrence(32, 64, 64), Recurrence(64, 128, 128), Recurrence(32, 256, 128)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
@pytest.mark.parametrize("case", [APART, IN_TURN])
def test_a_recurrence(case: Recurrence, target: str) -> None:
    case.check(target)


def remarks(case: Recurrence, target: str) -> str:
    done = translate(
        ["--mlir-to-llvmir", f"--gpu-name={target}", "--remarks=text", "-"], case.text().encode()
    )
    return done.stderr.decode()


def test_buffers_are_used_in_turn_where_they_do_not_fit_side_by_side() -> None:
    """Each step needs 160 KB in all, 96 KB of them for the first product. An SM of sm_120a has 99 KB."""
    assert shared(IN_TURN, "sm_80") >= 160 * 1024
    assert "no buffer" not in remarks(IN_TURN, "sm_120a")
    assert shared(IN_TURN, "sm_120a") >= 96 * 1024


def test_a_tile_without_room_for_a_buffer_is_converted_in_parts() -> None:
    """The state has 128 KB."""
    WITHOUT.check("sm_120a")
    why = "right operand of tile 256x128xtf32 is converted part by part: no buffer of 131072 bytes fits"
    found = remarks(WITHOUT, "sm_120a")
    assert found.count(why) == 1
    # Loaded tiles, which have room, keep their buffers.
    assert found.count("no buffer of") == 1


@pytest.mark.parametrize("stages", [1, 2])
def test_buffers_are_used_in_turn_with_a_number_of_stages(stages: int) -> None:
    done = translate(
        ["--mlir-to-llvmir", "--gpu-name=sm_120a", f"--num-stages={stages}", "-"], IN_TURN.text().encode()
    )
    assert done.exit_code == 0
