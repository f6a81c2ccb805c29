"""TD911: a graph was gone through twice."""

from __future__ import annotations

import ast
import re

from torch_debugger.checks.crash_check import CrashCheck
from torch_debugger.checks.crashes.explanation import Blame, line_text, place_text, shape_text, user_frame
from torch_debugger.checks.crashes.user_code import (
    Change,
    calls_of,
    first_statement,
    line_of_one,
    nodes_of,
    one_line,
    parse_statement,
    rewritten,
    running_line,
)
from torch_debugger.records import CrashFact, CrashFrame, Edit, Place
from torch_debugger.records.crash_autograd import CarriedState, FreedGraph, InPlaceWrite, Overwritten

# A backward through a graph that an earlier backward has freed.
_WHY = "Backward frees the values it has used, so each part of a graph can be gone through once. "


def explain_freed_graph(crash: CrashFact) -> Blame | None:
    autograd = crash.evidence.autograd
    freed = autograd.freed if autograd is not None else None
    parts = _parts(crash, freed) if freed is not None else None
    if freed is None or parts is None:
        return None
    what, why, fix, place, confidence, edit = parts
    frame = user_frame(crash)
    call = f"`{one_line(frame.code)}` at {place_text(crash.place)}" if frame is not None else "backward()"
    evidence: dict[str, float | str] = {"backward": line_text(crash.place)}
    if freed.first.file:
        evidence["first"] = line_text(freed.first)
    if freed.made.file:
        evidence["made"] = line_text(freed.made)
    return Blame(f"{call} {what}", _WHY + why, fix, place, evidence, confidence, edit)


# what backward does, why that fails, the fix and the line it belongs to, how sure that is, and the edit
Parts = tuple[str, str, str, Place, float, Edit | None]


def _parts(crash: CrashFact, freed: FreedGraph) -> Parts | None:
    name, made, frame = freed.name, place_text(freed.made), user_frame(crash)
    if freed.reason in ("again", "shared", "fed"):
        return _two_calls(crash, freed)
    if freed.reason in ("repeated", "made-before", "cached"):
        return _computed_once(freed)
    if freed.reason == "carried" and freed.carried is not None:
        change = carried_change(freed.carried)
        return (
            f"reaches back into the graph of the round before, which is freed: `{name}` is kept at {made} with its "
            "graph.",
            "A state that is carried on must be cut from the steps that made it, or each backward goes back "
            "to the first one.",
            change.text,
            change.where,
            0.95,
            change.edit,
        )
    if freed.reason == "accumulated":
        edit, fix = None, f"Start `{name}` anew in each round, before anything is added to it."
        if freed.other.isidentifier() and frame is not None:
            whole = Place(frame.file, frame.code_line or frame.line, None, frame.code)
            edit = rewritten(whole, f"{name}.backward(", f"{freed.other}.backward(")
            fix = (
                f"Call backward on the new part: write `{freed.other}.backward()` instead of `{name}.backward()` at "
                f"{place_text(crash.place)}, and add `{freed.other}.item()` to `{name}`."
            )
        return (
            f"goes through the losses of earlier rounds again: `{name}` adds them up at {made}, and their graphs "
            "are freed.",
            f"`{name}` holds the graphs of all rounds so far.",
            fix,
            crash.place,
            0.96,
            edit,
        )
    return None


def _computed_once(freed: FreedGraph) -> Parts:
    name, made, short = freed.name, place_text(freed.made), _short(freed.made)
    why, confidence = f"`{name}` also stays as the first weights made it while they are trained.", 0.93
    what = f"goes through the graph of `{name}` again: it is computed once, at {made}, "
    if freed.reason == "repeated":
        what = (
            f"runs in a loop, but `{name}` is computed once, at {made}, before the loop; the first round has freed its "
            "graph."
        )
        why, confidence = "A loss whose weights have moved must be computed again anyway.", 0.96
        fix = f"Move `{short}` from {made} into the loop, with the forward it needs."
    elif freed.reason == "made-before":
        what += "before the loop, and the first round has freed its graph."
        fix = f"Move `{short}` into the loop; or use `{name}.detach()` if what makes it is not to be trained."
    else:
        what += "and kept with its graph, which an earlier backward has freed."
        fix = (
            f"Compute it in every forward, without the test around {made}; or keep its `.detach()` if what makes it is "
            "not to be trained."
        )
    return what, why, fix, freed.made, confidence, None


