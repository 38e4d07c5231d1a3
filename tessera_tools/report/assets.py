"""The frame of the pages: the style and the script of the package, and a policy that allows nothing from elsewhere.

body, data ──page──▶ HTML: style, body, data as inert JSON, script
"""

from __future__ import annotations

import html
import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib import resources

__all__ = ["as_inert", "asset", "page"]


def page(title: str, body: str, data: object = None, scripts: Sequence[str] = ()) -> str:
    """Returns a self-contained HTML page.

    body: HTML; what comes from a program must be escaped in it. data: read by the script; its text is never parsed as
    HTML. The content security policy of the page allows its own style and script by their hashes, and no request.
    """
    style = asset("report.css")
    code = "".join(map(asset, scripts))
    policy = (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{_hash(code)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    embedded = (
        f'<script type="application/json" id="data">{as_inert(data)}</script>' if data is not None else ""
    )
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n{embedded}\n"
        + (f"<script>{code}</script>\n" if code else "")
        + "</body>\n</html>\n"
    )


def as_inert(data: object) -> str:
    """Returns JSON that cannot end or open an element: `<`, `>` and `&` are escaped, and so are line separators."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def asset(name: str) -> str:
    """A style or a script of the package: `report.css`, `parts.js`, `report.js`."""
    return resources.files("tessera_tools.report").joinpath("static", name).read_text("utf-8")


def _hash(code: str) -> str:
    return b64encode(sha256(code.encode()).digest()).decode()
