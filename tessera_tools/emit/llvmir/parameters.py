"""Attributes of parameters, results and functions as LLVM IR text (LLVM LangRef, "Parameter Attributes")."""

from __future__ import annotations

from typing import Any

from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects.llvm.attributes import ConstantRangeAttr
from tessera_tools.emit.llvmir.names import quoted
from tessera_tools.emit.llvmir.types import TypeTable
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import (
    ArrayAttr,
    DenseArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    TypeAttr,
)
from tessera_tools.ir.core import Operation

_FLAGS = {
    "llvm.noalias": "noalias", "llvm.nonnull": "nonnull", "llvm.noundef": "noundef", "llvm.readonly": "readonly",
    "llvm.readnone": "readnone", "llvm.writeonly": "writeonly", "llvm.nocapture": "captures(none)",
    "llvm.nofree": "nofree", "llvm.inreg": "inreg", "llvm.signext": "signext", "llvm.zeroext": "zeroext",
    "llvm.returned": "returned", "llvm.nest": "nest", "llvm.immarg": "immarg", "llvm.allocptr": "allocptr",
    "llvm.swiftself": "swiftself", "llvm.dead_on_unwind": "dead_on_unwind", "llvm.writable": "writable",
    "nvvm.grid_constant": '"nvvm.grid_constant"',
}  # fmt: skip
_COUNTS = {
    "llvm.align": "align {}", "llvm.dereferenceable": "dereferenceable({})", "llvm.alignstack": "alignstack({})",
    "llvm.dereferenceable_or_null": "dereferenceable_or_null({})", "llvm.nofpclass": "nofpclass({})",
}  # fmt: skip
_TYPES = {
    "llvm.byval": "byval", "llvm.sret": "sret", "llvm.byref": "byref", "llvm.inalloca": "inalloca",
    "llvm.elementtype": "elementtype", "llvm.preallocated": "preallocated",
}  # fmt: skip


def attributes_text(entries: DictionaryAttr, types: TypeTable) -> str:
    """The attributes of one parameter or result, separated by spaces. Raises Refusal for one that LLVM does not
    have."""
    parts: list[str] = []
    for key, value in entries.entries:
        if key in _FLAGS:
            parts.append(_FLAGS[key])
        elif key in _COUNTS and isinstance(value, IntegerAttr):
            parts.append(_COUNTS[key].format(value.value))
        elif key in _TYPES and isinstance(value, TypeAttr):
            parts.append(f"{_TYPES[key]}({types.text(value.value)})")
        elif key == "llvm.range" and isinstance(value, ConstantRangeAttr):
            parts.append(range_text(value, types))
        elif key.startswith(("llvm.", "nvvm.")):
            raise Refusal(f"has the parameter attribute '{key}', which has no translation to LLVM IR")
    return " ".join(parts)


def range_text(value: ConstantRangeAttr, types: TypeTable) -> str:
    """`range(i32 0, 1024)`."""
    return f"range({types.text(value.type)} {value.lower}, {value.upper})"


ENUM_ATTRIBUTES = frozenset({
    "alwaysinline", "builtin", "cold", "convergent", "disable_sanitizer_instrumentation", "fn_ret_thunk_extern",
    "hot", "inlinehint", "jumptable", "minsize", "mustprogress", "naked", "nobuiltin", "nocallback", "nocf_check",
    "noduplicate", "nofree", "noimplicitfloat", "noinline", "nomerge", "nonlazybind", "noprofile", "norecurse",
    "noredzone", "noreturn", "nosanitize_bounds", "nosync", "nounwind", "optforfuzzing", "optnone", "optsize",
    "readnone", "readonly", "returns_twice", "safestack", "speculatable", "ssp", "sspreq", "sspstrong", "strictfp",
    "willreturn", "writeonly",
})  # fmt: skip
"""Function attributes that are keywords in LLVM; others are passed as strings."""