def _two_calls(crash: CrashFact, freed: FreedGraph) -> Parts:
    """Two backward calls that meet in one graph; the earlier one can keep it with retain_graph=True."""
    name, first, code = freed.name, place_text(freed.first), freed.first.code or ""
    kept = re.sub(r"\.backward\(\)", ".backward(retain_graph=True)", code, count=1)
    change, edit = f"keep the graph for the second: give the call at {first} `retain_graph=True`", None
    if kept != code:
        change = f"keep the graph for the second: write `{kept}` at {first}"
        edit = rewritten(freed.first, code, kept)
    if freed.reason == "again":
        return (
            f"goes through the graph of `{name}` a second time; {first} has already done so and freed it.",
            f"`{name}` was not computed anew between the two calls.",
            f"Delete one of the two calls. If both are meant, {change}.",
            crash.place,
            0.97,
            edit,
        )
    if freed.reason == "fed":  # a generator's output given to the critic with its graph
        made = freed.made.code or ""
        cut = re.sub(rf"\b{re.escape(name)}\b(?!\s*=)", f"{name}.detach()", made)
        edit = rewritten(freed.made, made, cut) if freed.made.file else None
        write = f"write `{one_line(cut)}` at {place_text(freed.made)}" if edit else f"use `{name}.detach()` in it"
        return (
            f"goes through the graph of `{name}`, which the backward of `{freed.other}` at {first} has freed.",
            f"`{freed.other}` does not train what makes `{name}`, yet its backward ran through it.",
            f"Give the first loss `{name}` without its graph: {write}.",
            freed.made if freed.made.file else freed.first,
            0.95,
            edit,
        )
    roots = crash.evidence.autograd.roots if crash.evidence.autograd else ()
    second = roots[0].name if roots and roots[0].name else "this loss"
    shares = f"both go through `{name}`, made at {place_text(freed.made)}" if name else "both share a part"
    total = f"`({freed.other} + {second}).backward()`"
    fix = f"Add the losses and call backward once, {total} in place of both calls"
    return (
        f"goes through a graph that the backward of `{freed.other}` at {first} has freed: {shares}.",
        "Two losses that share a part of the graph share it for one backward.",
        fix + (" and before any step()." if freed.stepped else f"; or {change}."),
        freed.first,
        0.96,
        None if freed.stepped else edit,
    )


def _short(place: Place) -> str:
    return one_line(place.code or "").split("\n")[0]


class BackwardTwice(CrashCheck):
    """A backward went through a graph that an earlier backward had freed.

    Symptom:
        backward() stops with "Trying to backward through the graph a second time", often in the second round
        of a loop.
    Evidence:
        The backward calls of the function, the variables that tie this loss to an older graph, and the live
        graphs themselves: two losses with nodes in common, a state carried from round to round.
    Fix:
        Detach the state that is carried on (`h = h.detach()`), add losses that share a graph and call
        backward once, compute again what is used again; `retain_graph=True` where two passes are meant.
    Known limits:
        A graph kept in an object that is neither a module nor a variable of the functions under way is not
        found, and the crash is then not claimed.
    """

    id = "TD911"
    name = "backward-twice"
    title = "backward went through a freed graph"
    explainers = (explain_freed_graph,)


# A tensor that backward needed was written into after the forward had saved it.
_OVERWRITTEN_WHY = (
    "Backward computes with tensors that the forward saved; it stops when one of them is no longer what it was. "
)
_SURE = {"replay": 0.97, "variable": 0.96, "graph": 0.93, "step": 0.95, "update": 0.9, "source": 0.88}


