"""`python3 -m labkit`: the same as the `labkit` command."""

from __future__ import annotations

import sys

from labkit.cli import main

sys.exit(main())
