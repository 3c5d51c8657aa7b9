"""What a child's environment may hold. The one place that says so; everything else of ours stays here.

Keys never travel this way: /proc/PID/environ of a child is readable by every command of the same user.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

ALLOWED = frozenset({"PATH", "HOME", "LANG", "TZ", "TMPDIR"})
"""Besides LC_*."""
CRASH_POINTS = frozenset({"THETIS_CRASH", "THETIS_CRASH_TRACE"})
"""See crash.py."""
OF_ROLE: Mapping[str, frozenset[str]] = {
    "git": frozenset({"XDG_CONFIG_HOME"}),  # libgit2 looks for the user's git configuration there
    "model": frozenset(
        {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
         "SSL_CERT_FILE", "SSL_CERT_DIR",
         "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"}  # the desktop's keyring answers on the session's bus
    ),
    "clone": frozenset({"SSL_CERT_FILE", "SSL_CERT_DIR"}),
    "net": frozenset({"SSL_CERT_FILE", "SSL_CERT_DIR"}),  # no proxies: a tool reaches the hosts of its list or nothing
}
_SETTING = re.compile(r"THETIS_[A-Z][A-Z0-9_]*")
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL")


def child_environment(
    role: str, settings: Mapping[str, str], ours: Mapping[str, str], *, crash_points: bool = True
) -> dict[str, str]:
    """The whole environment of a child of `role`: what is allowed out of `ours`, and `settings` (THETIS_* names).

    Raises ValueError for a setting with another name, or one that names a secret.
    """
    allowed = ALLOWED | OF_ROLE.get(role, frozenset()) | (CRASH_POINTS if crash_points else frozenset())
    environment = {name: value for name, value in ours.items() if name in allowed or name.startswith("LC_")}
    for name, value in settings.items():
        if not _SETTING.fullmatch(name) or _SECRET.search(name) or name in CRASH_POINTS:
            raise ValueError(f"{name} cannot be passed to a child as a setting")
        environment[name] = value
    return environment
