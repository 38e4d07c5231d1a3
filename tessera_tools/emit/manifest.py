"""The launch manifest: the launch parameters of a cubin, in a JSON file next to it.

    Manifest(kernels=[Kernel("gemm", parameters=[…], block=(128, 1, 1), …)]) ──to_json()──▶ gemm.json
    gemm.json ──from_json()──▶ the same Manifest, or a ToolError that names the field

The launcher of the real GPU and the simulator use no other information about a kernel.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from tessera_tools.emit.errors import ToolError
from tessera_tools.records import Json, dataclass, field, replace

if TYPE_CHECKING:
    from tessera_tools.emit.plan import Plan

__all__ = ["SCHEMA", "Kernel", "Manifest", "Parameter", "Persistent", "TensorMap"]

SCHEMA = 2
"""Incremented when an older reader would misinterpret a newer manifest."""

PARAMETER_TYPES: Mapping[str, int] = {
    "ptr": 8,
    "i1": 1,
    "i8": 1,
    "i16": 2,
    "i32": 4,
    "i64": 8,
    "f16": 2,
    "bf16": 2,
    "tf32": 4,
    "f32": 4,
    "f64": 8,
    "tensormap": 128,
}
"""Type of a kernel parameter, and its size in bytes. `tensormap` is a TMA descriptor, `.param .align 64`."""

_PARAMETER_SPACE = 32764
"""Bytes of kernel parameters (PTX ISA, "Kernel Function Parameters", since PTX 8.1 and sm_70)."""

Shape = tuple[int, int, int]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One kernel parameter; `size` and `offset` are bytes in the parameter space."""

    name: str
    type: str
    size: int
    offset: int


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A TMA descriptor that the launcher encodes (CUDA driver API, `cuTensorMapEncodeTiled`).

    `parameter` is the index of its `tensormap` parameter; `base` is the index of the pointer it describes.
    Each entry of `shape` and `strides` is a number, or a linear function of an integer parameter:
    `{"parameter": n, "times": 3, "plus": 0, "over": 2}` is (3 · parameter + 0) / 2, rounded down; a factor or divisor
    of 1 and a sum of 0 may be omitted. Dimensions are innermost first, as in the
    driver's API; strides are in bytes and omit the innermost. The driver rejects an extent of 0. In that
    case the launcher describes a tensor of one zero instead, so that every box is zeros.
    """

    parameter: int
    base: int
    element_type: str
    shape: tuple[int | Mapping[str, int], ...]
    strides: tuple[int | Mapping[str, int], ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    swizzle: str
    fill: str = "zero"
    interleave: str = "none"
    l2_promotion: str = "none"


@dataclass(frozen=True, slots=True)
class Persistent:
    """A kernel whose CTAs run several tile blocks each. The launcher starts as many CTAs as run at once, and no more
    than there are tile blocks.

    `grid` are the indices of the i32 parameters that receive the extents of the grid that the caller asked for, if any.
    With the scheduler `cancel`, the launch has that grid, and CTAs cancel the launch of others. `counter`, if any, is
    the index of a pointer to 4 zero bytes, which each launch has for itself. `blocks` are the tile blocks of a cluster
    along the first two axes, if its CTAs run one each; with the schedulers `never` and `cancel`, the launch has one
    cluster for each so many tile blocks.
    """

    scheduler: str
    grid: Shape | None = None
    counter: int | None = None
    blocks: tuple[int, int] = (1, 1)

    def clusters(self, grid: Shape) -> Shape:
        """The extents of a grid of tile blocks, in CTAs or clusters."""
        x, y, z = grid
        columns, rows = self.blocks
        return -(-x // columns), -(-y // rows), z

    @property
    def parameters(self) -> tuple[int, ...]:
        """The indices of all of its parameters."""
        return (*(self.grid or ()), *([] if self.counter is None else [self.counter]))


@dataclass(frozen=True, slots=True)
class Kernel:
    """One entry of the cubin. Sizes are bytes; shapes are x, y, z."""

    name: str
    parameters: tuple[Parameter, ...]
    block: Shape
    cluster: Shape = (1, 1, 1)
    static_shared: int = 0
    dynamic_shared: int = 0
    """Requested by the launcher; above 48 KiB it opts in first."""
    registers: int = 0
    """Per thread, as reported by ptxas; 0 if ptxas did not run."""
    tensor_maps: tuple[TensorMap, ...] = ()
    blocks_are_clusters: bool = False
    """Whether the grid of a launch counts clusters, not CTAs (PTX ISA, ".blocksareclusters")."""
    persistent: Persistent | None = None
    """How to launch a persistent kernel; None: one CTA, or cluster, for each tile block."""

    @property
    def hidden(self) -> frozenset[int]:
        """The indices of the parameters that the launcher makes: tensor maps, and those of a persistent kernel."""
        own = self.persistent.parameters if self.persistent is not None else ()
        return frozenset((*own, *(tensor_map.parameter for tensor_map in self.tensor_maps)))


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of one cubin."""

    target: str
    """The GPU of the cubin: `sm_90a`."""
    ptx_version: str
    """`9.0`."""
    kernels: tuple[Kernel, ...]
    schema: int = field(default=SCHEMA)
    plans: tuple[Plan, ...] = ()
    """Programs of several launches, and exchanges between GPUs."""

    def kernel(self, name: str | None = None) -> Kernel:
        """The kernel `name`; without a name, the only one. Raises ToolError otherwise."""
        names = ", ".join(f"'{kernel.name}'" for kernel in self.kernels)
        if name is None:
            if len(self.kernels) == 1:
                return self.kernels[0]
            raise ToolError(f"the manifest lists {len(self.kernels)} kernels: {names}", "name one of them")
        for kernel in self.kernels:
            if kernel.name == name:
                return kernel
        raise ToolError(f"the manifest has no kernel '{name}'; it lists {names or 'none'}")

    def to_json(self) -> str:
        """The manifest's text, checked so that it can be read again. Raises ToolError if it is invalid."""
        data = {
            "schema": self.schema,
            "target": self.target,
            "ptx_version": self.ptx_version,
            "kernels": [_kernel_data(kernel) for kernel in self.kernels],
        }
        if self.plans:
            from tessera_tools.emit.plan import plan_data

            data["plans"] = [plan_data(plan) for plan in self.plans]
        _read_manifest(data, "the manifest")
        return json.dumps(data, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes, *, name: str = "the manifest") -> Manifest:
        """Read and check a manifest; `name` denotes it in errors. Raises ToolError for invalid content."""
        try:
            data = json.loads(text)
        except json.JSONDecodeError as failure:
            raise ToolError(
                f"{name} is not JSON: {failure.msg.lower()}", line=failure.lineno, column=failure.colno
            ) from None
        except (UnicodeDecodeError, RecursionError):
            raise ToolError(f"{name} is not JSON: it is not UTF-8 text, or nested too deeply") from None
        return _read_manifest(data, name)


