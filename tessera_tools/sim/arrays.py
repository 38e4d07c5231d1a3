"""The arrays of the simulated GPU: registers, memories and masks, of any shape and element type."""

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Where = slice | Array
"""Bytes or units of a memory: a slice, or an index array."""
OfRows = Callable[..., Array]
"""A function of one or more rows, lane by lane; among others a ufunc of NumPy."""
