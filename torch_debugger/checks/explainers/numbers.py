"""NaN or Inf where only real numbers are taken: the crash is the last link of a chain."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, shape_text
from torch_debugger.records import CrashFact, Operand
from torch_debugger.records.evidence.numbers import NumberEvidence


def explain_not_finite(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.numbers
    if fact is None or not crash.place.file:
        return None
    given = " and ".join(_words(operand) for operand in fact.tensors[:2])
    end = f": {given}." if given else "."
    return Blame(
        message=f"A number that is not finite was to become an integer{end}"
        if fact.taker == "an integer"
        else f"`{fact.taker}` was given numbers that are not finite{end}",
        why=_why(fact),
        fix="Find the first of them; this line only met it. `with torch_debugger.detect_anomaly():` around the "
        "training step names the op that makes one there.",
        where=crash.place,
        evidence={"line": line_text(crash.place), "taker": fact.taker},
        confidence=0.95,
    )


def _words(operand: Operand) -> str:
    name = f"`{operand.name}`" if operand.name else "a tensor"
    wrong = [f"{operand.nans:,} NaN"] if operand.nans else []
    wrong += [f"{operand.infs:,} Inf"] if operand.infs else []
    return f"{name} ({shape_text(operand.shape)}) holds {' and '.join(wrong)} among {operand.elements:,} values"


def _why(fact: NumberEvidence) -> str:
    if fact.weights:
        held = " and ".join(f"`{name}`" for name in fact.weights[:2])
        return f"The weights are not finite either ({held}): an earlier update has left them so."
    finite = "The weights are finite, so they" if fact.weights_known else "They"
    return f"{finite} were made by an op before this line, or came in with the data."
