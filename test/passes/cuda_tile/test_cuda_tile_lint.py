"""Every rule of cuda-tile-lint on a program that it is about, and on one beside it that it must leave alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tessera_tools.cli.opt import run
from tessera_tools.passes.cuda_tile.lint_rules import RULES

ROOT = Path(__file__).resolve().parents[3]

VIEW = "tensor_view<?x64x{t}, strides=[?,1]>"


def remarks(tmp_path: Path, body: str, arguments: str = "", options: str = "") -> list[str]:
    """The rules that have something to say of a kernel."""
    file = tmp_path / "k.mlir"
    file.write_text(f"testing$func @k({arguments}) {{\n{body}\n}}\n".replace("testing", "cuda_tile.testing"))
    flag = f"--cuda-tile-lint={options}" if options else "--cuda-tile-lint"
    done = run([str(file), flag, "--remarks=json:" + str(tmp_path / "out.json"), "-o", "-"])
    assert done.exit_code == 0, done.stderr.decode()
    return [record["name"] for record in json.loads((tmp_path / "out.json").read_text())]


def make_view(shape: str, strides: str, type: str, before: str = "") -> str:
    kinds = ", ".join(["%"]) and (" tile<i32> ->" if "%" in shape + strides else "")
    return f"{before}\n%v = make_tensor_view %q, shape = [{shape}], strides = [{strides}] :{kinds} {type}\n"


ALIGNED = "%q = assume div_by<16>, %p : tile<ptr<f32>>"
PLAIN = "%q = assume div_by<4>, %p : tile<ptr<f32>>"
POINTER = "%p: tile<ptr<f32>>, %n: tile<i32>, %i: tile<i32>"
FIXED = "tensor_view<64x64xf32, strides=[64,1]>"
BEFORE = f"""{ALIGNED}
%b, %b1, %b2 = get_tile_block_id : tile<i32>
%one = constant <i32: 1> : tile<i32>
%h = subi %b, %one : tile<i32>"""


def with_use(
    view: str, tile: str = "64x64", padding: str = "", tail: str = "", load: str = "weak %w[%i, %i]"
) -> str:
    part = f"partition_view<tile=({tile}), {padding}{view}>"
    return (
        f"%w = make_partition_view %v : {part}\n"
        f"%x, %t = load_view_tko {load}{tail} : {part}, tile<i32> -> tile<{tile}xf32>, token\n"
    )


def fixed(
    base: str = ALIGNED, view: str = FIXED, shape: str = "64, 64", strides: str = "64, 1", **use: str
) -> str:
    return make_view(shape, strides, view, base) + with_use(view, **use)


ROWS = "tensor_view<?x64xf32, strides=[?,1]>"
TALL = "tensor_view<64x?xf32, strides=[64,1]>"
ORDERED = (
    fixed()
    + "%s = store_view_tko weak %x, %w[%i, %i]{token} : tile<64x64xf32>, partition_view<tile=(64x64), "
    + FIXED
    + ">, tile<i32> -> token"
)


def product(m: int, n: int, k: int, source: str, acc: str = "f32") -> tuple[str, str]:
    types = f"tile<{m}x{k}x{source}>", f"tile<{k}x{n}x{source}>", f"tile<{m}x{n}x{acc}>"
    return f"%d = mmaf %a, %b, %c : {', '.join(types)}", f"%a: {types[0]}, %b: {types[1]}, %c: {types[2]}"


def loop(k: int) -> str:
    left, right = (f"tensor_view<{shape}, strides=[{stride},1]>" for shape, stride in
                   ((f"256x{k}xf16", k), (f"{k}x256xf16", 256)))  # fmt: skip
    views = [
        f"partition_view<tile=({tile}), {view}>" for tile, view in ((f"256x{k}", left), (f"{k}x256", right))
    ]
    return f"""
      %q = assume div_by<16>, %p : tile<ptr<f16>>
      %l = make_tensor_view %q, shape = [256, {k}], strides = [{k}, 1] : {left}
      %r = make_tensor_view %q, shape = [{k}, 256], strides = [256, 1] : {right}
      %lv = make_partition_view %l : {views[0]}
      %rv = make_partition_view %r : {views[1]}
      %z = constant <f32: 0.0> : tile<256x256xf32>
      %e = for %j in (%i to %n, step %n) : tile<i32> iter_values(%c = %z) -> (tile<256x256xf32>) {{
        %a, %t = load_view_tko weak %lv[%i, %i] : {views[0]}, tile<i32> -> tile<256x{k}xf16>, token
        %b, %u = load_view_tko weak %rv[%i, %i] : {views[1]}, tile<i32> -> tile<{k}x256xf16>, token
        %d = mmaf %a, %b, %c : tile<256x{k}xf16>, tile<{k}x256xf16>, tile<256x256xf32>
        continue %d : tile<256x256xf32>
      }}"""


GATHER = "%x, %t = load_ptr_tko weak %o : tile<{n}xptr<f32>> -> tile<{n}xf32>, token"
SPREAD = """%e = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
%o = broadcast %e : tile<1xptr<f32>> -> tile<{n}xptr<f32>>
"""
HINTED = " optimization_hints = <default = {%s}>"

# rule: (arguments, options, a program with it, a program without it)
CASES: dict[str, tuple[str, str, str, str]] = {
    "unaligned-base": (POINTER, "", fixed(PLAIN), fixed()),
    "unassumed-stride": (
        POINTER, "",
        fixed(view=ROWS, shape="%n, 64", strides="%n, 1"),
        fixed(ALIGNED + "\n%m = assume div_by<4>, %n : tile<i32>", ROWS, "%m, 64", "%m, 1"),
    ),
    "unaligned-stride": (
        POINTER, "", fixed(view="tensor_view<64x64xf32, strides=[65,1]>", strides="65, 1"), fixed(),
    ),
    "unassumed-extent": (
        POINTER, "",
        fixed(view=TALL, shape="64, %n"),
        fixed(ALIGNED + "\n%m = assume div_by<4>, %n : tile<i32>", TALL, "64, %m"),
    ),
    "no-unit-stride": (
        POINTER, "", fixed(view="tensor_view<64x64xf32, strides=[256,4]>", strides="256, 4"), fixed(),
    ),
    "short-rows": (POINTER, "", fixed(tile="64x4"), fixed(tile="64x8")),
    "unspecified-padding": (
        POINTER, "",
        fixed(view=ROWS, shape="%n, 64", strides="%n, 1"),
        fixed(view=ROWS, shape="%n, 64", strides="%n, 1", padding="padding_value = zero, "),
    ),
    "negative-index": (POINTER, "", fixed(BEFORE, load="weak %w[%h, %i]"), fixed(BEFORE, load="weak %w[%b, %i]")),
    "pointer-tile": (
        POINTER, "", PLAIN + "\n" + (SPREAD + GATHER).format(n=128), ALIGNED + "\n" + (SPREAD + GATHER).format(n=128),
    ),
    "unordered-access": (POINTER, "", ORDERED.format(token=""), ORDERED.format(token=" token = %t")),
    "ignored-hint": (
        POINTER, "", fixed(tail=HINTED % "allow_tma = true"), fixed(tail=HINTED % "allow_tma = false"),
    ),
    "invalid-hint": (POINTER, "", fixed(tail=HINTED % "latency = 11"), fixed(tail=HINTED % "latency = 10")),
    "f32-mma": ("", "", *product(64, 64, 16, "f32")),
    "fp8-mma": ("", "", *product(64, 64, 32, "f8E4M3FN")),
    "f16-accumulator": ("", "", *product(64, 64, 16, "f16", "f16")),
    "small-mma": ("", "", *product(8, 8, 16, "f16")),
    "narrow-mma": ("", "gpu-name=sm_90", *product(16, 64, 16, "f16")),
    "large-tile": (
        "%a: tile<256x256xf32>, %b: tile<64x64xf32>", "",
        "%c = mulf %a, %a : tile<256x256xf32>", "%c = mulf %b, %b : tile<64x64xf32>",
    ),
    "large-operands": ("%p: tile<ptr<f16>>, %n: tile<i32>, %i: tile<i32>", "", loop(256), loop(64)),
    "exact-rounding": (
        "%a: tile<8xf32>", "", "%b = divf %a, %a : tile<8xf32>", "%b = divf %a, %a rounding<approx> : tile<8xf32>",
    ),
    "integer-division": (
        "%a: tile<8xi32>", "", "%b = divi %a, %a signed : tile<8xi32>",
        "%c = constant <i32: 8> : tile<8xi32>\n%b = divi %a, %c signed : tile<8xi32>",
    ),
}  # fmt: skip
BETTER = {
    "f32-mma": product(64, 64, 16, "tf32"),
    "fp8-mma": product(64, 64, 32, "f16"),
    "f16-accumulator": product(64, 64, 16, "f16"),
    "small-mma": product(16, 8, 16, "f16"),
    "narrow-mma": product(64, 64, 16, "f16"),
}
"""What is left alone, for rules on matrix products, whose operands are the kernel's arguments."""


