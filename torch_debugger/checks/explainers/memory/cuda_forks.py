"""CUDA in a forked process: the line that touches it, and the loop that should."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.checks.explainers.devices.device_words import raised_by_the_user
from torch_debugger.records import CrashFact

_MOVE = re.compile(r"\.cuda\([^()]*\)|\.to\([^()]*\)|device=[\w.\"':]+")


def explain_forked_cuda(crash: CrashFact) -> Blame | None:
    held = crash.evidence.cuda
    if held is None or held.kind != "fork" or raised_by_the_user(crash):
        return None
    where = held.worker if held.worker.file else crash.place
    moves = _MOVE.findall(where.code or "")
    what = f"`{moves[0]}`" if moves else f"`{where.code}`"
    fix = (
        f"Leave {what} out at {place_text(where)}, so that the worker gives CPU tensors"
        if moves
        else (f"Let {place_text(where)} give CPU tensors")
    )
    return Blame(
        message=f"{place_text(where)} uses CUDA in a forked worker: {what}.",
        why="A fork copies the process but not the GPU's context, so a process forked after CUDA was first "
        "used cannot use it.",
        fix=f"{fix}, and move each batch in the training loop: `x = x.to(device, non_blocking=True)`, with "
        '`pin_memory=True` in the DataLoader. Or pass it `multiprocessing_context="spawn"`.',
        where=where,
        evidence={"worker's line": line_text(where), "line": line_text(crash.place)},
        confidence=0.97 if moves else 0.9,
    )