def _kernel_data(kernel: Kernel) -> dict[str, Json]:
    return {
        "name": kernel.name,
        "parameters": [
            {"name": p.name, "type": p.type, "size": p.size, "offset": p.offset} for p in kernel.parameters
        ],
        "tensor_maps": [
            {
                "parameter": m.parameter,
                "base": m.base,
                "element_type": m.element_type,
                "shape": [s if isinstance(s, int) else dict(s) for s in m.shape],
                "strides": [s if isinstance(s, int) else dict(s) for s in m.strides],
                "box": list(m.box),
                "element_strides": list(m.element_strides),
                "swizzle": m.swizzle,
                "fill": m.fill,
                "interleave": m.interleave,
                "l2_promotion": m.l2_promotion,
            }
            for m in kernel.tensor_maps
        ],
        "block": list(kernel.block),
        "cluster": list(kernel.cluster),
        **({"blocks_are_clusters": True} if kernel.blocks_are_clusters else {}),
        **({"persistent": _persistent_data(kernel.persistent)} if kernel.persistent else {}),
        "static_shared": kernel.static_shared,
        "dynamic_shared": kernel.dynamic_shared,
        "registers": kernel.registers,
    }


def _persistent_data(persistent: Persistent) -> dict[str, Json]:
    counter = {} if persistent.counter is None else {"counter": persistent.counter}
    grid = {} if persistent.grid is None else {"grid": list(persistent.grid)}
    blocks = {} if persistent.blocks == (1, 1) else {"blocks": list(persistent.blocks)}
    return {"scheduler": persistent.scheduler, **grid, **counter, **blocks}


