"""A tile that several products take: TMA brings it once, and they read one stage, as keys that are values (MLA)."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from programs import Array, compiled, decode, fresh_seed, launch
from trials import Trial, missed, mutants

from tessera_tools.diagnostics import collect
from tessera_tools.emit.driver import Options, compile_module
from tessera_tools.parser import parse_module
from tessera_tools.target import lookup

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_attention import Attention
from programs_of_products import Product

TARGETS = ("sm_90a", "sm_100a")
SHARED = "reads the tile in the stage of the product"

KERNELS = {
    "one load": Attention(latent="tile"),
    "two loads": Attention(keys=32, element="bf16", latent="load"),
    "dimensions in another order": Attention(rows=64, width=128, latent="turned"),
    "causal, with a second factor": Attention(keys=128, causal=True, more=32, latent="tile"),
    "256 rows": Attention(rows=256, latent="load"),
    "two loops": Attention(keys=32, causal=True, split=True, latent="load"),
}


def remarks(text: str, target: str, cluster: str = "auto") -> list[str]:
    """What is told of the compilation of a program."""
    with collect() as told:
        module = parse_module(text, "program.mlir")
        compile_module(module, Options(lookup(target), until="llvm", explains=True, cluster=cluster))
    return [one.message for one in told]


def is_shared(text: str, target: str, cluster: str = "auto") -> bool:
    """Whether a remark says that a product reads the stage of another one."""
    return any(SHARED in one for one in remarks(text, target, cluster))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", KERNELS)
def test_tma_brings_the_tile_once(name: str, target: str) -> None:
    """So it does in kernels whose values are other tiles, but twice as many boxes of them."""
    kernel = KERNELS[name]
    assert is_shared(kernel.text(), target)
    once, twice = (
        compiled(text, target).ptx.count("cp.async.bulk.tensor")
        for text in (kernel.text(), Attention(**{**vars(kernel), "latent": ""}).text())
    )
    assert once < twice


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", KERNELS)
def test_results(name: str, target: str, mode: str) -> None:
    """Several tiles of keys, the last one with an edge; or a part of one tile alone."""
    rng = np.random.default_rng(fresh_seed())
    kernel = KERNELS[name]
    keys = int(rng.integers(0, 4)) * kernel.keys + int(rng.integers(1, kernel.keys))
    queries = keys if kernel.causal else kernel.rows + 8
    args, expected = kernel.case(queries, keys, rng)
    grid = (-(-queries // kernel.rows),)
    found = launch(kernel.text(), *args, target=target, grid=grid, mode=mode)[0][3]
    np.testing.assert_allclose(decode(kernel.element, found), expected, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("target", TARGETS)
def test_a_tile_that_would_not_fit_twice_has_two_stages(target: str) -> None:
    """Of 32 KB, beside 80 KB of queries."""
    latent, other = (Attention(width=256, more=64, latent=latent).text() for latent in ("load", ""))
    stages, others = (
        re.findall(r"pipeline of (\d) stages? of 32768", "\n".join(remarks(text, target)))
        for text in (latent, other)
    )
    assert stages == ["2"] and others == ["2", "1"]


def _with_values(values: str, before: str = "") -> str:
    """Attention whose values come from another load of the keys."""
    text = Attention(latent="load").text()
    (line,) = re.findall(r" *%v, %vt = .*\n", text)
    return text.replace(line, before + line.replace("%kV[%j, %c0] token = %token", values))


@pytest.mark.parametrize("target", TARGETS)
def test_tiles_at_other_indices_have_stages_of_their_own(target: str) -> None:
    assert not is_shared(_with_values("%kV[%z, %c0] token = %token"), target)


@pytest.mark.parametrize("target", TARGETS)
def test_tiles_of_other_views_have_stages_of_their_own(target: str) -> None:
    assert not is_shared(Attention().text(), target)


@pytest.mark.parametrize("target", TARGETS)
def test_a_tile_with_another_padding_has_no_stage(target: str) -> None:
    """TMA fills with zeros."""
    text = _with_values("%padV[%j, %c0] token = %token").replace(
        "%padV[%j, %c0] token = %token : partition_view<tile=(64x64), padding_value = zero",
        "%padV[%j, %c0] token = %token : partition_view<tile=(64x64), padding_value = nan",
    )
    (view,) = re.findall(r" *%kV = make_partition_view .*\n", text)
    made = view.replace("%kV", "%padV").replace("padding_value = zero", "padding_value = nan")
    assert not is_shared(text.replace(view, view + made), target)


@pytest.mark.parametrize("target", TARGETS)
def test_a_store_between_the_loads_is_seen(target: str) -> None:
    """The values are twice the keys then, with which the program has replaced them in front of the second load."""
    kernel = Attention(latent="load")
    tile = f"tile<{kernel.keys}x{kernel.width}x{kernel.element}>"
    view = "partition_view<tile=(64x64), padding_value = zero, tensor_view<?x64xf16, strides=[64,1]>>"
    text = _with_values(
        "%kV[%j, %c0] token = %stored",
        f"    %twice = addf %k, %k : {tile}\n"
        f"    %stored = store_view_tko weak %twice, %kV[%j, %c0] token = %kt : {tile}, {view}, tile<i32> -> token\n",
    )
    assert not is_shared(text, target)
    args, expected = kernel.case(kernel.rows, 3 * kernel.keys, np.random.default_rng(fresh_seed()))
    found = launch(text, *args, target=target, mode="late")[0][3]
    np.testing.assert_allclose(decode(kernel.element, found), 2 * expected, rtol=2e-2, atol=2e-2)


def test_threads_load_the_tile_once_where_the_tensor_cores_do_not_read_it_from_a_stage() -> None:
    """Of 16 rows, which mma.sync multiplies: 64x64 elements for both products."""
    told = remarks(Attention(rows=16, latent="load").text(), "sm_100a")
    assert any("tcgen05.mma is not used" in one for one in told)
    assert any("stages of 8192 bytes by cp.async" in one for one in told)


def test_pairs_of_ctas_have_other_halves() -> None:
    """Of the keys for the scores, and of their elements for the values."""
    told = remarks(Attention(latent="load").text(), "sm_100a", cluster="blocks:2x1")
    assert any("two CTAs multiply 256x64 together" in one for one in told)
    assert not any(SHARED in one for one in told)


@pytest.mark.parametrize("target", TARGETS)
def test_both_factors_of_a_product_may_be_one_tile(target: str) -> None:
    """C = A · Aᵀ."""
    text = Product(n=64, k=64, b_t="permute").text().replace("%bV[%y, %k]", "%aV[%x, %k]")
    (told,) = (one for one in remarks(text, target) if "one tile" in one)
    assert told == "both factors are one tile, which TMA brings once"
    a = np.random.default_rng(fresh_seed()).integers(-3, 4, (64, 5 * 64)).astype(np.float16)
    c = np.zeros((64, 64), np.float32)
    given = [x for one in (a, a, c) for x in (one, *(np.int32(n) for n in (*one.shape, one.shape[1])))]
    found = launch(text, *given, target=target, grid=(1, 1), mode="late")[0][2]
    np.testing.assert_array_equal(found, a.astype(np.float64) @ a.T.astype(np.float64))


@pytest.mark.parametrize("target", TARGETS)
def test_loops_may_share_a_tile_that_is_loaded_before_them(target: str) -> None:
    """Each agent holds its stage up to the end of the block of the load."""
    view, tile, sums = "partition_view<tile=(64x64), {}>", "tile<64x64xf16>", "tile<64x64xf32>"
    tensors = {"a": (64, "f16"), "b": (256, "f16"), "c": (128, "f16"), "d": (128, "f32")}
    parameters, lines, views = list[str](), list[str](), dict[str, str]()
    for name, (rows, element) in tensors.items():
        tensor = f"tensor_view<{rows}x64x{element}, strides=[64,1]>"
        views[name] = view.format(tensor)
        parameters.append(f"%{name}P: tile<ptr<{element}>>")
        lines += [
            f"%{name}Q = assume div_by<16>, %{name}P : tile<ptr<{element}>>",
            f"%{name}T = make_tensor_view %{name}Q, shape = [{rows}, 64], strides = [64, 1] : {tensor}",
            f"%{name}V = make_partition_view %{name}T : {views[name]}",
        ]

    def loaded(value: str, name: str, row: str) -> str:
        made = f"{views[name]}, tile<i32> -> {tile}, token"
        return f"%{value}, %{value}t = load_view_tko weak %{name}V[{row}, %i0] : {made}"

    lines += [f"%i{n} = constant <i32: {n}> : tile<i32>" for n in (0, 1, 2, 4)]
    lines += [f"%zero = constant <f32: 0.0> : {sums}", loaded("x", "a", "%i0")]
    for name, end, factor in (("b", 4, "%x"), ("c", 2, "%turned")):
        lines += [
            f"%{name}R = for %k in (%i0 to %i{end}, step %i1) : tile<i32> iter_values(%s = %zero) -> ({sums}) {{",
            loaded("y", name, "%k"),
            f"%turned = permute %x [1, 0] : {tile} -> {tile}",
            f"%new = mmaf {factor}, %y, %s : {tile}, {tile}, {sums}",
            f"continue %new : {sums}",
            "}",
        ]
    for number, name in enumerate("bc"):
        stored = f"{sums}, {views['d']}, tile<i32> -> token"
        lines.append(f"%{name}W = store_view_tko weak %{name}R, %dV[%i{number}, %i0] : {stored}")
    text = f"entry @kernel({', '.join(parameters)}) {{\n  " + "\n  ".join([*lines, "return"]) + "\n}\n"
    assert is_shared(text, target)
    rng = np.random.default_rng(fresh_seed())
    a, b, c = (rng.integers(-3, 4, (rows, 64)).astype(np.float16) for rows in (64, 256, 128))
    found = launch(text, a, b, c, np.zeros((128, 64), np.float32), target=target, mode="late")[0][3]
    left, b, c = a.astype(np.float64), b.reshape(4, 64, 64).sum(0), c.reshape(2, 64, 64).sum(0)
    np.testing.assert_array_equal(found, np.concatenate([left @ b, left.T @ c]))


@pytest.mark.parametrize("target", TARGETS)
def test_every_synchronization_is_needed(target: str) -> None:
    """Each agent that reads a stage says when its product has read it.  Each waits for the stage, too: of tcgen05, the
    wait of the agent that multiplies the values is implied by what it waits for otherwise, but only if the arrival of
    a tcgen05.commit also tells what its thread has waited for, which PTX does not say."""
    kernel = Attention(rows=64, keys=32, width=32, latent="load")
    made = compiled(kernel.text(), target)
    rng = np.random.default_rng(fresh_seed())

    def trial(blocks: int) -> Trial:
        args, expected = kernel.case(kernel.rows, max(blocks, 1) * kernel.keys, rng)
        args[3] = np.int32(blocks * kernel.keys)

        def is_right(arrays: list[Array]) -> bool:
            return not blocks or np.allclose(
                decode(kernel.element, arrays[3]), expected, rtol=2e-2, atol=2e-2
            )

        return Trial(args, target, (1,), is_right, options={"max_instructions": 80_000})

    found = missed(made, mutants(made.ptx), trial(11), trial(0))
    assert [re.sub(r"\d+", "n", what) for what in found] == ["wait n removed"] * (target == "sm_100a")


@pytest.mark.parametrize("target", TARGETS)
def test_a_hint_whose_parts_do_not_fit_together_is_not_followed(target: str) -> None:
    """The parts of single products are known before those of all tiles."""
    hint = "%scale: tile<f32>) optimization_hints=<default = {num_cta_in_cga = 2}> {"
    text = KERNELS["one load"].text().replace("%scale: tile<f32>) {", hint)
    expected = "no cluster of 2 CTAs: scf.for needs another part of tensor<128x64xf32> than the CTA has"
    assert any(one.startswith(expected) for one in remarks(text, target))
    assert is_shared(text, target)
