"""Files whose purpose is to hold a secret: no file tool reads, edits or searches them unless the person allowed it.

Judged by name alone, whatever the case. Commands inside the walls still see those that are in the checkout, because a
program may need them to run; what they print of them is the scrub's part. Must not know how files are opened.
"""

from __future__ import annotations

import fnmatch

PATTERNS = (
    ".env", ".env.*", "*.env", ".envrc", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".pypirc", ".git-credentials", ".htpasswd",
    ".vault-token", ".dockercfg", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ed25519_sk", "id_ecdsa_sk",
    "*.key", "*.pem", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.ovpn", "*.asc.key", "secring.*",
    "credentials.json", "service-account*.json", "client_secret*.json", "secrets.toml", "secrets.json", "secrets.yml",
    "secrets.yaml", "thetis.local.toml", "ssh-hosts.local.toml",
)
"""Of a file's own name. Sources: what `git-secrets`, gitleaks and the ignore templates of hosting sites list by name."""
HARMLESS = ("*.example", "*.sample", "*.template", "*.dist", "*.defaults", "*.pub", "*.pub.pem", "*.example.*")
"""Names that match above and are made to be shown."""
PRIVATE_DIRECTORIES = (".ssh", ".gnupg", ".aws", ".kube", ".docker", ".password-store")
"""Everything in these is guarded."""


class Guard:
    """`allowed`: globs over whole paths relative to the checkout (or /workspace/...), from the person's own settings."""

    def __init__(self, allowed: tuple[str, ...] = ()) -> None:
        self._allowed = allowed

    def holds(self, path: str) -> bool:
        """Whether the file at `path` is kept from reading."""
        parts = path.casefold().split("/")
        name = parts[-1]
        private = any(part in PRIVATE_DIRECTORIES for part in parts[:-1])
        named = any(fnmatch.fnmatchcase(name, one) for one in PATTERNS)
        harmless = any(fnmatch.fnmatchcase(name, one) for one in HARMLESS)
        if not private and (not named or harmless):
            return False
        return not any(fnmatch.fnmatchcase(path, one) for one in self._allowed)


def search_globs() -> list[str]:
    """ripgrep's arguments that keep a search out of them; the last glob that matches wins, so they come after others.

    An allowed file can be read but is not searched: the exclusion must not depend on what a search finds.
    """
    words: list[str] = []
    for pattern in PATTERNS:
        words += ["--iglob", f"!{pattern}"]
    for directory in PRIVATE_DIRECTORIES:
        words += ["--iglob", f"!**/{directory}/**"]
    return words
