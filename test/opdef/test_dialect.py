"""What a dialect is made of: two ops, types or attributes of one name are refused when its module is imported."""

from __future__ import annotations

import pytest

from tessera_tools.ir.attributes import Attribute
from tessera_tools.opdef import Op
from tessera_tools.opdef.dialect import by_word, ops_of


class First(Op, name="demo.op"):
    """An op."""


class Second(Op, name="demo.op"):
    """Another of the same name."""


class FirstAttr(Attribute, name="demo.flag"):
    """An attribute."""


class SecondAttr(Attribute, name="demo.flag"):
    """Another of the same name."""


def test_an_op_that_several_modules_name_is_one() -> None:
    assert ops_of({"First": First}, {"Again": First}) == {"demo.op": First}


def test_two_ops_of_one_name_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"'demo.op' already has a class: .*First.*; found another: .*Second"
    ):
        ops_of({"First": First}, {"Second": Second})


def test_two_attributes_of_one_name_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"'flag' already has a class: .*FirstAttr.*; found another: .*SecondAttr"
    ):
        by_word(FirstAttr, SecondAttr)
