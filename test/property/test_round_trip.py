"""Printing what was parsed and parsing what was printed is the identity, for random IR of every registered op."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from property.random_ir import Generator, attribute_pool, type_pool
from structural import difference

from tessera_tools.ir.core import Operation
from tessera_tools.ir.printing import print_op
from tessera_tools.opdef.dialect import all_dialects, find_dialect
from tessera_tools.opdef.registry import DIALECT_MODULES
from tessera_tools.parser import parse_attribute, parse_module, parse_type

NAMES = [name for dialect in all_dialects() for name in dialect.ops]


def assert_round_trip(module: Operation) -> None:
    """Custom and generic text, each read back and printed again, is the same text and the same IR."""
    for generic in (False, True):
        text = print_op(module, generic=generic)
        again = parse_module(text, allow_unregistered=True)
        assert print_op(again, generic=generic) == text
        assert difference(module, again) is None, text
