"""NumPy's OpenBLAS computes in one thread here: `import harness.one_thread`, before NumPy is loaded.

Each worker of a test run has a core. With a thread for each core of the machine, a product waits until the other
workers yield theirs: 577 instead of 47 us for 128x128x64, with two workers on two cores. Processes that tests start
inherit it.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
