"""A failed assertion on the device: the index that was out of range, by its values on the CPU."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import (
    Blame,
    layer_evidence,
    layer_name,
    line_text,
    place_text,
    shape_text,
    target_place,
)
from torch_debugger.checks.explainers.devices.device_words import raised_by_the_user
from torch_debugger.checks.explainers.indices.index_words import (
    allowed_text,
    counts_from_one,
    index_evidence,
    offenders_text,
)
from torch_debugger.checks.explainers.settings import Setting
from torch_debugger.records import CrashFact, Place
from torch_debugger.records.evidence.cuda import CudaEvidence, DeviceLookup

EXACT_LINE = "run it once more with the environment variable `CUDA_LAUNCH_BLOCKING=1`: the line is then exact"
_LATE = "Kernels run behind the program, so the line where the error shows can be a later one"


def explain_device_assert(crash: CrashFact) -> Blame | None:
    held = crash.evidence.cuda
    if held is None or held.kind != "assert" or raised_by_the_user(crash):
        return None
    return explain_lookup(crash, held, 0.95) or _unread(crash, held)


def explain_lookup(crash: CrashFact, held: CudaEvidence, confidence: float) -> Blame | None:
    """The one lookup whose values, seen on the CPU, are out of range; of several batches the newest."""
    if not held.lookups:
        return None
    lookup = held.lookups[0]
    rivals = [other for other in held.lookups if other.age == lookup.age]
    sure = confidence if len(rivals) == 1 else 0.7
    if lookup.found.operation == "embedding":
        return _table(crash, lookup, sure)
    return _labels(crash, lookup, sure)


def _source(lookup: DeviceLookup) -> str:
    """`batch[0]` of the last batch"""
    name = f"`{lookup.found.indices.name}`"
    if lookup.age < 0:
        return name
    return f"{name} of the last batch" if lookup.age == 0 else f"{name} of {lookup.age + 1} batches ago"


def _values(lookup: DeviceLookup) -> str:
    """holds 3 values out of range: 1000 at row 2, column 3; ..."""
    found = lookup.found
    many = f"{found.count} values" if found.count > 1 else "a value"
    return f"{_source(lookup)} holds {many} out of range: {offenders_text(found)}"


def _table(crash: CrashFact, lookup: DeviceLookup, confidence: float) -> Blame:
    found, layer = lookup.found, lookup.layer
    named = layer_name(layer) if layer is not None else "an embedding"
    setting = Setting(layer, "num_embeddings", 0, found.highest + 1) if layer is not None else None
    negative = found.lowest < 0
    fix = f"Keep the indices in {allowed_text(found)}: give negative ones a row of their own before the lookup."
    if setting is not None and not negative:
        fix = setting.fix(f", or keep the indices in {allowed_text(found)}")
    return Blame(
        message=f"{named[0].upper()}{named[1:]} has rows {allowed_text(found)}, but {_values(lookup)}.",
        why=f"The GPU stops at an index without a row. {_LATE}; it showed at {place_text(crash.place)}.",
        fix=fix,
        where=_where(lookup, crash),
        evidence=_evidence(crash, lookup),
        confidence=confidence,
        edit=setting.edit() if setting is not None and not negative else None,
    )


def _labels(crash: CrashFact, lookup: DeviceLookup, confidence: float) -> Blame:
    found, layer = lookup.found, lookup.layer
    allowed = allowed_text(found)
    scores = f"{layer_name(layer)} gives" if layer is not None else "The loss was given"
    setting = Setting(layer, "out_features", 1, found.highest + 1) if layer is not None else None
    edit = None
    if counts_from_one(found):
        fix = f"Count the labels from 0: subtract 1 from `{found.indices.name}` before the loss."
    elif found.lowest < 0 or setting is None:
        fix = f"Keep the labels in {allowed}, or name the one that does not count: `ignore_index`."
    else:
        fix, edit = setting.fix(f", or keep the labels in {allowed}"), setting.edit()
    return Blame(
        message=f"{scores[0].upper()}{scores[1:]} {found.size} scores, for labels {allowed}, but "
        f"{_values(lookup)}.",
        why=f"Each label chooses one of the scores. {_LATE}; it showed at {place_text(crash.place)}.",
        fix=fix,
        where=_where(lookup, crash) if edit is not None else crash.place,
        evidence=_evidence(crash, lookup),
        confidence=confidence,
        edit=edit,
    )


def _where(lookup: DeviceLookup, crash: CrashFact) -> Place:
    place = target_place(lookup.layer) if lookup.layer is not None else Place()
    return place if place.file else crash.place


def _evidence(crash: CrashFact, lookup: DeviceLookup) -> dict[str, float | str]:
    told = index_evidence(lookup.found)
    own = layer_evidence(lookup.layer, **told) if lookup.layer is not None else told
    return own | {"line": line_text(crash.place)}


def _unread(crash: CrashFact, held: CudaEvidence) -> Blame:
    """No index out of range on the CPU side: say what was looked at, and how to get the line."""
    ranges = [f"`{item.name}` {item.lowest} to {item.highest}" for item in held.seen if item.lowest is not None]
    looked = f"Those that could be read are in range: {', '.join(ranges)}. " if ranges else ""
    exact = "" if held.blocking else f"To learn which, {EXACT_LINE}. "
    told: dict[str, float | str] = {
        item.name: f"{item.lowest} to {item.highest} {shape_text(item.shape)}" for item in held.seen
    }
    return Blame(
        message=f"A kernel on the GPU failed an assertion, which showed at {place_text(crash.place)}.",
        why="Such an assertion is nearly always about an index or a label out of range, or a probability "
        f"outside 0 to 1 in a loss. {'' if held.blocking else f'{_LATE}. '}{looked}".rstrip(),
        fix=f"{exact}{'Run' if held.blocking else 'Or run'} one batch on the CPU, which names the index and "
        "its value.",
        where=crash.place,
        evidence=told | {"line": line_text(crash.place)},
        confidence=0.7,
    )
