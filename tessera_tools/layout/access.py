"""How a warp accesses memory: vector widths, ldmatrix and stmatrix, and the exact number of bank wavefronts.

    register layout ─┐                              ┌─▶ vector_access: the registers of each ld/st
                     ├─▶ (register, lane, warp) → offset ─▶ matrix_access: ldmatrix/stmatrix, lane addresses
    memory layout  ──┘                              └─▶ wavefronts: bank conflicts, counted by rank

A memory layout has one input, `offset` (in elements), and the tile's dimensions as outputs.

Shared memory has 32 banks of 4 bytes. One wavefront serves any set of 4-byte words in distinct banks. Lanes that
access the same word share it. The hardware serves a 64-bit access one half-warp at a time, and a 128-bit access or
the rows of a matrix eight lanes at a time. All maps are linear, so the words of a phase form a coset of a subspace.
The number of words in the fullest bank is therefore a power of two: 2^(rank of word addresses - rank of banks).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tessera_tools.layout.f2 import Elimination, apply_columns, extend, log2, rank
from tessera_tools.layout.linear import LayoutError, LinearLayout
from tessera_tools.layout.xor import XorExpression, XorTerm, as_xor_expression
from tessera_tools.records import dataclass

BANKS = 32
BANK_BYTES = 4
MAX_VECTOR_BITS = 128
MATRIX_ROW_BITS = 128


@dataclass(frozen=True, slots=True)
class Refused:
    """The reason why an access form is not possible. False in a condition."""

    reason: str

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class BankCount:
    """Wavefronts of one instruction of a warp, wavefronts without conflicts, and the number of instructions."""

    per_instruction: int
    ideal: int
    instructions: int

    @property
    def total(self) -> int:
        """Wavefronts of all instructions of the warp."""
        return self.per_instruction * self.instructions

    @property
    def is_conflict_free(self) -> bool:
        """True if no instruction takes more wavefronts than its width requires."""
        return self.per_instruction == self.ideal


@dataclass(frozen=True, slots=True)
class VectorAccess:
    """Accesses of `elements` adjacent elements. `groups` lists the registers of each access in address order.

    `address` gives the offset of each group, in elements (constants), for a lane and warp (terms).
    `copies` maps each register that duplicates another register's element to that register. No group contains it.
    """

    element_bits: int
    elements: int
    groups: tuple[tuple[int, ...], ...]
    address: XorExpression
    copies: tuple[tuple[int, int], ...]
    banks: BankCount

    @property
    def bits(self) -> int:
        """The width of one access."""
        return self.element_bits * self.elements


@dataclass(frozen=True, slots=True)
class MatrixAccess:
    """ldmatrix or stmatrix instructions: `.x{num}`, `.trans` or not.

    `registers[i][j]` lists the elements, low to high, of 32-bit register j of instruction i. `address` gives the
    offset, in elements, that each lane passes to instruction i. Bits 0 to 2 of the lane select the row; bits 3 and 4
    select the matrix. The hardware ignores matrices past `num`, and their terms are absent.
    """

    num: int
    trans: bool
    registers: tuple[tuple[tuple[int, ...], ...], ...]
    address: XorExpression
    copies: tuple[tuple[int, int], ...]
    banks: BankCount


def offsets(registers: LinearLayout, memory: LinearLayout) -> LinearLayout:
    """Returns the map (register, lane, warp, block) → offset in memory of the element."""
    if memory.in_dims != ("offset",):
        raise LayoutError(f"expected a memory layout with the one input 'offset', found {memory}")
    return registers.invert_and_compose(memory)


def bank_conflict_degree(columns: Iterable[int], element_bits: int) -> int:
    """Returns the largest number of 4-byte words in one bank, for a phase of all xors of `columns`.

    `columns` are offsets in elements.
    """
    words: list[int] = []
    for column in columns:
        byte_bits = column * element_bits
        words.append(byte_bits // (8 * BANK_BYTES))
    return 1 << (rank(words) - rank(word % BANKS for word in words))


def wavefronts(lane_columns: Sequence[int], element_bits: int, elements: int = 1) -> tuple[int, int]:
    """Returns (wavefronts, ideal) of one shared-memory access of a warp. The access is `elements` wide.

    `lane_columns[i]` is the offset of lane 2^i, in elements. A constant offset does not change the result, because
    xor with it permutes the banks. Requires offsets divisible by `elements`.
    """
    width = elements * element_bits
    if width > MAX_VECTOR_BITS:
        raise LayoutError(f"an access of {width} bits, expected at most {MAX_VECTOR_BITS}")
    if any(column % elements for column in lane_columns):
        raise LayoutError(f"lane offsets {list(lane_columns)} are not aligned to {elements} elements")
    # A wavefront moves at most 32 × 4 bytes: 32 lanes up to 32 bits, 16 of 64, 8 of 128.
    lanes_bits = 5 - max(0, log2(max(width, 32)) - 5)
    inside = [1 << bit for bit in range(log2(elements))]
    if element_bits == 64:
        return _wide_wavefronts(lane_columns, elements, lanes_bits)
    phases = 1 << (5 - lanes_bits)
    return phases * bank_conflict_degree([*inside, *lane_columns[:lanes_bits]], element_bits), phases


def _wide_wavefronts(lane_columns: Sequence[int], elements: int, lanes_bits: int) -> tuple[int, int]:
    """Counts each 64-bit element as two 32-bit elements."""
    doubled = [column * 2 for column in lane_columns[:lanes_bits]]
    phases = 1 << (5 - lanes_bits)
    inside = [1 << bit for bit in range(log2(2 * elements))]
    return phases * bank_conflict_degree([*inside, *doubled], 32), phases


def _trailing_zeros(values: Iterable[int], most: int) -> int:
    for value in values:
        if value:
            most = min(most, (value & -value).bit_length() - 1)
    return most


@dataclass(frozen=True, slots=True)
class _Registers:
    """The registers of an offset map: a basis without duplicates, and the registers that duplicate others."""

    columns: tuple[int, ...]
    elimination: Elimination
    copies: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, to_offset: LinearLayout) -> _Registers:
        columns = to_offset.dim_columns("register")
        elimination = Elimination(columns)
        free = sum(1 << bit for bit in elimination.free)
        copies: list[tuple[int, int]] = []
        for register in range(1, 1 << len(columns)) if free else ():
            if register & free:
                source = elimination.solve(apply_columns(columns, register))
                copies.append((register, source or 0))
        return cls(columns, elimination, tuple(copies))

    def grouped(self, inside: Sequence[int]) -> list[tuple[int, ...]]:
        """Returns the distinct registers in cosets of span(inside), each ordered by the bits of its position.

        The first register of a group is the one whose offset has none of the bits that `inside` changes.
        """
        moved = [apply_columns(self.columns, register) for register in inside]
        members = [0]
        for register in inside:
            members += [member ^ register for member in members]
        low = sum(moved)
        basis = [1 << bit for bit in self.elimination.pivots]
        leaders = [0]
        for register in extend(inside, basis):
            # Correct by members of the group, so that the leader's offset is aligned.
            wrong = apply_columns(self.columns, register) & low
            for at, move in enumerate(moved):
                if wrong & move:
                    register ^= inside[at]
            leaders += [leader ^ register for leader in leaders]
        return [tuple(leader ^ member for member in members) for leader in leaders]


def vector_access(
    registers: LinearLayout, memory: LinearLayout, element_bits: int, max_bits: int = MAX_VECTOR_BITS
) -> VectorAccess:
    """Returns the widest legal vector accesses between registers and memory, at most `max_bits` wide.

    `max_bits` is the known alignment of the base address and the strides, in bits, at most 128.
    A width is legal if it is legal for every thread: one thread holds all elements of a vector in its registers (any
    linear choice of registers), and no lane, warp or other register moves by less than a vector. A single element is
    always legal. Raises `LayoutError` if that element is narrower than a byte.
    """
    plan = vector_access_of(offsets(registers, memory), element_bits, max_bits)
    if plan.bits < 8:
        raise LayoutError(
            f"an access of {plan.bits} bits: a thread's neighbors do not fill a byte, in {registers}"
        )
    return plan


def vector_access_of(
    to_offset: LinearLayout, element_bits: int, max_bits: int = MAX_VECTOR_BITS
) -> VectorAccess:
    """Returns the `vector_access` of a given map (register, lane, warp, …) → offset."""
    own = _Registers.of(to_offset)
    inside, banks = _vector(to_offset, own.elimination, element_bits, max_bits)
    groups = own.grouped(inside)
    address = _address(to_offset, [group[0] for group in groups])
    return VectorAccess(element_bits, 1 << len(inside), tuple(groups), address, own.copies, banks)


def vector_cost(
    registers: LinearLayout, memory: LinearLayout, element_bits: int, max_bits: int = MAX_VECTOR_BITS
) -> BankCount:
    """Returns the `banks` of `vector_access` without listing the registers. Use it to compare many memory layouts."""
    to_offset = offsets(registers, memory)
    return _vector(to_offset, Elimination(to_offset.dim_columns("register")), element_bits, max_bits)[1]


def _vector(
    to_offset: LinearLayout, own: Elimination, element_bits: int, max_bits: int
) -> tuple[list[int], BankCount]:
    """Returns the registers that move by 1, 2, 4, … elements within the widest vector, and the cost."""
    others = [
        column for name in to_offset.in_dims if name != "register" for column in to_offset.dim_columns(name)
    ]
    limit = _trailing_zeros(others, log2(max(1, min(max_bits, MAX_VECTOR_BITS) // element_bits)))
    inside: list[int] = []
    for bit in range(limit):
        register = own.solve(1 << bit)
        if register is None:
            break
        inside.append(register)
    took, ideal = wavefronts(to_offset.dim_columns("lane"), element_bits, 1 << len(inside))
    return inside, BankCount(took, ideal, 1 << (own.rank - len(inside)))


def _address(to_offset: LinearLayout, leaders: Sequence[int]) -> XorExpression:
    whole = as_xor_expression(to_offset)
    return XorExpression(tuple(whole.constants[leader] for leader in leaders), whole.terms)


def contiguous_elements(
    layout: LinearLayout, axis: int, contiguity: int, alignment: int, max_elements: int
) -> int:
    """Returns the number of elements along `axis` that one access to global memory may move, for every thread.

    `contiguity` is the number of elements along the axis that are known to be adjacent in memory. `alignment` is the
    known divisor of the address of the first of them. Both are in elements, and both are powers of two that divide
    the real value. `max_elements` is the widest access. Example: if a thread holds four adjacent f32 elements of a
    row, and rows are aligned to 16 bytes, the result is 4. The registers of an access are those that `vector_access`
    returns for a row-major memory layout of the tile.
    """
    name = f"dim{axis}"
    if name not in layout.out_dims:
        raise LayoutError(f"no axis {axis} in {layout}")
    order = [name, *(other for other in reversed(layout.out_dims) if other != name)]
    ordered = layout.transpose_outs(order)
    flat = LinearLayout.from_columns(layout.ins, [("offset", 1 << layout.total_out_bits)], ordered.columns)
    most = min(contiguity & -contiguity, alignment & -alignment, layout.out_size(name), max_elements)
    return vector_access_of(flat, 1, min(most, MAX_VECTOR_BITS)).elements


def matrix_access(
    registers: LinearLayout,
    memory: LinearLayout,
    element_bits: int,
    trans: bool | None = None,
    max_num: int = 4,
) -> MatrixAccess | Refused:
    """Returns the ldmatrix (or stmatrix) instructions between this memory and these registers, or `Refused`.

    If `trans` is None, the function tries the form without .trans first, then the form with it. Source: PTX ISA,
    ldmatrix. Without .trans, four lanes hold the 16 bytes of a row, 32 bits each, and eight rows form a matrix. With
    .trans (16-bit elements), eight groups of four lanes hold the eight columns, two rows in each register.
    """
    if element_bits not in (8, 16, 32):
        return Refused(f"ldmatrix moves 8-, 16- or 32-bit elements here, found {element_bits} bits")
    if registers.in_bits("lane") != 5:
        return Refused(f"ldmatrix needs 32 lanes, found {registers.in_size('lane')}")
    to_offset = offsets(registers, memory)
    if trans is None:
        straight = _matrix(to_offset, element_bits, False, max_num)
        if straight or element_bits != 16:
            return straight
        turned = _matrix(to_offset, element_bits, True, max_num)
        return turned or Refused(f"{_reason(straight)}; with .trans: {_reason(turned)}")
    if trans and element_bits != 16:
        return Refused(f"ldmatrix .trans moves 16-bit elements, found {element_bits} bits")
    return _matrix(to_offset, element_bits, trans, max_num)


def _reason(result: MatrixAccess | Refused) -> str:
    return result.reason if isinstance(result, Refused) else ""


def _matrix(to_offset: LinearLayout, element_bits: int, trans: bool, max_num: int) -> MatrixAccess | Refused:
    own = _Registers.of(to_offset)
    lanes = to_offset.dim_columns("lane")
    row_bits = log2(MATRIX_ROW_BITS // element_bits)
    packed_bits = log2(32 // element_bits)
    packed: list[int] = []
    if trans:
        if not own.elimination.pivots:
            return Refused("a lane holds one element, two share a 32-bit register")
        packed.append(1 << own.elimination.pivots[0])
        along, across = lanes[2:], [apply_columns(own.columns, packed[0]), *lanes[:2]]
        want = [1 << bit for bit in range(row_bits)]
    else:
        for bit in range(packed_bits):
            register = own.elimination.solve(1 << bit)
            if register is None:
                return Refused(f"no register holds the neighbor at offset {1 << bit}")
            packed.append(register)
        along, across = lanes[:2], list(lanes[2:])
        want = [1 << bit for bit in range(packed_bits, row_bits)]
    if list(along) != want:
        which = "2 to 4" if trans else "0 and 1"
        return Refused(f"lane bits {which} move by {list(along)} elements, expected {want}")
    groups = own.grouped(packed) if not trans else _pairs(own, packed[0])
    leaders = [group[0] for group in groups]
    others = [
        column
        for name in to_offset.in_dims
        if name not in ("register", "lane")
        for column in to_offset.dim_columns(name)
    ]
    moves = [apply_columns(own.columns, leaders[1 << bit]) for bit in range(log2(len(leaders)))]
    if _trailing_zeros([*across, *others, *moves], row_bits) < row_bits:
        return Refused("a row does not begin at a multiple of 16 bytes")
    num = min(max_num, 4, len(groups))
    count = log2(num)
    instructions = [groups[at : at + num] for at in range(0, len(groups), num)]
    terms = [XorTerm("lane", bit, column) for bit, column in enumerate([*across, *moves[:count]]) if column]
    terms += [term for term in as_xor_expression(to_offset).terms if term.dim != "lane"]
    constants = [apply_columns(own.columns, group[0][0]) for group in instructions]
    # Each matrix is one phase of eight rows of 16 bytes.
    inside = [1 << bit for bit in range(row_bits)]
    degree = bank_conflict_degree([*inside, *across], element_bits)
    return MatrixAccess(
        num,
        trans,
        tuple(tuple(instruction) for instruction in instructions),
        XorExpression(tuple(constants), tuple(terms)),
        own.copies,
        BankCount(num * degree, num, len(instructions)),
    )


def _pairs(own: _Registers, pair: int) -> list[tuple[int, ...]]:
    """Returns the distinct registers in pairs of consecutive rows that share a 32-bit register."""
    leaders = [0]
    for bit in own.elimination.pivots:
        if 1 << bit != pair:
            leaders += [leader | 1 << bit for leader in leaders]
    return [(leader, leader ^ pair) for leader in leaders]