def both(rule: str) -> tuple[str, tuple[str, str], tuple[str, str]]:
    arguments, options, bad, good = CASES[rule]
    if rule in BETTER:
        return options, (bad, good), BETTER[rule]
    return options, (bad, arguments), (good, arguments)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_finds_what_it_is_about(rule: str, tmp_path: Path) -> None:
    options, (body, arguments), _ = both(rule)
    assert rule in remarks(tmp_path, body, arguments, options)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_leaves_the_better_program_alone(rule: str, tmp_path: Path) -> None:
    options, _, (body, arguments) = both(rule)
    assert rule not in remarks(tmp_path, body, arguments, options)


def test_a_disabled_rule_says_nothing(tmp_path: Path) -> None:
    _, (body, arguments), _ = both("unaligned-base")
    assert "unaligned-base" not in remarks(tmp_path, body, arguments, "disable=unaligned-base")


def test_a_category_leaves_out_the_others(tmp_path: Path) -> None:
    _, (body, arguments), _ = both("unaligned-base")
    assert remarks(tmp_path, body, arguments, "category=tensorcore") == []


def test_what_a_target_has_decides(tmp_path: Path) -> None:
    _, (body, arguments), _ = both("fp8-mma")
    assert "fp8-mma" not in remarks(tmp_path, body, arguments, "gpu-name=sm_89")


