"""What the notebooks use: printing that compares, pictures with words, exercises with checks."""

from __future__ import annotations

from labkit.course.check import check, hint, solution
from labkit.course.exercise import exercise_names
from labkit.course.judge import Verdict
from labkit.course.progress import progress

__all__ = ["Verdict", "check", "exercise_names", "hint", "progress", "solution"]
