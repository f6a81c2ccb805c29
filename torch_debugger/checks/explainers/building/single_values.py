"""A normalization layer that got one value for each channel, which has no spread to divide by."""

from __future__ import annotations

import ast
import math
from dataclasses import replace

from torch_debugger.checks.explainers.blame import Blame, layer_name, line_text, place_text, shape_text
from torch_debugger.checks.explainers.building.lone_batches import Told, from_loader, from_range
from torch_debugger.checks.explainers.calls import is_simple_statement, parse_expression
from torch_debugger.checks.explainers.entries import Entry, model_entry
from torch_debugger.checks.explainers.respelling import edited_place
from torch_debugger.checks.explainers.statements import Change
from torch_debugger.checks.explainers.wording import as_sentence
from torch_debugger.records import CrashFact, Edit, FlowStep
from torch_debugger.records.evidence.building import SingleValueFact

_WHY = (
    "In training mode BatchNorm subtracts the mean of each channel over the batch and divides by its spread; "
    "one value alone has none"
)
_WHY_OTHERS = (
    "It subtracts a mean and divides by the spread of the values it is the mean of; one alone has none."
)


def explain_single_value(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.building.single_value if crash.evidence.building is not None else None
    if fact is None or crash.kind != "ValueError" or len(fact.shape) < 2:
        return None
    if _built_for(crash) not in (None, fact.shape[1]):
        return None  # other channels than the layer has weights for, which would be refused next
    if fact.function == "instance_norm":
        return _blame(crash, fact, _one_place(crash, fact), _WHY_OTHERS)
    if fact.function == "group_norm":
        return _blame(crash, fact, _one_channel(crash, fact), _WHY_OTHERS)
    if fact.shape[0] * math.prod(fact.shape[2:]) != 1:
        return None
    return _blame(crash, fact, _one_sample(crash, fact), f"{_WHY}.{_pooled(crash, fact)}")


def _built_for(crash: CrashFact) -> int | float | str | None:
    settings = crash.layer.settings if crash.layer is not None else {}
    return settings.get("num_channels", settings.get("num_features"))


def _blame(crash: CrashFact, fact: SingleValueFact, told: Told, why: str) -> Blame:
    message, change = told
    where = replace(edited_place(crash, change), module=None)
    evidence: dict[str, float | str] = {"input": shape_text(fact.shape)}
    if fact.source is not None:
        evidence["samples"], evidence["batch size"] = float(fact.source.samples), float(fact.source.batch_size)
    if crash.layer is not None and crash.layer.place.file:
        evidence["layer"] = line_text(crash.layer.place)
    evidence["line"] = line_text(crash.place)
    return Blame(f"{message}.", why, as_sentence(change.text), where, evidence, 0.97, change.edit)


def _one_sample(crash: CrashFact, fact: SingleValueFact) -> Told:
    mode = "in training mode" if fact.tracks else "and keeps no running statistics"
    got = f"{_name(crash, fact)} got one value for each channel, {shape_text(fact.shape)}, {mode}"
    entry = model_entry(crash)
    if fact.without_gradients:
        return f"{got}, while nothing is trained", _evaluate(crash, fact, entry)
    if fact.source is not None:
        told = from_range if fact.source.is_range else from_loader
        because, change = told(fact.source)
        return f"{got}: {because}", change
    given = entry.inputs[0].shape if entry is not None and entry.inputs else ()
    if entry is not None and given[:1] not in ((), (1,)):
        return f"{got}, although `{entry.module}` was given {shape_text(given)}", _on_the_way(crash, given[0])
    if fact.trains:
        return f"{got}: the batch holds one sample", _skip(crash, entry)
    return f"{got}: the model was called with one sample", _evaluate(crash, fact, entry)


def _name(crash: CrashFact, fact: SingleValueFact) -> str:
    layer = crash.layer
    if layer is None:
        return f"`{fact.function}`"
    return f"{layer_name(layer)} ({layer.kind})" if layer.path else layer_name(layer)


def _callee(entry: Entry | None) -> str:
    """The model as the user's line calls it: self.net"""
    node = parse_expression(entry.statement.failing) if entry is not None else None
    if isinstance(node, ast.Call):
        return ast.unparse(node.func)
    return entry.module if entry is not None else "model"


def _evaluate(crash: CrashFact, fact: SingleValueFact, entry: Entry | None) -> Change:
    """Write model.eval() above the call, or above the loop that makes it."""
    if not fact.tracks:
        return _track(crash)
    name, call = _callee(entry), entry.statement.whole if entry is not None else crash.place
    if fact.source is not None:
        loop = fact.source.loop
        text = (
            f"write `{name}.eval()` above the loop at {place_text(loop)}, and `{name}.train()` before you train"
        )
        return Change(text, None, loop)
    first = (call.code or "").partition("\n")[0]
    text = f"write `{name}.eval()` above {place_text(call)}; `{name}.train()` goes back to training"
    plain = call.file and call.line and is_simple_statement(call.code or "") and not fact.trains
    edit = (
        Edit(call.file, call.line, first, f"{name}.eval()\n{first}")
        if plain and call.file and call.line
        else None
    )
    return Change(text, edit, call)


def _track(crash: CrashFact) -> Change:
    where = crash.layer.place if crash.layer is not None and crash.layer.place.file else crash.place
    text = (
        f"build it with `track_running_stats=True` at {place_text(where)}: with what it has seen in training, "
        "`model.eval()` lets it take a single sample"
    )
    return Change(text, None, where)


def _on_the_way(crash: CrashFact, samples: int) -> Change:
    layer = crash.layer
    where = layer.call if layer is not None and layer.call.file else crash.place
    text = (
        f"look at what makes the input of {place_text(where)}: of the {samples} samples one is left there. "
        "Keep the samples in dimension 0"
    )
    return Change(text, None, where)


def _skip(crash: CrashFact, entry: Entry | None) -> Change:
    call = entry.statement.line if entry is not None else crash.place
    text = f"give it two samples or more at {place_text(call)}, or leave a batch of one out"
    return Change(text, None, call)


def _pooled(crash: CrashFact, fact: SingleValueFact) -> str:
    """Of an image pooled to one place: with more places left, one sample would have been enough."""
    step = _pooling(crash) if len(fact.shape) > 2 else None
    if step is None:
        return ""
    return f" {_by(step)}: one place of one sample is left."


def _by(step: FlowStep) -> str:
    return f"`{step.path}` ({step.kind}) made {shape_text(step.made[0])} of {shape_text(step.given[0])}"


def _pooling(crash: CrashFact) -> FlowStep | None:
    """The innermost module that left one place of several."""
    found = [
        step
        for step in crash.flow
        if step.given
        and step.made
        and len(step.given[0]) == len(step.made[0]) > 2
        and math.prod(step.made[0][2:]) == 1 < math.prod(step.given[0][2:])
    ]
    return max(found, key=lambda step: step.depth, default=None)


def _one_place(crash: CrashFact, fact: SingleValueFact) -> Told:
    """InstanceNorm works out a spread for each sample and channel, whatever the batch holds."""
    message = f"{_name(crash, fact)} got one value for each sample and channel, {shape_text(fact.shape)}"
    step = _pooling(crash)
    line = place_text(crash.layer.place) if crash.layer is not None and crash.layer.place.file else "that line"
    where = crash.layer.place if crash.layer is not None else crash.place
    by = f"; {_by(step)}" if step else ""
    text = f"leave it out at {line}, or give the model larger inputs, so that more than one place is left"
    return f"{message}{by}", Change(text, None, where)


def _one_channel(crash: CrashFact, fact: SingleValueFact) -> Told:
    message = (
        f"{_name(crash, fact)} got one value for each of its {fact.groups} groups, {shape_text(fact.shape)}: "
        f"{fact.shape[1]} channels in {fact.groups} groups"
    )
    where = crash.layer.place if crash.layer is not None and crash.layer.place.file else crash.place
    text = f"build it with fewer groups at {place_text(where)}, so that each has more than one channel"
    return message, Change(text, None, where)
