"""The panels: pictures that follow what you set.

`mask()` shows which elements get their gradient, `two_phase()` steps through
the host program, `contract()` puts a call through the checks, `broadcast()`
shows shapes and views over storage, `chain()` what a call launches, `bits()`
where λ lies between its neighbours, `tiling()` how the work reaches the cores,
`learning()` a model that learns with the operator.

A panel works without ipywidgets too (`panel.set(...)`, `panel.picture`); they
are loaded when a panel is first displayed. Each panel is loaded when it is
first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from labkit.explore.field import field
from labkit.explore.panel import Panel, open_panels

if TYPE_CHECKING:
    from labkit.explore.bits_panel import BitsPanel, bits, bits_picture
    from labkit.explore.broadcast_panel import (
        BroadcastPanel,
        broadcast,
        broadcast_picture,
        tape,
    )
    from labkit.explore.chain_panel import ChainPanel, chain, chain_picture
    from labkit.explore.contract_panel import (
        ContractPanel,
        contract,
        contract_picture,
        dtype_cube,
    )
    from labkit.explore.learning_panel import LearningPanel, learning, learning_picture
    from labkit.explore.mask_panel import MaskPanel, mask, mask_picture
    from labkit.explore.tiling_panel import TilingPanel, tiling, tiling_picture
    from labkit.explore.two_phase_panel import TwoPhasePanel, two_phase, two_phase_picture

__all__ = [
    "PANELS",
    "BitsPanel",
    "BroadcastPanel",
    "ChainPanel",
    "ContractPanel",
    "LearningPanel",
    "MaskPanel",
    "Panel",
    "TilingPanel",
    "TwoPhasePanel",
    "bits",
    "bits_picture",
    "broadcast",
    "broadcast_picture",
    "chain",
    "chain_picture",
    "contract",
    "contract_picture",
    "dtype_cube",
    "field",
    "learning",
    "learning_picture",
    "mask",
    "mask_picture",
    "open_panels",
    "tape",
    "tiling",
    "tiling_picture",
    "two_phase",
    "two_phase_picture",
]

PANELS = ("mask", "two_phase", "contract", "broadcast", "chain", "bits", "tiling", "learning")
"""The names of the panels: each is a function of this package."""

_HOME = {
    "BitsPanel": "bits_panel",
    "bits": "bits_panel",
    "bits_picture": "bits_panel",
    "BroadcastPanel": "broadcast_panel",
    "broadcast": "broadcast_panel",
    "broadcast_picture": "broadcast_panel",
    "tape": "broadcast_panel",
    "ChainPanel": "chain_panel",
    "chain": "chain_panel",
    "chain_picture": "chain_panel",
    "ContractPanel": "contract_panel",
    "contract": "contract_panel",
    "contract_picture": "contract_panel",
    "dtype_cube": "contract_panel",
    "LearningPanel": "learning_panel",
    "learning": "learning_panel",
    "learning_picture": "learning_panel",
    "MaskPanel": "mask_panel",
    "mask": "mask_panel",
    "mask_picture": "mask_panel",
    "TilingPanel": "tiling_panel",
    "tiling": "tiling_panel",
    "tiling_picture": "tiling_panel",
    "TwoPhasePanel": "two_phase_panel",
    "two_phase": "two_phase_panel",
    "two_phase_picture": "two_phase_panel",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
