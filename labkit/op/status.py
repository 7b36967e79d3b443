"""The return codes of this operator, by the names CANN gives them.

Source: cann/opbase aa3cd74b include/nnopbase/opdev/op_errno.h:14-43; all other
codes and their meanings are in data/codes.json.
"""

from __future__ import annotations

from functools import cache

from labkit.op.tables import load_table

__all__ = [
    "ACLNN_ERR_INNER",
    "ACLNN_ERR_INNER_NULLPTR",
    "ACLNN_ERR_PARAM_INVALID",
    "ACLNN_ERR_PARAM_NULLPTR",
    "ACLNN_ERR_RUNTIME_ERROR",
    "ACLNN_SUCCESS",
    "status_name",
]

ACLNN_SUCCESS = 0
ACLNN_ERR_PARAM_NULLPTR = 161001
ACLNN_ERR_PARAM_INVALID = 161002
ACLNN_ERR_RUNTIME_ERROR = 361001
ACLNN_ERR_INNER = 561000
ACLNN_ERR_INNER_NULLPTR = 561103


@cache
def _names() -> dict[int, str]:
    own = {value: name for name, value in globals().items() if name.startswith("ACLNN_")}
    rows = load_table("codes")["codes"]
    return {row["code"]: row["name"] for row in rows} | own


def status_name(code: int) -> str:
    """The macro name of a code, e.g. ACLNN_ERR_PARAM_INVALID.

    >>> status_name(161002)
    'ACLNN_ERR_PARAM_INVALID'
    """
    return _names().get(code, f"UNKNOWN_{code}")
