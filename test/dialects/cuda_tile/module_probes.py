"""Probes of what stands around the ops: modules, entries, globals, optimization hints and debug information.

A template that begins with `cuda_tile.module` or `#` is a whole program; `probes.py` describes `$A` and `$(x|y)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

_NUMBERS = (
    '$(0|-1|1|2|3|10|11|16|17|32|33|64|2147483648|9223372036854775807|true|false|1 : i32|1 : i8|1.0|"1"|[1])'
)
_KEYS = (
    "sm_70", "sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a", "sm_91", "sm_100", "sm_100a",
    "sm_101", "sm_103", "sm_110", "sm_120", "sm_121", "sm_130", "default", "x",
)  # fmt: skip
_HINTS = ("num_cta_in_cga", "num_worker_warps_per_cta", "occupancy", "latency", "allow_tma", "x")


def _in_module(body: str) -> str:
    return f"cuda_tile.module @m {{ {body} }}"


def entries() -> Iterator[str]:
    """Entries: how many, their names, parameters and last ops."""
    for names in ("$(k|g|m)", '$("a b"|"1"|"é"|"-"|"a.b"|a.b|a$b|_|"0x")', '$("")'):
        yield _in_module(f"entry @{names}() {{ return }} entry @k() {{ return }}")
        yield _in_module(f"global @{names} <i32: [1]> : tile<1xi32> entry @k() {{ return }}")
        yield f"cuda_tile.module @{names} {{ entry @k() {{ return }} }}"
        yield _in_module(
            f"global @{names} <i32: 1> : tile<1xi32> entry @k() {{ %g = get_global @$(k|g|b) : tile<ptr<$A>> }}"
        )
    yield "cuda_tile.module @m { }"
    yield "cuda_tile.module @$(m|n) { cuda_tile.module @$(m|n) { $(|entry @k() { return }) } }"
    yield "cuda_tile.module @m { } cuda_tile.module @$(m|n) { }"
    yield 'cuda_tile.module @m attributes {producer = $("me"|"")} { entry @k() { return } }'
    yield "cuda_tile.module @m attributes {x = $(3|unit|true)} { entry @k() { return } }"
    yield _in_module("entry @k() { $(|return) }")
    yield _in_module("entry @k() { $(|%c = constant <i32: 1> : tile<i32>) $(|return|return return) }")
    yield _in_module("entry @k() { return %c = constant <i32: 1> : tile<i32> }")
    yield _in_module(
        "entry @k(%c: tile<i1>) { loop { if %c { $(return|break|) } $(return|break|continue|) } }"
    )
    yield _in_module(
        "entry @k(%n: tile<i32>) { for %i in (%n to %n, step %n) : tile<i32> { $(return|continue|break) } }"
    )
    yield _in_module(
        "entry @k(%n: tile<i32>, %c: tile<i1>) { for %i in (%n to %n, step %n) : tile<i32> { "
        "$(if|loop { if) %c { return } $(|break }) } }"
    )
    yield _in_module(
        "entry @k(%c: tile<i1>) { %r = loop : tile<i1> { if %c { return } $(break %c : tile<i1>|return) } }"
    )
    yield _in_module("entry @k() { $(break|continue|yield|loop { break }|loop { return }|loop { }) }")
    yield _in_module(
        "entry @k() { %c = constant <i1: true> : tile<i1> if %c { $(return|) } $(|else { return }) }"
    )
    yield _in_module("entry @k() { %c = constant <i32: 1> : tile<i32> return %c : tile<i32> }")
    yield _in_module("entry @k() -> tile<i32> { %c = constant <i32: 1> : tile<i32> return %c : tile<i32> }")
    yield _in_module("entry @k(%a: tile<$A>) { return }")
    yield _in_module("entry @k(%a: tile<$(|2x|1x|4x4x)$A>, %b: tile<$(|1x)ptr<$A>>) { return }")
    yield _in_module("entry @k(%a: tile<ptr<$A, <multicast>>>) { return }")
    yield _in_module(
        "entry @k(%a: $(token|tensor_view<8x$A, strides=[1]>|tensor_view<?x$A, strides=[1]>|$A|ptr<$A>|"
        "partition_view<tile=(8), tensor_view<8x$A, strides=[1]>>)) { return }"
    )
    yield _in_module("entry @k(%a: tile<i32> {x = $(3|true|unit)}) { return }")
    yield _in_module("entry @k() { entry @i() { return } return }")
    yield _in_module("entry @k() { global @g <i32: 1> : tile<1xi32> return }")
    yield _in_module('entry @k() { return } {sym_visibility = "$(private|public|nested)"}')


def globals() -> Iterator[str]:
    """Globals: element types, shapes, initial values, alignments, visibility."""
    options = "$(|private) $(|constant)"
    yield _in_module(f"global {options} @g <$A: $N> : tile<1x$A>")
    yield _in_module("global @g <$A: [$N, $N]> : tile<$(1|2|4|2x1|1x2)x$A>")
    yield _in_module("global @g <$A: $N> : tile<$(|0x|1x|3x|8x|2x2x|16777216x|33554432x)$A>")
    yield _in_module("global @g <$A: $(true|false|0|1|-1|2|127|128|255|256|-128|-129)> : tile<1x$A>")
    yield _in_module("global @g <$A: $(0.0|-0.0|1.0e+300|1.0e-300|0x7F|0xFF|0x7FC0)> : tile<1x$A>")
    yield _in_module(
        "global @g alignment = $(0|1|2|3|4|8|16|64|128|256|512|1024|4096|65536|2147483648|4294967296|"
        "9223372036854775807|-1|-16) <$A: $N> : tile<8x$A>"
    )
    use = "entry @k() { %g = get_global @$(g|h) : tile<$(|1x)ptr<$B$(|, <multicast>)>> return }"
    yield _in_module(f"global {options} @g <$A: $N> : tile<8x$A> {use}")
    yield _in_module("entry @k() { %g = get_global @g : tile<ptr<i32>> } global @g <i32: 1> : tile<8xi32>")
    yield _in_module("global @g <i32: 1> : tile<8xi32> global @$(g|h) <$A: $N> : tile<8x$A>")
    write = "%c = constant <i32: 1> : tile<i32> %t = store_ptr_tko weak %g, %c : tile<ptr<i32>>, tile<i32> -> token"
    yield _in_module(
        f"global {options} @g <i32: 1> : tile<8xi32> entry @k() {{ %g = get_global @g : tile<ptr<i32>> {write} }}"
    )


def hints() -> Iterator[str]:
    """Optimization hints of entries and accesses: each key, each value, several targets."""

    def places(text: str) -> Iterator[str]:
        text = f"optimization_hints=<{text}>"
        yield _in_module(f"entry @k() {text} {{ return }}")
        pointer = "tile<ptr<i32>>"
        yield _in_module(
            f"entry @k(%p: {pointer}) {{ %x, %t = load_ptr_tko weak %p {text} : {pointer} -> tile<i32>, token }}"
        )
        yield _in_module(
            f"entry @k(%p: {pointer}, %v: tile<i32>) {{ %t = store_ptr_tko weak %p, %v {text} : "
            f"{pointer}, tile<i32> -> token }}"
        )
        tensor = "tensor_view<64xi32, strides=[1]>"
        view = f"partition_view<tile=(8), {tensor}>"
        make = (
            f"entry @k(%p: {pointer}) {{ %b = make_tensor_view %p, shape = [64], strides = [1] : {tensor} "
            f"%w = make_partition_view %b : {view} %i = constant <i32: 0> : tile<i32> "
        )
        load = f"%x, %t = load_view_tko weak %w[%i] $HERE : {view}, tile<i32> -> tile<8xi32>, token"
        yield _in_module(make + load.replace("$HERE", text) + " }")
        store = f"%u = store_view_tko weak %x, %w[%i] {text} : tile<8xi32>, {view}, tile<i32> -> token"
        yield _in_module(f"{make}{load.replace('$HERE', '')} {store} }}")

    for hint in _HINTS:
        yield from islice(places(f"$(sm_86|default) = {{{hint} = {_NUMBERS}}}"), 2)
    yield next(places(f"$({'|'.join(_KEYS)}) = {{$(|num_cta_in_cga = 2|latency = 2)}}"))
    yield from places("$(sm_70|sm_90|default|x) = {$(|num_cta_in_cga = 2|latency = 2|allow_tma = 3)}")
    yield from places('$(|sm_90 = {}|sm_90 = 3|sm_90 = "x"|sm_90|sm_90 = {sm_90 = {}}|sm_90 = [])')
    yield from places(
        "sm_90 = {$(latency = 2|occupancy = 2)}, $(sm_90|sm_100|default) = {$(latency = 3|occupancy = 1)}"
    )


_FILE = (
    '#file = #cuda_tile.di_file<"$(k.py|)" in "$(/src|)">\n#unit = #cuda_tile.di_compile_unit<file = #file>\n'
)
_LINES = "$(0|1|2147483647|2147483648|4294967295|4294967296|9223372036854775807|18446744073709551615)"


def _subprogram(name: str, line: str = "1", more: str = "", label: str = "k", linkage: str = "k") -> str:
    return (
        f'#{name} = #cuda_tile.di_subprogram<file = #file, line = {line}, name = "{label}", '
        f'linkageName = "{linkage}", compileUnit = #unit{more}>\n'
    )


def _block(name: str, scope: str, line: str = "2", more: str = ", column = 3") -> str:
    return f"#{name} = #cuda_tile.di_lexical_block<scope = #{scope}, file = #file, line = {line}{more}>\n"


def debug_info() -> Iterator[str]:
    """Scopes: their numbers, what lies in what, and which op may stand where.

    Bytecode has no location of a global or an argument, and no call from or to an unknown place.
    """
    plain = _FILE.replace("$(k.py|)", "k.py").replace("$(/src|)", "/src")

    def kernel(own: str, inner: str, name: str = "k") -> str:
        return _in_module(f"entry @{name}() {{ return loc({inner}) }} loc({own})")

    place = '#own = #cuda_tile.di_loc<loc("k.py":1:1) in #sub>\n'
    yield _FILE + _subprogram("sub") + place + kernel("#own", "#own")
    yield plain + _subprogram("sub", _LINES) + place + kernel("#own", "#own")
    yield plain + _subprogram("sub", more=f", scopeLine = {_LINES}") + place + kernel("#own", "#own")
    yield (
        plain
        + _subprogram("sub", label="$(k||x)", linkage="$(k||x)")
        + place
        + kernel("#own", "#own", "$(k|x)")
    )
    for at in (f"{_LINES}:1", f"1:{_LINES}", "0:0"):
        place_at = f'#own = #cuda_tile.di_loc<loc("$(k.py|x.py|)":{at}) in #sub>\n'
        yield plain + _subprogram("sub") + place_at + kernel("#own", "#own")
        yield _in_module(f'entry @k() {{ return loc("k.py":{at}) }} loc("$(k.py|)":{at})')
    for block in (
        _block("block", "sub", _LINES),
        _block("block", "sub", more=f", column = {_LINES}"),
        _block("outer", "sub") + _block("block", "outer"),
        _block("block", "sub", more="") + _block("x", "block"),
    ):
        inner = '#inner = #cuda_tile.di_loc<loc("k.py":2:3) in #block>\n'
        yield plain + _subprogram("sub") + block + place + inner + kernel("#own", "#inner")
    scopes = (
        plain
        + _subprogram("sub")
        + _subprogram("other", label="o", linkage="$(o|k)")
        + _block("block", "sub")
    )
    scopes += _block("apart", "other") + place
    for name, scope in (("inner", "block"), ("far", "other"), ("away", "apart")):
        scopes += f'#{name} = #cuda_tile.di_loc<loc("k.py":9:1) in #{scope}>\n'
    places = (
        "#own|#inner|#far|#away|unknown|\"k.py\":1:1|\"n\"|\"n\"(#inner)|\"n\"(#own)|callsite(#own at #own)|"
        "callsite(#inner at #own)|callsite(#far at #own)|callsite(#own at #far)|"
        "fused[#own, #inner]|fused[#own, #far]|fused[#far, #own]|"
        "fused[unknown, #own]|fused<\"m\">[#own]|fused<#sub>[\"k.py\":1:1]|\"n\"(callsite(#own at #own))|"
        "fused[callsite(#own at #own)]"
    )  # fmt: skip
    yield scopes + kernel("#own", f"$({places})")
    yield scopes + kernel(f"$({places})", "$(unknown|#own|#inner)")
    yield f"{scopes}cuda_tile.module @m {{ entry @k() {{ return }} }} loc($({places}))"
    yield scopes + _in_module(f"entry @k(%a: tile<i32> loc($({places}))) {{ return }} loc(#own)")
    yield scopes + _in_module(
        f"entry @k() {{ loop {{ break loc($({places})) }} loc($(unknown|#own|#inner)) return }} loc(#own)"
    )
    yield scopes + _in_module(
        "entry @$(k|a)() { return loc(#own) } loc(#own) entry @o() { return } loc($(#own|#far))"
    )


FAMILIES = (entries, globals, hints, debug_info)
