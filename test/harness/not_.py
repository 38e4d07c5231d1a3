"""`not [--crash] COMMAND…` as a program, for RUN lines that bash runs: the same rule as in-process."""

from __future__ import annotations

import subprocess
import sys

from harness.commands import Result, invert


def main() -> int:
    """Run the command, pass its streams on, and turn its status over. Returns the new status."""
    argv = sys.argv[1:]
    crash = argv[:1] == ["--crash"]
    argv = argv[1:] if crash else argv
    if not argv:
        print("not: expected a command", file=sys.stderr)
        return 1
    try:
        done = subprocess.run(argv, stderr=subprocess.PIPE, check=False)
    except OSError as fault:
        print(f"not: {argv[0]}: {fault.strerror}", file=sys.stderr)
        return 1
    sys.stderr.buffer.write(done.stderr)
    sys.stderr.flush()
    status = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return invert(Result(status, b"", done.stderr), crash).exit_code


if __name__ == "__main__":
    sys.exit(main())
