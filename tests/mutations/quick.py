"""A pytest plugin: hypothesis does not look for the smallest failing example, a failure is all that is wanted."""

from __future__ import annotations

from hypothesis import Phase, settings

settings.register_profile("mutations", phases=[Phase.explicit, Phase.generate], database=None)
settings.load_profile("mutations")
