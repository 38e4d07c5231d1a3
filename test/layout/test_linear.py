"""LinearLayout: its laws on random layouts, its examples, and what it refuses."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from layout.strategies import invertible_columns, layouts, resized

from tessera_tools.layout import LayoutError, LinearLayout

EXAMPLE = LinearLayout({"register": [(0, 1)], "lane": [(0, 2), (1, 0)]}, {"dim0": 2, "dim1": 4})


def table(layout: LinearLayout) -> list[tuple[int, ...]]:
    return [tuple(layout.apply(inputs).values()) for inputs in layout.inputs()]


def test_the_picture_of_the_module() -> None:
    assert EXAMPLE.apply(register=1, lane=3) == {"dim0": 1, "dim1": 3}


@given(layouts(), st.data())
def test_apply_is_linear(layout: LinearLayout, data: st.DataObject) -> None:
    top = (1 << layout.total_in_bits) - 1
    x, y = data.draw(st.integers(0, top)), data.draw(st.integers(0, top))
    assert layout.apply_flat(x ^ y) == layout.apply_flat(x) ^ layout.apply_flat(y)


@given(layouts(ins=("x", "y")), st.data())
def test_compose_applies_one_after_the_other(first: LinearLayout, data: st.DataObject) -> None:
    outer_bases = {
        name: data.draw(st.lists(st.tuples(st.integers(0, 7)), min_size=size.bit_length() - 1, max_size=4))
        for name, size in first.outs
    }
    outer = LinearLayout(outer_bases, {"offset": 8})
    composed = first.compose(outer)
    for inputs in first.inputs():
        assert composed.apply(inputs) == outer.apply(first.apply(inputs))


@given(layouts(), layouts(ins=("lane", "warp")))
def test_product_splits_inputs_and_outputs(inner: LinearLayout, outer: LinearLayout) -> None:
    product = inner * outer
    for inputs in product.inputs():
        low = {name: value % inner.in_size(name) for name, value in inputs.items() if name in inner.in_dims}
        high = {name: inputs[name] // inner.in_size(name) for name in outer.in_dims}
        a, b = inner.apply(low), outer.apply(high)
        assert product.apply(inputs) == {n: a[n] + inner.out_size(n) * b[n] for n in ("dim0", "dim1")}


@given(layouts(), layouts(), layouts())
def test_product_is_associative_with_a_unit(a: LinearLayout, b: LinearLayout, c: LinearLayout) -> None:
    assert (a * b) * c == a * (b * c)
    assert LinearLayout.empty() * a == a == a * LinearLayout.empty()


@given(invertible_columns(5))
def test_inverse_both_ways(columns: list[int]) -> None:
    layout = LinearLayout.from_columns({"r": 4, "l": 8}, {"x": 8, "y": 4}, columns)
    inverse = layout.invert()
    assert [inverse.compose(layout).apply_flat(i) for i in range(32)] == list(range(32))
    assert [layout.compose(inverse).apply_flat(i) for i in range(32)] == list(range(32))


@given(layouts())
def test_pseudo_inverse_is_a_right_inverse(layout: LinearLayout) -> None:
    assume(layout.is_surjective())
    identity = layout.pseudo_inverse().compose(layout)
    assert [identity.apply_flat(i) for i in range(1 << layout.total_out_bits)] == list(
        range(1 << layout.total_out_bits)
    )


def test_pseudo_inverse_leaves_redundant_bits_zero() -> None:
    layout = LinearLayout({"register": [(1,)], "lane": [(1,), (2,)]}, {"dim0": 4})
    assert layout.pseudo_inverse().apply(dim0=1) == {"register": 1, "lane": 0}


@given(layouts(ins=("a", "b")), layouts(ins=("c",)))
def test_invert_and_compose_composes_back(first: LinearLayout, outer: LinearLayout) -> None:
    sizes = [(name, max(size, outer.out_size(name))) for name, size in first.outs]
    first, outer = LinearLayout(first.bases, sizes), LinearLayout(outer.bases, sizes)
    reached = set(table(outer))
    try:
        result = first.invert_and_compose(outer)
    except LayoutError:
        assert not set(table(first)) <= reached
        return
    assert result.compose(outer) == first


@given(layouts())
def test_surjective_and_injective_count_elements(layout: LinearLayout) -> None:
    reached = table(layout)
    assert layout.is_injective() == (len(set(reached)) == len(reached))
    assert layout.is_surjective() == (len(set(reached)) == 1 << layout.total_out_bits)
    assert layout.is_invertible() == (layout.is_injective() and layout.is_surjective())


@given(layouts())
def test_inputs_without_free_bits_hold_each_element_once(layout: LinearLayout) -> None:
    masks = layout.free_variable_masks()
    kept = [
        tuple(layout.apply(inputs).values())
        for inputs in layout.inputs()
        if not any(inputs[name] & mask for name, mask in masks.items())
    ]
    assert len(set(kept)) == len(kept)
    assert set(kept) == set(table(layout))


@given(layouts())
def test_reshapes_and_flatten_keep_the_matrix(layout: LinearLayout) -> None:
    flat = layout.flatten()
    assert flat.columns == layout.columns
    assert LinearLayout.from_columns(layout.ins, flat.outs, flat.columns).reshape_outs(layout.outs) == layout


@given(layouts())
def test_transposing_twice_is_the_same_layout(layout: LinearLayout) -> None:
    turned = layout.transpose_outs(["dim1", "dim0"]).transpose_ins(["lane", "register"])
    assert turned.transpose_outs(["dim0", "dim1"]).transpose_ins(["register", "lane"]) == layout


@given(layouts())
def test_sublayout_is_the_layout_with_other_inputs_zero(layout: LinearLayout) -> None:
    part = layout.sublayout(["lane"], ["dim1"])
    for lane in range(layout.in_size("lane")):
        assert part.apply(lane=lane)["dim1"] == layout.apply(lane=lane)["dim1"]


@pytest.mark.parametrize(
    ("ins", "outs", "name"), [(["warp"], ["dim1"], "warp"), (["lane"], ["dim2"], "dim2")]
)
def test_a_sublayout_of_an_unknown_dimension_is_refused(ins: list[str], outs: list[str], name: str) -> None:
    with pytest.raises(LayoutError, match=f"no dimension '{name}' in"):
        EXAMPLE.sublayout(ins, outs)


def test_equal_layouts_have_equal_hashes() -> None:
    again = LinearLayout({"register": [[0, 1]], "lane": [[0, 2], [1, 0]]}, [("dim0", 2), ("dim1", 4)])
    assert again == EXAMPLE
    assert len({again, EXAMPLE}) == 1


def test_a_layout_survives_pickling() -> None:
    assert pickle.loads(pickle.dumps(EXAMPLE)) == EXAMPLE


def test_quotient_removes_a_dimension_that_stays_in_place() -> None:
    lanes = LinearLayout({"lane": [(2,), (1,)]}, {"lane": 4})
    assert (lanes * LinearLayout.identity_1d(4, "warp", "warp")).quotient(["warp"]) == lanes


def test_quotient_is_none_where_the_dimension_moves() -> None:
    crossed = LinearLayout({"lane": [(0, 1)], "warp": [(1, 0)]}, {"lane": 2, "warp": 2})
    assert crossed.quotient(["warp"]) is None


def test_resize_out_drops_high_bits() -> None:
    assert EXAMPLE.resize_out("dim1", 2).bases == {"register": ((0, 1),), "lane": ((0, 0), (1, 0))}


def test_remove_zero_bases() -> None:
    grown = resized(EXAMPLE, "register", 8)
    assert grown.remove_zero_bases("register") == EXAMPLE


def test_zeros_and_strided() -> None:
    assert LinearLayout.zeros_1d(4, "lane", "dim0").apply(lane=3) == {"dim0": 0}
    assert LinearLayout.strided_1d(4, 2, "lane", "dim0").apply(lane=3) == {"dim0": 6}


@pytest.mark.parametrize(
    ("bases", "outs", "message"),
    [
        (
            {"lane": [(0, 1, 2)]},
            {"dim0": 2, "dim1": 4},
            r"basis \[0, 1, 2\] of 'lane' has 3 components, expected 2",
        ),
        ({"lane": [(4,)]}, {"dim0": 4}, r"basis \[4\] of 'lane' is outside 'dim0' of size 4"),
        ({"lane": [(-1,)]}, {"dim0": 4}, r"basis \[-1\] of 'lane' is outside 'dim0'"),
        ({"lane": []}, {"dim0": 6}, r"'dim0' has size 6, expected a power of two"),
        ({"lane": []}, [("dim0", 2), ("dim0", 2)], r"output dimensions repeat"),
    ],
)
def test_construction_refuses_and_prints_the_layout(bases: object, outs: object, message: str) -> None:
    with pytest.raises(LayoutError, match=message) as caught:
        LinearLayout(bases, outs)  # pyright: ignore[reportArgumentType]
    assert "lane = [" in str(caught.value)


def test_apply_refuses_an_input_outside_its_size() -> None:
    with pytest.raises(LayoutError, match="'lane' = 4 is outside its size 4"):
        EXAMPLE.apply(lane=4)


def test_apply_refuses_an_unknown_dimension() -> None:
    with pytest.raises(LayoutError, match="no input dimension 'warp'"):
        EXAMPLE.apply(warp=0)


@pytest.mark.parametrize(("mine", "its"), [(4, 8), (8, 4)])
def test_invert_and_compose_meets_tiles_of_other_sizes(mine: int, its: int) -> None:
    """The elements that both have are where the other layout has them; it must have all of this one."""
    first = LinearLayout({"lane": [(1, 0), (2, 0), (0, 1)]}, {"dim0": mine, "dim1": 2})
    rows = [(1 << bit, 0) for bit in range(its.bit_length() - 1)]
    outer = LinearLayout({"offset": [(0, 1), *rows]}, {"dim0": its, "dim1": 2})
    found = [first.invert_and_compose(outer).apply(lane=lane)["offset"] for lane in range(8)]
    assert found == [0, 2, 4, 6, 1, 3, 5, 7]


def test_compose_refuses_dimensions_that_do_not_meet() -> None:
    with pytest.raises(LayoutError, match="cannot compose: the outputs of"):
        EXAMPLE.compose(EXAMPLE)


def test_invert_refuses_a_layout_with_repeats() -> None:
    with pytest.raises(LayoutError, match=r"not invertible \(rank 3\)"):
        resized(EXAMPLE, "lane", 8).invert()


def test_pseudo_inverse_refuses_a_layout_with_gaps() -> None:
    with pytest.raises(LayoutError, match="not surjective"):
        EXAMPLE.resize_out("dim0", 8).pseudo_inverse()


def test_invert_and_compose_names_the_missing_element() -> None:
    with pytest.raises(LayoutError, match=r"element \(1, 0\)"):
        EXAMPLE.invert_and_compose(resized(EXAMPLE, "lane", 2))


@pytest.mark.parametrize("names", [("dim0",), ("dim1", "dim0", "dim2")])
def test_invert_and_compose_refuses_other_outputs(names: tuple[str, ...]) -> None:
    outer = LinearLayout(
        {"offset": [tuple(int(k == n) for k in range(len(names))) for n in range(len(names))]},
        dict.fromkeys(names, 2),
    )
    with pytest.raises(LayoutError, match="the outputs differ"):
        EXAMPLE.invert_and_compose(outer)


@pytest.mark.parametrize("size", [0, 3])
def test_identity_refuses_sizes_that_are_not_powers_of_two(size: int) -> None:
    with pytest.raises(LayoutError, match="is not a power of two"):
        LinearLayout.identity_1d(size, "lane", "dim0")


def test_reshape_refuses_another_total_size() -> None:
    with pytest.raises(LayoutError, match="the total sizes differ"):
        EXAMPLE.reshape_outs({"a": 2})
