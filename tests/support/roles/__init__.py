"""Role modules that only tests and benchmarks start, through `RoleSource("tests.support.roles", REPOSITORY)`."""

from __future__ import annotations
