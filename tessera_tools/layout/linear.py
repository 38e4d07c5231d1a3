"""Linear layouts: the element of a tile that each register of each lane of each warp holds.

    (register, lane, warp, block) ──LinearLayout──▶ (dim0, dim1, …)
    (offset, stage)               ──LinearLayout──▶ (dim0, dim1, …)

Example: four lanes (0-3), with two registers each (a, b), hold a 2×4 tile:

              dim1=0  dim1=1  dim1=2  dim1=3
      dim0=0    0a      0b      1a      1b
      dim0=1    2a      2b      3a      3b

    register = [[0,1]]          register bit 0 moves one column
    lane     = [[0,2], [1,0]]   lane bit 0 moves two columns, lane bit 1 one row

Register b (1) of lane 3 (binary 11) holds [0,1] xor [0,2] xor [1,0] = [1,3]. A layout consists of the images of the
powers of two, its *bases*. Xor gives the image of every other input. `docs/layouts.md` has more pictures.

Order of dimensions: when several dimensions form one number (flatten, reshape, redundancy), the first dimension is the
most minor. Registers therefore come before lanes, and a redundant bit belongs to the later dimension. Tiles are
row-major instead; `distributed.reshape` converts between the two orders.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tessera_tools.layout.f2 import Elimination, apply_columns, is_power_of_two, log2

Basis = tuple[int, ...]
# The second alternative is not a plain Iterable, so that a type checker never takes a mapping for an iterable of names.
Sizes = Mapping[str, int] | Sequence[tuple[str, int]]


class LayoutError(ValueError):
    """A layout cannot be built, or does not meet a requirement of an operation."""


def _pairs(sizes: Sizes) -> tuple[tuple[str, int], ...]:
    if isinstance(sizes, Mapping):
        return tuple((name, size) for name, size in sizes.items())
    return tuple(sizes)


class LinearLayout:
    """A linear map over F2 from named input dimensions to named output dimensions. Frozen and hashable.

    `bases[in_dim][i]` is the image of input `2**i` of `in_dim`: one integer for each output dimension.
    The size of an input dimension is `2**len(bases)`. Output sizes are explicit and are powers of two.

    Example: `LinearLayout({"register": [(0, 1)], "lane": [(0, 2), (1, 0)]}, {"dim0": 2, "dim1": 4})`

    Raises `LayoutError` if names repeat, if a size is not a power of two, if a basis has the wrong number of
    components, or if a component is outside its output dimension. The message prints the whole layout.
    """

    __slots__ = ("_columns", "_elimination", "_hash", "_ins", "_outs", "_shifts")

    def __init__(self, bases: Mapping[str, Iterable[Sequence[int]]], outs: Sizes) -> None:
        self._ins: tuple[tuple[str, tuple[Basis, ...]], ...] = tuple(
            (name, tuple(tuple(basis) for basis in vectors)) for name, vectors in bases.items()
        )
        self._outs: tuple[tuple[str, int], ...] = _pairs(outs)
        self._hash = hash((self._ins, self._outs))
        if len(dict(self._outs)) != len(self._outs):
            raise LayoutError(f"output dimensions repeat in {self}")
        places: list[tuple[int, int]] = []
        """For each output dimension, (its lowest bit in a column, a mask of what is outside of it)."""
        shift = 0
        for name, size in self._outs:
            if not is_power_of_two(size):
                raise LayoutError(
                    f"output dimension '{name}' has size {size}, expected a power of two, in {self}"
                )
            places.append((shift, -size))
            shift += size.bit_length() - 1
        self._shifts = tuple(shift for shift, _ in places)
        columns: list[int] = []
        for name, vectors in self._ins:
            for basis in vectors:
                if len(basis) != len(places):
                    raise LayoutError(
                        f"basis {list(basis)} of '{name}' has {len(basis)} components, expected {len(places)}, in "
                        f"{self}"
                    )
                column = 0
                for part, (shift, outside) in zip(basis, places, strict=True):
                    if part & outside:
                        raise self._outside(name, basis)
                    column |= part << shift
                columns.append(column)
        self._columns: tuple[int, ...] = tuple(columns)
        self._elimination: Elimination | None = None

    def _outside(self, name: str, basis: Basis) -> LayoutError:
        out, size = next(
            pair for part, pair in zip(basis, self._outs, strict=True) if not 0 <= part < pair[1]
        )
        return LayoutError(f"basis {list(basis)} of '{name}' is outside '{out}' of size {size}, in {self}")

    # Constructors

    @classmethod
    def empty(cls) -> LinearLayout:
        """The layout of no dimensions: the unit of the product. `empty() * a == a`"""
        return cls({}, {})

    @classmethod
    def identity_1d(cls, size: int, in_dim: str, out_dim: str) -> LinearLayout:
        """f(x) = x. `identity_1d(4, "lane", "dim0")` is lane = [[1],[2]]. Requires a power of two."""
        return cls.strided_1d(size, 1, in_dim, out_dim)

    @classmethod
    def strided_1d(cls, size: int, stride: int, in_dim: str, out_dim: str) -> LinearLayout:
        """f(x) = x · stride, for powers of two. `strided_1d(4, 2, "lane", "dim0")` is lane = [[2],[4]]."""
        for value, what in ((size, "size"), (stride, "stride")):
            if not is_power_of_two(value):
                raise LayoutError(f"the {what} {value} of '{in_dim}' is not a power of two")
        return cls({in_dim: [(stride << bit,) for bit in range(log2(size))]}, {out_dim: size * stride})

    @classmethod
    def zeros_1d(cls, size: int, in_dim: str, out_dim: str, out_size: int = 1) -> LinearLayout:
        """f(x) = 0: every input holds the same element. `zeros_1d(4, "lane", "dim0")` is lane = [[0],[0]]."""
        if not is_power_of_two(size):
            raise LayoutError(f"the size {size} of '{in_dim}' is not a power of two")
        return cls({in_dim: [(0,)] * log2(size)}, {out_dim: out_size})

    @classmethod
    def from_columns(cls, ins: Sizes, outs: Sizes, columns: Sequence[int]) -> LinearLayout:
        """Returns the layout whose flattened matrix has these columns. `ins` gives the bits of each dimension.

        Requires one column for each input bit. `from_columns({"r": 2}, {"x": 2, "y": 2}, [3])` is r = [[1,1]].
        """
        ins, outs = _pairs(ins), _pairs(outs)
        bases: dict[str, list[Basis]] = {}
        position = 0
        for name, size in ins:
            count = log2(size)
            bases[name] = [_split(column, outs) for column in columns[position : position + count]]
            position += count
        if position != len(columns):
            raise LayoutError(f"{len(columns)} columns for {position} input bits of {dict(ins)}")
        return cls(bases, outs)

    # Shape

    @property
    def bases(self) -> dict[str, tuple[Basis, ...]]:
        """The bases of each input dimension, in order (a new dictionary)."""
        return dict(self._ins)

    @property
    def in_dims(self) -> tuple[str, ...]:
        """Names of the input dimensions, most minor first."""
        return tuple(name for name, _ in self._ins)

    @property
    def out_dims(self) -> tuple[str, ...]:
        """Names of the output dimensions, most minor first."""
        return tuple(name for name, _ in self._outs)

    @property
    def ins(self) -> tuple[tuple[str, int], ...]:
        """(name, size) of each input dimension."""
        return tuple((name, 1 << len(vectors)) for name, vectors in self._ins)

    @property
    def outs(self) -> tuple[tuple[str, int], ...]:
        """(name, size) of each output dimension."""
        return self._outs

    @property
    def columns(self) -> tuple[int, ...]:
        """The flattened matrix: one integer for each input bit, first output dimension in the low bits."""
        return self._columns

    def in_size(self, dim: str) -> int:
        """Returns the number of positions of an input dimension; 1 if the layout does not have it."""
        return 1 << self.in_bits(dim)

    def in_bits(self, dim: str) -> int:
        """log2 of `in_size(dim)`."""
        return next((len(vectors) for name, vectors in self._ins if name == dim), 0)

    def out_size(self, dim: str) -> int:
        """Returns the size of an output dimension; 1 if the layout does not have it."""
        return next((size for name, size in self._outs if name == dim), 1)

    @property
    def total_in_bits(self) -> int:
        """log2 of the number of all inputs."""
        return len(self._columns)

    @property
    def total_out_bits(self) -> int:
        """log2 of the number of all outputs."""
        return sum(log2(size) for _, size in self._outs)

    def basis(self, dim: str, bit: int) -> Basis:
        """The image of `2**bit` of input dimension `dim`."""
        return self.bases[dim][bit]

    def dim_columns(self, dim: str) -> tuple[int, ...]:
        """Returns the columns of one input dimension; none if the layout does not have it."""
        position = 0
        for name, vectors in self._ins:
            if name == dim:
                return self._columns[position : position + len(vectors)]
            position += len(vectors)
        return ()

    # Application

    def apply(self, inputs: Mapping[str, int] | None = None, /, **named: int) -> dict[str, int]:
        """f(x): the xor of the bases that the bits of the inputs select. An absent input is 0.

        Example: with lane = [[0,2],[1,0]], `apply(lane=3)` is `{"dim0": 1, "dim1": 2}`.
        Requires known dimensions and inputs within their size. Ensures f(x ^ y) == f(x) ^ f(y).
        """
        given = {**(inputs or {}), **named}
        vector = 0
        position = 0
        for name, vectors in self._ins:
            value = given.pop(name, 0)
            if not 0 <= value < 1 << len(vectors):
                raise LayoutError(f"'{name}' = {value} is outside its size {1 << len(vectors)}, in {self}")
            vector |= value << position
            position += len(vectors)
        if given:
            raise LayoutError(f"no input dimension '{next(iter(given))}' in {self}")
        return dict(zip(self.out_dims, self.split_out(self.apply_flat(vector)), strict=True))

    def apply_flat(self, vector: int) -> int:
        """Applies the layout to a flattened input. Returns a flattened output (first dimension in the low bits)."""
        return apply_columns(self._columns, vector)

    def split_out(self, flat: int) -> Basis:
        """Splits a flattened output into one integer for each output dimension."""
        return _split(flat, self._outs)

    def inputs(self) -> Iterator[dict[str, int]]:
        """Yields all `2**total_in_bits` inputs in flattened order, for tests and pictures."""
        for vector in range(1 << self.total_in_bits):
            yield dict(zip(self.in_dims, _split(vector, self.ins), strict=True))

    # Algebra

    def compose(self, outer: LinearLayout) -> LinearLayout:
        """(self then outer)(x) = outer(self(x)).

        Example: lanes → coordinates, then coordinates → offsets, gives lanes → offsets.
        Requires that outer's inputs have the names of self's outputs and are at least as large.
        The result has the inputs of self and the outputs of outer.
        """
        if set(self.out_dims) != set(outer.in_dims):
            raise LayoutError(f"cannot compose: the outputs of {self}\nare not the inputs of {outer}")
        for name, size in self._outs:
            if size > outer.in_size(name):
                raise LayoutError(f"cannot compose: '{name}' has size {size} in {self}\nmore than in {outer}")
        matched = outer.transpose_ins(self.out_dims)
        bases = {
            name: [
                tuple(matched.apply(dict(zip(self.out_dims, basis, strict=True))).values())
                for basis in vectors
            ]
            for name, vectors in self._ins
        }
        return LinearLayout(bases, outer.outs)

    def __mul__(self, other: LinearLayout) -> LinearLayout:
        """Direct sum: self is the inner tile, and other repeats it. Dimensions of the same name are concatenated.

        (a * b)(x) has a(low bits of x) in the low bits of each output and b(high bits) in the high bits.
        Example: `identity_1d(4,"register","dim0") * identity_1d(8,"lane","dim0")` gives lane l, register r the
        element 4·l + r. Ensures sizes multiply; associative; `empty()` is the unit.
        """
        names = list(self.out_dims) + [name for name in other.out_dims if name not in self.out_dims]
        outs = [(name, self.out_size(name) * other.out_size(name)) for name in names]
        bases: dict[str, list[Basis]] = {}
        for part, scales in ((self, {}), (other, dict(self._outs))):
            for name, vectors in part._ins:
                for basis in vectors:
                    value = dict(zip(part.out_dims, basis, strict=True))
                    bases.setdefault(name, []).append(
                        tuple(value.get(out, 0) * scales.get(out, 1) for out in names)
                    )
                bases.setdefault(name, [])
        return LinearLayout(bases, outs)

    def transpose_ins(self, dims: Sequence[str]) -> LinearLayout:
        """The same function with its input dimensions listed in another order. Requires a permutation."""
        if sorted(dims) != sorted(self.in_dims):
            raise LayoutError(f"{list(dims)} is not a permutation of the inputs of {self}")
        if tuple(dims) == self.in_dims:
            return self
        bases = self.bases
        return LinearLayout({name: bases[name] for name in dims}, self._outs)

    def transpose_outs(self, dims: Sequence[str]) -> LinearLayout:
        """The same function with its output dimensions listed in another order. Requires a permutation."""
        if sorted(dims) != sorted(self.out_dims):
            raise LayoutError(f"{list(dims)} is not a permutation of the outputs of {self}")
        if tuple(dims) == self.out_dims:
            return self
        order = [self.out_dims.index(name) for name in dims]
        bases = {name: [tuple(b[i] for i in order) for b in vectors] for name, vectors in self._ins}
        return LinearLayout(bases, [self._outs[i] for i in order])

    def reshape_outs(self, outs: Sizes) -> LinearLayout:
        """Returns the same matrix with new output dimensions (first dimension minor). Requires equal total size."""
        outs = _pairs(outs)
        if sum(log2(size) for _, size in outs) != self.total_out_bits:
            raise LayoutError(f"cannot read the outputs of {self}\nas {dict(outs)}: the total sizes differ")
        return LinearLayout.from_columns(self.ins, outs, self._columns)

    def flatten(self, in_dim: str = "in", out_dim: str = "out") -> LinearLayout:
        """The same matrix from one input dimension to one output dimension."""
        ins = [(in_dim, 1 << self.total_in_bits)]
        return LinearLayout.from_columns(ins, [(out_dim, 1 << self.total_out_bits)], self._columns)

    def rename(self, names: Mapping[str, str]) -> LinearLayout:
        """The same layout with dimensions renamed (inputs and outputs alike)."""
        bases = {names.get(name, name): vectors for name, vectors in self._ins}
        if len(bases) != len(self._ins):
            raise LayoutError(f"renaming by {dict(names)} merges dimensions of {self}")
        return LinearLayout(bases, [(names.get(name, name), size) for name, size in self._outs])

    def sublayout(self, ins: Sequence[str], outs: Sequence[str]) -> LinearLayout:
        """Returns the block of the matrix for these inputs and outputs.

        Other inputs are 0; other outputs are dropped. Requires names of this layout.
        """
        for name in [*ins, *outs]:
            if name not in self.in_dims and name not in self.out_dims:
                raise LayoutError(f"no dimension '{name}' in {self}")
        keep = [self.out_dims.index(name) for name in outs]
        bases = {n: [tuple(b[i] for i in keep) for b in vs] for n, vs in self._ins if n in ins}
        return LinearLayout({n: bases[n] for n in ins}, [self._outs[i] for i in keep])

    # Rank, inverses

    @property
    def elimination(self) -> Elimination:
        """The eliminated matrix, computed once on demand."""
        if self._elimination is None:
            self._elimination = Elimination(self._columns)
        return self._elimination

    def is_surjective(self) -> bool:
        """True if every output is reached: rank == output bits."""
        return self.elimination.rank == self.total_out_bits

    def is_injective(self) -> bool:
        """True if no two inputs share an output: rank == input bits."""
        return self.elimination.rank == self.total_in_bits

    def is_invertible(self) -> bool:
        """True if each output is reached by exactly one input."""
        return self.is_surjective() and self.is_injective()

    def invert(self) -> LinearLayout:
        """f⁻¹: `f.compose(f.invert())` is the identity, and so is the reverse. Requires `is_invertible()`."""
        if not self.is_invertible():
            raise LayoutError(f"not invertible (rank {self.elimination.rank}): {self}")
        return self.pseudo_inverse()

    def pseudo_inverse(self) -> LinearLayout:
        """The right inverse g of least norm: f(g(y)) == y, with every redundant input bit 0.

        Example: register = [[1]], lane = [[1],[2]] gives element 1 to register 1 of lane 0, not to lane 1.
        Requires `is_surjective()`. Ensures `f.pseudo_inverse().compose(f)` is the identity.
        """
        if not self.is_surjective():
            raise LayoutError(f"not surjective (rank {self.elimination.rank}): {self}")
        solutions = (self.elimination.solve(1 << bit) for bit in range(self.total_out_bits))
        columns = [solution for solution in solutions if solution is not None]
        return LinearLayout.from_columns(self._outs, self.ins, columns)

    def invert_and_compose(self, outer: LinearLayout) -> LinearLayout:
        """Returns outer⁻¹ ∘ self: the position in `outer` of the element that `self` has at x.

        Example: `registers.invert_and_compose(shared)` maps (register, lane, warp) to shared-memory offsets.
        Requires the same output names. Outer must reach every output of self. If outer holds an element several times,
        its redundant bits are 0. Ensures `a.invert_and_compose(b).compose(b) == a` (by outputs).
        """
        if set(self.out_dims) != set(outer.out_dims):
            raise LayoutError(f"the outputs differ: {self}\nand {outer}")
        wide_outer, wide_self = outer, self.transpose_outs(outer.out_dims)
        if wide_self._outs != outer._outs:
            sizes = [(name, max(self.out_size(name), size)) for name, size in outer.outs]
            wide_outer = LinearLayout(outer.bases, sizes)
            wide_self = LinearLayout(wide_self.bases, sizes)
        columns: list[int] = []
        for column in wide_self.columns:
            solution = wide_outer.elimination.solve(column)
            if solution is None:
                raise LayoutError(f"element {wide_self.split_out(column)} of {self}\nis not held by {outer}")
            columns.append(solution)
        return LinearLayout.from_columns(self.ins, outer.ins, columns)

    def quotient(self, dims: Iterable[str]) -> LinearLayout | None:
        """Returns the layout without `dims`, or None unless each of them maps only to itself and nothing else does.

        Example: a conversion that keeps the warp (warp → warp is the identity) has a quotient by "warp".
        """
        result = self
        for dim in dims:
            if dim not in result.in_dims or dim not in result.out_dims:
                return None
            ins = [name for name in result.in_dims if name != dim]
            outs = [name for name in result.out_dims if name != dim]
            own = result.sublayout([dim], [dim])
            if own != LinearLayout.identity_1d(result.out_size(dim), dim, dim):
                return None
            if any(result.sublayout([dim], outs).columns) or any(result.sublayout(ins, [dim]).columns):
                return None
            result = result.sublayout(ins, outs)
        return result

    # Redundancy, contiguity, sizes

    def free_variable_masks(self) -> dict[str, int]:
        """Returns, for each input dimension, the redundant bits: they only duplicate elements of lower inputs.

        The inputs whose free bits are all 0 hold every element exactly once. A store is predicated on them, and a
        reduction counts only them. Example: lane = [[1],[0],[2]] gives {"lane": 0b010}.
        """
        masks: dict[str, int] = {}
        position = 0
        free = set(self.elimination.free)
        for name, vectors in self._ins:
            masks[name] = sum(1 << bit for bit in range(len(vectors)) if position + bit in free)
            position += len(vectors)
        return masks

    def resize_out(self, dim: str, size: int) -> LinearLayout:
        """Changes the size of output `dim`. A smaller size drops the higher bits; a larger one adds no bases."""
        if dim not in self.out_dims:
            raise LayoutError(f"no output dimension '{dim}' in {self}")
        at = self.out_dims.index(dim)
        bases = {
            name: [(*basis[:at], basis[at] & (size - 1), *basis[at + 1 :]) for basis in vectors]
            for name, vectors in self._ins
        }
        return LinearLayout(bases, [(name, size if name == dim else old) for name, old in self._outs])

    def remove_zero_bases(self, dim: str) -> LinearLayout:
        """Returns the layout without the zero bases of `dim`, such as registers that only duplicate others."""
        bases = self.bases
        bases[dim] = tuple(basis for basis in bases.get(dim, ()) if any(basis))
        return LinearLayout(bases, self._outs)

    # Value

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, LinearLayout):
            return NotImplemented
        return self._hash == other._hash and self._ins == other._ins and self._outs == other._outs

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        ins = ", ".join(f"{n} = [{', '.join(str(list(b)) for b in vs)}]" for n, vs in self._ins)
        return f"{{{ins}}} -> {{{', '.join(f'{name} = {size}' for name, size in self._outs)}}}"

    __repr__ = __str__

    def __reduce__(self) -> tuple[object, ...]:
        return (LinearLayout, (self.bases, self._outs))


def _split(flat: int, sizes: Iterable[tuple[str, int]]) -> Basis:
    parts: list[int] = []
    for _, size in sizes:
        parts.append(flat & (size - 1))
        flat >>= log2(size)
    return tuple(parts)
