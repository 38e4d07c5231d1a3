"""The pictures in docs/images/, made by the commands that docs/pictures.md shows.

python tools/pictures.py          rewrites those that changed
"""

from __future__ import annotations

from pathlib import Path

from tessera_tools.cli import layout
from tessera_tools.emit.files import write_output

__all__ = ["COMMAND", "FOLDER", "PICTURES", "picture"]

COMMAND = "python tools/pictures.py"
FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images"
PICTURES = {
    "mma.svg": ["((4,8),(2,2)):((32,1),(16,8))", "--tile=16x8"],
    "swizzle.svg": ["Sw<3,3,3> o (8,64):(64,1)"],
}
"""File → the layout and the options of tessera-layout."""


def picture(name: str) -> str:
    """The SVG of a picture."""
    done = layout.run([*PICTURES[name], "--svg=-"])
    assert done.exit_code == 0, done.stderr.decode()
    text = done.stdout.decode()
    return text[text.index("<svg") : text.index("</svg>")] + "</svg>\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in PICTURES:
        path, text = FOLDER / name, picture(name)
        if not path.exists() or path.read_text("utf-8") != text:
            write_output(str(path), text)
            print(f"wrote docs/images/{name}")
