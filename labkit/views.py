"""NumPy arrays as the operator model sees them: view shape, strides and offset over storage."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from labkit.host.arrays import describe_all
from labkit.op.describe import TensorDesc

__all__ = ["describe"]


def describe(array: npt.NDArray[Any]) -> TensorDesc:
    """What labkit tells aclCreateTensor about an array: a view of the memory behind it.

    >>> import numpy as np
    >>> describe(np.zeros((4, 6), np.float32)[:, 1:3])
    TensorDesc(FLOAT [4, 2], strides [6, 1], offset 1, storage [4, 6])
    """
    told = describe_all({"array": np.asarray(array)})[1]["array"][0]
    return TensorDesc(told.dtype, told.shape, told.strides, told.offset, told.storage_shape)
