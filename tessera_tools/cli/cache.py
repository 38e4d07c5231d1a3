"""`tessera-cache`: shows and clears the compile cache."""

from __future__ import annotations

import sys
import time

from tessera_tools.cli.command_line import CommandLine, entry_points
from tessera_tools.cli.common import print_table
from tessera_tools.emit import compile_cache

__all__ = ["main", "run"]

EPILOG = """\
\b
Environment:
  TESSERA_CACHE        folder of the caches (default: XDG_CACHE_HOME, then ~/.cache)
  TESSERA_CACHE_LIMIT  size limit of the compile cache in MiB (default: 512); 0 turns it off

\b
Examples:
  tessera-cache
  tessera-cache list
  tessera-cache clear
"""


COMMAND_LINE = CommandLine(
    "tessera-cache",
    help="Show or clear the compile cache of tessera-translate, tessera-run and the Python API.",
    epilog=EPILOG,
    flags={},
    values={},
    takes_input=False,
    actions={
        "show": "print its folder and size (the default)",
        "list": "print its entries, too",
        "clear": "remove all entries",
    },
)


def execute(argv: list[str]) -> int:
    """Run the command; returns the exit status."""
    options = COMMAND_LINE.read(argv)
    if options is None:
        return 0
    action = options["action"]
    folder = compile_cache.compile_folder()
    if folder is None:
        off = compile_cache.cache_limit() == 0
        why = "TESSERA_CACHE_LIMIT is 0" if off else "there is no private folder for it; set TESSERA_CACHE"
        sys.stdout.write(f"the compile cache is off: {why}\n")
        return 0
    if action == "clear":
        count = compile_cache.clear()
        sys.stdout.write(f"removed {_entries(count)} from {folder}\n")
        return 0
    found = compile_cache.entries()
    total = sum(one.size for one in found)
    limit = compile_cache.cache_limit()
    left = compile_cache.leftovers()
    more = f", and {_size(left)} in incomplete files of killed processes" if left else ""
    sys.stdout.write(f"{folder}: {_entries(len(found))}, {_size(total)} of {_size(limit)}{more}\n")
    if action == "list" and found:
        rows = [
            [
                one.key[:12],
                one.until,
                one.target,
                _size(one.size),
                time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(one.used)),
                one.source,
            ]
            for one in found
        ]
        print_table("", ["entry", "stage", "target", "size", "last used", "input"], rows)
    return 0


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def _size(count: int) -> str:
    """A readable number of bytes: `1.5 MiB`."""
    if count < 1024:
        return f"{count} bytes"
    size = float(count)
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if size < 1024 or unit == "GiB":
            break
    return f"{size:.1f} {unit}"


run, main = entry_points(execute)
