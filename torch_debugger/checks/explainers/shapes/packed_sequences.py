"""pack_padded_sequence: padded sequences and lengths that do not go together."""

from __future__ import annotations

import dataclasses

from torch_debugger.checks.explainers.blame import Blame, first_of, line_text, place_text, shape_text
from torch_debugger.checks.explainers.calls import argument_of, one_line, rewritten, with_argument
from torch_debugger.checks.explainers.statements import Change, is_plain, written_call
from torch_debugger.records import CrashFact
from torch_debugger.records.evidence.layouts import PackingEvidence

_WHY = "pack_padded_sequence takes sequences [time, batch, ...], or [batch, time, ...] with batch_first=True"
_POSITIONS = {"batch_first": 2, "enforce_sorted": 3}


def explain_packing(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.packing
    if fact is None:
        return None
    fact = dataclasses.replace(fact, place=dataclasses.replace(fact.place, module=crash.place.module))
    judges = (_on_a_device, _turned, _other_count, _empty, _unsorted, _too_long)
    return first_of(judge(fact) for judge in judges)


def _batch(fact: PackingEvidence) -> int:
    return fact.shape[0 if fact.batch_first else 1]


def _time(fact: PackingEvidence) -> int:
    return fact.shape[1 if fact.batch_first else 0]


def _on_a_device(fact: PackingEvidence) -> Blame | None:
    if fact.device in ("cpu", "meta") or fact.layer:  # a meta tensor has no values to bring
        return None
    change = _lengths_on_cpu(fact)
    return _blame(
        fact,
        f"got its lengths on {fact.device}, and takes them on the CPU",
        "The lengths steer the packing from the CPU: they must be there, on whatever device the sequences are.",
        f"Bring the lengths to the CPU: {change.text}.",
        change,
    )


def _turned(fact: PackingEvidence) -> Blame | None:
    """The lengths count the dimension that is taken for the time."""
    if fact.count != _time(fact) or fact.count == _batch(fact):
        return None
    if fact.highest is not None and fact.highest > _batch(fact):
        return None
    said = "with" if fact.batch_first else "without"
    change = _written(fact, {"batch_first": str(not fact.batch_first)} | _sorting(fact))
    return _blame(
        fact,
        f"{said} batch_first=True takes dimension {0 if fact.batch_first else 1} of {shape_text(fact.shape)} "
        f"for the batch, so a batch of {_batch(fact)}, but there are {fact.count} lengths{_up_to(fact)}: the "
        f"batch is in dimension {1 if fact.batch_first else 0}{_noticed(fact)}",
        f"{_WHY}.",
        f"Say {'that the batch comes first' if not fact.batch_first else 'that the time comes first'}: "
        f"{change.text}.",
        change,
        0.98 if fact.highest == _batch(fact) else 0.94,
    )


def _up_to(fact: PackingEvidence) -> str:
    return f" of up to {fact.highest}" if fact.highest is not None else ""


def _noticed(fact: PackingEvidence) -> str:
    return f"; `{fact.layer}` ran out of elements" if fact.layer else ""


def _sorting(fact: PackingEvidence) -> dict[str, str]:
    return {"enforce_sorted": "False"} if fact.enforce_sorted and fact.descending is False else {}


def _other_count(fact: PackingEvidence) -> Blame | None:
    if fact.count == _batch(fact) or fact.layer:
        return None
    return _blame(
        fact,
        f"got {fact.count} lengths for a batch of {_batch(fact)}: the sequences are {shape_text(fact.shape)}",
        f"{_WHY}, and one length for each sequence of the batch.",
        f"Give the {_batch(fact)} lengths of the sequences in this batch.",
    )


def _empty(fact: PackingEvidence) -> Blame | None:
    if not fact.empty or fact.layer:
        return None
    return _blame(
        fact,
        f"got {fact.empty} of {fact.count} sequences with a length of {fact.lowest}",
        "A packed sequence has at least one element.",
        "Leave empty samples out where the data is read, or let them count as one element of padding, with "
        "`lengths.clamp(min=1)`.",
    )


def _unsorted(fact: PackingEvidence) -> Blame | None:
    if not _sorting(fact) or fact.layer:
        return None
    change = _written(fact, _sorting(fact))
    return _blame(
        fact,
        f"wants the longest sequence first, but the {fact.count} lengths are not in falling order",
        "With enforce_sorted=True, the default, nothing is sorted; with False the batch is sorted for the "
        "layer and its results come back in your order.",
        f"Let it sort the batch: {change.text}.",
        change,
    )


def _too_long(fact: PackingEvidence) -> Blame | None:
    if fact.highest is None or fact.count != _batch(fact) or fact.highest <= _time(fact):
        return None
    return _blame(
        fact,
        f"got lengths of up to {fact.highest}, but the sequences {shape_text(fact.shape)} have {_time(fact)} "
        f"steps{_noticed(fact)}",
        f"{_WHY}; a length says how many of its steps are not padding.",
        f"Measure the lengths after the sequences are cut, at most {_time(fact)}; where cutting them is meant, "
        f"give `lengths.clamp(max={_time(fact)})`.",
    )


def _lengths_on_cpu(fact: PackingEvidence) -> Change:
    call = written_call(fact.place.code or "", fact.call) or fact.call
    argument = argument_of(call, 1, "lengths")
    if argument is None or not is_plain(argument):
        return Change("give it `lengths.cpu()`", None, fact.place)
    return _instead(fact, call, argument.replaced(f"{argument.text}.cpu()"))


def _written(fact: PackingEvidence, keywords: dict[str, str]) -> Change:
    """The call with these keywords, in the place of those it has."""
    call = changed = written_call(fact.place.code or "", fact.call) or fact.call
    for keyword, value in keywords.items():
        argument = argument_of(changed, _POSITIONS[keyword], keyword)
        changed = argument.replaced(value) if argument else with_argument(changed, f"{keyword}={value}")
    return _instead(fact, call, changed)


def _instead(fact: PackingEvidence, call: str, changed: str) -> Change:
    text = f"write `{one_line(changed)}` instead of `{one_line(call)}` at {place_text(fact.place)}"
    return Change(text, rewritten(fact.place, call, changed), fact.place)


def _blame(
    fact: PackingEvidence, what: str, why: str, fix: str, change: Change | None = None, confidence: float = 0.97
) -> Blame:
    lengths = f"{fact.count}, {fact.lowest} to {fact.highest}" if fact.highest is not None else str(fact.count)
    return Blame(
        message=f"`{fact.call}` at {place_text(fact.place)} {what}.",
        why=why,
        fix=fix,
        where=fact.place,
        evidence={
            "sequences": shape_text(fact.shape),
            "lengths": lengths,
            "batch_first": str(fact.batch_first),
            "line": line_text(fact.place),
        },
        confidence=confidence,
        edit=change.edit if change else None,
    )