def explain_overwritten(crash: CrashFact) -> Blame | None:
    autograd = crash.evidence.autograd
    victim = autograd.overwritten if autograd is not None else None
    if victim is None or not victim.writes:
        return None
    write = victim.writes[0]
    line, short = place_text(write.place), _short(write.place)
    if victim.parameter:
        message = (
            f"{running_line(crash)} needs `{victim.parameter}` as it was in the forward, but `{short}` at {line} has "
            "changed it since."
        )
        told = _overwritten_evidence(crash, victim) | {"parameter": victim.parameter}
        if victim.carried is not None:
            change = carried_change(victim.carried)
            why = (
                f"`{victim.carried.name}` is kept at {place_text(victim.carried.place)} with the graph of earlier "
                "rounds, so this backward runs through weights that have been updated since."
            )
            return Blame(message, why, change.text, change.where, told, 0.95, change.edit)
        # Only a line that calls the model itself can be moved; what it gave before the update stays old.
        made, (model, _, weight) = victim.loss_made, victim.parameter.partition(".")
        again = ""
        if made.file and (not weight or calls_of(made.code or "", model)):
            again = f", or compute the loss after the update: move `{_short(made)}` below it"
        elif made.file:
            again = f", or call `{model}` once more after the update, and make the loss from what it gives then"
        roots = crash.evidence.autograd.roots if crash.evidence.autograd else ()
        loss = roots[0].name if roots and roots[0].name else "loss"
        fix = f"Call `{loss}.backward()` before `{short}` at {line}{again}."
        why = _OVERWRITTEN_WHY + "An update writes the weights in place."
        return Blame(message, why, fix, write.place, told, _SURE[victim.by])
    change = _layer_change(write) if write.layer else new_tensor(write.place)
    maker = f", made by `{victim.maker}`," if victim.maker else ""
    writer = f"`{write.constructor.module or write.place.module}` ({write.layer})" if write.layer else "The line"
    more = f", and {len(victim.writes) - 1} more later" if len(victim.writes) > 1 else ""
    saved = f"This one was saved at {place_text(victim.saved)}, `{_short(victim.saved)}`. " if victim.saved.file else ""
    return Blame(
        message=f"{writer} at {line} writes into a tensor {shape_text(victim.shape)}{maker} that backward still needs: "
        f"`{short}`{more}.",
        why=_OVERWRITTEN_WHY + saved + "A write in place replaces the values for everyone who holds the tensor.",
        fix=change.text,
        where=change.where,
        evidence=_overwritten_evidence(crash, victim),
        confidence=_SURE[victim.by],
        edit=change.edit,
    )


def _overwritten_evidence(crash: CrashFact, victim: Overwritten) -> dict[str, float | str]:
    evidence: dict[str, float | str] = {
        "version": f"{victim.version}, saved at {victim.expected}",
        "writer": line_text(victim.writes[0].place),
    }
    if victim.saved.file:
        evidence["saved"] = line_text(victim.saved)
    return evidence | {"backward": line_text(crash.place)}


def _layer_change(write: InPlaceWrite) -> Change:
    """Build the layer without inplace=True."""
    place = write.constructor if write.constructor.file else write.place
    for call in calls_of(place.code or "", write.layer):
        plain = re.sub(r",?\s*inplace\s*=\s*True", "", call).replace("(, ", "(")
        plain = plain.replace(f"{write.layer}(True)", f"{write.layer}()")
        if plain != call:
            text = f"Build it without `inplace`: change `{call}` to `{plain}` at {place_text(place)}."
            return Change(text, rewritten(place, call, plain), place)
    return Change(f"Build the {write.layer} layer without `inplace=True`.", None, place)


class ModifiedInPlace(CrashCheck):
    """A tensor that backward still needed was changed in place after the forward had saved it.

    Symptom:
        backward() stops with "one of the variables needed for gradient computation has been modified by
        an inplace operation". The message tells the shape and version of the victim, not who wrote.
    Evidence:
        The writer's line. For a write inside a model, its forward is run once more and every save and every
        write in place is noted. For a write in your own function, the graph and the version counters of its
        variables tell. For weights, a parameter at the very version of the message, and the line that steps
        its optimizer or updates it.
    Fix:
        Make a new tensor instead (`x = x + y`, `inplace=False`, `.clone()` before a write into a slice), call
        every backward() before the step(), or detach a state that is carried on.
    Known limits:
        A write in a function that has ended and belongs to no model leaves no line behind; it is not claimed.
        Compiled and very large models are not run again.
    """

    id = "TD910"
    name = "modified-in-place"
    title = "a tensor needed for backward was changed in place"
    explainers = (explain_overwritten,)


