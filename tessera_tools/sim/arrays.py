"""The arrays of the simulated GPU: registers, memories and masks, of any shape and element type."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
