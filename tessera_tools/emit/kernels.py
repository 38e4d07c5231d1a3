"""The kernels of a module, as the launch manifest lists them: from the llvm dialect, or from PTX.

llvm.func @k(!llvm.ptr<1>, i32) {nvvm.kernel, nvvm.reqntid = …}  ─▶  Kernel("k", (ptr, i32), block=(128, 1, 1))
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tessera_tools.analysis.persistent import PERSISTENT, persistent_of
from tessera_tools.analysis.tensor_maps import TENSOR_MAPS
from tessera_tools.dialects.llvm.module_ops import Global
from tessera_tools.emit.manifest import PARAMETER_TYPES, Kernel, Parameter, Persistent, Shape, TensorMap
from tessera_tools.emit.resources import Report
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import (
    ArrayAttr,
    DenseArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
)
from tessera_tools.ir.core import Operation
from tessera_tools.records import replace

__all__ = ["DYNAMIC_SHARED", "check_names", "kernels_of_module", "kernels_of_ptx", "with_resources"]

_PTX_NAME = re.compile(r"(?!WARP_SZ\Z)(?:[A-Za-z][A-Za-z0-9_$]*|[_$][A-Za-z0-9_$]+)")
"""PTX ISA, "Identifiers"; names with % are registers, and WARP_SZ is a constant."""

DYNAMIC_SHARED = "nv_tileaa.dynamic_shared_memory"
"""Attribute of a kernel's llvm.func: bytes of dynamic shared memory that the launcher requests."""


def kernels_of_module(module: Operation) -> list[Kernel]:
    """Every `llvm.func` marked `nvvm.kernel` that has a body, in order."""
    return [_kernel(op) for op in module.walk() if op.name == "llvm.func" and "nvvm.kernel" in op.attributes]


def check_names(module: Operation) -> None:
    """Raises DiagnosticError if the name of a kernel, or of a global visible to the host, is not valid in PTX.

    Otherwise LLVM would abort, or ptxas would refuse the text.
    """
    for op in module.walk():
        name = op.attributes.get("sym_name")
        is_kernel = op.name == "llvm.func" and "nvvm.kernel" in op.attributes
        is_seen = isinstance(op, Global) and op.linkage.value == "external"
        if not (is_kernel or is_seen) or not isinstance(name, StringAttr):
            continue
        if not _PTX_NAME.fullmatch(name.value):
            raise op.error(
                f"has the name '{name.value}', which is not a PTX identifier",
                "use letters, digits, '_' and '$', starting with a letter",
            )


def _kernel(function: Operation) -> Kernel:
    name = function.attributes["sym_name"]
    assert isinstance(name, StringAttr)
    blocks = function.regions[0].blocks if function.regions else []
    arguments = blocks[0].arguments if blocks else []
    entries = _elements(function.attributes.get("arg_attrs"))
    types = [
        _type_name(str(argument.type), entries[i] if i < len(entries) else None)
        for i, argument in enumerate(arguments)
    ]
    names = [argument.name_hint or f"arg{i}" for i, argument in enumerate(arguments)]
    block = _shape(function.attributes.get("nvvm.reqntid")) or _shape(function.attributes.get("nvvm.maxntid"))
    dynamic = function.attributes.get(DYNAMIC_SHARED)
    return Kernel(
        name.value,
        _parameters(zip(names, types, strict=True)),
        block or (1, 1, 1),
        _shape(function.attributes.get("nvvm.cluster_dim")) or (1, 1, 1),
        blocks_are_clusters="nvvm.blocksareclusters" in function.attributes,
        dynamic_shared=dynamic.value if isinstance(dynamic, IntegerAttr) else 0,
        tensor_maps=tuple(map(_tensor_map, _elements(function.attributes.get(TENSOR_MAPS)))),
        persistent=_persistent(function.attributes.get(PERSISTENT)),
    )


def _elements(attribute: Attribute | None) -> tuple[Attribute, ...]:
    return attribute.elements if isinstance(attribute, ArrayAttr) else ()


def _persistent(attribute: Attribute | None) -> Persistent | None:
    found = persistent_of(attribute)
    return Persistent(found.scheduler, found.grid, found.counter, found.blocks) if found is not None else None


