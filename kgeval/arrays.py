"""Names for the array types that flow through the house."""

from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
"""ids, counts and offsets"""

BoolArray = npt.NDArray[np.bool_]

FloatArray = npt.NDArray[np.floating[Any]]
"""scores and parameters in whatever precision they come"""

Float64Array = npt.NDArray[np.float64]
"""what is computed"""
