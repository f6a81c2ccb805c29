"""An input of autograd.grad that no gradient can be given for."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, user_frame
from torch_debugger.checks.explainers.calls import one_line, rewritten
from torch_debugger.records import CrashFact, Edit, Place
from torch_debugger.records.evidence.autograd import Differentiated


def explain_differentiated(crash: CrashFact) -> Blame | None:
    evidence, frame = crash.evidence.autograd, user_frame(crash)
    asked = evidence.differentiated if evidence is not None else None
    if asked is None or frame is None:
        return None
    fix, edit = _fix(asked)
    call = "backward" if "backward(" in frame.code else "autograd.grad"
    evidence_lines: dict[str, float | str] = {"input": line_text(asked.place)} if asked.place.file else {}
    evidence_lines |= {"output": line_text(asked.output_made)} if asked.output_made.file else {}
    return Blame(
        message=f"`{call}` at {place_text(crash.place)} {_what(asked)}.",
        why=_WHY[asked.reason],
        fix=fix,
        where=_place(asked, crash.place),
        evidence={**evidence_lines, "crash": line_text(crash.place)},
        confidence=0.95 if asked.reason != "unused" else 0.9,
        edit=edit,
    )


def _place(asked: Differentiated, call: Place) -> Place:
    """The line to edit; of an input that the output does not have, the one that makes the output."""
    places = [asked.place, asked.output_made] if asked.reason != "unused" else [asked.output_made]
    return next((place for place in places if place.file), call)


_UNSEEN = "Gradients go back from the output to the very tensors it was computed from, and to no others."
_WHY = {
    "plain": "What is computed from a tensor is recorded only if the tensor asked for gradients before.",
    "frozen": "What is computed from a tensor is recorded only if the tensor asked for gradients before.",
    "late": "What is computed from a tensor is recorded only if the tensor asked for gradients before.",
    "integer": "Whole numbers have no slope, so there is no gradient with respect to them.",
    "remade": _UNSEEN,
    "cut": _UNSEEN,
    "unused": _UNSEEN,
}


def _what(asked: Differentiated) -> str:
    made = f", made at {place_text(asked.place)}," if asked.place.file else ""
    name, output, line = asked.name, one_line(asked.output), place_text(asked.place)
    if asked.reason in ("plain", "frozen"):
        return f"asks for the gradient of `{name}`, but `{name}`{made} does not require grad"
    if asked.reason == "integer":
        return f"asks for the gradient of `{name}`, but `{name}`{made} holds whole numbers"
    start = f"asks how `{output}` depends on `{name}`, but"
    if asked.reason == "late":
        return f"{start} `{name}` was asked to require grad only at {line}, after it was used"
    if asked.reason == "remade":
        return f"{start} `{name}` was made anew at {line}, after `{output}` was computed"
    if asked.reason == "cut":
        return f"{start} it was computed from `{asked.text}` at {line}, which is cut off"
    return f"{start} `{output}` was not computed from it"


def _fix(asked: Differentiated) -> tuple[str, Edit | None]:
    name, line, made = asked.name, place_text(asked.place), place_text(asked.output_made)
    ask = f"{name}.requires_grad_(True)"
    if asked.reason == "plain":
        return _asking(asked, ask)
    if asked.reason == "frozen":
        return "Leave frozen parameters out: `[p for p in model.parameters() if p.requires_grad]`.", None
    if asked.reason == "integer":
        return f"Differentiate with respect to what is made of `{name}`, such as its embedding.", None
    if asked.reason == "late":
        return f"Move `{one_line(asked.place.code or ask)}` from {line} above {made}.", None
    if asked.reason == "remade":
        moved = f"Move `{one_line(asked.place.code or '')}` from {line} above {made}"
        return f"{moved}, or give its result another name.", None
    if asked.reason == "cut":
        fix = f"Keep the graph: write `{name}` instead of `{asked.text}` at {line}."
        return fix, rewritten(asked.place, asked.text, name)
    return (
        f"Compute `{one_line(asked.output)}` from `{name}`, or ask for the gradient of what made it. "
        "Where it may be unused, pass `allow_unused=True`; its gradient is None then.",
        None,
    )


def _asking(asked: Differentiated, ask: str) -> tuple[str, Edit | None]:
    """Behind the line that made it; for one that came from elsewhere, above the line that uses it."""
    maker, user = asked.place, asked.output_made
    if maker.file and _is_assignment(maker):
        return f"Write `{ask}` after {place_text(maker)}.", _beside(maker, f"{maker.code}\n{ask}")
    if user.file:
        return f"Write `{ask}` before {place_text(user)}.", _beside(user, f"{ask}\n{user.code}")
    return f"Write `{ask}` before it is used.", None


def _is_assignment(place: Place) -> bool:
    return not (place.code or "").startswith(("for ", "async for ", "with "))


def _beside(place: Place, after: str) -> Edit | None:
    if place.file is None or place.line is None or not place.code or "\n" in place.code:
        return None
    return Edit(place.file, place.line, place.code, after)
