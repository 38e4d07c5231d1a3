"""`tessera-layout`, and `--show-layout` of `tessera-opt`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tessera_tools.cli import layout, opt

ACCUMULATOR = (
    "#nv_tileas.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], "
    "warp = [], block = []}>"
)
PROGRAM = b"""
nv_tileaa.func @f(%x: tensor<4x64xf32, #nv_tileas.linear<{register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], \
[0, 16], [0, 32], [1, 0], [2, 0]], warp = [], block = []}>>) {
  %0 = arith.constant 0 : i32
  %buffer = nv_tileas.alloc_tensor : !nv_tileas.smem<1x4x64xf32, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], \
[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]]}>>
  nv_tileas.store %x, %buffer[%0] {atom = #cute.copy_atom<sm80_sts_128_f32>} : tensor<4x64xf32, #nv_tileas.linear<{\
register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [], block = []}>>, \
!nv_tileas.smem<1x4x64xf32, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], \
[2, 0]]}>>
  nv_tileaa.return
}
"""


def shown(*argv: str, stdin: bytes = b"") -> str:
    done = layout.run(list(argv), stdin)
    assert done.exit_code == 0, done.stderr.decode()
    return done.stdout.decode()


def refused(*argv: str) -> str:
    done = layout.run(list(argv))
    assert done.exit_code == 1
    assert done.stdout == b""
    return done.stderr.decode()


def test_a_tile_is_shown_as_threads_and_registers() -> None:
    lines = shown(ACCUMULATOR).splitlines()
    assert lines[0] == "16x8 over 4 registers, 32 lanes"
    assert lines[2].split() == ["0", "T0", "r0-1", "T1", "r0-1", "T2", "r0-1", "T3", "r0-1"]
    assert lines[-1] == "CuTe: ((4,8),(2,2)):((32,1),(16,8))"


def test_cute_notation_gives_the_attribute() -> None:
    assert f"MLIR: {ACCUMULATOR}\n" in shown("((4,8),(2,2)):((32,1),(16,8))", "--tile=16x8")


def test_a_buffer_is_shown_as_banks_with_its_conflicts() -> None:
    text = shown("(8,64):(64,1)")
    assert "banks  0-3   4-7  8-11" in text
    assert "8-way bank conflict" in text
    assert "bank conflict\n" in text
    assert "8-way" not in shown("Sw<3,3,3> o (8,64):(64,1)")


def test_conflicts_of_an_access_are_counted() -> None:
    text = shown("(16,16):(16,1)", "--access=matrix:((4,8),(2,2,2)):((32,1),(16,8,128))")
    assert "access 1: matrices x4, 8 wavefronts instead of 4: 2-way bank conflict" in text


def test_the_layout_comes_from_stdin() -> None:
    assert shown("-", stdin=b"(4,8):(8,1)\n") == shown("(4,8):(8,1)")


def test_color_is_only_for_terminals_unless_asked_for() -> None:
    assert "\x1b[" not in shown("(8,64):(64,1)")
    assert "\x1b[" in shown("(8,64):(64,1)", "--color=always")


def test_svg_and_page_are_written(tmp_path: Path) -> None:
    svg, page = tmp_path / "a.svg", tmp_path / "a.html"
    shown("(8,64):(64,1)", f"--svg={svg}", f"--html={page}")
    assert svg.read_text().startswith("<svg ")
    assert svg.read_text() in page.read_text()
    assert "http-equiv" in page.read_text()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["(3,4):(4,1)"], "error: mode 3:4 of (3,4):(4,1) has a size or stride that is not a power of two"),
        (["(4,8):(8,1)", "--tile=4"], "reaches outside the tile 4"),
        (["(4,8):(8,1)", "--tile=axb"], "--tile is 'axb'; expected extents such as 16x8"),
        (["(4,8):(8,1)", "--element=foo"], "--element is 'foo'; expected a type such as f16"),
        (["(4,8):(8,1)", "--rows=0"], "--rows is '0'; expected a number from 1 to 10000"),
        ([ACCUMULATOR, "--access=(4,8):(8,1)"], "--access is for the layout of a buffer"),
        (["(4,8):(8,1)" + " " * 70000], "the layout has more than 65536 characters"),
        (["(1073741824,4):(4,1)"], "expected at most"),
    ],
)
def test_what_cannot_be_shown_is_refused(argv: list[str], message: str) -> None:
    assert message in refused(*argv)


def test_show_layout_prints_the_picture_of_a_value_with_its_accesses() -> None:
    done = opt.run(["--show-layout=%buffer"], PROGRAM)
    text = done.stdout.decode()
    assert done.exit_code == 0, done.stderr.decode()
    assert text.startswith("%buffer: 4x64 elements of 32 bits in shared memory\n")
    assert "store %x: 128 bits a thread, 8 wavefronts instead of 4: 2-way bank conflict" in text
    assert "by nv_tileas.alloc_tensor at <stdin>:4:13" in text
    assert "nv_tileaa.func" not in text


def test_show_layout_leaves_the_ir_to_o(tmp_path: Path) -> None:
    output = tmp_path / "out.mlir"
    done = opt.run(["--show-layout=all", "-o", str(output)], PROGRAM)
    assert [line for line in done.stdout.decode().splitlines() if line.startswith("%")] == [
        "%x: 4x64 over 8 registers, 32 lanes",
        "%buffer: 4x64 elements of 32 bits in shared memory",
    ]
    assert "nv_tileaa.func @f" in output.read_text()


@pytest.mark.parametrize(
    ("wanted", "message"),
    [("%buffer2", "has no value %buffer2\nnote: did you mean %buffer?"), ("%0", "%0 has no layout")],
)
def test_show_layout_refuses_a_value_without_a_layout(wanted: str, message: str) -> None:
    done = opt.run([f"--show-layout={wanted}"], PROGRAM)
    assert done.exit_code == 1
    assert message in done.stderr.decode()


def to_a_closed_pipe(command: str, *argv: str, stdin: bytes = b"") -> None:
    """Run a command whose stdout nobody reads, as `| head` at its end."""
    reader, writer = os.pipe()
    os.close(reader)
    module = f"tessera_tools.cli.{command}"
    done = subprocess.run(
        [sys.executable, "-m", module, *argv], input=stdin, stdout=writer, stderr=subprocess.PIPE, timeout=60
    )
    os.close(writer)
    assert done.stderr == b""


def test_a_closed_pipe_does_not_prevent_the_files(tmp_path: Path) -> None:
    svg, page, output = tmp_path / "a.svg", tmp_path / "a.html", tmp_path / "out.mlir"
    to_a_closed_pipe("layout", "(64,64):(64,1)", f"--svg={svg}", f"--html={page}")
    to_a_closed_pipe("opt", "--show-layout=all", "-o", str(output), stdin=PROGRAM)
    assert svg.read_text().startswith("<svg ")
    assert svg.read_text() in page.read_text()
    assert "nv_tileaa.func @f" in output.read_text()


def test_show_layout_writes_no_file_for_a_value_without_a_layout(tmp_path: Path) -> None:
    output = tmp_path / "out.mlir"
    assert opt.run(["--show-layout=%nosuch", "-o", str(output)], PROGRAM).exit_code == 1
    assert not output.exists()
