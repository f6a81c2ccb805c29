"""Weights updated by hand that were replaced by new tensors instead."""

from __future__ import annotations

from collections.abc import Sequence

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, user_frame
from torch_debugger.checks.explainers.calls import one_line
from torch_debugger.records import CrashFact, Edit
from torch_debugger.records.evidence.autograd import Rebinding


def explain_rebound_weights(crash: CrashFact) -> Blame | None:
    evidence, frame = crash.evidence.autograd, user_frame(crash)
    if evidence is None or not evidence.rebound or frame is None:
        return None
    first = evidence.rebound[0]
    return Blame(
        message=f"{_what(crash, frame.code, first)}.",
        why="Backward fills the `.grad` of the tensor that was made with `requires_grad=True`. An assignment "
        f"leaves that tensor as it was and gives its name to another: {_other(first)}.",
        fix=_fix(evidence.rebound),
        where=first.place,
        evidence={"update": line_text(first.place), "crash": line_text(crash.place)},
        confidence=0.96,
        edit=_edit(first) if len(evidence.rebound) == 1 else None,
    )


def _what(crash: CrashFact, code: str, first: Rebinding) -> str:
    line, update = f"`{one_line(code)}` at {place_text(crash.place)}", place_text(first.place)
    if "backward" in code:
        replaced = f"the update at {update} puts a tensor without grad in place of `{first.name}`"
        return f"{line} cannot go back: {replaced}"
    return f"{line} finds no gradient for `{first.name}`: the update at {update} puts a new tensor in its place"


def _other(rebound: Rebinding) -> str:
    if rebound.recorded:
        return "the result of an operation, which keeps no `.grad`"
    return "one that was computed without recording and does not require grad"


def _fix(rebounds: Sequence[Rebinding]) -> str:
    first, clear = rebounds[0], _clear(rebounds)
    plain = [one for one in rebounds if one.update and "\n" not in one.update]
    block = "" if first.switched_off else " under `with torch.no_grad():`"
    if len(plain) != len(rebounds):
        loop = f"`{' '.join(first.update.split())}`" if first.update else "`w -= lr * w.grad` for each tensor"
        return f"Change the tensors in place{block}: write {loop} at {place_text(first.place)}.{clear}"
    lines = [f"`{one.update}` at {place_text(one.place)}" for one in plain]
    return f"Change the tensor in place{block}: write {' and '.join(lines)}.{clear}"


def _clear(rebounds: Sequence[Rebinding]) -> str:
    if rebounds[0].cleared:
        return ""
    lines = " and ".join(f"`{_clearing(one)}`" for one in rebounds)
    return f" Then clear the gradient, as the same tensor adds them up: {lines}."


def _clearing(rebound: Rebinding) -> str:
    return f"{_changed(rebound)}.grad = None"


def _changed(rebound: Rebinding) -> str:
    """The tensor that the update changes: p of `for p in params: p -= ...`"""
    last = rebound.update.split("\n")[-1].strip()
    return last.partition(" ")[0] if "\n" in rebound.update else rebound.name


def _edit(rebound: Rebinding) -> Edit | None:
    code = rebound.place.code or ""
    if not rebound.update or "\n" in code or not rebound.place.file or not rebound.place.line:
        return None
    lines = rebound.update.split("\n")
    indent = lines[-1][: -len(lines[-1].lstrip())]
    lines += [] if rebound.cleared else [f"{indent}{_clearing(rebound)}"]
    if not rebound.switched_off:
        lines = ["with torch.no_grad():", *(f"    {line}" for line in lines)]
    return Edit(rebound.place.file, rebound.place.line, code, "\n".join(lines))
