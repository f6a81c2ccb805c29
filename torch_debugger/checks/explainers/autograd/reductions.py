"""DistributedDataParallel and parameters whose gradients do not come, or come twice."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.checks.explainers.calls import calls_of, one_line, rewritten, with_argument
from torch_debugger.checks.explainers.processes.processes import raised_by, reduction_of
from torch_debugger.records import CrashFact, Edit, Place
from torch_debugger.records.evidence.processes import ReductionEvidence

_SHOWN = 4


def explain_left_out(crash: CrashFact) -> Blame | None:
    """Which parameters the last backward pass did not reach: by DDP's own list and by the loss's graph."""
    found = reduction_of(crash)
    if found is None or not found.left_out or not raised_by(crash, "torch/nn/parallel/distributed.py"):
        return None
    owners = _owners(found)
    change, edit = _find_unused(found)
    return Blame(
        message=f"{_parameters(found)} of `{found.model}` got no gradient in the last step, and "
        f"DistributedDataParallel waits for every one ({place_text(crash.place)}).",
        why=_why(found),
        fix=f"Let {owners} take part in the loss, or remove {'it' if ',' not in owners else 'them'}. If only "
        f"some steps use {'it' if ',' not in owners else 'them'}, {change}.",
        where=found.wrapped_at if edit is not None else crash.place,
        evidence={
            "no gradient": ", ".join(found.left_out[:_SHOWN]) + _more(len(found.left_out)),
            "parameters": float(found.trainable),
            "line": line_text(crash.place),
        },
        confidence=0.97 if found.loss else 0.92,
        edit=edit,
    )


def _parameters(found: ReductionEvidence) -> str:
    names = ", ".join(f"`{name}`" for name in found.left_out[:_SHOWN])
    return names + _more(len(found.left_out))


def _more(count: int) -> str:
    return f" and {count - _SHOWN} more" if count > _SHOWN else ""


def _owners(found: ReductionEvidence) -> str:
    paths = dict.fromkeys(name.rpartition(".")[0] or name for name in found.left_out)
    return ", ".join(f"`{path}`" for path in list(paths)[:_SHOWN]) + _more(len(paths))


def _why(found: ReductionEvidence) -> str:
    graph = f"The graph of `{found.loss}` does not reach them. " if found.loss else ""
    held = f"`{found.held[0]}` is made with them, but is not in the loss. " if found.held else ""
    return (
        f"{graph}{held}A step is complete when the gradients of all parameters are averaged over the processes."
    )


def _find_unused(found: ReductionEvidence) -> tuple[str, Edit | None]:
    if found.find_unused:
        return (
            "return them from forward in a tuple, list or dict, where DistributedDataParallel can see them",
            None,
        )
    calls = [
        call
        for name in ("DistributedDataParallel", "DDP")
        for call in calls_of(found.wrapped_at.code or "", name)
    ]
    if len(calls) != 1:
        return "pass find_unused_parameters=True to DistributedDataParallel", None
    changed = with_argument(calls[0], "find_unused_parameters=True")
    edit = rewritten(found.wrapped_at, calls[0], changed)
    return f"write `{one_line(changed)}` at {place_text(found.wrapped_at)}", edit


def explain_ready_twice(crash: CrashFact) -> Blame | None:
    found = reduction_of(crash)
    if found is None or not found.ready_twice or not raised_by(crash, "torch/autograd/"):
        return None
    again = any(frame.file.endswith("checkpoint.py") and not frame.user for frame in crash.frames)
    return _checkpointed(crash, found) if again else _used_beside(crash, found)


def _checkpointed(crash: CrashFact, found: ReductionEvidence) -> Blame:
    edits = [edit for place in found.checkpoints if (edit := _not_reentrant(place)) is not None]
    where = found.checkpoints[0] if len(found.checkpoints) == 1 else crash.place
    lines = ", ".join(dict.fromkeys(place_text(place) for place in found.checkpoints))
    return Blame(
        message=f"The gradient of `{found.ready_twice}` of `{found.model}` came twice in one backward pass: a "
        f"reentrant checkpoint{f' ({lines})' if lines else ''} runs a backward pass of its own.",
        why="DistributedDataParallel averages each gradient once a step, as soon as it is ready. A reentrant "
        "checkpoint makes it ready in the middle of the pass, each time that the layer is used.",
        fix="Pass use_reentrant=False to every torch.utils.checkpoint call; it needs no second backward pass.",
        where=where,
        evidence={"parameter": found.ready_twice, "line": line_text(crash.place)},
        confidence=0.95,
        edit=edits[0] if len(edits) == len(found.checkpoints) == 1 else None,
    )


def _not_reentrant(place: Place) -> Edit | None:
    written = re.search(r"use_reentrant\s*=\s*True", place.code or "")
    return rewritten(place, written[0], "use_reentrant=False") if written else None


def _used_beside(crash: CrashFact, found: ReductionEvidence) -> Blame:
    return Blame(
        message=f"The gradient of `{found.ready_twice}` of `{found.model}` came twice before the next forward "
        f"pass ({place_text(crash.place)}).",
        why="DistributedDataParallel averages each gradient once after each forward pass. Two calls of "
        f"`{found.model}` before their backward passes, or a use of its layers past it "
        f"(`{found.model}.module...`), make a gradient ready twice.",
        fix=f"Call `{found.model}` once for each backward pass: join the inputs into one batch, or run the "
        f"first backward before the second forward; and call no layer of `{found.model}.module` outside of its "
        "forward.",
        where=crash.place,
        evidence={"parameter": found.ready_twice, "line": line_text(crash.place)},
        confidence=0.88,
    )


def explain_nothing_to_reduce(crash: CrashFact) -> Blame | None:
    found = reduction_of(crash)
    needless = "DistributedDataParallel is not needed" in crash.message
    if (
        found is None
        or not needless
        or found.trainable
        or not raised_by(crash, "torch/nn/parallel/distributed.py")
    ):
        return None
    frozen = (
        f"all of its {found.parameters} parameters are frozen" if found.parameters else "it has no parameters"
    )
    unfreeze = "Unfreeze what shall be trained before this line (`requires_grad_(True)`), or use"
    return Blame(
        message=f"DistributedDataParallel at {place_text(crash.place)} has nothing to do: {frozen}.",
        why="It averages the gradients of the processes, so at least one parameter must require a gradient.",
        fix=f"{unfreeze if found.parameters else 'Use'} the module as it is, without DistributedDataParallel.",
        where=crash.place,
        evidence={"parameters": float(found.parameters), "trainable": 0.0, "line": line_text(crash.place)},
        confidence=0.97,
    )
