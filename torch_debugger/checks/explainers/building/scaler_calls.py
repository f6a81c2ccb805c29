"""A GradScaler whose methods were called in the wrong order, too often, or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.checks.explainers.respelling import Told, edited_place, line_edit, statement_place
from torch_debugger.checks.explainers.statements import Change
from torch_debugger.checks.explainers.wording import as_sentence
from torch_debugger.records import CrashFact
from torch_debugger.records.evidence.building import ScalerRefusal

_WHY = (
    "One step with a GradScaler is: `scaler.scale(loss).backward()`, then `scaler.unscale_(optimizer)` if the "
    "gradients are to be looked at or clipped, `scaler.step(optimizer)`, `scaler.update()`; each of them once."
)
_WIDE = (
    "A scaler divides the gradients in place. In float16 that would undo what scaling is for: those that had "
    "been saved from becoming zero would become zero then."
)


def explain_scaler(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.building.scaler if crash.evidence.building is not None else None
    if fact is None or fact.fault not in _FAULTS:
        return None
    message, change, why = _FAULTS[fact.fault](crash, fact)
    evidence: dict[str, float | str] = {
        "line": line_text(crash.place),
        "called": f"{fact.scaler}.{fact.method}",
    }
    where = edited_place(crash, change)
    return Blame(message, why or _WHY, as_sentence(change.text), where, evidence, 0.97, change.edit)


def _nothing_scaled(crash: CrashFact, fact: ScalerRefusal) -> Told:
    message = f"`{fact.scaler}.{fact.method}` was called, but `{fact.scaler}` has not scaled any loss."
    loss = re.search(r"([\w.]+)\.backward\(", fact.place.code or "")
    name = loss[1] if loss else "loss"
    after = f"{fact.scaler}.scale({name}).backward("
    where = fact.place if fact.place.file else statement_place(crash)
    edit = line_edit(where, f"{name}.backward(", after) if loss else None
    written = f"write `{after})`" + (
        f" at {place_text(where)}" if fact.place.file else " instead of `loss.backward()`"
    )
    return message, Change(written, edit, where), ""


def _unscaled_twice(crash: CrashFact, fact: ScalerRefusal) -> Told:
    before = f" at {place_text(fact.place)}" if fact.place.file else ""
    message = f"`{fact.scaler}.unscale_({fact.optimizer})` was called a second time since the last update."
    text = f"call it once a step, after the last backward pass: keep the one{before} and drop this one"
    if not before:
        text = (
            "call it once a step, after the last backward pass: where gradients are accumulated, outside of "
            f"the inner loop, with `{fact.scaler}.update()` at the end of each step"
        )
    return message, Change(text, None, statement_place(crash)), ""


def _unscaled_after_step(crash: CrashFact, fact: ScalerRefusal) -> Told:
    message = (
        f"`{fact.scaler}.unscale_({fact.optimizer})` was called after `{fact.scaler}.step({fact.optimizer})`."
    )
    text = f"move it up, in front of `{fact.scaler}.step({fact.optimizer})`; a clip belongs between the two"
    return message, Change(text, None, statement_place(crash)), ""


def _not_updated(crash: CrashFact, fact: ScalerRefusal) -> Told:
    place = statement_place(crash)
    message = (
        f"`{fact.scaler}.step({fact.optimizer})` was called a second time without `{fact.scaler}.update()`."
    )
    if fact.updated:
        text = f"call `{fact.scaler}.update()` once at the end of every step, also where a step ends early"
        return message, Change(text, None, place), ""
    code = place.code or ""
    owner = re.match(r"(\s*[\w.]+\.)step\(", code)
    edit = line_edit(place, code, f"{code}\n{owner[1]}update()") if owner else None
    text = f"write `{fact.scaler}.update()` after the line that steps, {place_text(place)}"
    return message, Change(text, edit, place), ""


def _half_gradients(crash: CrashFact, fact: ScalerRefusal) -> Told:
    message = f"`{fact.scaler}` cannot unscale the gradients of `{fact.optimizer}`: they are float16."
    text = (
        "keep the weights in float32 (no `model.half()`, no `model.to(torch.float16)`) and run the forward "
        "pass under `torch.autocast(device, dtype=torch.float16)`, which casts them for each operation"
    )
    return message, Change(text, None, statement_place(crash)), _WIDE


def _no_gradients(crash: CrashFact, fact: ScalerRefusal) -> Told:
    message = (
        f"`{fact.scaler}.step({fact.optimizer})` found no gradient in any parameter of `{fact.optimizer}`."
    )
    text = (
        f"call `{fact.scaler}.scale(loss).backward()` before it, `zero_grad()` not in between, and make "
        f"`{fact.optimizer}` from the parameters of the model that the loss comes from"
    )
    return message, Change(text, None, statement_place(crash)), ""


def _not_stepped(crash: CrashFact, fact: ScalerRefusal) -> Told:
    message = f"`{fact.scaler}.update()` was called, but no optimizer has stepped through `{fact.scaler}`."
    step = re.search(r"([\w.]+)\.step\(\)", fact.place.code or "")
    if step is None:
        text = f"call `{fact.scaler}.step(optimizer)` before it, in every step"
        return message, Change(text, None, statement_place(crash)), ""
    after = f"{fact.scaler}.step({step[1]})"
    text = f"write `{after}` instead of `{step[0]}` at {place_text(fact.place)}"
    return message, Change(text, line_edit(fact.place, step[0], after), fact.place), ""


_FAULTS: dict[str, Callable[[CrashFact, ScalerRefusal], Told]] = {
    "nothing scaled": _nothing_scaled,
    "unscaled twice": _unscaled_twice,
    "unscaled after step": _unscaled_after_step,
    "not updated": _not_updated,
    "half gradients": _half_gradients,
    "no gradients": _no_gradients,
    "not stepped": _not_stepped,
}
