"""What a scalar's tag says about it: ours by definition, those of other tools by their words."""

from __future__ import annotations

import re

from torch_debugger.archive.comparing.evidence import RunEvidence

_PLACES = {"weight_norm": "weights", "grad_norm": "gradients"}
_OF_THE_MACHINE = re.compile(
    r"(^|[/_. -])(time|timing|speed|fps|throughput|runtime|elapsed|duration|seconds?|memory|mem|gpu|cpu|system|"
    r"it_s|per_sec(ond)?|eta|flops|total_flos)([/_. -]|$)",
    re.IGNORECASE,
)
_RATE = re.compile(r"(^|[/_. -])(lr|learning[_ -]?rate)([/_. -]|\d*$)", re.IGNORECASE)
_HELD_OUT = re.compile(r"(^|[/_. -])(val|valid|validation|eval|evaluation|test|dev)([/_. -]|$)", re.IGNORECASE)
_LOSS = re.compile(r"loss", re.IGNORECASE)


def shared_tags(*runs: RunEvidence) -> list[str]:
    """Those that all runs have. Where losses have names, the plain one is one of them."""
    tags = [tag for tag in runs[0].curves if all(tag in run.curves for run in runs)]
    named = any(tag.startswith("loss/") for tag in tags)
    return [tag for tag in tags if tag != "loss"] if named else tags


def unshared_tags(run: RunEvidence, other: RunEvidence) -> list[str]:
    """Those that the other run has not; clocks and machines aside."""
    return [tag for tag in run.curves if tag not in other.curves and phase_of(tag)]


def phase_of(tag: str) -> str:
    """The part of a training step that the number belongs to; empty for clocks and machines."""
    if tag.partition("/")[0] in _PLACES:
        return _PLACES[tag.partition("/")[0]]
    if _OF_THE_MACHINE.search(tag):
        return ""
    if _RATE.search(tag):
        return "rate"
    if tag.startswith(("eval/", "user/")) or _HELD_OUT.search(tag):
        return "evaluation"
    return "loss" if _LOSS.search(tag) else "evaluation"
