"""The signature of a kernel: parameters, block, cluster, shared memory; from its manifest, or only from the PTX.

    Manifest (emit/manifest.py) ─┐
    PTX's .param declarations ───┴─▶ Signature ──check_argument──▶ an argument, or an error that names the parameter

Both devices launch from a Signature, so that they accept and reject the same arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tessera_tools.diagnostics import DiagnosticError, error
from tessera_tools.emit.manifest import PARAMETER_TYPES, Kernel, Persistent, TensorMap
from tessera_tools.runtime.types import Type, lookup_type
from tessera_tools.sim.program import Function, Variable

__all__ = ["Parameter", "Scalar", "Signature", "merge", "of_entry", "of_kernel", "with_names"]

Shape = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: `type` is a manifest's (`ptr`, `i32`, …, `tensormap`) or `bytes` for an aggregate."""

    name: str
    type: str
    size: int
    offset: int
    certain: bool = True
    """False if PTX does not specify the meaning of the bits: a .b64 may be a pointer, a .b32 a float."""

    def __str__(self) -> str:
        what = f"{self.size} bytes" if self.type == "bytes" else self.type
        return f"parameter '{self.name}' ({what})"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number for a parameter, with the type that the user gave it; `type` None is a Python number."""

    value: int | float | bytes
    type: Type | None = None

    def __str__(self) -> str:
        if isinstance(self.value, bytes):
            return f"{len(self.value)} bytes"
        return f"{self.type.name}:{self.value}" if self.type is not None else f"the number {self.value}"


@dataclass(frozen=True, slots=True)
class Signature:
    """A kernel in the view of a launcher. `block` is None if it is not specified; sizes are bytes."""

    name: str
    parameters: tuple[Parameter, ...]
    block: Shape | None = None
    cluster: Shape | None = None
    dynamic_shared: int = 0
    registers: int = 0
    """Per thread; 0 if unknown."""
    tensor_maps: tuple[TensorMap, ...] = ()
    blocks_are_clusters: bool = False
    """Whether the grid of a launch counts clusters, each of which is a CTA to the caller."""
    persistent: Persistent | None = None
    """How to launch a kernel whose CTAs run several tile blocks each."""

    @property
    def wanted(self) -> list[Parameter]:
        """The parameters that the caller passes: all but the tensor maps and the grid that the manifest describes."""
        made = {tensor_map.parameter for tensor_map in self.tensor_maps}
        made.update(self.persistent.parameters if self.persistent is not None else ())
        return [parameter for number, parameter in enumerate(self.parameters) if number not in made]

    def takes(self) -> str:
        """The parameters as text, for errors."""
        wanted = self.wanted
        if not wanted:
            return f"'{self.name}' takes no arguments"
        listed = ", ".join(f"{parameter.name}: {parameter.type}" for parameter in wanted)
        return f"'{self.name}' takes {len(wanted)}: {listed}"

    def check_count(self, found: int) -> None:
        """Raises DiagnosticError, naming the first parameter without an argument."""
        wanted = self.wanted
        if found < len(wanted):
            many = f"{found} argument{'s' if found != 1 else ''} given"
            raise error(None, f"{wanted[found]} has no argument: {many}", self.takes())
        if found > len(wanted):
            raise error(None, f"{found} arguments given, {len(wanted)} expected", self.takes())

    def pack(self, parameter: Parameter, given: Scalar) -> bytes:
        """A scalar's bytes for a parameter. Raises DiagnosticError if the types differ."""
        value = given.value
        if isinstance(value, bytes):
            if len(value) != parameter.size:
                raise error(None, f"{parameter}: found {given}, expected {parameter.size}")
            return value
        if parameter.type in ("bytes", "tensormap"):
            how = "a tensor map" if parameter.type == "tensormap" else f"{parameter.size} bytes"
            raise error(None, f"{parameter}: found {given}, expected {how}")
        if parameter.type == "ptr":
            if given.type is not None and given.type.name != "u64":
                raise error(None, f"{parameter}: found {given}, expected a buffer")
            return _integer(parameter, int(value), 64)
        expected = lookup_type(parameter.type)
        assert expected is not None
        kind = given.type
        if kind is None:
            kind = expected if not isinstance(value, float) or expected.kind == "f" else None
            if kind is None and not parameter.certain:
                kind = lookup_type(f"f{8 * parameter.size}")
        if kind is None or kind.size != expected.size or (parameter.certain and not _alike(kind, expected)):
            raise error(None, f"{parameter}: found {given}, expected {parameter.type}")
        try:
            return kind.encode(np.array([value])).tobytes()
        except (DiagnosticError, OverflowError) as failure:
            why = (
                failure.diagnostics[0].message if isinstance(failure, DiagnosticError) else "it does not fit"
            )
            raise error(None, f"{parameter}: {why}") from None

    def may_point(self, parameter: Parameter) -> bool:
        """True if the parameter accepts a buffer's address."""
        return parameter.type == "ptr" or (parameter.size == 8 and parameter.type == "i64")


