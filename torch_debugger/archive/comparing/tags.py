"""What a scalar's tag says about it: ours by definition, those of other tools by their words."""

from __future__ import annotations

import re

_PLACES = {"weight_norm": "weights", "grad_norm": "gradients"}
_OF_THE_MACHINE = re.compile(
    r"(^|[/_. -])(time|timing|speed|fps|throughput|runtime|elapsed|duration|seconds?|memory|mem|gpu|cpu|system|"
    r"it_s|per_sec(ond)?|eta|flops|total_flos)([/_. -]|$)",
    re.IGNORECASE,
)
_RATE = re.compile(r"(^|[/_. -])(lr|learning[_ -]?rate)([/_. -]|\d*$)", re.IGNORECASE)
_HELD_OUT = re.compile(r"(^|[/_. -])(val|valid|validation|eval|evaluation|test|dev)([/_. -]|$)", re.IGNORECASE)
_LOSS = re.compile(r"loss", re.IGNORECASE)


def phase_of(tag: str) -> str:
    """The part of a training step that the number belongs to; empty for clocks and machines."""
    if tag in _PLACES:
        return _PLACES[tag]
    if _OF_THE_MACHINE.search(tag):
        return ""
    if _RATE.search(tag):
        return "rate"
    if tag.startswith(("eval/", "user/")) or _HELD_OUT.search(tag):
        return "evaluation"
    return "loss" if _LOSS.search(tag) else "evaluation"