class _Reader:
    """Reads one JSON object; `where` is its path in the manifest, for messages."""

    def __init__(self, data: object, where: str, expected: str) -> None:
        if not isinstance(data, dict):
            raise ToolError(f"{where}: found {_kind(data)}, expected {expected}")
        self.data: dict[str, object] = data
        self.where = where
        self.seen: set[str] = set()

    def take(self, key: str, expected: str, accept: Callable[[object], T | None]) -> T:
        """The field `key`, converted by `accept`, which returns None to reject the field."""
        self.seen.add(key)
        if key not in self.data:
            raise ToolError(f"{self.where}: the field '{key}' is missing; expected {expected}")
        value = accept(self.data[key])
        if value is None:
            found = _kind(self.data[key])
            raise ToolError(f"{self.where}: the field '{key}' is {found}; expected {expected}")
        return value

    def count(self, key: str) -> int:
        return self.take(key, "a number of 0 or more", _count)

    def text(self, key: str) -> str:
        return self.take(key, "a non-empty string", lambda v: v if isinstance(v, str) and v else None)

    def items(self, key: str) -> list[object]:
        return self.take(key, "a list", lambda v: v if isinstance(v, list) else None)

    def counts(self, key: str) -> tuple[int, ...]:
        return self.take(key, "a list of numbers of 0 or more", _counts)

    def objects(self, key: str) -> list[_Reader]:
        return [
            _Reader(item, f"{self.where}: {key} {index}", "an object")
            for index, item in enumerate(self.items(key))
        ]

    def bad(self, key: str, expected: str) -> ToolError:
        """The error for a field that is inconsistent with others."""
        return ToolError(
            f"{self.where}: the field '{key}' is {_kind(self.data.get(key))}; expected {expected}"
        )

    def shape(self, key: str) -> Shape:
        return self.take(key, "three numbers of 1 or more", _shape)

    def flag(self, key: str) -> bool:
        """A field that is left out where it is false."""
        if key not in self.data:
            self.seen.add(key)
            return False
        return self.take(key, "true or false", lambda v: v if isinstance(v, bool) else None)

    def finish(self) -> None:
        unknown = sorted(set(self.data) - self.seen)
        if unknown:
            known = ", ".join(sorted(self.seen))
            raise ToolError(f"{self.where}: unknown field '{unknown[0]}'; expected only {known}")


def _kind(value: object) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    shown = json.dumps(value)
    return shown if len(shown) <= 40 else shown[:37] + "..."


def _count(value: object) -> int | None:
    # A JSON true is not a number, although Python's bool is an int.
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _counts(value: object) -> tuple[int, ...] | None:
    if not isinstance(value, list):
        return None
    numbers = [_count(item) for item in value]
    return None if None in numbers else tuple(n for n in numbers if n is not None)


def _shape(value: object) -> Shape | None:
    numbers = _counts(value)
    if numbers is None or len(numbers) != 3 or 0 in numbers:
        return None
    return numbers[0], numbers[1], numbers[2]


def _read_manifest(data: object, name: str) -> Manifest:
    reader = _Reader(data, name, "an object")
    schema = reader.count("schema")
    if schema != SCHEMA:
        raise ToolError(f"{name} has schema {schema}; expected {SCHEMA}", "compile the kernel again")
    manifest = Manifest(
        target=reader.text("target"),
        ptx_version=reader.text("ptx_version"),
        kernels=tuple(
            _read_kernel(item, f"{name}: kernel {index}")
            for index, item in enumerate(reader.items("kernels"))
        ),
        schema=schema,
    )
    if "plans" in reader.data:
        from tessera_tools.emit.plan import read_plan

        sizes = {kernel.name: len(kernel.parameters) - len(kernel.hidden) for kernel in manifest.kernels}
        plans = tuple(read_plan(part, sizes) for part in reader.objects("plans"))
        manifest = replace(manifest, plans=plans)
    reader.finish()
    names = [kernel.name for kernel in manifest.kernels]
    for kernel in names:
        if names.count(kernel) > 1:
            raise ToolError(f"{name}: two kernels have the name '{kernel}'")
    return manifest


def _read_kernel(data: object, where: str) -> Kernel:
    reader = _Reader(data, where, "an object")
    kernel_name = reader.text("name")
    where = reader.where = f"{where} '{kernel_name}'"
    kernel = Kernel(
        name=kernel_name,
        parameters=_read_parameters(reader.items("parameters"), where),
        tensor_maps=tuple(
            _read_tensor_map(item, f"{where}: tensor map {index}")
            for index, item in enumerate(reader.items("tensor_maps"))
        ),
        block=reader.shape("block"),
        cluster=reader.shape("cluster"),
        blocks_are_clusters=reader.flag("blocks_are_clusters"),
        static_shared=reader.count("static_shared"),
        dynamic_shared=reader.count("dynamic_shared"),
        registers=reader.count("registers"),
        persistent=_read_persistent(reader) if "persistent" in reader.data else None,
    )
    reader.finish()
    if kernel.persistent is not None:
        _check_persistent(kernel, kernel.persistent, where)
    for index, tensor_map in enumerate(kernel.tensor_maps):
        for role, number, expected in (
            ("parameter", tensor_map.parameter, "tensormap"),
            ("base", tensor_map.base, "ptr"),
        ):
            found = kernel.parameters[number].type if number < len(kernel.parameters) else "none at all"
            if found != expected:
                raise ToolError(
                    f"{where}: tensor map {index}: '{role}' is parameter {number}, which is {found}; "
                    f"expected a parameter of type {expected}"
                )
        for extent in (*tensor_map.shape, *tensor_map.strides):
            number = extent if isinstance(extent, int) else extent["parameter"]
            if isinstance(extent, int) or (
                number < len(kernel.parameters) and kernel.parameters[number].type in _INTEGERS
            ):
                continue
            raise ToolError(
                f"{where}: tensor map {index}: an extent or stride refers to parameter {number}; expected the "
                f"number of a parameter of type {' or '.join(_INTEGERS)}"
            )
    return kernel


