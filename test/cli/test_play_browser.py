"""The page of `tessera-play` in a browser: what a person types, points at and clicks."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.play_server import PlayServer

sync_api = pytest.importorskip("playwright.sync_api")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

ROOT = Path(__file__).resolve().parents[2]
VECTOR_ADD = (ROOT / "examples" / "vector_add.mlir").read_text()
SMALL = """\
func.func @f(%a: i32) -> i32 {
  %b = arith.addi %a, %a : i32
  return %b : i32
}
"""
HOSTILE = "</script><script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"
MILLISECONDS = 60_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlayServer]:
    example = str(ROOT / "examples" / "vector_add.mlir")
    with PlayServer(example, cwd=str(tmp_path_factory.mktemp("play")), alone=True) as started:
        yield started


@pytest.fixture(scope="module")
def pages(browser: Any) -> Iterator[Callable[..., Any]]:
    """Pages by the settings of their context. A new one takes longer than most tests."""
    known: dict[str, Any] = {}

    def page_with(**settings: Any) -> Any:
        key = repr(settings)
        if key not in known:
            known[key] = browser.new_context(**settings).new_page()
        return known[key]

    yield page_with
    for page in known.values():
        page.context.close()


@pytest.fixture
def show(pages: Callable[..., Any], server: PlayServer) -> Iterator[Any]:
    """Opens the page; at the end, nothing was requested elsewhere, and the page had no error."""
    heard: list[str] = []
    opened: list[Any] = []

    def requested(request: Any) -> None:
        if not request.url.startswith((server.url, "data:", "about:")):
            heard.append(request.url)

    listeners: dict[str, Callable[[Any], None]] = {
        "pageerror": lambda failure: heard.append(str(failure)),
        "console": lambda message: heard.append(message.text),
        "dialog": lambda dialog: heard.append(dialog.message),
        "request": requested,
    }

    def open_(state: dict[str, Any] | str | None = None, **settings: Any) -> Any:
        sync_api.expect.set_options(timeout=MILLISECONDS)
        page = pages(**settings)
        assert page not in opened
        opened.append(page)
        page.set_viewport_size({"width": 1500, "height": 900})
        page.goto("about:blank")  # another fragment alone would not load the page again
        for event, listener in listeners.items():
            page.on(event, listener)
        fragment = state if isinstance(state, str) else "" if state is None else f"#{encoded(state)}"
        page.goto(server.url + fragment)
        expect(page.locator("#status")).to_have_class(re.compile("good|error"))
        return page

    yield open_
    for page in opened:
        page.unroute_all()
        page.evaluate("localStorage.clear(), sessionStorage.clear()")
        page.goto("about:blank")
        for event, listener in listeners.items():
            page.remove_listener(event, listener)
    assert heard == []


def expect(locator: Any) -> Any:
    return sync_api.expect(locator)


def encoded(state: dict[str, Any]) -> str:
    """The fragment of a state, as the page writes it."""
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(json.dumps(state).encode()) + packer.flush()
    return "1" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def small(**more: Any) -> dict[str, Any]:
    """A state in which passes run on a small program, which is fast."""
    return {"program": SMALL, "passes": "--canonicalize --cse", **more}


def line(page: Any, text: str) -> Any:
    return page.locator(".line", has_text=text)


def replace(page: Any, text: str) -> None:
    """Type over everything."""
    page.locator("#program").focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def leave_unanswered(page: Any) -> None:
    """No result of the next changes comes in between."""
    page.route("**/compile", lambda route: None)


# -- a program and its stages


def test_the_page_begins_with_the_file_and_its_ptx(show: Any) -> None:
    page = show()
    assert page.locator("#program").input_value() == VECTOR_ADD
    expect(page.locator("#status")).to_have_text(re.compile(r"\d+ passes"))
    shown = [pane.get_attribute("data-stage") for pane in page.locator(".pane:visible").all()]
    assert shown == ["ptx"]
    expect(page.locator('.pane[data-stage="ptx"] .row', has_text=".entry vector_add").first).to_be_visible()
    expect(page.locator("#facts")).to_contain_text("vector_add")


def test_lines_of_the_program_and_of_its_stages_light_up_together(show: Any) -> None:
    page = show()
    row = page.locator('.pane[data-stage="ptx"] .row', has_text="add.rn.f32").first
    if not row.count():
        row = page.locator('.pane[data-stage="ptx"] .row', has_text="add.f32").first
    row.scroll_into_view_if_needed()
    row.locator(".n").hover()
    assert "addf" in page.locator(".line.hot").inner_text()
    place = line(page, "= addf").bounding_box()
    page.mouse.move(place["x"] + 40, place["y"] + 10)
    assert any("add" in text for text in page.locator(".row.hot .t").all_text_contents())
    page.mouse.click(place["x"] + 40, place["y"] + 10)
    page.mouse.move(0, 0)
    assert page.locator('.pane[data-stage="ptx"] .row.kept').count() >= 1
    page.keyboard.press("Escape")
    assert page.locator(".kept").count() == 0


def test_any_stage_is_shown_and_stays_when_the_program_changes(show: Any) -> None:
    page = show()
    page.get_by_role("button", name="nv_tileas").click()
    page.get_by_role("button", name="PTX").click()
    assert page.locator('.pane[data-stage="nv_tileas"]').is_visible()
    assert not page.locator('.pane[data-stage="ptx"]').is_visible()
    replace(page, VECTOR_ADD.replace("@vector_add(", "@renamed("))
    expect(page.locator('.pane[data-stage="nv_tileas"] .row', has_text="@renamed").first).to_be_visible()
    assert not page.locator('.pane[data-stage="ptx"]').is_visible()


def test_the_gpu_and_the_options_change_what_is_compiled(show: Any) -> None:
    page = show()
    page.locator("#gpu").select_option("sm_90")
    expect(page.locator("#facts")).to_contain_text("sm_90a")
    page.get_by_role("button", name="Options").click()
    page.get_by_label("num-warps").select_option("8")
    expect(page.locator('.pane[data-stage="ptx"] .row', has_text=".reqntid 256")).to_have_count(1)


def test_each_pass_has_its_diff(show: Any) -> None:
    page = show(small(program=SMALL.replace("arith.addi %a, %a", "arith.subi %a, %a")))
    page.get_by_role("tab", name="Passes").click()
    page.locator(".pass", has_text="canonicalize").click()
    expect(page.locator("#diff .plus").first).to_contain_text("arith.constant 0")
    page.locator("#passlist").focus()
    page.keyboard.press("End")
    assert page.locator('.pass[aria-selected="true"]').inner_text().startswith("cse")
    expect(page.locator("#diff")).to_contain_text("This pass changed nothing")
    # It stays selected when the program changes.
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        replace(page, SMALL)
    expect(page.locator("#status")).to_have_class("good")
    assert page.locator('.pass[aria-selected="true"]').inner_text().startswith("cse")


# -- errors


def test_an_error_is_told_at_its_line_while_one_types(show: Any) -> None:
    page = show(small())
    replace(page, SMALL.replace("arith.addi %a, %a", "arith.addi %a, %nobody"))
    expect(page.locator("#status")).to_have_text("1 error")
    told = line(page, "%nobody")
    expect(told.locator(".told.error")).to_contain_text("undeclared SSA value name '%nobody'")
    assert told.locator(".wavy").inner_text() == "%nobody"
    assert page.locator(".gutter .error").inner_text() == "2"
    problem = page.locator(".problem.error")
    assert problem.inner_text().startswith("2:")
    problem.click()
    page.keyboard.press("Shift+End")
    assert page.evaluate("getSelection().toString()").startswith("%nobody")
    # The result of the last good program is still there, and pale.
    assert page.locator("#panels").get_attribute("class") == "panels stale"
    replace(page, SMALL)
    expect(page.locator("#status")).to_have_text("2 passes")
    assert page.locator(".told, .problem, .wavy").count() == 0


def test_a_wrong_pass_is_told(show: Any) -> None:
    page = show(small())
    page.get_by_role("button", name="Options").click()
    page.locator("#passes").fill("--canonicalise")
    expect(page.locator(".problem")).to_contain_text("did you mean 'canonicalize'?")


def test_a_server_that_has_ended_is_told(browser: Any) -> None:
    with PlayServer() as server:
        page = browser.new_context().new_page()
        page.goto(f"{server.url}#{encoded(small())}")
        expect(page.locator("#status")).to_have_class(re.compile("good"), timeout=MILLISECONDS)
        server.close()
        page.locator("#program").focus()
        page.keyboard.type(" ")
        expect(page.locator(".problem")).to_contain_text(
            "Is tessera-play still running?", timeout=MILLISECONDS
        )
        page.context.close()


# -- runs


def test_a_run_shows_the_arrays(show: Any) -> None:
    page = show()
    assert page.locator("#arguments").get_attribute("placeholder").startswith("a=rand:f32:128\ni32:128")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("#ran")).to_contain_text("Run: success")
    expect(page.locator("#findings")).to_contain_text("found nothing")
    assert page.get_by_role("tab", name="Run").get_attribute("aria-selected") == "true"
    assert page.locator(".buffers tr").count() == 3
    page.locator("#program").focus()
    page.keyboard.type(" ")
    expect(page.locator("#ran")).to_have_class("stale")


def test_findings_are_at_their_lines(show: Any) -> None:
    arguments = "a=rand:f32:100 i32:128 i32:1 b=rand:f32:128 i32:128 i32:1 c=zeros:f32:128 i32:128 i32:1"
    page = show({"program": VECTOR_ADD, "arguments": arguments.replace(" ", "\n"), "tab": "run"})
    page.locator("#program").focus()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#ran")).to_contain_text("Run: findings")
    assert "load" in page.locator(".line", has=page.locator(".told.error")).inner_text()
    assert page.locator(".wavy").inner_text().startswith("%")
    finding = page.locator("#findings .finding").first
    assert "out-of-bounds" in finding.inner_text()
    finding.hover()
    assert "load" in page.locator(".line.hot").inner_text()


def test_the_clock_draws_its_timeline(show: Any) -> None:
    page = show({"program": VECTOR_ADD, "options": {"gpu-name": "sm_90"}, "tab": "run"})
    page.get_by_label("timing").check()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("#clock svg")).to_be_visible()
    assert page.locator("#clock svg rect").count() > 3
    assert "cycles" in page.locator("#clock pre").inner_text()


# -- the address


def test_the_address_has_the_program_and_the_options(show: Any, server: PlayServer) -> None:
    page = show(small(), permissions=["clipboard-read", "clipboard-write"])
    replace(page, SMALL.replace("@f", "@shared"))
    page.locator("#gpu").select_option("sm_100")
    page.get_by_role("tab", name="Passes").click()
    expect(page.locator("#status")).to_have_text("2 passes")
    page.get_by_role("button", name="Share").click()
    expect(page.locator("#status")).to_contain_text("copied")
    address = page.evaluate("navigator.clipboard.readText()")
    assert address.startswith(f"{server.url}#1")
    page.reload()
    other = show(address.removeprefix(server.url))
    for one in (page, other):
        expect(one.locator("#status")).to_have_text("2 passes")
        assert "@shared" in one.locator("#program").input_value()
        assert one.locator("#gpu").input_value() == "sm_100"
        assert one.get_by_role("tab", name="Passes").get_attribute("aria-selected") == "true"


def test_the_program_of_an_address_is_not_run(show: Any) -> None:
    page = show({"program": VECTOR_ADD, "tab": "run"})
    assert page.locator("#ran").inner_text() == ""


@pytest.mark.parametrize(
    "fragment",
    [
        "#x",
        "#1",
        "#1%%%",
        "#1AAAA",
        f"#{encoded({'program': 'x' * 40_000_000})}",
        "#1" + base64.urlsafe_b64encode(zlib.compress(b"[" * 100_000)[2:-4]).decode(),
    ],
    ids=["version", "empty", "no base64", "no deflate", "bomb", "nested"],
)
def test_an_address_that_cannot_be_read_is_told(show: Any, fragment: str) -> None:
    page = show(fragment)
    expect(page.locator("#status")).to_have_text("The address has no program that can be read.")
    assert page.locator("#program").input_value() == VECTOR_ADD


def test_an_address_with_other_types_and_options_is_harmless(show: Any) -> None:
    page = show(
        {
            "program": SMALL, "passes": ["--cse"], "options": {"ptxas": "/bin/sh", "gpu-name": 3, "num-warps": "7"},
            "running": "x", "arguments": None, "stages": [1, {}], "tab": "<b>", "__proto__": {"polluted": 1},
        }
    )  # fmt: skip
    assert page.locator("#program").input_value() == SMALL
    assert page.locator("#passes").input_value() == ""
    assert page.locator("#gpu").input_value() == ""
    assert page.evaluate("({}).polluted === undefined")


def test_a_hostile_program_stays_text(show: Any) -> None:
    program = f'// {HOSTILE}\n"{HOSTILE}.op"() : () -> ()\nfunc.func @"{HOSTILE}"() {{\n  return %x\n}}\n'
    page = show({"program": program})
    expect(page.locator(".problem").first).to_contain_text("error")
    replace(page, f'// {HOSTILE}\nmodule attributes {{a.b = "{HOSTILE}"}} {{}}\n')
    page.get_by_role("button", name="Options").click()
    page.locator("#passes").fill("--canonicalize")
    expect(page.locator(".pane .row", has_text="onerror").first).to_be_visible()
    assert page.evaluate("window.pwned === undefined")
    assert page.locator("img").count() == 0


# -- examples, keyboard, light and dark


def test_an_example_is_loaded_and_back_returns(show: Any) -> None:
    page = show(small())
    page.get_by_label("Example").select_option("softmax.mlir")
    expect(line(page, "func.func @softmax")).to_have_count(1)
    in_address = "async () => (await decoded(location.hash.slice(1))).program.includes('@softmax')"
    for _ in range(500):  # the page may not evaluate text, as wait_for_function does
        if page.evaluate(in_address):
            break
        page.wait_for_timeout(20)
    page.go_back()
    expect(line(page, "func.func @f(")).to_have_count(1)
    assert page.locator("#program").input_value() == SMALL


def test_every_control_can_be_used_with_the_keyboard(show: Any) -> None:
    page = show(small())
    page.get_by_role("tab", name="Stages").focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("tab", name="Passes").get_attribute("aria-selected") == "true"
    assert page.locator("#passlist").is_visible()
    page.keyboard.press("ArrowLeft")
    page.locator("#program").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") != "program"
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, textarea, summary")].filter((node) =>
             !(node.labels && node.labels.length) && !node.textContent.trim() && !node.getAttribute("aria-label"))
             .map((node) => node.outerHTML)"""
    )
    assert unnamed == []


