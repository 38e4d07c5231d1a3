"""What mkdocs.yml needs to make a site of the pages in docs/: hooks of MkDocs, and how docstrings are shown.

    README.md, examples/, docs/tutorial/*.ipynb ──on_files──▶ pages
    docs/*.md, linked as on GitHub              ──on_page_markdown──▶ links of the site

The pages are written for readers of the repository: they link to files outside of docs/, and to headings as GitHub
names them. Notebooks become pages without outputs; the site does not run them.
"""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
_LINK = re.compile(r"(?<=\]\()([^)\s#]+)(?=[)#])")
_FENCE = re.compile(r"^```(\w+)[ ].*$", re.MULTILINE)
_FIELDS = re.compile(r"^([*\w]+(?:, [*\w]+)*): (?=\S)", re.MULTILINE)

_BESIDE = {
    "index.md": "README.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "LICENSE.txt": "LICENSE",
}
"""Files of the site → the files beside docs/ that they are."""
_PLACES = {source: name for name, source in _BESIDE.items()}


def anchor(text: str, separator: str) -> str:
    """The fragment of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", separator)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name headings as GitHub does, and add the pages that mkdocs.yml does not list to the navigation."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = anchor
    listed = set(re.findall(r"[\w/]+\.(?:md|ipynb)", json.dumps(config.nav)))
    docs = Path(config.docs_dir)
    for entry in config.nav or []:
        if "Dialects" in entry:
            names = sorted(path.name for path in (docs / "dialects").glob("*.md") if path.name != "README.md")
            entry["Dialects"] = ["dialects/README.md", *(f"dialects/{name}" for name in names)]
        if "Develop" in entry:
            entry["Develop"] += sorted(path.name for path in docs.glob("*.md") if path.name not in listed)
    for entry in config.nav or []:
        for name in entry if isinstance(entry, dict) else ():
            if isinstance(entry[name], list):
                entry[name] = [_renamed(one) for one in entry[name]]
    return config


def _renamed(entry: Any) -> Any:
    """A notebook in the navigation is the page that is made of it."""
    if isinstance(entry, dict):
        return {key: [_renamed(one) for one in value] for key, value in entry.items()}
    return entry.replace(".ipynb", ".md")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made of files outside of docs/, and of notebooks."""
    for name, source in _BESIDE.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text("utf-8")))
    for path in sorted((ROOT / "examples").rglob("*")):
        if path.suffix in (".md", ".mlir", ".py") and "__pycache__" not in path.parts:
            name = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, name, content=path.read_text("utf-8")))
    for file in list(files):
        if file.src_uri.endswith(".ipynb"):
            text = page_of_notebook(Path(config.docs_dir) / file.src_uri)
            files.append(File.generated(config, file.src_uri.replace(".ipynb", ".md"), content=text))
    return files


def page_of_notebook(path: Path) -> str:
    """The cells of a notebook as Markdown."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    parts = []
    for cell in cells:
        text = "".join(cell["source"])
        parts.append(f"```python\n{text}\n```" if cell["cell_type"] == "code" else text)
    return "\n\n".join(parts) + "\n"


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Change links to files of the repository into links of the site, and remove the marks of code blocks."""
    here = page.file.src_uri
    # README.md is in the folder above docs/, and index.md in its place.
    base = "docs" if not here.startswith("examples/") and here not in _BESIDE else ""

    def link(found: re.Match[str]) -> str:
        target = found[1]
        if re.match(r"[a-z]+:", target):
            return target
        source = posixpath.join(base, posixpath.dirname(here))
        path = posixpath.normpath(posixpath.join(source, target))
        if (ROOT / path).is_dir():
            path = "examples/README.md" if path.startswith("examples") else posixpath.join(path, "README.md")
        path = _PLACES.get(path, path).removeprefix("docs/").replace(".ipynb", ".md")
        return posixpath.relpath(path, posixpath.dirname(here) or ".")

    parts = re.split(r"(?ms)(^```.*?^```$)", markdown)
    parts[::2] = [_LINK.sub(link, part) for part in parts[::2]]
    return _FENCE.sub(r"```\1", "".join(parts))


class FieldLists(griffe.Extension):
    """Shows the lines `name: what it is` of a docstring, and those that continue them, as a list."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None and not obj.is_module:
            obj.docstring.value = field_list(obj.docstring.value)
        elif obj.docstring is not None:
            # The drawings of module docstrings are for readers of the sources.
            obj.docstring.value = ""


def field_list(text: str) -> str:
    """The paragraphs of a docstring that begin with `name:` as Markdown lists, and examples as code.

    >>> print(field_list("Adds.\\n\\na, b: numbers,\\n    or tiles.\\nc: a sum"))
    Adds.
    <BLANKLINE>
    - `a, b`: numbers,
        or tiles.
    - `c`: a sum
    """
    return "\n\n".join(map(_paragraph, text.split("\n\n")))


def _paragraph(text: str) -> str:
    if text.startswith(">>> "):
        return f"```pycon\n{text}\n```"
    return _FIELDS.sub(r"- `\1`: ", text) if _FIELDS.match(text) else text
