"""The state of the code: commit and branch from git's own files, the changes since from the git program.

Nothing in the repository is written or run: no lock is taken, no hook, no helper and no network is used,
and git is given only a moment.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_WAIT_S = 5.0
_DIFF_BYTES = 256_000
_CUT = "\n[the rest of the diff is left out]\n"
_HASH = re.compile(r"[0-9a-f]{40,64}")
_QUIETLY = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
_NO_HELPERS = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.pager=cat")
_DIFF = ("diff", "HEAD", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all")


@dataclass(frozen=True, slots=True)
class GitState:
    commit: str = ""
    branch: str = ""
    dirty: bool | None = False  # None: git could not be asked
    diff: str = ""


def read_git_state(folder: str) -> GitState:
    """Of the repository around `folder`; empty outside of one."""
    found = _git_folder(Path(folder))
    if found is None:
        return GitState()
    try:
        commit, branch = _head(found)
    except OSError:
        commit, branch = "", ""
    diff = _ask_git(folder, *_DIFF)
    return GitState(commit, branch, None if diff is None else bool(diff), diff or "")


def _git_folder(folder: Path) -> Path | None:
    with suppress(OSError):
        for parent in (folder.resolve(), *folder.resolve().parents):
            inside = parent / ".git"
            if inside.is_dir():
                return inside
            if inside.is_file():  # a worktree or a submodule: the file says where its folder is
                pointer = inside.read_text(encoding="utf-8", errors="replace").partition("gitdir:")[2].strip()
                return (parent / pointer).resolve()
    return None


def _head(git: Path) -> tuple[str, str]:
    """The commit, and the branch unless the head is detached."""
    head = (git / "HEAD").read_text(encoding="utf-8", errors="replace").strip()
    if not head.startswith("ref:"):
        return (head if _HASH.fullmatch(head) else ""), ""
    reference = head.removeprefix("ref:").strip()
    shared = git / "commondir"
    folders = [git, *([(git / shared.read_text().strip()).resolve()] if shared.is_file() else [])]
    commit = next((found for folder in folders if (found := _commit_of(folder, reference))), "")
    return commit, reference.removeprefix("refs/heads/")


def _commit_of(folder: Path, reference: str) -> str:
    loose = folder / reference
    if loose.is_file():
        text = loose.read_text(encoding="utf-8", errors="replace").strip()
        return text if _HASH.fullmatch(text) else ""
    packed = folder / "packed-refs"
    for line in packed.read_text(encoding="utf-8", errors="replace").splitlines() if packed.is_file() else ():
        commit, _, name = line.partition(" ")
        if name == reference and _HASH.fullmatch(commit):
            return commit
    return ""


def _ask_git(folder: str, *words: str) -> str | None:
    """What git says, up to a size; None without the program, in a refused repository, or after too long."""
    try:
        process = subprocess.Popen(
            ["git", "--no-pager", *_NO_HELPERS, "-C", folder, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_QUIETLY},
            start_new_session=True,  # Ctrl-C is not for it, and what it starts ends with it
        )
    except OSError:
        return None
    timer = threading.Timer(_WAIT_S, _end, [process])
    timer.daemon = True
    timer.start()
    assert process.stdout is not None
    with process.stdout:
        said = process.stdout.read(_DIFF_BYTES + 1)
    timer.cancel()
    whole = len(said) <= _DIFF_BYTES
    if not whole:
        _end(process)
    code = process.wait()
    if whole and code != 0:  # refused, or ended by the timer
        return None
    text = said[:_DIFF_BYTES].decode("utf-8", "replace")
    return text if whole else text + _CUT


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
