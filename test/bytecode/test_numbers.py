"""The frozen numbers: none is changed, none is missing."""

from __future__ import annotations

from tessera_tools.bytecode import VERSIONS
from tessera_tools.bytecode.plans import NOT_IN_BODIES, OLDER_NAMES, plans
from tessera_tools.dialects import cuda_tile
from tessera_tools.dialects.cuda_tile.bytecode_numbers import (
    ATTRIBUTE_TAGS,
    DEBUG_TAGS,
    OPCODES,
    SIMPLE_TYPES,
)

LAST = {1: 109, 2: 110, 3: 117, 4: 122, 5: 125}
"""The last opcode of each minor version."""


def test_each_version_ends_where_it_did() -> None:
    assert {since: max(o.number for o in OPCODES if o.since <= since) for since in LAST} == LAST


def test_numbers_and_words_stand_once() -> None:
    assert len({o.number for o in OPCODES}) == len({o.word for o in OPCODES}) == len(OPCODES) == 108


def test_some_numbers_are_as_ever() -> None:
    words = {o.word: o.number for o in OPCODES}
    found = [words[word] for word in ("absf", "exti", "iota", "yield", "atan2", "alloca", "insert", "fpowi")]
    assert found == [0, 37, 58, 109, 110, 113, 118, 121]
    assert [tag for tag, _, _ in SIMPLE_TYPES] == [*range(12), 17, 18, 19, 22, 130]
    assert list(ATTRIBUTE_TAGS.values()) == list(range(1, 13))
    assert list(DEBUG_TAGS.values()) == list(range(1, 7))


def test_every_opcode_is_an_op_of_the_dialect() -> None:
    assert [o.word for o in OPCODES if f"cuda_tile.{o.word}" not in cuda_tile.DIALECT.ops] == []


def test_every_op_of_the_dialect_has_an_opcode() -> None:
    numbered = {f"cuda_tile.{o.word}" for o in OPCODES} | {f"cuda_tile.{word}" for word in OLDER_NAMES}
    older = {"cuda_tile.tensor_view", "cuda_tile.partition_view", "cuda_tile.testing$func"}
    left = {name for name in cuda_tile.DIALECT.ops if not name.startswith("cuda_tile.legacy_")}
    assert left - numbered - older == set()


def test_every_op_has_an_encoding_in_every_version_that_has_it() -> None:
    for version in VERSIONS:
        known = {o.number for o in OPCODES if o.since <= version.minor and o.word not in NOT_IN_BODIES}
        assert set(plans(version)) == known
