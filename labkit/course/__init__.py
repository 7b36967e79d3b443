"""What the notebooks use: printing that compares, pictures with words, exercises with checks."""

from __future__ import annotations

from labkit.course.check import Verdict, check, exercises, solution

__all__ = ["Verdict", "check", "exercises", "solution"]
