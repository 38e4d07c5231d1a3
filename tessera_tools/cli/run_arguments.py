"""The arguments of `tessera-run`: from `--arg` or `--launch` to buffers on a device, and back to files and checks.

Arguments(options) ──read()──▶ arrays ──place(device, kernel)──▶ buffers, values ──▶ outputs(), check()
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tessera_tools import runtime
from tessera_tools.diagnostics import DiagnosticError, error
from tessera_tools.records import dataclass
from tessera_tools.runtime.arguments import (
    BufferSpec,
    Expectation,
    MapSpec,
    parse_argument,
    parse_expectation,
    parse_output,
    read_array,
)
from tessera_tools.runtime.compare import compare
from tessera_tools.runtime.launch_file import LaunchFile, read_launch
from tessera_tools.runtime.signature import Parameter, Scalar, Shape, Signature
from tessera_tools.runtime.types import TYPES, Array, Type

if TYPE_CHECKING:
    from tessera_tools.cli.command_line import OptionValues
    from tessera_tools.runtime.interface import Argument

__all__ = ["Arguments", "Check", "read_shape"]


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of one `--expect`."""

    text: str
    wrong: bool


def read_shape(name: str, text: str | None) -> Shape | None:
    """`X,Y,Z` of an option; missing extents are 1. Raises DiagnosticError."""
    if text is None:
        return None
    parts = text.replace("x", ",").split(",")
    sizes = [int(part) if part.strip().isascii() and part.strip().isdigit() else 0 for part in parts]
    if not 1 <= len(sizes) <= 3 or 0 in sizes:
        raise error(None, f"--{name} is '{text}'; expected one to three numbers from 1, as in --{name}=4,4,1")
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def _integer(argument: object) -> int | None:
    """The value of an integer argument."""
    value = argument.value if isinstance(argument, Scalar) else None
    return value if isinstance(value, int) else None


class Contents(Protocol):
    """What `--out` and `--expect` read: a buffer, or the whole result of a plan."""

    @property
    def type(self) -> Type | None: ...

    def array(self) -> Array: ...