# A write in place into a tensor that autograd must not lose: a leaf, or one of several views.
_LEAF_WHY = (
    "A leaf that requires grad is where gradients end up; a recorded write into it would leave no leaf to give "
    "them to. Weights are set and updated with the recording turned off."
)
_VIEW_WHY = (
    "Functions that give several views at once share one memory among them, and autograd cannot follow a write "
    "into one of them."
)
_MIXED_WHY = "The view was taken unrecorded and is written to recorded, so it is unclear whether gradients should flow."
_INFERENCE_WHY = "Tensors made in inference mode carry no version counter, so a write outside of it is not allowed."


def explain_written_leaf(crash: CrashFact) -> Blame | None:
    evidence, frame = crash.evidence.autograd, user_frame(crash)
    refused = evidence.refused if evidence is not None else None
    if crash.kind != "RuntimeError" or frame is None or refused is None or refused.asked != "write":
        return None
    place, name = Place(frame.file, frame.code_line or frame.line, frame.module, frame.code), refused.tensor.name
    made = f" at {place_text(refused.made)}" if refused.made.file else ""
    if refused.inference:
        first = next((node.id for node in nodes_of(frame.code) if isinstance(node, ast.Name)), "")
        what, why, copy = (
            f"which was made in inference mode{made}",
            _INFERENCE_WHY,
            f"{first or 'x'} = {first or 'x'}.clone()",
        )
        edit = Edit(frame.file, frame.line, frame.code, f"{copy}\n{frame.code}")
        text = f"Copy it first: add `{copy}` before {place_text(place)}, or make it under `no_grad`."
        change = Change(text, edit if first and "\n" not in frame.code else None, place)
    elif "no_grad mode" in crash.message:
        what, why, change = f"which was made under no_grad{made}", _MIXED_WHY, unrecorded(frame)
    elif refused.tensor.requires_grad and refused.tensor.is_leaf:
        what, why = "a leaf that requires grad", _LEAF_WHY
        in_forward = frame.function == "forward" and not name.startswith("self.")
        change = new_tensor(place) if in_forward else unrecorded(frame)
    elif refused.tensor.requires_grad and refused.view:
        what, why, change = f"which was made as one of several views{made}", _VIEW_WHY, new_tensor(place)
    else:
        return None
    evidence_lines: dict[str, float | str] = {name: f"{refused.tensor.dtype} {shape_text(refused.tensor.shape)}"}
    if refused.made.file:
        evidence_lines["made"] = line_text(refused.made)
    return Blame(
        message=f"`{one_line(frame.code)}` at {place_text(crash.place)} writes into `{name}`, {what}.",
        why=why,
        fix=change.text,
        where=change.where,
        evidence=evidence_lines | {"line": line_text(crash.place)},
        confidence=0.96,
        edit=change.edit,
    )


def unrecorded(frame: CrashFrame) -> Change:
    """The statement under `with torch.no_grad():`"""
    place = Place(frame.file, frame.code_line or frame.line, frame.module, frame.code)
    text = f"Write into it unrecorded: put `{one_line(frame.code)}` at {place_text(place)} under "
    edit = Edit(frame.file, frame.line, frame.code, f"with torch.no_grad():\n    {frame.code}")
    plain = "\n" not in frame.code and not frame.code.startswith(("if", "for", "while", "with"))
    return Change(f"{text}`with torch.no_grad():`.", edit if plain else None, place)


