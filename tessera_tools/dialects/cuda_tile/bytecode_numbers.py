"""The numbers of ops, types, attributes and debug information in cuda_tile bytecode. Frozen: append only.

A number keeps its meaning in every version; additions of a later version get the next free one. The facts
are those of NVIDIA/cuda-tile (BytecodeOpcodes.td, BytecodeTypeOpcodes.td, BytecodeAttrOpcodes.td; 13.1 to 13.3) and of
the bytecode writer in the wheel cuda-tile 1.7.0 (13.4 and 13.5). `since` is the minor version of format 13 that
brought it.
"""

from __future__ import annotations

from typing import NamedTuple


class Opcode(NamedTuple):
    """One op: its number in bytecode, its name without the dialect, the minor version that brought it."""

    number: int
    word: str
    since: int


OPCODES: tuple[Opcode, ...] = tuple(
    Opcode(number, word, since)
    for since, numbered in (
        (1, {
            0: "absf", 1: "absi", 2: "addf", 3: "addi", 4: "andi", 5: "assert", 6: "assume", 7: "atomic_cas_tko",
            8: "atomic_rmw_tko", 9: "bitcast", 10: "break", 11: "broadcast", 12: "cat", 13: "ceil", 14: "cmpf",
            15: "cmpi", 16: "constant", 17: "continue", 18: "cos", 19: "cosh", 20: "divf", 21: "divi", 22: "entry",
            23: "exp", 24: "exp2", 37: "exti", 38: "extract", 39: "floor", 40: "fma", 41: "for", 42: "ftof",
            43: "ftoi", 44: "get_global", 45: "get_index_space_shape", 46: "get_num_tile_blocks",
            47: "get_tensor_shape", 48: "get_tile_block_id", 49: "global", 50: "if", 51: "int_to_ptr", 58: "iota",
            59: "itof", 60: "join_tokens", 61: "load_ptr_tko", 62: "load_view_tko", 63: "log", 64: "log2",
            65: "loop", 66: "make_partition_view", 67: "make_tensor_view", 68: "make_token", 69: "maxf", 70: "maxi",
            71: "minf", 72: "mini", 73: "mmaf", 74: "mmai", 75: "module", 76: "mulf", 77: "mulhii", 78: "muli",
            79: "negf", 80: "negi", 81: "offset", 82: "ori", 83: "permute", 84: "fpowf", 85: "print_tko",
            86: "ptr_to_int", 87: "ptr_to_ptr", 88: "reduce", 89: "remf", 90: "remi", 91: "reshape", 92: "return",
            93: "rsqrt", 94: "scan", 95: "select", 96: "shli", 97: "shri", 98: "sin", 99: "sinh", 100: "sqrt",
            101: "store_ptr_tko", 102: "store_view_tko", 103: "subf", 104: "subi", 105: "tan", 106: "tanh",
            107: "trunci", 108: "xori", 109: "yield",
        }),
        (2, {110: "atan2"}),
        (3, {
            111: "pack", 112: "unpack", 113: "alloca", 114: "mmaf_scaled", 115: "make_gather_scatter_view",
            116: "make_strided_view", 117: "atomic_red_view_tko",
        }),
        (4, {
            118: "insert", 119: "gdc_launch_dependents_tko", 120: "gdc_wait_tko", 121: "fpowi",
            122: "memory_fence_alias_tko",
        }),
        (5, {
            123: "multimem_load_reduce_view_tko", 124: "multimem_reduce_view_tko", 125: "multimem_store_view_tko",
        }),
    )
    for number, word in numbered.items()
)  # fmt: skip

PREVIEW_OPCODES = range(0x4000, 0x5000)
"""Where the ops of preview features are numbered; they have no stable meaning."""

SIMPLE_TYPES: tuple[tuple[int, str, int], ...] = (
    (0, "i1", 1), (1, "i8", 1), (2, "i16", 1), (3, "i32", 1), (4, "i64", 1), (5, "f16", 1), (6, "bf16", 1),
    (7, "f32", 1), (8, "tf32", 1), (9, "f64", 1), (10, "f8E4M3FN", 1), (11, "f8E5M2", 1), (17, "token", 1),
    (18, "f8E8M0FNU", 2), (19, "f4E2M1FN", 3), (22, "i4", 3), (130, "fnv8E5M3FNU", 4),
)  # fmt: skip
"""Types without parameters: tag, keyword, since."""

POINTER, TILE, TENSOR_VIEW, PARTITION_VIEW, FUNCTION, GATHER_SCATTER_VIEW, STRIDED_VIEW = (
    12,
    13,
    14,
    15,
    16,
    20,
    21,
)
"""Tags of types with parameters; the two last since 13.3."""

ATTRIBUTE_TAGS = {
    "integer": 1, "float": 2, "bool": 3, "type": 4, "string": 5, "array": 6, "dense_elements": 7, "div_by": 8,
    "same_elements": 9, "dictionary": 10, "optimization_hints": 11, "bounded": 12,
}  # fmt: skip
"""Attributes that say themselves what they are."""

DEBUG_TAGS = {
    "compile_unit": 1, "file": 2, "lexical_block": 3, "location": 4, "subprogram": 5, "call_site": 6,
}  # fmt: skip
"""Kinds of debug information; 0 is not a position."""
