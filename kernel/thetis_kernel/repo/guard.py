"""A hook that lets nothing but the public branch be pushed. Put there when a person asks; another's hook is never touched.

Git runs it, the kernel never does. Must not know what is private.
"""

from __future__ import annotations

import os
from pathlib import Path

import pygit2

from thetis_kernel.errors import RepoError
from thetis_kernel.protocol.publishing import Guarded
from thetis_kernel.repo.durable import write_file
from thetis_kernel.repo.inspection import find_git_directory
from thetis_kernel.repo.library import GIT_ERRORS, common_directory, open_git_directory

SIGN = "# Put here by `thetis publish --guard`; `thetis publish --unguard` takes it away."
HOOK = f"""#!/bin/sh
{SIGN}
# Only the branch public leaves this repository. THETIS_ALLOW_PUSH=1 git push ... pushes something else once.
[ "$THETIS_ALLOW_PUSH" = 1 ] && exit 0
while read -r local_ref local_commit remote_ref remote_commit; do
  case "$local_ref" in
    refs/heads/public | "(delete)") ;;
    *)
      echo "thetis: $local_ref may hold what is private, so it is not pushed; push public instead." >&2
      exit 1 ;;
  esac
done
exit 0
"""


def guard(root: str, wanted: bool) -> Guarded:
    """Put the hook there, or take it away. Raises RepoError `ref-failed` when it cannot be written."""
    repository = open_git_directory(find_git_directory(root))
    hook = common_directory(repository) / "hooks" / "pre-push"
    if (elsewhere := _hooks_path(repository)) and wanted:
        return Guarded("elsewhere", elsewhere)
    ours = _is_ours(hook)
    try:
        if not wanted:
            if ours:
                hook.unlink()
            return Guarded("removed" if ours else "foreign" if os.path.lexists(hook) else "none", str(hook))
        if os.path.lexists(hook) and not ours:
            return Guarded("foreign", str(hook))
        if ours and hook.read_text(encoding="utf-8") == HOOK and os.access(hook, os.X_OK):
            return Guarded("there", str(hook))
        hook.parent.mkdir(exist_ok=True)
        write_file(hook, HOOK.encode())
        hook.chmod(0o755)
    except OSError as error:
        raise RepoError(f"The hook {hook} cannot be changed: {error.strerror}.", kind="ref-failed") from error
    return Guarded("set", str(hook))


def _is_ours(hook: Path) -> bool:
    try:
        return not hook.is_symlink() and hook.is_file() and SIGN in hook.read_text(encoding="utf-8", errors="replace")[:4096]
    except OSError:
        return False


def _hooks_path(repository: pygit2.Repository) -> str:
    try:
        return repository.config["core.hooksPath"] or ""
    except GIT_ERRORS:
        return ""
