"""What differs in the code: the script's text, the commit, and what was not committed."""

from __future__ import annotations

import difflib
import os

from torch_debugger.archive.comparing.evidence import RunEvidence
from torch_debugger.archive.comparing.plain_values import differences
from torch_debugger.records import Surroundings
from torch_debugger.records.comparison_of_runs import Topic

_CONTEXT = 1  # lines around a change


def compare_code(first: RunEvidence, second: RunEvidence) -> Topic:
    ours, theirs = first.surroundings, second.surroundings
    if ours is None or theirs is None:
        missing = first.name if ours is None else second.name
        return Topic("code", unseen=f"the log of {missing} does not hold the script's source")
    found = differences(_identity(ours), _identity(theirs))
    lines = [*_text_diff(ours.source, theirs.source, ours, theirs)]
    if ours.git_diff != theirs.git_diff and not lines:
        lines = [*_text_diff(ours.git_diff, theirs.git_diff, ours, theirs)]
    hidden = "" if ours.source and theirs.source else "the text of a script was not kept"
    return Topic("code", found, tuple(lines), hidden if ours.script_hash != theirs.script_hash else "")


def _identity(of: Surroundings) -> dict[str, object]:
    return {
        "script": os.path.basename(of.script),
        "hash of the script": of.script_hash[:12],
        "commit": of.git_commit[:12],
        "branch": of.git_branch,
        "uncommitted changes": "yes" if of.git_dirty else "no",
    }


def _text_diff(before: str, after: str, ours: Surroundings, theirs: Surroundings) -> list[str]:
    if not before or not after:
        return []
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), ours.script, theirs.script, lineterm="", n=_CONTEXT
    )
    return list(lines)
