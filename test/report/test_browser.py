"""The report in a browser: what a person sees, points at and clicks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tessera_tools as tt
from oracles import require_tool
from tessera_tools.cli import opt, run, translate
from tessera_tools.dsl import arange, f32, kernel, load, ptr, store

sync_api = pytest.importorskip("playwright.sync_api")
ROOT = Path(__file__).resolve().parents[2]

HOSTILE = "</script><script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"
ARGUMENTS = ["--arg=a=rand:f32:200", "--arg=i32:256", "--arg=c=zeros:f32:256"]  # a is shorter than n
INSIDE = ["--arg=a=rand:f32:256", *ARGUMENTS[1:]]
VIEW = "partition_view<tile=(256), tensor_view<?xf32, strides=[1]>>"
PROGRAM = f"""// {HOSTILE} <!-- <script>
entry @add(%a: tile<ptr<f32>>, %n: tile<i32>, %c: tile<ptr<f32>>) {{
  %a_tensor = make_tensor_view %a, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %c_tensor = make_tensor_view %c, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %a_tiles = make_partition_view %a_tensor : {VIEW}
  %c_tiles = make_partition_view %c_tensor : {VIEW}
  %start = make_token : token
  %i, %j, %k = get_tile_block_id : tile<i32>
  %x, %x_done = load_view_tko weak %a_tiles[%i] token = %start : {VIEW}, tile<i32> -> tile<256xf32>, token
  %y = addf %x, %x : tile<256xf32>
  %stored = store_view_tko weak %y, %c_tiles[%i] token = %start : tile<256xf32>, {VIEW}, tile<i32> -> token
  return
}}
"""


@kernel
def double(x: ptr[f32]):
    place = x + arange(256)
    store(place, load(place) * 2.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the reports of a GEMM, of a hostile program that ran, and of passes alone."""
    require_tool("ptxas")
    require_tool("nvdisasm")
    made = tmp_path_factory.mktemp("reports")
    (made / "add.mlir").write_text(PROGRAM)
    gemm = str(ROOT / "examples/gemm.mlir")
    for command, argv in (
        (translate, [gemm, "--mlir-to-ptx", "--gpu-name=sm_90a", "-o", "gemm.ptx", "--report=gemm.html"]),
        (run, ["add.mlir", "--gpu-name=sm_80", "--report=add.html", *ARGUMENTS]),
        (run, ["add.mlir", "--gpu-name=sm_80", "--timing", "--report=clock.html", *INSIDE]),
        (opt, [gemm, "--canonicalize", "--cse", "-o", "o.mlir", "--report=opt.html"]),
    ):
        done = command.run(argv, cwd=str(made))
        assert done.exit_code in (0, 3), done.stderr.decode()
    tt.compile(double, "sm_80").report(made / "python.html")
    return made


@pytest.fixture
def show(browser: Any, folder: Path) -> Iterator[Any]:
    """Opens a report; at the end, nothing was requested, and the page had no error."""
    heard: list[str] = []
    opened: list[Any] = []

    def open_(name: str, **settings: Any) -> Any:
        page = browser.new_context(viewport={"width": 1500, "height": 900}, **settings).new_page()
        opened.append(page)
        page.on("pageerror", lambda failure: heard.append(str(failure)))
        page.on("console", lambda message: heard.append(message.text))
        page.on("dialog", lambda dialog: heard.append(dialog.message))
        url = (folder / name).as_uri()
        page.on("request", lambda request: heard.append(request.url) if request.url != url else None)
        page.goto(url)
        return page

    yield open_
    for page in opened:
        page.context.close()
    assert heard == []


def texts(page: Any, selector: str) -> list[str]:
    return page.locator(selector).all_text_contents()


def rows(page: Any, stage: str, text: str) -> Any:
    return page.locator(f'.pane[data-stage="{stage}"] .row', has_text=text)


def test_pointing_at_a_tile_op_lights_up_its_ptx_and_sass(show: Any) -> None:
    page = show("gemm.html")
    rows(page, "cuda_tile", "= mmaf").locator(".n").hover()
    lit = page.locator('.pane[data-stage="ptx"] .row.hot').all_text_contents()
    assert any("wgmma.mma_async" in text for text in lit)
    assert any(
        "HGMMA" in text for text in page.locator('.pane[data-stage="sass"] .row.hot').all_text_contents()
    )
    assert not any("cp.async.bulk.tensor" in text for text in lit)