class Arguments:
    """The arguments of one command line. `buffers` and `values` belong to the device of the last `place`."""

    def __init__(self, options: OptionValues) -> None:
        self.texts: list[str] = list(options["arg"])
        self.outs = [parse_output(text) for text in options["out"]]
        self.expectations = [parse_expectation(text) for text in options["expect"]]
        self.launch: LaunchFile | None = None
        if options["launch"] is not None:
            if self.texts:
                raise error(None, "--arg and --launch both specify arguments; use only one")
            self.launch = read_launch(options["launch"], allow_outside=options["allow_outside"])
        self.images: dict[str, bytes] = {}
        self.expected: list[tuple[Array, Type]] = []
        self.buffers: dict[str, runtime.Buffer] = {}
        self.values: list[Argument] = []

    @property
    def entry(self) -> str | None:
        return self.launch.entry if self.launch is not None else None

    @property
    def grid(self) -> Shape | None:
        return self.launch.grid if self.launch is not None else None

    @property
    def block(self) -> Shape | None:
        return self.launch.block if self.launch is not None else None

    @property
    def cluster(self) -> Shape | None:
        return self.launch.cluster if self.launch is not None else None

    @property
    def shared(self) -> int | None:
        return self.launch.shared if self.launch is not None else None

    def shapes(self, grid: Shape) -> str:
        """The class of shapes of a launch, by which tuning results are kept."""
        from tessera_tools.emit.tuned import shapes_class

        given = self.launch.args if self.launch is not None else [parse_argument(text) for text in self.texts]
        return shapes_class(grid, [_integer(one) for one in given])

    def read(self) -> None:
        """Read the files of `--launch` and `--expect` before the run."""
        if self.launch is not None:
            self.images = self.launch.images()
        for one in self.expectations:
            if one.source is not None:
                self.expected.append(one.source.array(np.random.default_rng(0)))
            else:
                if not one.path.endswith(".npy"):
                    raise error(
                        None, f"'{one.text}': '{one.path}' is not a .npy file, so its type is unknown",
                        f"expected {one.buffer}=@{one.path}:TYPE:SHAPE",
                    )  # fmt: skip
                self.expected.append(read_array(one.path, None, None, one.text))

    def place(self, device: runtime.Device, kernel: runtime.Kernel, seed: int) -> None:
        """Create the buffers on a device. Raises a DiagnosticError that names the parameter."""
        if self.launch is not None:
            self.buffers = self.launch.place(device, self.images)
            self.values = list(self.launch.arguments(self.buffers))
            kernel.signature.check_count(len(self.values))
        else:
            self._place_texts(device, kernel, seed)
        for name in [*(name for name, _ in self.outs), *(one.buffer for one in self.expectations)]:
            if name not in self.buffers:
                there = ", ".join(self.buffers) or "none"
                raise error(None, f"there is no buffer '{name}'; the arguments define {there}")

    def _place_texts(self, device: runtime.Device, kernel: runtime.Kernel, seed: int) -> None:
        signature = kernel.signature
        self.buffers, self.values = {}, []
        parsed = [self._parse(number, text, signature) for number, text in enumerate(self.texts)]
        signature.check_count(len(parsed))
        for number, (parameter, given) in enumerate(zip(signature.wanted, parsed, strict=True)):
            if isinstance(given, BufferSpec):
                self.values.append(self._buffer(device, signature, parameter, given, [seed, number]))
            elif isinstance(given, MapSpec):
                self.values.append(self._map(kernel, parameter, given))
            else:
                signature.pack(parameter, given)  # checked here, before another buffer is created
                self.values.append(given)

    def _parse(self, number: int, text: str, signature: Signature) -> BufferSpec | MapSpec | Scalar:
        try:
            return parse_argument(text)
        except DiagnosticError as failure:
            wanted = signature.wanted
            if number < len(wanted):
                only = failure.diagnostics[0]
                only.message = f"{wanted[number]}: {only.message}"
            raise

    def _buffer(
        self,
        device: runtime.Device,
        signature: Signature,
        parameter: Parameter,
        spec: BufferSpec,
        seed: list[int],
    ) -> runtime.Buffer:
        if not signature.may_point(parameter):
            what = "a tensor map" if parameter.type == "tensormap" else f"a number as {parameter.type}:VALUE"
            raise error(None, f"{parameter}: found the buffer '{spec.text}', expected {what}")
        name = spec.name or parameter.name
        if name in self.buffers:
            raise error(
                None,
                f"{parameter}: a buffer named '{name}' already exists",
                "use a unique name for every buffer",
            )
        try:
            array, type = spec.array(np.random.default_rng(seed))
        except DiagnosticError as failure:
            failure.diagnostics[0].message = f"{parameter}: {failure.diagnostics[0].message}"
            raise
        self.buffers[name] = device.buffer(array, name, type)
        return self.buffers[name]

    def _map(self, kernel: runtime.Kernel, parameter: Parameter, spec: MapSpec) -> Scalar:
        buffer = self.buffers.get(spec.buffer)
        if buffer is None or buffer.type is None:
            raise error(
                None,
                f"{parameter}: '{spec.text}' names the buffer '{spec.buffer}', which no earlier --arg defines",
            )
        if len(spec.box) != len(buffer.shape):
            ranks = f"a box of rank {len(spec.box)}; '{spec.buffer}' has rank {len(buffer.shape)}"
            raise error(None, f"{parameter}: '{spec.text}' has {ranks}")
        kind = buffer.type
        element = kind.name if kind.name in ("f16", "bf16", "f32", "tf32", "f64") else f"u{8 * kind.size}"
        strides = [kind.size * int(np.prod(buffer.shape[n:])) for n in range(len(buffer.shape) - 1, 0, -1)]
        raw = kernel.encode(
            {
                "element": element,
                "address": buffer.address,
                "dims": buffer.shape[::-1],
                "strides": strides,
                "box": spec.box[::-1],
                "element_strides": [1] * len(spec.box),
                "swizzle": spec.swizzle,
                "fill": spec.fill,
                "interleave": "none",
                "l2_promotion": "none",
            }
        )
        return Scalar(raw)

    # -- afterwards

    def outputs(self, buffers: Mapping[str, Contents]) -> Iterator[tuple[str, bytes]]:
        """Files to write: of `--out`, and the `out` of a launch's buffers."""
        for name, path in self.outs:
            array = buffers[name].array()
            if path.endswith(".npy"):
                stream = io.BytesIO()
                np.save(stream, array, allow_pickle=False)
                yield path, stream.getvalue()
            else:
                yield path, array.tobytes()
        if self.launch is not None:
            for name, image in self.launch.buffers.items():
                if image.out is not None:
                    path = self.launch.resolve(image.out, f"buffers.{name}.out")
                    yield path, buffers[name].array().tobytes()

    def check(self, buffers: Mapping[str, Contents]) -> list[Check]:
        """Check every `--expect`. Raises DiagnosticError if shapes or types cannot be compared."""
        return [
            self._check(one, *expected, buffers[one.buffer])
            for one, expected in zip(self.expectations, self.expected, strict=True)
        ]

    def _check(self, one: Expectation, expected: Array, type: Type, buffer: Contents) -> Check:
        found, own = buffer.array(), buffer.type or TYPES["u8"]
        if self.launch is not None and found.nbytes == expected.nbytes:
            # A raw image has no type.
            found, own = found.view(expected.dtype).reshape(expected.shape), type
        if found.shape != expected.shape:
            shapes = ["x".join(map(str, shape)) or "one element" for shape in (expected.shape, found.shape)]
            raise error(
                None, f"'{one.text}': the expected array is {shapes[0]}; buffer '{one.buffer}' is {shapes[1]}"
            )
        if own.patterns and type.kind != "f" and type.size == own.size:
            expected, type = expected.view(own.storage), own
        difference = compare(found, own, expected, type, one.rtol, one.atol)
        return Check(difference.text(one.buffer), difference.wrong > 0)
