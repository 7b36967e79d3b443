"""How much Hypothesis tries here: a little at a desk, the same cases every time in CI."""

import os

from hypothesis import settings

settings.register_profile("desk", deadline=None, max_examples=60)
settings.register_profile(
    "ci",
    parent=settings.get_profile("desk"),
    derandomize=True,
    database=None,
    print_blob=True,
)
IN_CI = any(os.environ.get(name, "") not in ("", "0", "false") for name in ("LABKIT_CI", "CI"))
settings.load_profile("ci" if IN_CI else "desk")
