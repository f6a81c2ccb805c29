"""The shapes that flowed through the model up to the crash, as one line of evidence."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from torch_debugger.checks.explainers.blame import Blame, shape_text
from torch_debugger.checks.explainers.crash_check import Explainer
from torch_debugger.records import CrashFact, FlowStep

_SHOWN = 5


def showing_flow(explain: Explainer) -> Explainer:
    """The explainer, its evidence with the shape flow where there is one."""

    def explain_and_show(crash: CrashFact) -> Blame | None:
        blame, flow = explain(crash), flow_text(crash)
        if blame is None or not flow:
            return blame
        return dataclasses.replace(blame, evidence=blame.evidence | {"shape flow": flow})

    return explain_and_show


def flow_text(crash: CrashFact) -> str:
    """net.conv [4, 1, 28, 28] -> [4, 6, 24, 24]; net.pool -> [4, 6, 12, 12]; then net.fc1 got [4, 864]"""
    steps = [step for step in _without_containers(crash.flow) if step.made]
    told = list(_told(steps[-_SHOWN:]))
    layer = crash.layer
    if told and layer is not None and layer.path and layer.inputs and not _is_loss(crash):
        told.append(f"then {layer.path} got {shape_text(layer.inputs[0].shape)}")
    return "; ".join(told)


def _is_loss(crash: CrashFact) -> bool:
    """A crash in a loss comes after the whole model; what it was given is told anyway."""
    return crash.layer is not None and crash.layer.kind.endswith("Loss")


def _without_containers(steps: Sequence[FlowStep]) -> Iterator[FlowStep]:
    """Modules that compute something: a container ends where the last module inside it ended."""
    before: FlowStep | None = None
    for step in steps:
        holds = before is not None and before.path.startswith(f"{step.path}.") and before.made == step.made
        if step.kind != "view" and not holds:
            yield step
            before = step


def _told(steps: Sequence[FlowStep]) -> Iterator[str]:
    last: tuple[int, ...] = ()
    for step in steps:
        given = step.given[0] if step.given else ()
        came = "" if given == last else f" {shape_text(given)}"
        last = step.made[0]
        yield f"{step.path}{came} -> {shape_text(last)}"
