"""Programs that misbehave on purpose, in place of ptxas and nvdisasm."""

from __future__ import annotations

from pathlib import Path

REFUSES = """echo "ptxas $PTX, line 18; error   : Unknown symbol '%x'" >&2
echo "ptxas fatal   : Ptx assembly aborted due to errors" >&2
exit 255"""
CRASHES = "kill -SEGV $$"
HANGS = "echo begun; sleep 1000 & wait"
GARBLES = "printf '\\377\\376 what?\\n'; printf 'junk' > \"$OUT\"; exit 0"
SILENT = "exit 3"
WRITES_NOTHING = "exit 0"


def program(folder: Path, body: str, name: str = "ptxas", *, release: str = "13.0") -> str:
    """A shell script that answers `--version` as ptxas does and runs `body` otherwise; its path.

    `body` finds the last argument but `-o FILE` in `$PTX` and that file in `$OUT`.
    """
    path = folder / name
    path.write_text(
        f"""#!/bin/sh
if [ "$1" = --version ]; then echo "Cuda compilation tools, release {release}, V{release}.1"; exit 0; fi
OUT=
PTX=
while [ $# -gt 0 ]; do
  case "$1" in -o) OUT=$2; shift;; *) PTX=$1;; esac
  shift
done
{body}
"""
    )
    path.chmod(0o755)
    return str(path)