_UNIT_FUNCTION = {
    "convergent": "convergent", "no_inline": "noinline", "always_inline": "alwaysinline", "inline_hint": "inlinehint",
    "no_unwind": "nounwind", "will_return": "willreturn", "optimize_none": "optnone",
}  # fmt: skip
_STRING_FUNCTION = {
    "target_cpu": "target-cpu", "tune_cpu": "tune-cpu", "reciprocal_estimates": "reciprocal-estimates",
    "prefer_vector_width": "prefer-vector-width", "denormal_fp_math": "denormal-fp-math",
    "denormal_fp_math_f32": "denormal-fp-math-f32", "fp_contract": "fp-contract",
}  # fmt: skip
_BOOL_FUNCTION = {
    "no_infs_fp_math": "no-infs-fp-math", "no_nans_fp_math": "no-nans-fp-math",
    "no_signed_zeros_fp_math": "no-signed-zeros-fp-math",
}  # fmt: skip
_NVVM_LISTS = {
    "nvvm.maxntid": "nvvm.maxntid", "nvvm.reqntid": "nvvm.reqntid", "nvvm.cluster_dim": "nvvm.cluster_dim",
}  # fmt: skip
_NVVM_COUNTS = {
    "nvvm.cluster_max_blocks": "nvvm.maxclusterrank", "nvvm.minctasm": "nvvm.minctasm", "nvvm.maxnreg": "nvvm.maxnreg",
}  # fmt: skip


def function_attributes(op: Any) -> str:
    """The attributes after a function's header, each with a space before it."""
    parts: list[str] = []
    strings: list[str] = []
    for key, value in op.attributes.items():
        if key in _UNIT_FUNCTION:
            parts.append(_UNIT_FUNCTION[key])
        elif key == "memory_effects":
            parts.append(value.llvm_text())
        elif key == "uwtable_kind" and value.value != "none":
            parts.append("uwtable(sync)" if value.value == "sync" else "uwtable")
        elif key in _STRING_FUNCTION and isinstance(value, StringAttr):
            strings.append(f"{quoted(_STRING_FUNCTION[key])}={quoted(value.value)}")
        elif key in _BOOL_FUNCTION and isinstance(value, IntegerAttr):
            strings.append(f"{quoted(_BOOL_FUNCTION[key])}={quoted('true' if value.value else 'false')}")
        elif key == "frame_pointer":
            strings.append(f'"frame-pointer"={quoted(value.value)}')
        elif key == "target_features":
            strings.append(f'"target-features"={quoted(",".join(value.features))}')
        elif key in _NVVM_LISTS and isinstance(value, DenseArrayAttr):
            strings.append(f"{quoted(_NVVM_LISTS[key])}={quoted(','.join(map(str, value.values)))}")
        elif key in _NVVM_COUNTS and isinstance(value, IntegerAttr):
            strings.append(f"{quoted(_NVVM_COUNTS[key])}={quoted(str(value.value))}")
        elif key == "nvvm.blocksareclusters":
            strings.append('"nvvm.blocksareclusters"')
        elif key == "passthrough" and isinstance(value, ArrayAttr):
            for entry in value:
                text = _passed(op, entry)
                (strings if text.startswith('"') else parts).append(text)
    return "".join([f" {text}" for text in (*parts, *strings)])


def _passed(op: Operation, entry: Attribute) -> str:
    """An entry of `passthrough`: "nounwind" or ["key", "value"]."""
    if isinstance(entry, StringAttr):
        return entry.value if entry.value in ENUM_ATTRIBUTES else quoted(entry.value)
    pair = [e.value for e in entry if isinstance(e, StringAttr)] if isinstance(entry, ArrayAttr) else []
    if len(pair) != 2:
        raise op.error(f"has the passthrough entry '{entry}'; expected a string or an array of two strings")
    if pair[0] in ("alignstack", "allocsize", "vscale_range", "uwtable"):
        return f"{pair[0]}({pair[1]})"
    return f"{quoted(pair[0])}={quoted(pair[1])}"
