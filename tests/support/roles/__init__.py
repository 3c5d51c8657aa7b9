"""Role modules that only tests start, through `RoleSource("tests.support.roles", REPOSITORY)`."""

from __future__ import annotations
