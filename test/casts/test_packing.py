"""pack, unpack, bitcast: the bits of a tile as other types, in every width and through layouts that meet elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import programs
import pytest

Array = np.ndarray[Any, Any]
BITS = {
    "i1": 1, "i4": 4, "f4E2M1FN": 4, "i16": 16, "f16": 16, "bf16": 16, "i32": 32, "f32": 32, "tf32": 32, "i64": 64,
    "f64": 64,
}  # fmt: skip


@pytest.mark.parametrize("target", programs.TARGETS)
def test_bytes_of_every_type(target: str) -> None:
    """unpack and pack of one array of bytes give it back, and what lies between is what memory holds."""
    rng = np.random.default_rng(programs.fresh_seed())
    count = 256
    data = rng.integers(-128, 128, count, dtype=np.int8)
    lines, outputs = [], {}
    for element, bits in BITS.items():
        elements = count * 8 // bits
        lines.append(f"%u{element} = unpack %x : tile<{count}xi8> -> tile<{elements}x{element}>")
        lines.append(f"%p{element} = pack %u{element} : tile<{elements}x{element}> -> tile<{count}xi8>")
        outputs[f"p{element}"] = ("i8", (count,))
        if bits in (16, 32, 64):
            shape = programs.tile(element, (elements,))
            lines.append(f"%s{element} = reshape %u{element} : {shape} -> {shape}")
            outputs[f"s{element}"] = (element, (elements,))
    text = programs.program("\n".join(lines), {"x": ("i8", (count,))}, outputs)
    got = programs.run(text, data, *(programs.empty(*o) for o in outputs.values()), target=target)[1:]
    for name, result in zip(outputs, got, strict=True):
        assert (result.view(np.int8) == data).all(), name


@pytest.mark.parametrize("source", ["i16", "f32", "i64"])
@pytest.mark.parametrize("aligned", [False, True])
def test_from_wide_elements(source: str, aligned: bool) -> None:
    """The bytes of wide elements as every other type, a lane holding one element, or 16 bytes of them."""
    rng = np.random.default_rng(programs.fresh_seed())
    data = rng.integers(-128, 128, 1024, dtype=np.int8)
    count = 1024 * 8 // BITS[source]
    pointer = f"tile<ptr<{source}>>"
    assumed = f"assume div_by<16>, %p : {pointer}" if aligned else f"ptr_to_ptr %p : {pointer} -> {pointer}"
    view = f"tensor_view<{count}x{source}, strides=[1]>"
    part = f"partition_view<tile=({count}), {view}>"
    load = f"""%a = {assumed}
    %v = make_tensor_view %a, shape = [{count}], strides = [1] : {view}
    %w = make_partition_view %v : {part}
    %x, %k = load_view_tko weak %w[%zeroIndex] token = %startToken : {part}, tile<i32> -> tile<{count}x{source}>, token
    %b = pack %x : tile<{count}x{source}> -> tile<1024xi8>"""
    lines, outputs = [load], {"b": ("i8", (1024,))}
    for element, bits in BITS.items():
        if element in ("i4", "i1"):
            continue
        elements = 1024 * 8 // bits
        lines.append(f"%y{element} = unpack %b : tile<1024xi8> -> tile<{elements}x{element}>")
        outputs[f"y{element}"] = (element, (elements,))
    text = programs.program("\n".join(lines), {}, outputs, {"p": f"ptr<{source}>"})
    arrays = [np.zeros(1024, np.int8) for _ in outputs]
    found = programs.run(text, *arrays, data)
    for name, result in zip(outputs, found, strict=False):
        assert (result == data).all(), name


def test_bits_are_elements() -> None:
    """The first element has the lowest bits: of i1, and of i4 in either reading."""
    rng = np.random.default_rng(programs.fresh_seed())
    data = rng.integers(0, 256, 64, dtype=np.uint8)
    body = """%b = unpack %x : tile<64xi8> -> tile<512xi1>
    %n = unpack %x : tile<64xi8> -> tile<128xi4>
    %s = exti %n signed : tile<128xi4> -> tile<128xi32>
    %u = exti %n unsigned : tile<128xi4> -> tile<128xi32>"""
    outputs = {"b": ("i1", (512,)), "s": ("i32", (128,)), "u": ("i32", (128,))}
    text = programs.program(body, {"x": ("i8", (64,))}, outputs)
    _, bits, signed, unsigned = programs.run(
        text, data.view(np.int8), *(programs.empty(*o) for o in outputs.values())
    )
    assert (bits == np.unpackbits(data, bitorder="little")).all()
    nibbles = np.stack([data & 15, data >> 4], axis=1).ravel().astype(np.int32)
    assert (unsigned == nibbles).all()
    assert (signed == np.where(nibbles > 7, nibbles - 16, nibbles)).all()


@pytest.mark.parametrize("old, new", [("i8", "f8E4M3FN"), ("f8E5M2", "i8"), ("f8E8M0FNU", "f8E4M3FN"), ("f16", "bf16"),
                                      ("i16", "bf16"), ("f32", "i32"), ("i64", "f64")])  # fmt: skip
def test_bitcast(old: str, new: str) -> None:
    """Equal widths: the bits stay, NaNs' too."""
    rng = np.random.default_rng(programs.fresh_seed())
    source = programs.empty(old, (512,))
    source = rng.integers(0, 256, source.nbytes, dtype=np.uint8).view(source.dtype)
    text = programs.program(
        f"%y = bitcast %x : tile<512x{old}> -> tile<512x{new}>", {"x": (old, (512,))}, {"y": (new, (512,))}
    )
    _, found = programs.run(text, source, programs.empty(new, (512,)))
    assert found.tobytes() == source.tobytes()


