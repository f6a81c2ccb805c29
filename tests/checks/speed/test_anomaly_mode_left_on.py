from __future__ import annotations

import dataclasses
import math

import pytest

from tests.checks.speed.sampled_loops import Library, Users, sampled, speed_settings, steps
from tests.fakes import judged, loss_site, place, scalars
from torch_debugger.records import Finding, Place, Record, SampledStacks, SpeedSettings

FORWARD = Users(12, "loss = criterion(model(x), y)")
NOTING = Library("format_stack", "/lib/torch/fx/traceback.py")
SWITCH = place(5, code="torch.autograd.set_detect_anomaly(True)")


def settings(on: bool = True, at: Place = SWITCH) -> SpeedSettings:
    return speed_settings(anomaly_mode=on, anomaly_at=at)


def looks(*noted: int) -> list[SampledStacks]:
    """At 100 samples, 200 and so on: how many of the last hundred were where a stack is written down."""
    return [_look(sum(noted[:number]), number) for number in range(1, len(noted) + 1)]


def _look(noted: int, number: int) -> SampledStacks:
    one = sampled({(FORWARD, NOTING): 0}, step=50 * number)
    nodes = [dataclasses.replace(node, total=noted if node.function == "format_stack" else 0) for node in one.nodes]
    return dataclasses.replace(one, samples=100 * number, nodes=tuple(nodes))


def check(*records: Record) -> list[Finding]:
    return judged([loss_site(), *steps(), *records], "anomaly-mode-left-on")


def test_the_switch_is_named_with_what_it_costs() -> None:
    (finding,) = check(settings(), *looks(40, 40))
    assert finding.severity == "warning"
    # 40 % for the stacks and 15 % of the 12 ms of backward
    assert finding.evidence["expected_gain"] == pytest.approx(0.4 + 0.15 * 0.6)
    assert finding.message == (
        "Anomaly mode takes at least 9.8 ms of the 20 ms of each step, and there is no anomaly: all 200 losses "
        "seen are finite."
    )
    assert finding.fix == (
        "Delete the line until there is a NaN to be found; `torch-debugger run` names its op and line without "
        "it. Expected to save about 49 % of each step (9.8 ms)."
    )
    assert finding.edit is not None and (finding.edit.line, finding.edit.after) == (5, "")


def test_a_with_block_is_not_deleted_by_an_edit() -> None:
    (finding,) = check(settings(at=place(5, code="with torch.autograd.detect_anomaly():")), *looks(40, 40))
    assert finding.edit is None
    assert finding.fix.startswith("Switch anomaly mode off until")


def test_where_the_switch_is_not_found_the_backward_is_named() -> None:
    (finding,) = check(settings(at=Place()), *looks(40, 40))
    assert finding.where.line == 40


def test_around_the_forward_alone_only_the_stacks_count() -> None:
    (finding,) = check(settings(on=False), *looks(40, 40))
    assert finding.evidence["expected_gain"] == pytest.approx(0.4)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_where_there_was_a_nan_the_mode_does_its_work(value: float) -> None:
    assert not check(scalars(201, loss=value), settings(), *looks(40, 40))


def test_the_first_steps_alone_are_silent() -> None:
    assert not check(settings(), *looks(40, 0))
    assert not check(settings(), *looks(40)), "nothing is known yet of what comes after them"


def test_without_the_mode_no_stack_is_noted() -> None:
    assert not check(settings(on=False), *looks(0, 0))
    assert not check(settings(), *looks(2, 2)), "2 % of the time"