def _read_persistent(outer: _Reader) -> Persistent:
    outer.seen.add("persistent")
    reader = _Reader(outer.data["persistent"], f"{outer.where}: persistent", "an object")
    scheduler = reader.text("scheduler")
    grid = reader.counts("grid") if "grid" in reader.data else None
    counter = reader.count("counter") if "counter" in reader.data else None
    blocks = reader.counts("blocks") if "blocks" in reader.data else (1, 1)
    reader.finish()
    if len(blocks) != 2 or 0 in blocks:
        raise reader.bad("blocks", "two positive numbers of tile blocks")
    if grid is None:
        return Persistent(scheduler, None, counter)
    if len(grid) != 3:
        raise reader.bad("grid", "the numbers of three parameters")
    return Persistent(scheduler, (grid[0], grid[1], grid[2]), counter, (blocks[0], blocks[1]))


def _check_persistent(kernel: Kernel, persistent: Persistent, where: str) -> None:
    """Raises ToolError if the hidden parameters of a persistent kernel are not of their types, or not different."""
    wanted = [(number, "i32") for number in persistent.grid or ()]
    wanted += [(persistent.counter, "ptr")] if persistent.counter is not None else []
    for number, expected in wanted:
        found = kernel.parameters[number].type if number < len(kernel.parameters) else "none at all"
        if found != expected:
            raise ToolError(
                f"{where}: persistent: parameter {number} is {found}; expected a parameter of type {expected}"
            )
    if len(set(persistent.parameters)) != len(persistent.parameters):
        raise ToolError(f"{where}: persistent: a parameter is named twice; expected one for each extent")


def _read_parameters(items: list[object], where: str) -> tuple[Parameter, ...]:
    parameters: list[Parameter] = []
    end = 0
    for index, item in enumerate(items):
        place = f"{where}: parameter {index}"
        reader = _Reader(item, place, "an object")
        parameter = Parameter(
            reader.text("name"), reader.text("type"), reader.count("size"), reader.count("offset")
        )
        reader.finish()
        size = PARAMETER_TYPES.get(parameter.type)
        if size is None:
            known = ", ".join(PARAMETER_TYPES)
            raise ToolError(f"{place}: unknown type '{parameter.type}'; expected one of {known}")
        if parameter.size != size:
            raise ToolError(f"{place}: {parameter.type} takes {size} bytes; found {parameter.size}")
        if parameter.offset < end:
            raise ToolError(
                f"{place}: offset {parameter.offset} overlaps the previous parameter; expected {end} or more"
            )
        end = parameter.offset + parameter.size
        if end > _PARAMETER_SPACE:
            raise ToolError(f"{place}: it ends at byte {end}; kernel parameters end at {_PARAMETER_SPACE}")
        parameters.append(parameter)
    return tuple(parameters)


def _read_tensor_map(data: object, where: str) -> TensorMap:
    reader = _Reader(data, where, "an object")
    extents = 'a list of numbers, or of {"parameter": n, "times": a, "plus": b, "over": c}'
    result = TensorMap(
        parameter=reader.count("parameter"),
        base=reader.count("base"),
        element_type=reader.text("element_type"),
        shape=reader.take("shape", extents, _extents),
        strides=reader.take("strides", extents, _extents),
        box=reader.counts("box"),
        element_strides=reader.counts("element_strides"),
        swizzle=reader.text("swizzle"),
        fill=reader.text("fill"),
        interleave=reader.text("interleave"),
        l2_promotion=reader.text("l2_promotion"),
    )
    reader.finish()
    rank = len(result.shape)
    if not 1 <= rank <= 5 or len(result.strides) != rank - 1 or len(result.box) != rank:
        raise ToolError(
            f"{where}: {rank} extents, {len(result.strides)} strides and a box of {len(result.box)}; "
            "expected 1 to 5 extents, one stride fewer, and a box of the same rank"
        )
    return result


_INTEGERS = ("i8", "i16", "i32", "i64")
_OF_PARAMETER = {"parameter", "times", "plus", "over"}


def _extents(value: object) -> tuple[int | Mapping[str, int], ...] | None:
    if not isinstance(value, list):
        return None
    extents: list[int | Mapping[str, int]] = []
    for item in value:
        if isinstance(item, dict):
            numbers = {key: number for key, value in item.items() if (number := _count(value)) is not None}
            if numbers.keys() != item.keys() or not {"parameter"} <= numbers.keys() <= _OF_PARAMETER:
                return None
            if numbers.get("over") == 0:
                return None
            extents.append(numbers)
        elif (number := _count(item)) is not None:
            extents.append(number)
        else:
            return None
    return tuple(extents)
