"""TD912: backward from a loss that has no graph."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torch_debugger.checks.crash_check import CrashCheck
from torch_debugger.checks.crashes.explanation import Blame, line_text, place_text, shape_text, user_frame
from torch_debugger.checks.crashes.user_code import (
    Change,
    calls_of,
    line_of_one,
    one_line,
    rewritten,
    running_line,
    with_argument,
)
from torch_debugger.records import CrashFact, CrashFrame, Edit, LocalTensor, Place
from torch_debugger.records.crash_autograd import Differentiated, GraphCut, Rebinding, RefusedTensor

# A loss that has lost its graph, and the line where it did.
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
        message=f"{running_line(crash)} cannot go back: {_where(cut)}.",
        why=f"Backward follows the operations that made the loss, and {_WHAT[cut.reason]}.",
        fix=fix,
        where=cut.place if cut.place.file else crash.place,
        evidence={"cut": line_text(cut.place), "backward": line_text(crash.place)},
        confidence=0.96 if cut.proven else 0.88,
        edit=edit,
    )


def _where(cut: GraphCut) -> str:
    line = place_text(cut.place)
    if cut.reason == "frozen":
        froze = f", frozen at {line}" if cut.place.file else ""
        return f"all {cut.parameters} parameters of the models in reach have `requires_grad=False`{froze}"
    if cut.reason == "constant":
        return f"`{cut.inner}`, made at {line}, does not require grad"
    if cut.reason == "switched-off":
        return f"`{cut.text}` at {line} has turned the recording of gradients off, and nothing turned it on again"
    if cut.reason == "decorator":
        return f"`{cut.inner}` runs under `@{cut.text}` ({line})"
    if cut.reason == "no_grad":
        return f"the loss is made of something computed under `{cut.text or 'no_grad'}` at {line}"
    inside = f" in `{cut.module}`" if cut.module else ""
    text = f"`{cut.text}`" if cut.text else f"`{one_line(cut.place.code or '')}`"
    return f"the graph is cut at {line}{inside} by {text}"


def _fix(cut: GraphCut) -> tuple[str, Edit | None]:
    line, code = place_text(cut.place), cut.place.code or ""
    whole = cut.text if cut.text and code.count(cut.text) == 1 else ""
    match cut.reason:
        case "detach" | "data" | "item" | "tensor" | "numpy":
            stacked = cut.reason == "tensor" and cut.parts  # a list of tensors: torch.stack(losses)
            instead = f"torch.stack({cut.inner})" if stacked else cut.inner
            stays_numpy = cut.reason == "numpy" and not cut.text.startswith("torch.")  # what follows computes with it
            if whole and instead and not stays_numpy:
                edit = rewritten(cut.place, whole, instead)
                return f"Keep the graph: write `{instead}` instead of `{whole}` at {line}.", edit
            plain = re.sub(r"\.detach\(\)|\.data\b", "", code)
            if not cut.text and plain != code and cut.reason in ("detach", "data"):
                kept, _, value = plain.partition(" = ")
                if kept == value:
                    return f"Keep the graph: drop `{code}` at {line}.", rewritten(cut.place, code, "")
                return f"Keep the graph: write `{plain}` at {line}.", rewritten(cut.place, code, plain)
            return f"Keep to torch operations at {line}, and take numbers out only for printing.", None
        case "grad":
            kept = with_argument(whole or cut.text, "create_graph=True")
            return f"Keep the graph: write `{kept}` at {line}.", rewritten(cut.place, whole, kept)
        case "integer":
            # Something with a slope in place of a threshold or a choice.
            soft = "Compute the loss from the scores or probabilities themselves."
            threshold = re.fullmatch(r"(.+) >=? 0(?:\.0)?", cut.text)
            if threshold is not None:
                sigmoid = f"torch.sigmoid({threshold[1]})"
                soft = f"Compute the loss from probabilities: use `{sigmoid}` in place of `{cut.text}`."
            return f"{soft} Keep {line} for counting what is right.", None
        case "decorator":
            edit = Edit(cut.place.file or "", cut.place.line or 0, code, "") if code.startswith("@") else None
            return f"Take `@{cut.text}` off `{cut.inner}` at {line}; keep it for evaluation only.", edit
        case "no_grad":
            return f"Take what is trained out of the block at {line}; keep it for evaluation only.", None
        case "switched-off":
            return (
                f"Put the evaluation under `with torch.no_grad():` instead of `{cut.text}` at {line}, or call "
                "`torch.set_grad_enabled(True)` after it.",
                None,
            )
        case "constant":
            name = cut.text.partition("(")[0].rpartition(".")[2]
            calls = [call for call in calls_of(code, name) if one_line(call) == one_line(cut.text) or call == cut.text]
            if len(calls) != 1 or "requires_grad" in calls[0]:
                return f"Make `{cut.inner}` with `requires_grad=True` at {line}.", None
            asked = with_argument(calls[0], "requires_grad=True")
            return f"Ask for its gradient: write `{asked}` at {line}.", rewritten(cut.place, calls[0], asked)
    at = f" behind {line}" if cut.place.file else ""
    return (
        f"Leave the part that is trained unfrozen: set `requires_grad_(True)` on it{at}, such as on the last "
        "layer, or build that layer after the freezing.",
        None,
    )


# An input of autograd.grad that no gradient can be given for.
def explain_differentiated(crash: CrashFact) -> Blame | None:
    evidence, frame = crash.evidence.autograd, user_frame(crash)
    asked = evidence.differentiated if evidence is not None else None
    if asked is None or frame is None:
        return None
    fix, edit = _differentiated_fix(asked)
    call = "backward" if "backward(" in frame.code else "autograd.grad"
    evidence_lines: dict[str, float | str] = {"input": line_text(asked.place)} if asked.place.file else {}
    evidence_lines |= {"output": line_text(asked.output_made)} if asked.output_made.file else {}
    # The line to edit; of an input that the output does not have, the one that makes the output.
    places = [asked.place, asked.output_made] if asked.reason != "unused" else [asked.output_made]
    where = next((place for place in places if place.file), crash.place)
    return Blame(
        message=f"`{call}` at {place_text(crash.place)} {_what(asked)}.",
        why=_WHY[asked.reason],
        fix=fix,
        where=where,
        evidence={**evidence_lines, "crash": line_text(crash.place)},
        confidence=0.95 if asked.reason != "unused" else 0.9,
        edit=edit,
    )


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


def _differentiated_fix(asked: Differentiated) -> tuple[str, Edit | None]:
    name, line, made = asked.name, place_text(asked.place), place_text(asked.output_made)
    ask = f"{name}.requires_grad_(True)"
    if asked.reason == "plain":
        # Behind the line that made it; for one that came from elsewhere, above the line that uses it.
        maker, user = asked.place, asked.output_made
        if maker.file and not (maker.code or "").startswith(("for ", "async for ", "with ")):
            return f"Write `{ask}` after {place_text(maker)}.", line_of_one(maker, f"{maker.code}\n{ask}")
        if user.file:
            return f"Write `{ask}` before {place_text(user)}.", line_of_one(user, f"{ask}\n{user.code}")
        return f"Write `{ask}` before it is used.", None
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


# Weights updated by hand that were replaced by new tensors instead.
def explain_rebound_weights(crash: CrashFact) -> Blame | None:
    evidence, frame = crash.evidence.autograd, user_frame(crash)
    if evidence is None or not evidence.rebound or frame is None:
        return None
    first = evidence.rebound[0]
    other = (
        "the result of an operation, which keeps no `.grad`"
        if first.recorded
        else "one that was computed without recording and does not require grad"
    )
    return Blame(
        message=f"{_rebound_text(crash, frame.code, first)}.",
        why="Backward fills the `.grad` of the tensor that was made with `requires_grad=True`. An assignment "
        f"leaves that tensor as it was and gives its name to another: {other}.",
        fix=_rebound_fix(evidence.rebound),
        where=first.place,
        evidence={"update": line_text(first.place), "crash": line_text(crash.place)},
        confidence=0.96,
        edit=_edit(first) if len(evidence.rebound) == 1 else None,
    )


def _rebound_text(crash: CrashFact, code: str, first: Rebinding) -> str:
    line, update = f"`{one_line(code)}` at {place_text(crash.place)}", place_text(first.place)
    if "backward" in code:
        replaced = f"the update at {update} puts a tensor without grad in place of `{first.name}`"
        return f"{line} cannot go back: {replaced}"
    return f"{line} finds no gradient for `{first.name}`: the update at {update} puts a new tensor in its place"


def _rebound_fix(rebounds: Sequence[Rebinding]) -> str:
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
    # The tensor that the update changes: p of `for p in params: p -= ...`
    last = rebound.update.split("\n")[-1].strip()
    changed = last.partition(" ")[0] if "\n" in rebound.update else rebound.name
    return f"{changed}.grad = None"


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


class LossWithoutGraph(CrashCheck):
    """backward() was called on a loss whose graph was cut, or that never had one.

    Symptom:
        backward() stops with "element 0 of tensors does not require grad and does not have a grad_fn", or
        the loss is a float that has no backward; or a weight updated by hand has None as its `.grad`, or
        autograd.grad says of an input that it does not require grad or was not used in the graph.
    Evidence:
        Your lines, walked back from the loss beside what their variables hold now: the operand still has a
        graph, the result has none. A model whose output has none is run once more, and the operation that took
        a graph in and gave none is named. Frozen parameters and a recording left off are counted.
        A variable that was made to be trained and holds an update's new tensor now is found beside the update.
        The inputs of autograd.grad are looked for in the graph of its outputs.
    Fix:
        Take the `.detach()`, `.data`, `.item()`, `torch.tensor(...)` or `no_grad` out of the way to the loss;
        update weights in place (`w -= lr * w.grad` under no_grad); let an input require grad before its use.
    Known limits:
        Your own functions that have ended are read and not run; what they cut is told with less confidence.
    """

    id = "TD912"
    name = "loss-without-graph"
    title = "backward was called on a loss without a graph"
    explains = ("none-for-tensor",)
    explainers = explain_rebound_weights, explain_cut_graph, explain_differentiated


# A backward from something that is no single number.
_ONE_NUMBER_WHY = (
    "Backward starts from one number. For several it must be told how much each of them counts, and a loss says that "
    "by its mean or sum."
)


def explain_unreduced(crash: CrashFact) -> Blame | None:
    evidence, frame = crash.evidence.autograd, user_frame(crash)
    root = evidence.roots[0] if evidence is not None and evidence.roots else None
    if crash.kind != "RuntimeError" or root is None or frame is None or crash.frames[-1].function != "_make_grads":
        return None
    name = f"`{root.name}`" if root.name else "the tensor"
    told: dict[str, float | str]
    if "grad can be implicitly created only for scalar outputs" in crash.message and root.shape:
        criterion, made = (evidence.criterion, evidence.root_made) if evidence is not None else (Place(), Place())
        behind = "; or write `.mean()` behind the loss where each sample's own value is used too"
        fix, edit, where = _with_mean(criterion, behind) or _with_mean(made) or _mean_here(frame, root)
        from_line = f", made at {place_text(made)}," if made.file else ""
        what = f"needs a single number, but {name}{from_line} is {shape_text(root.shape)}"
        why = _ONE_NUMBER_WHY
        told = {"loss": f"{root.dtype} {shape_text(root.shape)}"}
        told |= {"made": line_text(made)} if made.file else {}
    elif "grad_output[0] has a shape of" in crash.message:
        given = next((tensor for tensor in crash.frames[-1].tensors if tensor.name == "grads[0]"), None)
        if given is None or given.shape == root.shape:
            return None
        what = f"gives backward a gradient {shape_text(given.shape)} for {name}, which is {shape_text(root.shape)}"
        why = "The gradient given to backward says how much each element counts, so it has the shape of the tensor."
        like, mean = f"`torch.ones_like({root.name or 'x'})`", f"`{root.name or 'x'}.mean().backward()`"
        fix = f"Give it a gradient of shape {shape_text(root.shape)}, as {like} is; or call {mean}."
        where, edit = crash.place, None
        told = {"gradient": shape_text(given.shape), "tensor": shape_text(root.shape)}
    else:
        return None
    message = f"`{one_line(frame.code)}` at {place_text(crash.place)} {what}."
    return Blame(message, why, fix, where, told | {"backward": line_text(crash.place)}, 0.97, edit)


def _with_mean(made: Place, behind: str = "") -> tuple[str, Edit | None, Place] | None:
    """reduction='none' where the loss is built, or in the call that makes it."""
    code = made.code or ""
    plain = re.sub(r",?\s*reduction\s*=\s*(['\"])none\1", "", code).replace("(, ", "(")
    if plain == code:
        return None
    text = f"Let the loss take the mean: write `{one_line(plain)}` at {place_text(made)}{behind}."
    return text, rewritten(made, code, plain), made


def _mean_here(frame: CrashFrame, root: LocalTensor) -> tuple[str, Edit | None, Place]:
    whole = Place(frame.file, frame.code_line or frame.line, frame.module, frame.code)
    before = f"{root.name}.backward("
    if not root.name or before not in frame.code:
        return f"Take the mean or the sum of it before {place_text(whole)}: `.mean()`.", None, whole
    after = f"{root.name}.mean().backward("
    text = f"Take the mean: write `{after})` instead of `{before})` at {place_text(whole)}; `.sum()` adds up instead."
    return text, rewritten(whole, before, after), whole


class LossNotScalar(CrashCheck):
    """backward() was called on a tensor of many numbers, or was given a gradient of another shape.

    Symptom:
        "grad can be implicitly created only for scalar outputs", or "Mismatch in shape: grad_output[0] ...".
    Evidence:
        The shape of the tensor that backward was called on, the line that made it, and the constructor or call
        with `reduction='none'` where there is one.
    Fix:
        Take the mean or the sum before backward, or let the loss do it.
    Known limits:
        Whether mean or sum is meant is your choice; the mean is proposed, as torch's losses take it.
    """

    id = "TD916"
    name = "loss-not-scalar"
    title = "backward was called on more than one number"
    explainers = (explain_unreduced,)


# A tensor with a graph where only values can go: to numpy, into a copy, to another process.
_ATTACHED_WHY = {
    "numpy": "numpy keeps no graph; torch asks you to say that the gradient may end here.",
    "deepcopy": "A copy of a computed tensor would need a copy of its graph too; only leaves are copied.",
    "process": "A graph cannot cross into another process; only values can.",
}
_DOES = {
    "numpy": "turns {}, which requires grad, into a numpy array",
    "deepcopy": "deep-copies {}, which was computed from something that requires grad",
    "process": "sends {}, which requires grad, to another process",
}


def explain_attached(crash: CrashFact) -> Blame | None:
    evidence, frame = crash.evidence.autograd, user_frame(crash)
    refused = evidence.refused if evidence is not None else None
    if crash.kind != "RuntimeError" or frame is None or refused is None or refused.asked not in _ATTACHED_WHY:
        return None
    if not refused.tensor.requires_grad or (refused.asked != "numpy" and refused.tensor.is_leaf):
        return None
    change = _change(frame, refused)
    does = _DOES[refused.asked].format(_attached_name(refused))
    told: dict[str, float | str] = {"line": line_text(crash.place)}
    if refused.made.file:
        told["made"] = line_text(refused.made)
    return Blame(
        message=f"`{one_line(frame.code)}` at {place_text(crash.place)} {does}.",
        why=f"{_ATTACHED_WHY[refused.asked]}{_form(refused.tensor)}",
        fix=change.text,
        where=change.where,
        evidence=told,
        confidence=0.96,
        edit=change.edit,
    )


def _form(tensor: LocalTensor) -> str:
    if not tensor.dtype:
        return ""
    graph = f" and comes from `{tensor.grad_fn}`" if tensor.grad_fn else ""
    return f" This one has shape {shape_text(tensor.shape)}{graph}."


def _attached_name(refused: RefusedTensor) -> str:
    if refused.holder and not refused.tensor.name:
        return f"a tensor of `{refused.holder}`"
    return f"`{refused.tensor.name}`" if refused.tensor.name else "a tensor"


def _change(frame: CrashFrame, refused: RefusedTensor) -> Change:
    whole = Place(frame.file, frame.code_line or frame.line, frame.module, frame.code)
    if refused.holder:
        otherwise = Change(f"Keep `{refused.holder}` without graphs: use `.detach()`.", None, whole)
        return _kept(refused) or otherwise
    name = refused.tensor.name
    if not name:
        return Change("Give it the tensor's `.detach()`.", None, whole)
    before, after = _forms(refused.asked, name, frame.code)
    text = f"Take the values without the graph: write `{after}` instead of `{before}` at {place_text(whole)}."
    return Change(text, rewritten(whole, before, after), whole)


def _forms(asked: str, name: str, code: str) -> tuple[str, str]:
    if f"{name}.numpy()" in code:
        return f"{name}.numpy()", f"{name}.detach().numpy()"
    copied = re.search(rf"(?:copy\.)?deepcopy\({re.escape(name)}\)", code)
    if asked == "deepcopy" and copied is not None:
        return copied[0], f"{name}.detach().clone()"
    return name, f"{name}.detach()"


def _kept(refused: RefusedTensor) -> Change | None:
    """Let go of the graph where the tensor is kept: losses.append(loss.item())"""
    place, code = refused.made, refused.made.code or ""
    appended = re.fullmatch(r"(.+\.append\()([A-Za-z_][\w.]*)\)", code)
    assigned = re.fullmatch(r"(self\.\w+ = )([A-Za-z_][\w.]*(?:\([\w., ]*\))?)", code)
    found = appended or assigned
    if found is None or place.file is None or place.line is None:
        return None
    values = ".item()" if appended and not refused.tensor.shape else ".detach()"
    after = f"{found[1]}{found[2]}{values}" + (")" if appended else "")
    text = f"Keep the value without its graph: write `{after}` instead of `{code}` at {place_text(place)}."
    return Change(text, Edit(place.file, place.line, code, after), place)


class TensorNeedsDetach(CrashCheck):
    """A tensor that requires grad was turned into an array, deep-copied or sent to another process.

    Symptom:
        "Can't call numpy() on Tensor that requires grad", "Only Tensors created explicitly by the user support
        the deepcopy protocol", "Cowardly refusing to serialize non-leaf tensor which requires_grad".
    Evidence:
        The tensor itself, from the frame that refused it, and the variable, list or attribute that holds it.
    Fix:
        `.detach()` before it leaves torch; `.item()` where numbers are collected.
    Known limits:
        A tensor deep inside nested objects is told without the line that put it there.
    """

    id = "TD914"
    name = "tensor-needs-detach"
    title = "a tensor with a graph was given where only values can go"
    explainers = (explain_attached,)
