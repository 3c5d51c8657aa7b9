"""`python -m thetis_kernel` is `thetis`."""

from __future__ import annotations

import sys

from thetis_kernel.cli import main

sys.exit(main())
