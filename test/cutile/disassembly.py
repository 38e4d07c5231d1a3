"""What NVIDIA's disassembler prints of the kernels here, as hashes: SHA-256 of its text, by file.

    python test/cutile/disassembly.py TILEIRDISASM          (needs the wheel `nvidia-cuda-tileiras`)

writes disassembly.json, against which the tests compare our text.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
RECORD = HERE / "disassembly.json"


def text_hash(text: bytes) -> str:
    """The hash that stands for a text."""
    return hashlib.sha256(text).hexdigest()


def main() -> None:
    """Disassemble every file."""
    found: dict[str, str] = {}
    for path in sorted(HERE.glob("*/*.tileirbc")):
        done = subprocess.run([sys.argv[1], str(path)], capture_output=True, timeout=60, check=True)
        found[f"{path.parent.name}/{path.stem}"] = text_hash(done.stdout)
    RECORD.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
