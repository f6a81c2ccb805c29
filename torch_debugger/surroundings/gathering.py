"""Everything around a run in one record, without its secrets."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from torch_debugger.records import Surroundings
from torch_debugger.redaction import read_script, redact_arguments, redact_text
from torch_debugger.surroundings.git import read_git_state
from torch_debugger.surroundings.machine import (
    describe_hardware,
    describe_system,
    list_packages,
    telling_variables,
)

_SOURCE_BYTES = 256_000


def gather_surroundings(command: Sequence[str], script: str) -> Surroundings:
    """Takes a fraction of a second, with git for its answer up to five: not for the training's thread."""
    text = read_script(script)
    source = text.decode("utf-8", "replace")
    git = read_git_state(_folder_of(script))
    return Surroundings(
        command=redact_arguments(command, source),
        script=script,
        script_hash=hashlib.sha256(text).hexdigest() if text else "",
        source=redact_text(source) if len(text) <= _SOURCE_BYTES else "",
        git_commit=git.commit,
        git_branch=git.branch,
        git_dirty=git.dirty,
        git_diff=redact_text(git.diff),
        packages=list_packages(),
        hardware=describe_hardware(),
        environment=telling_variables(os.environ),
        system=describe_system(),
        rank=_whole_number("RANK", 0),
        world_size=_whole_number("WORLD_SIZE", 1),
    )


def typed_command() -> list[str]:
    """The words that started this process; our own command by its name, whatever file stands behind it."""
    if "torch_debugger" in sys.argv[0].replace("-", "_"):
        return ["torch-debugger", *sys.argv[1:]]
    return list(sys.orig_argv)


def file_of(target: str, *, module: bool) -> str:
    """The path of a script, or of what `python -m` would run; nothing is imported to find it."""
    if not module:
        return target
    parts = target.split(".")
    for folder in (os.getcwd(), *sys.path):
        inside = os.path.join(folder, *parts)
        for path in (f"{inside}.py", os.path.join(inside, "__main__.py")):
            if os.path.isfile(path):
                return path
    return target


def _folder_of(script: str) -> str:
    with suppress(OSError):
        return os.path.dirname(os.path.realpath(script)) if os.path.isfile(script) else os.getcwd()
    return os.curdir


def _whole_number(variable: str, otherwise: int) -> int:
    text = os.environ.get(variable, "")
    return int(text) if text.isdecimal() else otherwise