class LeafModifiedInPlace(CrashCheck):
    """A statement wrote in place into a leaf that requires grad, or into a view that may not be written.

    Symptom:
        "a leaf Variable that requires grad is being used in an in-place operation", "a view of a leaf
        Variable ...", "Output 0 of UnbindBackward0 is a view and is being modified inplace".
    Evidence:
        The tensor that the line writes into, looked up in its frame: it is a leaf and requires grad, or it is
        one of several views, or it was made under no_grad or in inference mode.
    Fix:
        Set and update weights under `with torch.no_grad():`; in a forward make a new tensor.
    Known limits:
        Whether a write into a leaf outside of forward is meant as an update or as part of the computation is a
        judgement: an update is taken for granted.
    """

    id = "TD913"
    name = "leaf-modified-in-place"
    title = "a leaf or a shared view was written in place"
    explainers = (explain_written_leaf,)


# How to let go of a state that is carried from one round of a loop to the next with its graph.
def carried_change(state: CarriedState) -> Change:
    """Detach the state where it is kept, or behind the backward that used it."""

    def detached(name: str) -> str:
        return f"tuple(part.detach() for part in {name})" if state.parts else f"{name}.detach()"

    # `self.h = h.detach()` for `self.h = h` in a module's own method
    kept, appended = "", re.fullmatch(r"(.+\.append\()(\w+)\)", state.place.code or "")
    node = first_statement(state.place.code) if state.in_module else None
    if appended is not None:
        kept = f"{appended[1]}{appended[2]}.detach())"
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and len(node.targets) == 1:
        kept = f"{ast.unparse(node.targets[0])} = {detached(node.value.id)}"
    if kept:
        text = f"Keep the state without its graph: write `{kept}` instead of `{state.place.code}` at "
        return Change(f"{text}{place_text(state.place)}.", line_of_one(state.place, kept), state.place)
    line = f"{state.name} = {detached(state.name)}"
    text = f"Let go of the old graph: add `{line}` after `{state.after.code}` at {place_text(state.after)}."
    if "retain_graph" in (state.after.code or ""):
        text += " Then `retain_graph=True` is not needed."
    return Change(text, line_of_one(state.after, f"{state.after.code}\n{line}"), state.place)


# A statement that writes in place, rewritten so that it makes a new tensor.
_BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}


def new_tensor(place: Place) -> Change:
    """The statement that makes a new tensor in place of writing into the old one."""
    tree = parse_statement(place.code or "")
    node = tree.body[0] if isinstance(tree, ast.Module) and len(tree.body) == 1 else None
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and type(node.op) in _BINARY:
        value = ast.get_source_segment(place.code or "", node.value) or ast.unparse(node.value)
        loose = isinstance(node.value, ast.BinOp) and not isinstance(node.op, ast.Add)
        operand = f"({value})" if loose else value
        return _replaced(place, f"{node.target.id} = {node.target.id} {_BINARY[type(node.op)]} {operand}")
    if isinstance(node, ast.Assign | ast.AugAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            name = target.value.id
            return _replaced(place, f"{name} = {name}.clone()\n{place.code}")
    # x.mul_(2) and F.relu(x, inplace=True): the same function without the underscore or the flag.
    code = place.code or ""
    plain = re.sub(r",\s*inplace\s*=\s*True", "", code)
    if plain == code:
        plain = re.sub(r"(\.[a-z]\w*?)_\(", r"\1(", code, count=1)
    if isinstance(node, ast.Expr) and plain != code:
        name = _written_name(node.value)
        plain = f"{name} = {plain}" if name else code
    if plain == code:
        return Change(f"Make a new tensor at {place_text(place)}, or write into a `.clone()`.", None, place)
    return _replaced(place, plain)


def _written_name(call: ast.expr) -> str:
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return ""
    owner = call.func.value
    if isinstance(owner, ast.Name) and owner.id not in ("torch", "F"):
        return owner.id
    first = call.args[0] if call.args else None
    return first.id if isinstance(first, ast.Name) else ""


def _replaced(place: Place, after: str) -> Change:
    shown = "; ".join(after.split("\n"))
    text = f"Make a new tensor: write `{shown}` instead of `{one_line(place.code or '')}` at {place_text(place)}."
    return Change(text, line_of_one(place, after), place)
