"""`python -m reasoningbank` is the command line."""

from __future__ import annotations

import sys

from reasoningbank.cli.entry import main

sys.exit(main())
