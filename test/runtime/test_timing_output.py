"""What --timing writes: files that cannot be written, hostile names, and bounds."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from runtime.test_timing import BODY, COMMAND, HEAD, chain, estimate

from tessera_tools.cli.run import run
from tessera_tools.runtime.timing_picture import timeline_svg, trace_events


def test_the_clock_of_the_sms_is_an_option() -> None:
    done = run([*COMMAND, "--timing-clock=1200"])
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith(b"estimate for H100 SXM at 1200 MHz: ")


@pytest.mark.parametrize("given", ["0", "-5", "nan", "fast", "99999"])
def test_a_clock_that_no_gpu_has_is_refused(given: str) -> None:
    done = run([*COMMAND, f"--timing-clock={given}"])
    assert done.exit_code == 1
    assert b"--timing-clock" in done.stderr and b"Traceback" not in done.stderr


@pytest.mark.parametrize("option", ["--timing", "--timing-svg", "--timing-trace"])
@pytest.mark.parametrize("place", ["none/t.out", "folder", "/proc/1/none", "x" * 300])
def test_a_file_that_cannot_be_written_is_an_error(
    option: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    done = run([*(part for part in COMMAND if part != "--timing"), f"{option}={place}"])
    assert done.exit_code == 1
    assert b"error: " in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"internal fault" not in done.stderr
    assert [path.name for path in tmp_path.rglob("*")] == ["folder"]


@pytest.mark.parametrize("name", ["$", "_", "k" * 3000, "alert$1$_script"])
def test_any_name_of_a_kernel_gives_valid_pictures(name: str, tmp_path: Path) -> None:
    text = HEAD.format(target="sm_90a") + BODY.format(code=chain(8)).replace("entry k(", f"entry {name}(")
    (tmp_path / "<img src=x onerror=alert(1)>&'\".ptx").write_text(text)
    source, page = tmp_path / "<img src=x onerror=alert(1)>&'\".ptx", tmp_path / "report.html"
    done = run([
        str(source), "--arg=o=zeros:f32:32", "--block=32", f"--timing={tmp_path}/t.json",
        f"--timing-svg={tmp_path}/t.svg", f"--timing-trace={tmp_path}/p.json", f"--report={page}",
    ])  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert json.loads((tmp_path / "t.json").read_text())["ctas"] == 1
    assert json.loads((tmp_path / "p.json").read_text())["traceEvents"]
    assert ElementTree.parse(tmp_path / "t.svg").getroot().tag.endswith("svg")
    assert "<img src=x" not in page.read_text()


def test_a_picture_of_a_long_launch_is_bounded() -> None:
    """A picture has what a screen shows, and a trace a number of slices that the viewer opens."""
    found = estimate(chain(16) + "  bar.sync 0;\n" * 400, threads=1024)
    assert len(trace_events(found)["traceEvents"]) < 300_000
    assert len(timeline_svg(found)) < 5_000_000
