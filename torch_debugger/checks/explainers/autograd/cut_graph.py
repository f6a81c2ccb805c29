"""A loss that has lost its graph, and the line where it did."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, user_frame
from torch_debugger.checks.explainers.calls import calls_of, one_line, rewritten, with_argument
from torch_debugger.records import CrashFact, Edit
from torch_debugger.records.evidence.autograd import GraphCut

_WHAT = {
    "detach": "`detach()` gives the values without the graph",
    "data": "`.data` gives the values without the graph",
    "item": "a Python number has no graph",
    "tensor": "a tensor made anew from values has no graph",
    "numpy": "numpy keeps no graph",
    "integer": "whole numbers and truth values have no slope, so no gradient goes through them",
    "grad": "`autograd.grad` gives gradients without a graph unless `create_graph=True` asks for one",
    "no_grad": "nothing computed there is recorded",
    "decorator": "nothing computed in that function is recorded",
    "switched-off": "nothing computed since is recorded",
    "frozen": "none of them asks for a gradient",
    "constant": "a plain tensor asks for no gradient",
}


def explain_cut_graph(crash: CrashFact) -> Blame | None:
    evidence = crash.evidence.autograd
    cut = evidence.cut if evidence is not None else None
    if cut is None or (not cut.place.file and cut.reason != "frozen"):
        return None
    fix, edit = _fix(cut)
    return Blame(
        message=f"{_loss(crash)} cannot go back: {_where(cut)}.",
        why=f"Backward follows the operations that made the loss, and {_WHAT[cut.reason]}.",
        fix=fix,
        where=cut.place if cut.place.file else crash.place,
        evidence={"cut": line_text(cut.place), "backward": line_text(crash.place)},
        confidence=0.96 if cut.proven else 0.88,
        edit=edit,
    )


def _loss(crash: CrashFact) -> str:
    frame = user_frame(crash)
    return f"`{one_line(frame.code)}` at {place_text(crash.place)}" if frame is not None else "Backward"


def _where(cut: GraphCut) -> str:
    line = place_text(cut.place)
    if cut.reason == "frozen":
        froze = f", frozen at {line}" if cut.place.file else ""
        return f"all {cut.parameters} parameters of the models in reach have `requires_grad=False`{froze}"
    if cut.reason == "constant":
        return f"`{cut.inner}`, made at {line}, does not require grad"
    if cut.reason == "switched-off":
        return (
            f"`{cut.text}` at {line} has turned the recording of gradients off, and nothing turned it on again"
        )
    if cut.reason == "decorator":
        return f"`{cut.inner}` runs under `@{cut.text}` ({line})"
    if cut.reason == "no_grad":
        return f"the loss is made of something computed under `{cut.text or 'no_grad'}` at {line}"
    inside = f" in `{cut.module}`" if cut.module else ""
    text = f"`{cut.text}`" if cut.text else f"`{one_line(cut.place.code or '')}`"
    return f"the graph is cut at {line}{inside} by {text}"


def _fix(cut: GraphCut) -> tuple[str, Edit | None]:
    line, code = place_text(cut.place), cut.place.code or ""
    if cut.reason in ("detach", "data", "item", "tensor", "numpy"):
        return _uncut(cut)
    if cut.reason == "grad":
        kept = with_argument(_as_written(cut, code) or cut.text, "create_graph=True")
        return f"Keep the graph: write `{kept}` at {line}.", rewritten(cut.place, _as_written(cut, code), kept)
    if cut.reason == "integer":
        return f"{_soft(cut)}Keep {line} for counting what is right.", None
    if cut.reason == "decorator":
        edit = Edit(cut.place.file or "", cut.place.line or 0, code, "") if code.startswith("@") else None
        return f"Take `@{cut.text}` off `{cut.inner}` at {line}; keep it for evaluation only.", edit
    if cut.reason == "no_grad":
        return f"Take what is trained out of the block at {line}; keep it for evaluation only.", None
    if cut.reason == "switched-off":
        return (
            f"Put the evaluation under `with torch.no_grad():` instead of `{cut.text}` at {line}, or call "
            "`torch.set_grad_enabled(True)` after it.",
            None,
        )
    if cut.reason == "constant":
        return _trained(cut)
    return _thawed(cut)


def _soft(cut: GraphCut) -> str:
    """Something with a slope in place of a threshold or a choice."""
    threshold = re.fullmatch(r"(.+) >=? 0(?:\.0)?", cut.text)
    if threshold is not None:
        soft = f"torch.sigmoid({threshold[1]})"
        return f"Compute the loss from probabilities: use `{soft}` in place of `{cut.text}`. "
    return "Compute the loss from the scores or probabilities themselves. "


def _uncut(cut: GraphCut) -> tuple[str, Edit | None]:
    line, code = place_text(cut.place), cut.place.code or ""
    whole = _as_written(cut, code)
    if whole and cut.reason == "tensor" and "stack" in _instead(cut):
        return f"Keep the graph: write `{_instead(cut)}` instead of `{whole}` at {line}.", rewritten(
            cut.place, whole, _instead(cut)
        )
    stays_numpy = cut.reason == "numpy" and not cut.text.startswith(
        "torch."
    )  # what follows computes with numpy
    if whole and cut.inner and not stays_numpy:
        return f"Keep the graph: write `{cut.inner}` instead of `{whole}` at {line}.", rewritten(
            cut.place, whole, cut.inner
        )
    plain = re.sub(r"\.detach\(\)|\.data\b", "", code)
    if not cut.text and plain != code and cut.reason in ("detach", "data"):
        kept, _, value = plain.partition(" = ")
        if kept == value:
            return f"Keep the graph: drop `{code}` at {line}.", rewritten(cut.place, code, "")
        return f"Keep the graph: write `{plain}` at {line}.", rewritten(cut.place, code, plain)
    return f"Keep to torch operations at {line}, and take numbers out only for printing.", None


def _instead(cut: GraphCut) -> str:
    """A list of tensors is stacked: torch.stack(losses) for torch.tensor(losses)"""
    return f"torch.stack({cut.inner})" if cut.parts else cut.inner


def _as_written(cut: GraphCut, code: str) -> str:
    return cut.text if cut.text and code.count(cut.text) == 1 else ""


def _trained(cut: GraphCut) -> tuple[str, Edit | None]:
    code, line = cut.place.code or "", place_text(cut.place)
    name = cut.text.partition("(")[0].rpartition(".")[2]
    calls = [call for call in calls_of(code, name) if one_line(call) == one_line(cut.text) or call == cut.text]
    if len(calls) != 1 or "requires_grad" in calls[0]:
        return f"Make `{cut.inner}` with `requires_grad=True` at {line}.", None
    asked = with_argument(calls[0], "requires_grad=True")
    return f"Ask for its gradient: write `{asked}` at {line}.", rewritten(cut.place, calls[0], asked)


def _thawed(cut: GraphCut) -> tuple[str, Edit | None]:
    at = f" behind {place_text(cut.place)}" if cut.place.file else ""
    return (
        f"Leave the part that is trained unfrozen: set `requires_grad_(True)` on it{at}, such as on the last "
        "layer, or build that layer after the freezing.",
        None,
    )