def _alike(given: Type, expected: Type) -> bool:
    """Signed and unsigned integers of a size are equivalent; floats are distinct."""
    if given.kind == "f" or expected.kind == "f":
        return given.name == expected.name
    return given.bits == expected.bits


def _integer(parameter: Parameter, value: int, bits: int) -> bytes:
    if not -(1 << bits - 1) <= value < 1 << bits:
        raise error(None, f"{parameter}: {value} does not fit {bits} bits")
    return (value % (1 << bits)).to_bytes(bits // 8, "little")


def of_kernel(kernel: Kernel) -> Signature:
    """The signature of a manifest's kernel."""
    return Signature(
        kernel.name,
        tuple(Parameter(p.name, p.type, p.size, p.offset) for p in kernel.parameters),
        kernel.block,
        kernel.cluster if kernel.cluster != (1, 1, 1) else None,
        kernel.dynamic_shared,
        kernel.registers,
        kernel.tensor_maps,
        kernel.blocks_are_clusters,
        kernel.persistent,
    )


def of_entry(entry: Function) -> Signature:
    """The signature from PTX: sizes, and the kinds of typed numbers; block only from .reqntid."""
    return Signature(
        entry.name,
        tuple(_parameter(variable) for variable in entry.parameters),
        _three(entry.required_block),
        _three(entry.required_cluster),
        blocks_are_clusters=entry.blocks_are_clusters,
    )


def _parameter(variable: Variable) -> Parameter:
    kind = variable.type
    if variable.is_array:
        name = "tensormap" if variable.size == 128 and variable.align >= 64 else "bytes"
        return Parameter(variable.name, name, variable.size, variable.offset, False)
    if kind.is_float:
        return Parameter(variable.name, f"f{kind.bits}", variable.size, variable.offset)
    # LLVM and nvcc declare a float as .f32 and an integer as .u32; the kind of a .b16 or .b32 is unknown.
    name = f"i{max(kind.bits, 8)}"
    return Parameter(variable.name, name, variable.size, variable.offset, kind.kind in "us")


def _three(shape: Sequence[int] | None) -> Shape | None:
    return (int(shape[0]), int(shape[1]), int(shape[2])) if shape is not None else None


def with_names(signature: Signature, given: Sequence[str]) -> Signature:
    """The signature with names and types from a `--param NAME:TYPE` list. Raises DiagnosticError."""
    if len(given) != len(signature.parameters):
        found, wanted = len(given), len(signature.parameters)
        raise error(None, f"--param: {found} given; the entry '{signature.name}' has {wanted} parameters")
    parameters: list[Parameter] = []
    for text, parameter in zip(given, signature.parameters, strict=True):
        name, _, kind = text.partition(":")
        size = PARAMETER_TYPES.get(kind)
        if not name or size is None:
            expected = f"NAME:TYPE, with a type of {', '.join(PARAMETER_TYPES)}"
            raise error(None, f"--param: found '{text}', expected {expected}")
        if size != parameter.size:
            raise error(
                None, f"--param '{text}': {kind} takes {size} bytes; '{parameter.name}' has {parameter.size}"
            )
        parameters.append(Parameter(name, kind, size, parameter.offset))
    return replace(signature, parameters=tuple(parameters))


def merge(entry: Signature, kernel: Signature) -> Signature:
    """A manifest's signature for the given PTX, which must match it. Raises DiagnosticError."""
    if len(entry.parameters) != len(kernel.parameters):
        raise error(
            None,
            f"the manifest lists {len(kernel.parameters)} parameters of '{kernel.name}'; "
            f"the PTX has {len(entry.parameters)}",
            "compile the kernel again",
        )
    parameters: list[Parameter] = []
    for declared, found in zip(kernel.parameters, entry.parameters, strict=True):
        if declared.size != found.size:
            raise error(
                None, f"the manifest gives '{declared.name}' {declared.size} bytes; the PTX has {found.size}",
                "compile the kernel again",
            )  # fmt: skip
        parameters.append(replace(declared, offset=found.offset))
    block = entry.block or (kernel.block if kernel.block != (1, 1, 1) else None)
    return replace(
        kernel,
        parameters=tuple(parameters),
        block=block,
        cluster=entry.cluster or kernel.cluster,
        blocks_are_clusters=entry.blocks_are_clusters,
    )