@pytest.mark.parametrize("element", ["f8E4M3FN", "i1", "i8"])
def test_small_elements_between_layouts(element: str) -> None:
    """A transposed tile is stored by rows: its elements change threads."""
    rng = np.random.default_rng(programs.fresh_seed())
    source = programs.empty(element, (32, 64))
    source = rng.integers(0, 2 if element == "i1" else 256, (32, 64), dtype=np.uint8).view(source.dtype)
    text = programs.program(
        f"%y = permute %x [1, 0] : tile<32x64x{element}> -> tile<64x32x{element}>",
        {"x": (element, (32, 64))},
        {"y": (element, (64, 32))},
    )
    _, found = programs.run(text, source, programs.empty(element, (64, 32)))
    assert (found == source.T).all()


@pytest.mark.parametrize("target", programs.TARGETS)
@pytest.mark.parametrize("element", ["i4", "f4E2M1FN"])
def test_nibbles_between_layouts(element: str, target: str) -> None:
    """Elements of half a byte are transposed between unpack and pack."""
    rng = np.random.default_rng(programs.fresh_seed())
    source = rng.integers(0, 256, 1024, dtype=np.uint8)
    body = f"""%u = unpack %x : tile<1024xi8> -> tile<2048x{element}>
    %a = reshape %u : tile<2048x{element}> -> tile<32x64x{element}>
    %t = permute %a [1, 0] : tile<32x64x{element}> -> tile<64x32x{element}>
    %b = reshape %t : tile<64x32x{element}> -> tile<2048x{element}>
    %y = pack %b : tile<2048x{element}> -> tile<1024xi8>"""
    text = programs.program(body, {"x": ("i8", (1024,))}, {"y": ("i8", (1024,))})
    _, found = programs.run(text, source.view(np.int8), programs.empty("i8", (1024,)), target=target)
    nibbles = np.stack([source & 15, source >> 4], axis=1).reshape(32, 64).T.reshape(-1, 2)
    assert (found.view(np.uint8) == (nibbles[:, 0] | nibbles[:, 1] << 4)).all()
    programs.check_tools(text, target)


def test_select_of_small_floats() -> None:
    """Bits of types without arithmetic are chosen like any."""
    rng = np.random.default_rng(programs.fresh_seed())
    a, b = (rng.integers(0, 256, 128, dtype=np.uint8) for _ in range(2))
    mask = rng.integers(0, 2, 128, dtype=np.uint8)
    kind = ("f8E5M2", (128,))
    text = programs.program(
        "%y = select %c, %a, %b : tile<128xi1>, tile<128xf8E5M2>",
        {"c": ("i1", (128,)), "a": kind, "b": kind},
        {"y": kind},
    )
    *_, found = programs.run(text, mask, a, b, programs.empty(*kind))
    assert (found == np.where(mask != 0, a, b)).all()


def test_pointers_are_numbers() -> None:
    """Addresses as i64, moved on, and read through a pointer to another type."""
    view = "partition_view<tile=(8), tensor_view<8xi16, strides=[1]>>"
    body = f"""%n = ptr_to_int %xP : tile<ptr<i32>> -> tile<i64>
    %four = constant <i64: 16> : tile<i64>
    %m = addi %n, %four : tile<i64>
    %p = int_to_ptr %m : tile<i64> -> tile<ptr<f32>>
    %q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<i16>>
    %v = make_tensor_view %q, shape = [8], strides = [1] : tensor_view<8xi16, strides=[1]>
    %w = make_partition_view %v : {view}
    %y, %k = load_view_tko weak %w[%zeroIndex] token = %startToken : {view}, tile<i32> -> tile<8xi16>, token"""
    text = programs.program(body, {"x": ("i32", (16,))}, {"y": ("i16", (8,))})
    x = np.arange(16, dtype=np.int32) * 70001
    _, found = programs.run(text, x, programs.empty("i16", (8,)))
    assert (found == x.view(np.int16)[8:16]).all()


def test_tiles_of_pointers() -> None:
    """Addresses of many elements, as numbers and back."""
    body = """%b = reshape %xP : tile<ptr<i32>> -> tile<1xptr<i32>>
    %c = broadcast %b : tile<1xptr<i32>> -> tile<64xptr<i32>>
    %i = iota : tile<64xi32>
    %o = offset %c, %i : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
    %y = ptr_to_int %o : tile<64xptr<i32>> -> tile<64xi64>
    %p = int_to_ptr %y : tile<64xi64> -> tile<64xptr<f32>>
    %q = ptr_to_ptr %p : tile<64xptr<f32>> -> tile<64xptr<i32>>
    %z, %k = load_ptr_tko weak %q token = %startToken : tile<64xptr<i32>> -> tile<64xi32>, token"""
    outputs = {"y": ("i64", (64,)), "z": ("i32", (64,))}
    text = programs.program(body, {"x": ("i32", (64,))}, outputs)
    x = np.arange(64, dtype=np.int32) * 3
    _, addresses, found = programs.run(text, x, *(programs.empty(*o) for o in outputs.values()))
    assert (np.diff(addresses) == 4).all()
    assert (found == x).all()
