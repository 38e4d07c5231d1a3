"""Programs of one cuda_tile op each, with every combination of element types and attributes that its text can have.

    "ftof $(A:8) rounding<$(zero|approx)> : tile<8x$A> -> tile<8x$B>"
        $A, $B, $C          an element type, each of `ELEMENTS` in turn
        $(A:8), $(i8:2x4)   an operand of type tile<8xA>, tile<2x4xi8>, that the program makes before
        $(x|y|)             one of the texts
        $N                  a number of type $A
        %P8  %P             pointers to f32: a tile of 8, a scalar; %Q8: a tile of 8 pointers to $A

A template that begins with `cuda_tile.module` or `#` is a whole program, without operands (`module_probes.py`).

Most programs are invalid. `tools/probe_tileiras.py` asks the reference tools which are not, and records it in
`accepted.json`; `test_probes.py` compares with our verifier.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from dialects.cuda_tile import module_probes

ELEMENTS = (
    "i1", "i4", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "tf32", "f8E4M3FN", "f8E5M2", "f8E8M0FNU",
    "f4E2M1FN", "fnv8E5M3FNU",
)  # fmt: skip

_ROUNDING = "$(|rounding<zero>|rounding<positive_inf>|rounding<negative_inf>|rounding<approx>|rounding<full>)"
_FLUSH = "$(|flush_to_zero)"
_SIGN = "$(signed|unsigned)"
_OVERFLOW = "$(|overflow<no_signed_wrap>|overflow<no_unsigned_wrap>|overflow<no_wrap>)"
_ORDERS = (
    "$(weak|relaxed device|acquire device|release device|acq_rel device|relaxed tl_blk|acquire sys|release sys|"
    "acq_rel tl_blk|relaxed)"
)
_ATOMS = "$(add|addf|and|or|xor|max|umax|min|umin|xchg|maxf|minf)"
_TENSOR = "tensor_view<64x64x$A, strides=[64,1]>"


def _unary() -> Iterator[str]:
    for op in ["absf", "absi", "negf", "ceil", "floor", "sin", "cos", "tan", "sinh", "cosh", "log", "log2"]:
        yield f"{op} $(A:8) : tile<8x$A>"
    for op in ["exp", "exp2", "tanh", "sqrt", "rsqrt"]:
        yield f"{op} $(A:8) {_ROUNDING} {_FLUSH} : tile<8x$A>"
    yield f"negi $(A:8) {_OVERFLOW} : tile<8x$A>"


def _binary() -> Iterator[str]:
    for op in ["addf", "subf", "mulf", "divf"]:
        yield f"{op} $(A:8), $(A:8) {_ROUNDING} {_FLUSH} : tile<8x$A>"
    for op in ["remf", "pow", "atan2", "fpowf", "mulhii", "andi", "ori", "xori"]:
        yield f"{op} $(A:8), $(A:8) : tile<8x$A>"
    yield "fpowi $(A:8), $(B:8) : tile<8x$A>, tile<8x$B>"
    for op in ["maxf", "minf"]:
        yield f"{op} $(A:8), $(A:8) {_FLUSH} $(|propagate_nan) : tile<8x$A>"
    yield f"fma $(A:8), $(A:8), $(A:8) {_ROUNDING} {_FLUSH} : tile<8x$A>"
    yield "cmpf less_than $(ordered|unordered) $(A:8), $(A:8) : tile<8x$A> -> tile<8xi1>"
    yield f"cmpi less_than $(A:8), $(A:8), {_SIGN} : tile<8x$A> -> tile<8xi1>"
    for op in ["addi", "subi", "muli", "shli"]:
        yield f"{op} $(A:8), $(A:8) {_OVERFLOW} : tile<8x$A>"
    yield f"divi $(A:8), $(A:8) {_SIGN} {_ROUNDING} : tile<8x$A>"
    for op in ["remi", "shri", "maxi", "mini"]:
        yield f"{op} $(A:8), $(A:8) {_SIGN} : tile<8x$A>"


def _casts() -> Iterator[str]:
    yield f"exti $(A:8) {_SIGN} : tile<8x$A> -> tile<8x$B>"
    yield f"trunci $(A:8) {_OVERFLOW} : tile<8x$A> -> tile<8x$B>"
    yield f"itof $(A:8) {_SIGN} {_ROUNDING} : tile<8x$A> -> tile<8x$B>"
    yield f"ftoi $(A:8) {_SIGN} $(|saturating) : tile<8x$A> -> tile<8x$B>"
    modes = "$(nearest_even|zero|positive_inf|negative_inf|nearest_away|approx|full|nearest_int_to_zero)"
    yield f"ftof $(A:8) rounding<{modes}> : tile<8x$A> -> tile<8x$B>"
    yield "bitcast $(A:8) : tile<8x$A> -> tile<8x$B>"
    yield "pack $(A:8) : tile<8x$A> -> tile<$(1|4|8|16|32|64)xi8>"
    yield "unpack $(i8:64) : tile<64xi8> -> tile<$(4|8|16|32|64|128|512)x$A>"
    yield "ptr_to_int %P8 : tile<8xptr<f32>> -> tile<8x$A>"
    yield "int_to_ptr $(A:8) : tile<8x$A> -> tile<8xptr<f32>>"
    yield "ptr_to_ptr %P8 : tile<8xptr<f32>> -> tile<8xptr<$A>>"


def _shapes() -> Iterator[str]:
    yield "iota : tile<$(1|2|8|128|256|512|65536)x$A>"
    yield "reshape $(A:8) : tile<8x$A> -> tile<$(2x4|8|4|16|1x8)x$A>"
    yield "broadcast $(A:2) : tile<2x$A> -> tile<$(2|8|2x8|1)x$A>"
    yield "broadcast $(A:1x2) : tile<1x2x$A> -> tile<$(8x2|1x2|2x1|8x4)x$A>"
    yield "permute $(A:2x4) [$(1, 0|0, 1|0|0, 0|0, 2|-1, 0)] : tile<2x4x$A> -> tile<4x2x$A>"
    yield "cat $(A:8), $(A:8) dim = $(0|1|-1) : tile<8x$A>, tile<8x$A> -> tile<16x$A>"
    yield "extract $(A:8)[$(B:)] : tile<8x$A> -> tile<2x$A>"
    yield "extract $(A:2x8)[$(i32:)] : tile<2x8x$A> -> tile<$(2x2|2|1x8|4x8|3x1)x$A>"
    yield "insert $(A:2), $(A:8)[$(B:)] : tile<2x$A>, tile<8x$A>"
    yield "select $(B:8), $(A:8), $(A:8) : tile<8x$B>, tile<8x$A>"
    yield "constant <$A: $N> : tile<$(1|2|3|8|0|16777216|33554432)x$A>"
    for predicate in (
        "div_by<$(4|3|0|1|9223372036854775808)>", "div_by<4, every $(2|3|0|8|16) along $(0|1|-1)>",
        "bounded<$(0, 7|?, 3|-9, ?|7, 0|?, ?)>", "same_elements<[$(2|3|8|16|0|2, 2|)]>",
    ):  # fmt: skip
        yield f"assume {predicate}, $(A:8) : tile<8x$A>"
        yield f"assume {predicate}, %P8 : tile<8xptr<f32>>"


def _products() -> Iterator[str]:
    yield ("mmaf $(A:8x16), $(B:16x8), $(C:8x8) $(|fast_acc) : tile<8x16x$A>, tile<16x8x$B>, tile<8x8x$C>")
    yield f"mmai $(A:8x16), $(B:16x8), $(C:8x8) {_SIGN} {_SIGN} : tile<8x16x$A>, tile<16x8x$B>, tile<8x8x$C>"
    for blocks in (1, 2, 4):
        scales = f"$(B:8x{blocks}), $(B:{blocks}x8)"
        yield (
            f"mmaf_scaled $(A:8x64), $(A:64x8), $(C:8x8), {scales} : tile<8x64x$A>, tile<64x8x$A>, tile<8x8x$C>, "
            f"tile<8x{blocks}x$B>, tile<{blocks}x8x$B>"
        )
    yield (
        "mmaf_scaled $(A:8x64), $(B:64x8), $(f32:8x8), $(C:8x2), $(C:2x8) : tile<8x64x$A>, tile<64x8x$B>, "
        "tile<8x8xf32>, tile<8x2x$C>, tile<2x8x$C>"
    )
    yield (
        "mmaf_scaled $(A:8x64), $(A:64x8), $(f32:8x8), $(B:8x2), $(C:2x8) : tile<8x64x$A>, tile<64x8x$A>, "
        "tile<8x8xf32>, tile<8x2x$B>, tile<2x8x$C>"
    )


def _regions() -> Iterator[str]:
    body = "(%p: tile<$A>, %q: tile<$A>)"
    inner = (
        "$(%s = addf %p, %q : tile<$A> yield %s|%s = addi %p, %q : tile<$A> yield %s|yield %p|"
        "%s = divi %p, %q signed : tile<$A> yield %s|%s = remi %p, %q signed : tile<$A> yield %s|"
        "%s = divf %p, %q : tile<$A> yield %s)"
    )
    for number in ("$N", "0x1"):
        yield (
            f"reduce $(A:8) dim=$(0|1) identities=[{number} : $A] : tile<8x$A> -> tile<$A> {body} "
            f"{{ {inner} : tile<$A> }}"
        )
        yield (
            f"scan $(A:8) dim=0 reverse=false identities=[{number} : $A] : tile<8x$A> -> tile<8x$A> {body} "
            f"{{ {inner} : tile<$A> }}"
        )
    yield "for $(|unsigned) %i in ($(A:) to $(A:), step $(A:)) : tile<$A> { continue }"
    yield "if $(A:) { yield }"
    yield 'assert $(A:8), $("x"|"") : tile<8x$A>'
    yield 'print_tko "$(%i|%d|%f|%s|%)", $(A:8) : tile<8x$A> -> token'


def _pointers() -> Iterator[str]:
    yield "offset %P8, $(A:8) : tile<8xptr<f32>>, tile<8x$A> -> tile<8xptr<f32>>"
    yield f"load_ptr_tko {_ORDERS} %Q8 : tile<8xptr<$A>> -> tile<8x$A>, token"
    yield "load_ptr_tko weak %Q8, $(B:8), $(A:8) : tile<8xptr<$A>>, tile<8x$B>, tile<8x$A> -> tile<8x$A>, token"
    yield "load_ptr_tko weak %Q8, $(i1:8), $(B:8) : tile<8xptr<$A>>, tile<8xi1>, tile<8x$B> -> tile<8x$A>, token"
    yield f"store_ptr_tko {_ORDERS} %Q8, $(A:8) : tile<8xptr<$A>>, tile<8x$A> -> token"
    yield "store_ptr_tko weak %Q8, $(A:8), $(B:8) : tile<8xptr<$A>>, tile<8x$A>, tile<8x$B> -> token"
    yield f"atomic_rmw_tko {_ORDERS} %Q8, {_ATOMS}, $(A:8) : tile<8xptr<$A>>, tile<8x$A> -> tile<8x$A>, token"
    yield f"atomic_cas_tko {_ORDERS} %Q8, $(A:8), $(A:8) : tile<8xptr<$A>>, tile<8x$A> -> tile<8x$A>, token"
    yield "alloca num_elem = $(8|0|3|-1), alignment = $(16|1|3|0|256) $(|global) : tile<ptr<$A>>"


_PADDINGS = ("", *(f"padding_value = {word}, " for word in ("zero", "neg_zero", "nan", "pos_inf", "neg_inf")))
_MAPS = ("", *(f", dim_map=[{order}]" for order in ("1, 0", "0, 0", "0", "0, 2")))
_BOUNDS = "$(|inbounds = [true, false]|inbounds = [true]|inbounds = [true, true, true])"


def _view_types() -> Iterator[str]:
    yield "make_tensor_view %P, shape = [$(A:)], strides = [$(A:)] : tile<$A> -> tensor_view<?xf32, strides=[?]>"
    for shape, strides in itertools.product(
        ("64, 64", "64, 0", "64, -1"), ("64, 1", "64, 0", "64, 2", "64, -1")
    ):
        extents = shape.replace(", ", "x")
        yield (
            f"make_tensor_view %A, shape = [{shape}], strides = [{strides}] : "
            f"tensor_view<{extents}x$A, strides=[{strides.replace(' ', '')}]>"
        )
    for order in _MAPS:
        for tile in ("8x16", "8", "3x16", "0x16", "8x16x2", "128x16"):
            yield f"make_partition_view %T : partition_view<tile=({tile}), {_TENSOR}{order}>"
            yield f"make_strided_view %T : strided_view<tile=({tile}), traversal_strides=[4,3], {_TENSOR}{order}>"
    for strides in ("0,1", "1", "-1,1", "1,1", "1,1,1"):
        yield f"make_strided_view %T : strided_view<tile=(8x16), traversal_strides=[{strides}], {_TENSOR}>"
    for padding in _PADDINGS:
        yield f"make_partition_view %T : partition_view<tile=(8x16), {padding}{_TENSOR}>"
        yield f"make_strided_view %T : strided_view<tile=(8x16), traversal_strides=[4,3], {padding}{_TENSOR}>"
        for dim in (0, 1, 2, -1):
            view = f"gather_scatter_view<tile=(8x16), {padding}{_TENSOR}, sparse_dim={dim}>"
            yield f"make_gather_scatter_view %T : {view}"


def _views() -> Iterator[str]:
    plain = f"partition_view<tile=(8x16), {_TENSOR}>"
    make = f"%W = make_partition_view %T : {plain}\n"
    at, kind = "%W[$(i32:), $(i32:)]", f"{plain}, tile<i32>"
    mixed, kinds = "%W[$(i32:), $(i64:)]", f"{plain}, tile<i32>, tile<i64>"
    yield f"{make}%r = load_view_tko {_ORDERS} {at} : {kind} -> tile<8x16x$A>, token"
    yield f"{make}%r = load_view_tko weak %W[$(B:), $(B:)] : {plain}, tile<$B> -> tile<8x16x$A>, token"
    yield f"{make}%r = load_view_tko weak {mixed} : {kinds} -> tile<8x16x$A>, token"
    yield f"{make}%r = load_view_tko weak {at} {_BOUNDS} : {kind} -> tile<8x16x$(f32|$A)>, token"
    yield f"{make}%r = load_view_tko weak {at} : {kind} -> tile<$(8x8|16x8|8|8x16x1)x$A>, token"
    yield f"{make}%r = store_view_tko {_ORDERS} $(A:8x16), {at} : tile<8x16x$A>, {kind} -> token"
    yield f"{make}%r = store_view_tko weak $(A:8x16), {mixed} : tile<8x16x$A>, {kinds} -> token"
    yield f"{make}%r = store_view_tko weak $(B:8x16), {at} {_BOUNDS} : tile<8x16x$B>, {kind} -> token"
    atomic = "atomic_red_view_tko"
    yield f"{make}%r = {atomic} {_ORDERS} {at}, {_ATOMS}, $(A:8x16) : tile<8x16x$A>, {kind} -> token"
    yield f"{make}%r = {atomic} relaxed device {at}, add, $(A:8x16) {_BOUNDS} : tile<8x16x$A>, {kind} -> token"
    for op in ("add", "addf"):
        yield f"{make}%r = {atomic} relaxed device {mixed}, {op}, $(A:8x16) : tile<8x16x$A>, {kinds} -> token"


def _padded_views() -> Iterator[str]:
    at = "%W[$(i32:), $(i32:)]"
    for padding, view in itertools.product(_PADDINGS, ("partition", "strided", "gather")):
        head, tail = {
            "partition": ("partition_view<tile=(8x16), ", ">"),
            "strided": ("strided_view<tile=(8x16), traversal_strides=[4,3], ", ">"),
            "gather": ("gather_scatter_view<tile=(8x16), ", ", sparse_dim=0>"),
        }[view]
        type = f"{head}{padding}{_TENSOR}{tail}"
        make = f"%W = make_{view.replace('gather', 'gather_scatter')}_view %T : {type}\n"
        kind = f"{type}, tile<i32>"
        if view == "gather":
            at, kind = "%W[$(i32:8), $(i32:)]", f"{type}, tile<8xi32>, tile<i32>"
        yield f"{make}%r = load_view_tko weak {at} : {kind} -> tile<8x16x$A>, token"
        yield f"{make}%r = store_view_tko weak $(A:8x16), {at} : tile<8x16x$A>, {kind} -> token"
        for op in ("add", "addf", "max"):
            yield (
                f"{make}%r = atomic_red_view_tko relaxed device {at}, {op}, $(A:8x16) : tile<8x16x$A>, {kind} -> token"
            )
    type = f"gather_scatter_view<tile=(8x16), {_TENSOR}, sparse_dim=0>"
    make = f"%W = make_gather_scatter_view %T : {type}\n"
    yield f"{make}%r = load_view_tko weak %W[$(B:8), $(i32:)] : {type}, tile<8x$B>, tile<i32> -> tile<8x16x$A>, token"
    yield f"{make}%r = load_view_tko weak %W[$(i32:8), $(B:)] : {type}, tile<8xi32>, tile<$B> -> tile<8x16x$A>, token"


def _multimem() -> Iterator[str]:
    tensor = "tensor_view<64x64x$A, strides=[64,1], #cuda_tile.ptr_attr<multicast>>"
    for shape in ("8x16", "1x1", "1x2", "1x4"):
        view = f"partition_view<tile=({shape}), {tensor}>"
        make = f"%W = make_partition_view %M : {view}\n"
        at, tile = "[$(i32:), $(i32:)]", f"tile<{shape}x$A>"
        value = f"%W, $(A:{shape}){at} : {view}, {tile}, tile<i32>"
        for order in (
            "weak",
            "relaxed device",
            "acquire sys",
            "release device",
            "acq_rel sys",
            "relaxed tl_blk",
        ):
            yield f"{make}%r = multimem_load_reduce_view_tko {order} %W{at} : {view}, tile<i32> -> {tile}, token"
            yield f"{make}%r = multimem_reduce_view_tko {order} {value} -> token"
            yield f"{make}%r = multimem_store_view_tko {order} {value} -> token"


FAMILIES = (
    _unary, _binary, _casts, _shapes, _products, _regions, _pointers, _view_types, _views, _padded_views, _multimem,
    *module_probes.FAMILIES,
)  # fmt: skip


def templates() -> Iterator[str]:
    """Every template, once."""
    for family in FAMILIES:
        yield from dict.fromkeys(family())


_OPERAND = re.compile(r"\$\((\w+):([\dx]*)\)")


def choices(template: str) -> Iterator[str]:
    """The template with each choice made."""
    start = _first_choice(template)
    if start is None:
        yield template
        return
    end, options = start[1], start[2]
    for option in options:
        yield from choices(template[: start[0]] + option + template[end:])


def _first_choice(text: str) -> tuple[int, int, list[str]] | None:
    """(start, end, options) of the first `$(…|…)`."""
    at = text.find("$(")
    while at >= 0:
        depth, end = 1, at + 2
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        inside = text[at + 2 : end - 1]
        if "|" in inside:
            return at, end, inside.split("|")
        at = text.find("$(", at + 2)
    return None


def variables(template: str) -> list[str]:
    """The element types that a template leaves open."""
    return [name for name in "ABC" if re.search(rf"\${name}\b|\$\({name}:|x\${name}", template)]


def programs(template: str) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """(the template with its choices made, the element types, the program)."""
    for chosen in choices(template):
        names = variables(chosen)
        for elements in itertools.product(ELEMENTS, repeat=len(names)):
            yield chosen, elements, program(chosen, dict(zip(names, elements, strict=True)))


def program(chosen: str, elements: dict[str, str]) -> str:
    """The program of one probe."""
    if chosen.startswith(("cuda_tile.module", "#")):
        whole = chosen.replace("$N", _number(elements.get("A", "f32")))
        for name, element in elements.items():
            whole = whole.replace(f"${name}", element)
        return whole
    lines = []
    made = itertools.count()

    def operand(match: re.Match[str]) -> str:
        name = f"%v{next(made)}"
        lines.extend(_made(name, elements.get(match[1], match[1]), match[2]))
        return name

    body = _OPERAND.sub(operand, chosen)
    first = elements.get("A", "f32")
    body = body.replace("$N", _number(first))
    for name, element in elements.items():
        body = body.replace(f"${name}", element)
    for name, line in _GIVEN.items():
        if f"%{name}" in body:
            lines.insert(0, line.replace("$A", first))
    if "%P8" in body or "%Q8" in body:
        lines.insert(0, "%P8 = broadcast %P1 : tile<1xptr<f32>> -> tile<8xptr<f32>>")
        lines.insert(0, "%P1 = reshape %P : tile<ptr<f32>> -> tile<1xptr<f32>>")
    word = body.split()[0]
    if "=" not in body.split()[1:2] and word not in ("assert", "if", "for"):
        results = "%r, %rt = " if word.startswith(("load_ptr", "atomic_rmw", "atomic_cas")) else "%r = "
        body = results + body
    body = re.sub(r"%r = (load_view|multimem_load)", r"%r, %rt = \1", body)
    arguments = f"%P: tile<ptr<f32>>, %A: tile<ptr<{first}>>, %B: tile<ptr<{first}, <multicast>>>"
    return (
        f"entry @probe({arguments}) {{\n"
        + "\n".join(f"  {line}" for line in [*lines, body])
        + "\n  return\n}\n"
    )


_GIVEN = {
    "Q8": "%Q8 = ptr_to_ptr %P8 : tile<8xptr<f32>> -> tile<8xptr<$A>>",
    "T": "%T = make_tensor_view %A, shape = [64, 64], strides = [64, 1] : tensor_view<64x64x$A, strides=[64,1]>",
    "M": "%M = make_tensor_view %B, shape = [64, 64], strides = [64, 1] : tile<ptr<$A, <multicast>>> -> "
    "tensor_view<64x64x$A, strides=[64,1], #cuda_tile.ptr_attr<multicast>>",
}


def _number(element: str) -> str:
    return "true" if element == "i1" else "1" if element.startswith("i") else "1.0"


def _made(name: str, element: str, shape: str) -> list[str]:
    """Lines that make a tile of any element type; i4 has no constants."""
    if element != "i4":
        return [
            f"{name} = constant <{element}: {_number(element)}> : tile<{shape}{'x' * bool(shape)}{element}>"
        ]
    count = 1
    for extent in shape.split("x") if shape else ():
        count *= int(extent)
    wide = max(count, 2)
    lines = [
        f"{name}b = constant <i8: 1> : tile<{wide // 2}xi8>",
        f"{name}u = unpack {name}b : tile<{wide // 2}xi8> -> tile<{wide}xi4>",
    ]
    source, size = f"{name}u", f"{wide}x"
    if count == 1:
        lines += [
            f"{name}z = constant <i32: 0> : tile<i32>",
            f"{name}e = extract {name}u[{name}z] : tile<2xi4> -> tile<1xi4>",
        ]
        source, size = f"{name}e", "1x"
    return [*lines, f"{name} = reshape {source} : tile<{size}i4> -> tile<{shape}{'x' * bool(shape)}i4>"]