def test_and_back_from_an_instruction_to_the_tile_op(show: Any) -> None:
    page = show("gemm.html")
    rows(page, "ptx", "wgmma.mma_async").first.locator(".n").hover()
    assert ["mmaf" in text for text in texts(page, '.pane[data-stage="cuda_tile"] .row.hot')] == [True]
    key = rows(page, "cuda_tile", "= mmaf").get_attribute("data-key")
    page.locator(f'.pane[data-stage="sass"] .row[data-key="{key}"]', has_text="HGMMA").first.locator(
        ".n"
    ).hover()
    assert "mmaf" in page.locator('.pane[data-stage="cuda_tile"] .row.hot').inner_text()


def test_a_click_keeps_the_lines_and_scrolls_to_them(show: Any) -> None:
    page = show("gemm.html")
    rows(page, "cuda_tile", "= mmaf").locator(".n").click()
    page.locator("h1").hover()
    kept = page.locator('.pane[data-stage="sass"] .row.kept').first
    box, pane = kept.bounding_box(), page.locator('.pane[data-stage="sass"] .lines').bounding_box()
    assert pane["y"] <= box["y"] <= pane["y"] + pane["height"]
    assert re.match(r"\d+ of [\d,]+ lines", page.locator('.pane[data-stage="sass"] h3 span').inner_text())
    page.keyboard.press("Escape")
    assert page.locator(".row.kept").count() == 0


def test_the_keyboard_does_the_same(show: Any) -> None:
    page = show("gemm.html")
    page.locator('.pane[data-stage="cuda_tile"] .lines').focus()
    for _ in range(80):
        page.keyboard.press("ArrowDown")
        if "= mmaf" in page.locator('.pane[data-stage="cuda_tile"] .row.at').inner_text():
            break
    page.keyboard.press("Enter")
    assert any(
        "wgmma.mma_async" in text
        for text in page.locator('.pane[data-stage="ptx"] .row.kept').all_text_contents()
    )
    page.keyboard.press("ArrowRight")
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused == "nv_tileas, line by line"


def test_stages_are_shown_and_hidden(show: Any) -> None:
    page = show("gemm.html")
    shown = [pane.get_attribute("data-stage") for pane in page.locator(".pane:visible").all()]
    assert shown == ["cuda_tile", "nv_tileas", "ptx", "sass"]
    button = page.get_by_role("button", name="LLVM IR")
    assert button.get_attribute("aria-pressed") == "false"
    button.click()
    assert page.locator('.pane[data-stage="llvmir"]').is_visible()
    assert button.get_attribute("aria-pressed") == "true"


def test_each_pass_has_its_time_and_its_diff(show: Any) -> None:
    page = show("gemm.html")
    passes = page.locator(".pass")
    names = passes.locator("span:first-child").all_text_contents()
    assert names.index("tileas-assign-layouts") < names.index("tileas-insert-barriers")
    passes.filter(has_text="tileas-insert-barriers").click()
    added = page.locator("#diff .plus").all_text_contents()
    assert any("nv_tileas.offset" in line for line in added)
    page.locator("#passlist").focus()
    page.keyboard.press("Home")
    assert page.locator('.pass[aria-selected="true"] span').first.inner_text() == names[0]


def test_remarks_are_in_place(show: Any) -> None:
    page = show("gemm.html")
    said = page.locator('.pane[data-stage="cuda_tile"] .row', has_text="= mmaf").locator(
        "xpath=following-sibling::*[1]"
    )
    assert "said" in said.get_attribute("class")
    page.locator("#remarklist .remark", has_text="product by").first.hover()
    assert page.locator('.pane[data-stage="cuda_tile"] .row.hot', has_text="= mmaf").count() == 1


def test_pictures_and_figures_are_there(show: Any) -> None:
    page = show("gemm.html")
    assert "T0 r0-1" in page.locator("#layouts").text_content()
    assert "no bank conflict" in page.locator("#layouts").text_content()
    assert page.locator("#memory svg .use").count() >= 3
    assert "stage" in page.locator("#schedule pre").first.inner_text()
    assert "registers" in page.locator("#resources").inner_text()
    assert "limited by" in page.locator("header .facts").inner_text()
    place = page.locator("#memory svg .use[data-key]").first
    place.hover()
    assert page.locator('.pane[data-stage="cuda_tile"] .row.hot').count() == 1


def test_a_run_adds_the_clock_and_the_findings(show: Any) -> None:
    clock = show("clock.html").locator("#clock")
    assert "cycles" in clock.locator("pre").inner_text()
    assert clock.locator("svg rect").count() > 10
    page = show("add.html")
    finding = page.locator("#findings .finding").first
    assert "out-of-bounds" in finding.inner_text()
    finding.hover()
    assert page.locator('.pane[data-stage="cuda_tile"] .row.hot', has_text="load_view_tko").count() == 1


