"""A forward that was called with too few, too many or unknown arguments."""

from __future__ import annotations

import difflib

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.checks.explainers.respelling import line_edit, statement_place
from torch_debugger.checks.explainers.wording import listed
from torch_debugger.records import CrashFact, Edit, Place
from torch_debugger.records.evidence.building import ArgumentsFact

_WHY = "Calling a module hands its arguments on to `forward`, which must take exactly those."
_NAMES_SHOWN = 5
_MEANT = {
    "MultiheadAttention": "for self-attention give it the same tensor three times: query, key and value",
    "TransformerDecoder": "give it the target and the encoder's output, called memory",
    "TransformerDecoderLayer": "give it the target and the encoder's output, called memory",
    "Transformer": "give it the source and the target sequence",
}


def explain_forward_call(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.building.arguments if crash.evidence.building is not None else None
    if fact is None:
        return None
    if fact.without_self and fact.place.file:
        return _without_self(crash, fact)
    unknown = [name for name in fact.keywords if name not in fact.takes]
    missing = [name for name in fact.required[len(fact.given) :] if name not in fact.keywords]
    if unknown:
        return _unknown(crash, fact, unknown[0])
    if missing:
        return _too_few(crash, fact, missing)
    if len(fact.given) > len(fact.takes):
        return _too_many(crash, fact)
    return None


def _name(fact: ArgumentsFact) -> str:
    return f"`{fact.path}` ({fact.cls})" if fact.path else f"`{fact.cls}`"


def _takes(fact: ArgumentsFact) -> str:
    line = f" at {place_text(fact.place)}" if fact.place.file else ""
    names = fact.takes if len(fact.takes) <= _NAMES_SHOWN else (*fact.required, "...")
    return f"`forward({', '.join(names)})`{line}"


def _blame(
    crash: CrashFact,
    fact: ArgumentsFact,
    message: str,
    fix: str,
    where: Place,
    edit: Edit | None = None,
    why: str = _WHY,
) -> Blame:
    given = [*fact.given, *(f"{name}=..." for name in fact.keywords)]
    evidence: dict[str, float | str] = {"given": ", ".join(given) or "nothing", "call": line_text(crash.place)}
    if fact.place.file:
        evidence["forward"] = line_text(fact.place)
    return Blame(message, why, fix, where, evidence, 0.98, edit)


def _without_self(crash: CrashFact, fact: ArgumentsFact) -> Blame:
    message = f"`forward` of {_name(fact)} has no `self`: {line_text(fact.place)}"
    why = "Python hands the object itself to a method as its first argument."
    written = "forward(self)" if "forward()" in (fact.place.code or "") else "forward(self, "
    before = "forward()" if written == "forward(self)" else "forward("
    edit = line_edit(fact.place, before, written)
    return _blame(
        crash,
        fact,
        message,
        f"Write `self` as the first argument at {place_text(fact.place)}.",
        fact.place,
        edit,
        why,
    )


def _unknown(crash: CrashFact, fact: ArgumentsFact, name: str) -> Blame:
    message = f"{_name(fact)} was called with `{name}=`, and {_takes(fact)} has no such argument."
    close = difflib.get_close_matches(name, fact.takes, 1, 0.6)
    place = statement_place(crash)
    if not close:
        fix = f"Give it one of {listed(fact.takes)}, or add `{name}` to `forward`."
        return _blame(crash, fact, message, fix, crash.place)
    edit = line_edit(place, f"{name}=", f"{close[0]}=") if "\n" not in (place.code or "") else None
    return _blame(
        crash,
        fact,
        message,
        f"Write `{close[0]}=` instead of `{name}=` at {place_text(crash.place)}.",
        crash.place,
        edit,
    )


def _too_few(crash: CrashFact, fact: ArgumentsFact, missing: list[str]) -> Blame:
    got = f"{len(fact.given) + len(fact.keywords)}" if fact.given or fact.keywords else "none"
    message = (
        f"{_name(fact)} was called without {listed(missing)}: {_takes(fact)} needs "
        f"{len(fact.required)} arguments and got {got}."
    )
    if fact.caller:
        fix = (
            f"An `nn.Sequential` hands on one value. Take {_name(fact)} out "
            f"of `{fact.caller}` and call it yourself "
            f"with {listed(fact.required)}."
        )
        return _blame(crash, fact, message, fix, crash.place)
    meant = _MEANT.get(fact.cls, "")
    fix = f"Give {listed(missing)} too at {place_text(crash.place)}"
    fix += f": {meant}." if meant else _or_default(fact, missing)
    return _blame(crash, fact, message, fix, crash.place)


def _or_default(fact: ArgumentsFact, missing: list[str]) -> str:
    if not fact.place.file:
        return "."
    defaults = "it a default" if len(missing) == 1 else "them defaults"
    return f", or give {defaults} at {place_text(fact.place)}: `{missing[0]}=None`."


def _too_many(crash: CrashFact, fact: ArgumentsFact) -> Blame:
    count = "one argument" if len(fact.takes) == 1 else f"{len(fact.takes) or 'no'} arguments"
    message = f"{_name(fact)} was called with {len(fact.given)} arguments, and {_takes(fact)} takes {count}."
    if fact.cls == "Sequential":
        fix = (
            "An `nn.Sequential` hands one tensor from layer to layer: join the inputs first, as in "
            "`torch.cat([a, b], dim=1)`, or write a module whose `forward` takes both."
        )
    elif fact.place.file:
        fix = (
            f"Leave the rest out at {place_text(crash.place)}, or take it in "
            f"`forward` at {place_text(fact.place)}."
        )
    else:
        fix = (
            f"Give it {listed(fact.takes)} only, at {place_text(crash.place)}; "
            "join tensors first with `torch.cat`."
        )
    return _blame(crash, fact, message, fix, crash.place)