def test_the_editor_indents(show: Any) -> None:
    page = show(small())
    leave_unanswered(page)
    replace(page, "  a")
    page.keyboard.press("Enter")
    page.keyboard.type("b")
    assert page.locator("#program").input_value() == "  a\n  b"
    page.keyboard.press("Control+]")
    assert page.locator("#program").input_value() == "  a\n    b"
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+[")
    assert page.locator("#program").input_value() == "a\n  b"
    page.keyboard.press("Control+z")
    assert page.locator("#program").input_value() == "  a\n    b"


def test_lines_follow_the_text_wherever_it_changes(show: Any) -> None:
    page = show(small())
    leave_unanswered(page)
    for text in ("a\nb\nc", "a\nx\nb\nc", "c", "", "a\na\na", "a\na", "b\na\na\n", "\n\n"):
        replace(page, text) if text else page.locator("#program").fill("")
        assert page.locator(".line").all_text_contents() == text.split("\n")
        assert page.locator(".gutter > div > div").count() == len(text.split("\n"))


def test_the_text_and_its_colored_lines_are_at_the_same_place(show: Any) -> None:
    page = show(small())
    leave_unanswered(page)
    replace(page, "\n".join(f"%{number} = op.name " + "w" * 200 for number in range(300)))
    sizes = page.evaluate(
        """() => {
          const area = document.getElementById("program"), paint = document.querySelector(".paint");
          area.scrollTop = 1000; area.scrollLeft = 300;
          area.dispatchEvent(new Event("scroll"));
          const [a, b] = [area, paint].map((node) => getComputedStyle(node));
          const same = ["font", "lineHeight", "letterSpacing", "tabSize", "paddingLeft", "paddingTop"];
          return [same.map((k) => [a[k], b[k]]),
                  area.scrollHeight, paint.getBoundingClientRect().height,
                  area.getBoundingClientRect().top - paint.getBoundingClientRect().top];
        }"""
    )
    assert all(one == other for one, other in sizes[0])
    assert sizes[1] == pytest.approx(sizes[2], abs=2)
    assert sizes[3] == pytest.approx(1000, abs=1)


@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_light_and_dark_are_legible(show: Any, scheme: str, dark: bool) -> None:
    page = show({"program": SMALL.replace("%a, %a", "%a, %x")}, color_scheme=scheme)

    def brightness() -> int:
        found = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", found)[:3]))

    assert (brightness() < 200) == dark
    pairs = page.evaluate(
        """() => [".line", ".told", ".gutter .error", "#status", ".problem span", ".tabs button", "#run"].map((one) => {
          const node = document.querySelector(one);
          let ground = node;
          const clear = (n) => getComputedStyle(n).backgroundColor;
          while (clear(ground) === "rgba(0, 0, 0, 0)" && ground.parentElement) ground = ground.parentElement;
          return [one, getComputedStyle(node).color, clear(ground)];
        })"""
    )
    for name, text, ground in pairs:
        assert contrast(text, ground) >= 4.5, (name, text, ground)
    page.locator("#theme").click()
    assert (brightness() < 200) != dark


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two CSS colors, by WCAG 2."""

    def luminance(color: str) -> float:
        parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_on_a_narrow_screen_one_is_below_the_other(show: Any) -> None:
    page = show(small())
    page.set_viewport_size({"width": 600, "height": 900})
    source, result = page.locator("#source").bounding_box(), page.locator("#result").bounding_box()
    assert result["y"] >= source["y"] + source["height"] - 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
