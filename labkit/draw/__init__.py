"""The lab's pictures: data in, matplotlib Figure out; no pyplot, no widgets, no device.

Each picture is a module: what it shows as a frozen dataclass, a function
`..._figure` that draws it, and a function `..._alt_text` that says the same in
words. The words for `steps_figure` come from `labkit.explore`, since they tell
an explained call.
"""

from __future__ import annotations

from labkit.draw.bits import BitsPicture, bits_figure
from labkit.draw.bits_view import BitsView, bits_alt_text
from labkit.draw.broadcast import broadcast_figure
from labkit.draw.broadcast_view import BroadcastView, broadcast_alt_text
from labkit.draw.carpet import CarpetPicture, carpet_figure
from labkit.draw.carpet_view import CarpetView, carpet_alt_text
from labkit.draw.chain import chain_alt_text, chain_figure
from labkit.draw.cores import cores_alt_text, cores_figure
from labkit.draw.dtype_cube import DtypeCube, cube_alt_text, cube_figure
from labkit.draw.html import image, show
from labkit.draw.lanes import LanePoint, lanes_alt_text, lanes_figure
from labkit.draw.learning import LearningPicture, learning_figure
from labkit.draw.learning_view import LearningView, learning_alt_text
from labkit.draw.mask import MaskPicture, mask_figure
from labkit.draw.mask_view import MaskView, Rung, mask_alt_text
from labkit.draw.observed import Observed, observed_alt_text, observed_figure
from labkit.draw.pipeline import pipeline_alt_text, pipeline_figure
from labkit.draw.png import to_png
from labkit.draw.road import Station, road, road_alt_text, road_figure
from labkit.draw.sieve import sieve_figure
from labkit.draw.sieve_view import Sieve, sieve_alt_text
from labkit.draw.speed import SpeedPoint, SpeedView, speed_alt_text, speed_figure
from labkit.draw.steps import StepsView, steps_figure
from labkit.draw.steps_mark import StepsPicture
from labkit.draw.tape import tape_alt_text, tape_figure
from labkit.draw.theme import DARK, DRAWING, LIGHT, Palette, palette
from labkit.draw.tiling import tiling_figure
from labkit.draw.tiling_text import tiling_alt_text
from labkit.draw.tiling_view import TilingView
from labkit.draw.time_stack import CallTime, time_alt_text, time_figure
from labkit.draw.two_phase import two_phase_figure
from labkit.draw.two_phase_view import TwoPhaseView, two_phase_alt_text
from labkit.draw.ub import ub_alt_text, ub_figure
from labkit.draw.workspace import workspace_alt_text, workspace_figure

__all__ = [
    "DARK",
    "DRAWING",
    "LIGHT",
    "BitsPicture",
    "BitsView",
    "BroadcastView",
    "CallTime",
    "CarpetPicture",
    "CarpetView",
    "DtypeCube",
    "LanePoint",
    "LearningPicture",
    "LearningView",
    "MaskPicture",
    "MaskView",
    "Observed",
    "Palette",
    "Rung",
    "Sieve",
    "SpeedPoint",
    "SpeedView",
    "Station",
    "StepsPicture",
    "StepsView",
    "TilingView",
    "TwoPhaseView",
    "bits_alt_text",
    "bits_figure",
    "broadcast_alt_text",
    "broadcast_figure",
    "carpet_alt_text",
    "carpet_figure",
    "chain_alt_text",
    "chain_figure",
    "cores_alt_text",
    "cores_figure",
    "cube_alt_text",
    "cube_figure",
    "image",
    "lanes_alt_text",
    "lanes_figure",
    "learning_alt_text",
    "learning_figure",
    "mask_alt_text",
    "mask_figure",
    "observed_alt_text",
    "observed_figure",
    "palette",
    "pipeline_alt_text",
    "pipeline_figure",
    "road",
    "road_alt_text",
    "road_figure",
    "show",
    "sieve_alt_text",
    "sieve_figure",
    "speed_alt_text",
    "speed_figure",
    "steps_figure",
    "tape_alt_text",
    "tape_figure",
    "tiling_alt_text",
    "tiling_figure",
    "time_alt_text",
    "time_figure",
    "to_png",
    "two_phase_alt_text",
    "two_phase_figure",
    "ub_alt_text",
    "ub_figure",
    "workspace_alt_text",
    "workspace_figure",
]
