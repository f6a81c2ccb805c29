"""Whether a crash at a prompt is any of our business: a typo in a cell needs no comment."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torch_debugger.checks.explainers.blame import user_frame
from torch_debugger.records import CrashFact, Finding

_PLAIN = {"NameError", "SyntaxError", "ImportError"}  # they say themselves all there is to say
_TORCH_FILE = re.compile(r"[\\/]torch[\\/]")


def is_worth_a_comment(crash: CrashFact | None, findings: Sequence[Finding]) -> bool:
    """Whether a check knows something, or torch was at least involved."""
    if crash is None or concerns_torch(crash):
        return True
    return not _PLAIN & set(crash.bases) and any(finding.name != "unexplained-crash" for finding in findings)


def concerns_torch(crash: CrashFact) -> bool:
    """A torch frame, a module, or tensors where the crash happened."""
    frame = user_frame(crash)
    behind = crash.frames[crash.frames.index(frame) :] if frame is not None else crash.frames
    if any(_TORCH_FILE.search(each.file) for each in behind) or crash.qualified.startswith("torch."):
        return True
    if frame is None or _PLAIN & set(crash.bases):
        return False
    if frame.module is not None:
        return True
    # At the top level of a notebook all its variables are in reach: only those the line mentions count.
    words = set(re.findall(r"\w+", frame.code))
    inside = frame.function != "<module>" and not frame.function.startswith("<cell line")
    return any(inside or re.split(r"\W", tensor.name)[0] in words for tensor in frame.tensors)