def _tensor_map(described: Attribute) -> TensorMap:
    """The tensor map that the attribute describes (passes/llvm/tensor_maps.py)."""
    assert isinstance(described, DictionaryAttr)
    fields = dict(described.entries)

    def items(of: Attribute) -> tuple[Attribute, ...]:
        assert isinstance(of, ArrayAttr)
        return of.elements

    def number(item: Attribute) -> int:
        assert isinstance(item, IntegerAttr)
        return item.value

    def numbers(of: Attribute) -> tuple[int, ...]:
        return tuple(map(number, items(of)))

    def expression(item: Attribute) -> int | dict[str, int]:
        parameter, times, plus, over = numbers(item)
        if parameter < 0:
            return plus
        found = {"parameter": parameter, "times": times, "plus": plus, "over": over}
        return {k: v for k, v in found.items() if (k, v) not in (("times", 1), ("plus", 0), ("over", 1))}

    box = numbers(fields["box"])
    swizzle, element = number(fields["swizzle"]), fields["element_type"]
    together = f"_atom_{number(fields['atomicity'])}B" if "atomicity" in fields else ""
    assert isinstance(element, StringAttr)
    return TensorMap(
        number(fields["parameter"]),
        number(fields["base"]),
        element.value,
        tuple(map(expression, items(fields["shape"]))),
        tuple(map(expression, items(fields["strides"]))),
        box,
        (1,) * len(box),
        f"{swizzle}B{together}" if swizzle else "none",
    )


def _type_name(text: str, attributes: Attribute | None) -> str:
    """The manifest's name of a parameter's LLVM type."""
    if text.startswith("!llvm.ptr"):
        by_value = isinstance(attributes, DictionaryAttr) and "llvm.byval" in dict(attributes.entries)
        return "tensormap" if by_value else "ptr"
    return text if text in PARAMETER_TYPES else "i64"


def _parameters(named: Iterable[tuple[str, str]]) -> tuple[Parameter, ...]:
    """Parameters at their offsets: each aligned to its own size, a tensor map to 64 bytes."""
    parameters: list[Parameter] = []
    end = 0
    for name, type in named:
        size = PARAMETER_TYPES[type]
        alignment = min(size, 64)
        offset = -(-end // alignment) * alignment
        parameters.append(Parameter(name, type, size, offset))
        end = offset + size
    return tuple(parameters)


def _shape(value: Attribute | None) -> Shape | None:
    if not isinstance(value, DenseArrayAttr) or not 1 <= len(value.values) <= 3:
        return None
    return _three([int(v) for v in value.values])


def _three(numbers: list[int]) -> Shape:
    x, y, z = (*numbers, 1, 1, 1)[:3]
    return x, y, z


_ENTRY = re.compile(r"\.entry\s+([\w$%]+)\s*\(([^)]*)\)\s*([^{]*)\{", re.DOTALL)
_PARAM = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s*(\.ptr\b[^,]*?)?\s*([\w$%]+)\s*(\[\d+\])?\s*$")
_PTX_TYPES = {
    "8": "i8", "16": "i16", "32": "i32", "64": "i64",
    "f16": "f16", "f32": "f32", "f64": "f64", "bf16": "bf16",
}  # fmt: skip


def kernels_of_ptx(ptx: str) -> list[Kernel]:
    """Every `.entry` of PTX text. PTX does not distinguish a pointer from an integer without `.ptr`."""
    kernels: list[Kernel] = []
    for name, parameters, directives in _ENTRY.findall(ptx):
        named: list[tuple[str, str]] = []
        for text in parameters.split(","):
            found = _PARAM.search(text.strip())
            if found is None:
                continue
            kind, pointer, parameter, array = found.groups()
            type = _PTX_TYPES.get(kind) or _PTX_TYPES.get(kind.lstrip("bsu"), "i64")
            named.append((parameter, "tensormap" if array else "ptr" if pointer else type))
        shape = re.search(r"\.reqntid\s+([\d, ]+)", directives) or re.search(
            r"\.maxntid\s+([\d, ]+)", directives
        )
        cluster = re.search(r"\.reqnctapercluster\s+([\d, ]+)", directives)
        kernels.append(
            Kernel(
                name,
                _parameters(named),
                _three([int(n) for n in shape[1].split(",")]) if shape else (1, 1, 1),
                _three([int(n) for n in cluster[1].split(",")]) if cluster else (1, 1, 1),
                blocks_are_clusters=".blocksareclusters" in directives,
            )
        )
    return kernels


def with_resources(kernels: Iterable[Kernel], report: Report) -> tuple[Kernel, ...]:
    """The kernels with the resources that ptxas reports."""
    return tuple(
        replace(kernel, registers=used.registers, static_shared=used.shared)
        if (used := report.functions.get(kernel.name)) is not None
        else kernel
        for kernel in kernels
    )