def test_a_hostile_program_stays_text(show: Any) -> None:
    page = show("add.html")
    assert HOSTILE in rows(page, "cuda_tile", "onerror").inner_text()
    assert page.evaluate("window.pwned === undefined")
    assert page.locator("img").count() == 0


def test_passes_alone_have_a_report(show: Any) -> None:
    page = show("opt.html")
    assert page.locator(".pass span:first-child").all_text_contents() == ["canonicalize", "cse"]
    assert page.locator(".pane").count() == 1


@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_the_theme_follows_the_system_and_the_button(show: Any, scheme: str, dark: bool) -> None:
    page = show("gemm.html", color_scheme=scheme)

    def brightness() -> int:
        found = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", found)[:3]))

    assert (brightness() < 200) == dark
    page.locator("#theme").click()
    assert (brightness() < 200) != dark


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_legible(show: Any, scheme: str) -> None:
    """The contrast of the text of a line, also when it is lit, is that of WCAG AA."""
    page = show("gemm.html", color_scheme=scheme)
    rows(page, "cuda_tile", "= mmaf").locator(".n").click()
    pairs = page.evaluate(
        """() => [".facts dd", ".facts dt", ".hint", ".row.kept .t", ".row .t", ".pass.same span"].map((one) => {
          const node = document.querySelector(one);
          let ground = node;
          const clear = (n) => getComputedStyle(n).backgroundColor;
          while (clear(ground) === "rgba(0, 0, 0, 0)" && ground.parentElement) ground = ground.parentElement;
          return [one, getComputedStyle(node).color, clear(ground)];
        })"""
    )
    for name, text, ground in pairs:
        assert contrast(text, ground) >= 4.5, (name, text, ground)


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two CSS colors, by WCAG 2."""

    def luminance(color: str) -> float:
        parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_timeline_follows_the_dark_mode(show: Any) -> None:
    page = show("clock.html", color_scheme="dark")
    text, ground = page.evaluate(
        """['text', '.ground'].map((one) =>
          getComputedStyle(document.querySelector(`#clock svg ${one}`)).fill)"""
    )
    assert contrast(text, ground) >= 4.5
    assert contrast(ground, "rgb(0, 0, 0)") < 2


def test_the_report_of_a_python_kernel_begins_with_its_lines(show: Any) -> None:
    page = show("python.html")
    assert texts(page, ".pane h3")[0].startswith("Python")
    rows(page, "python", "store(place").locator(".n").hover()
    assert any("st.global" in text for text in texts(page, '.pane[data-stage="ptx"] .row.hot'))


def test_a_remark_is_shown_once(show: Any) -> None:
    for name in ("python.html", "gemm.html"):
        page = show(name)
        shown = texts(page, ".pane .said")
        told = page.evaluate("data.remarks.filter((one) => one.key).length")
        assert 0 < len(shown) <= told


def test_what_was_missed_comes_first(show: Any) -> None:
    page = show("gemm.html")
    kinds = page.evaluate("data.remarks.map((one) => one.kind === 'missed')")
    assert any(kinds)
    assert kinds == sorted(kinds, reverse=True)
    shown = page.evaluate("data.remarks.map((one) => JSON.stringify(one))")
    assert len(shown) == len(set(shown))


def test_the_schedule_has_bars_in_the_color_of_what_is_busy(show: Any) -> None:
    page = show("gemm.html")
    copies, products = page.locator("#schedule .busy.memory"), page.locator("#schedule .busy.tensor")
    assert copies.count() >= 2
    assert products.count() >= 1
    color = "(one) => getComputedStyle(one).backgroundColor"
    assert copies.first.evaluate(color) != products.first.evaluate(color)
    assert "nv_tileas.tiled_load: memory" in page.locator("#schedule .chart").first.inner_text()


def test_on_paper_nothing_is_cut(show: Any) -> None:
    page = show("gemm.html")
    page.emulate_media(media="print")
    sizes = page.evaluate(
        "[...document.querySelectorAll('.lines')].filter((n) => n.offsetParent)"
        ".map((n) => [n.scrollHeight, n.clientHeight])"
    )
    assert sizes
    assert all(inside <= outside + 1 for inside, outside in sizes)
    assert not page.locator("#toggles").is_visible()


def test_the_page_is_a_valid_document_with_its_data(folder: Path) -> None:
    text = (folder / "add.html").read_text()
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text)
    assert any(HOSTILE in line for line in json.loads(data)["stages"][0]["lines"])
    assert not re.search(r"(?:src|href)=[\"'](?!#)", text.split("<script>")[0])
