"""Which types ops of memory accept."""

from __future__ import annotations

import pytest

from tessera_tools.dialects.llvm.types import is_loadable
from tessera_tools.parser import parse_type


@pytest.mark.parametrize(
    "text",
    ["i32", "bf16", "vector<4xf16>", "!llvm.ptr<3>", "!llvm.struct<(i32, f32)>", "!llvm.array<2 x i8>"],
)
def test_a_value_with_a_size_is_in_memory(text: str) -> None:
    assert is_loadable(parse_type(text))


@pytest.mark.parametrize(
    "text",
    [
        "!llvm.void", "!llvm.func<void ()>", "!llvm.token", "!llvm.label", "!llvm.metadata",
        '!llvm.struct<"hidden", opaque>', "index", "si32", "tensor<4xf32>", "vector<2x2xf32>",
    ],
)  # fmt: skip
def test_a_value_without_a_size_is_not(text: str) -> None:
    assert not is_loadable(parse_type(text))
