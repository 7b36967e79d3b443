"""The environment of programs that the tests of the tree start."""

import os

WITHOUT = ("ASCEND", "LABKIT_", "LD_LIBRARY_PATH", "CMAKE_PREFIX")


def clean_environment(**more):
    """The environment without what a CANN or the lab may have put there."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(WITHOUT)}
    return {**kept, **more}