def through_two_views(stored: str) -> str:
    """Loads through a view of %p, and stores through one of `stored`."""
    part = f"partition_view<tile=(64x64), {FIXED}>"
    other = make_view("64, 64", "64, 1", FIXED, f"%o = assume div_by<16>, {stored} : tile<ptr<f32>>")
    return (
        fixed()
        + other.replace("%v", "%u").replace("%q", "%o")
        + (
            f"%y = make_partition_view %u : {part}\n"
            f"%s = store_view_tko weak %x, %y[%i, %i] : tile<64x64xf32>, {part}, tile<i32> -> token"
        )
    )


def test_views_of_one_pointer_need_an_order(tmp_path: Path) -> None:
    arguments = POINTER + ", %r: tile<ptr<f32>>"
    assert "unordered-access" in remarks(tmp_path, through_two_views("%p"), arguments)
    assert "unordered-access" not in remarks(tmp_path, through_two_views("%r"), arguments)


def test_an_unknown_rule_is_refused() -> None:
    done = run(["-", "--cuda-tile-lint=disable=nothing"], stdin=b"")
    assert done.exit_code == 1
    assert b"unknown rule 'nothing'" in done.stderr


def test_an_unknown_target_is_refused() -> None:
    done = run(["-", "--cuda-tile-lint=gpu-name=sm_1"], stdin=b"cuda_tile.module @m { }")
    assert done.exit_code == 1
    assert b"unknown GPU 'sm_1'" in done.stderr


def test_the_page_explains_every_rule() -> None:
    page = (ROOT / "docs" / "lint.md").read_text()
    for rule, (category, finds) in RULES.items():
        assert f"| `{rule}` | {category} | {finds} |" in page


LOWEST = {
    "a neighbor": ("%h = subi %b, %one : tile<i32>", -1),
    "a tap of a filter": (
        """%three = constant <i32: 3> : tile<i32>
        %r = remi %b, %three signed : tile<i32>
        %s = muli %b, %three : tile<i32>
        %u = subi %r, %one : tile<i32>
        %h = addi %s, %u : tile<i32>""",
        -1,
    ),
    "the last of three": (
        """%three = constant <i32: 3> : tile<i32>
        %q1 = divi %b, %three signed : tile<i32>
        %q2 = subi %q1, %three : tile<i32>
        %h = mini %q2, %b signed : tile<i32>""",
        -3,
    ),
    "a constant": ("%h = constant <i32: -7> : tile<i32>", -7),
    "a number of 16 bits": (
        """%s = constant <i16: -2> : tile<i16>
        %h = exti %s signed : tile<i16> -> tile<i32>""",
        -2,
    ),
    "nothing is known": ("%h = subi %n, %one : tile<i32>", None),
    "nothing of a product": ("%s = subi %b, %one : tile<i32>\n%h = muli %s, %s : tile<i32>", None),
    "at least zero": (
        """%s = subi %b, %one : tile<i32>
        %zero = constant <i32: 0> : tile<i32>
        %h = maxi %s, %zero signed : tile<i32>""",
        None,
    ),
    "the last tile": (
        f"""%pv = make_partition_view %v : partition_view<tile=(64x64), {FIXED}>
        %s0, %s1 = get_index_space_shape %pv : partition_view<tile=(64x64), {FIXED}> -> tile<i32>
        %h = subi %s0, %one : tile<i32>""",
        None,
    ),
    "assumed": ("%s = subi %b, %one : tile<i32>\n%h = assume bounded<0, ?>, %s : tile<i32>", None),
}


@pytest.mark.parametrize("name", LOWEST)
def test_how_low_an_index_may_be(name: str, tmp_path: Path) -> None:
    lines, lowest = LOWEST[name]
    start = BEFORE[: BEFORE.index("%h =")]
    body = make_view("64, 64", "64, 1", FIXED, start) + lines + "\n" + with_use(FIXED, load="weak %w[%h, %i]")
    remarks(tmp_path, body, POINTER)
    text = (tmp_path / "out.json").read_text()
    assert ("negative-index" in text) == (lowest is not None)
    assert lowest is None or f"as low as {lowest};" in text


def test_the_counter_of_a_loop_may_begin_before_zero(tmp_path: Path) -> None:
    part = f"partition_view<tile=(64x64), {FIXED}>"
    for kind, first, found in (("", "%h", True), ("", "%b", False), ("unsigned ", "%h", False)):
        loop = f"""%w = make_partition_view %v : {part}
          for {kind}%k in ({first} to %n, step %one) : tile<i32> {{
            %x, %t = load_view_tko weak %w[%k, %i] : {part}, tile<i32> -> tile<64x64xf32>, token
            continue
          }}"""
        body = make_view("64, 64", "64, 1", FIXED, BEFORE) + loop
        assert ("negative-index" in remarks(tmp_path, body, POINTER)) == found
