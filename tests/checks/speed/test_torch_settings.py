from __future__ import annotations

import dataclasses
import math

import pytest

from tests.checks.speed.sampled_loops import Library, Users, sampled, speed_settings, steps
from tests.fakes import cost, findings_of, judged, loss_site, only, place, scalars
from torch_debugger.records import Finding, Place, SampledStacks, SpeedSettings

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


anomaly = findings_of("anomaly-mode-left-on", loss_site(), *steps())


def test_the_switch_is_named_with_what_it_costs() -> None:
    (finding,) = anomaly(settings(), *looks(40, 40))
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


def test_the_place_and_the_gain_follow_where_the_mode_is_on() -> None:
    # a with block is not deleted by an edit
    (finding,) = anomaly(settings(at=place(5, code="with torch.autograd.detect_anomaly():")), *looks(40, 40))
    assert finding.edit is None
    assert finding.fix.startswith("Switch anomaly mode off until")
    # where the switch is not found the backward is named
    assert only(anomaly(settings(at=Place()), *looks(40, 40))).where.line == 40
    # around the forward alone only the stacks count
    assert only(anomaly(settings(on=False), *looks(40, 40))).evidence["expected_gain"] == pytest.approx(0.4)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_where_there_was_a_nan_the_mode_does_its_work(value: float) -> None:
    assert not anomaly(scalars(201, loss=value), settings(), *looks(40, 40))


def test_the_first_steps_and_steps_without_the_mode_are_silent() -> None:
    assert not anomaly(settings(), *looks(40, 0))
    assert not anomaly(settings(), *looks(40)), "nothing is known yet of what comes after them"
    assert not anomaly(settings(on=False), *looks(0, 0))
    assert not anomaly(settings(), *looks(2, 2)), "2 % of the time"


SET = place(6, code="torch.set_num_threads(int(os.environ['CORES']))")


def speed(threads: int = 16, cores: int = 4, at: Place = SET, device: str = "cpu") -> SpeedSettings:
    return dataclasses.replace(speed_settings(device), threads=threads, cores=cores, threads_at=at)


def oversubscribed(settings: SpeedSettings, count: int = 200, **parts_s: float) -> list[Finding]:
    return judged([settings, *steps(count, **parts_s), cost()], "threads-oversubscribed")


def test_the_line_gets_the_number_of_cores() -> None:
    (finding,) = oversubscribed(speed())
    assert finding.message == (
        "Torch computes with 16 threads, and this process may use 4 cores: in every op the threads stand in "
        "line for them and wait for each other."
    )
    assert finding.fix == (
        "Write `torch.set_num_threads(4)` (or start the script with OMP_NUM_THREADS=4). Expected to save at "
        "least 17 % of each step, and more with small ops."
    )
    assert finding.edit is not None and finding.edit.after == "torch.set_num_threads(4)"
    assert (finding.severity, finding.where.line) == ("warning", 6)
    assert finding.evidence == {"expected_gain": pytest.approx(0.17), "threads": 16.0, "cores": 4.0}


def test_without_a_line_the_fix_says_where() -> None:
    (finding,) = oversubscribed(speed(at=Place(), cores=1))
    assert "may use one core" in finding.message
    assert finding.fix.startswith("Write `torch.set_num_threads(1)` at the start (or ")
    assert finding.edit is None


def test_a_few_threads_too_many_are_a_note() -> None:
    assert only(oversubscribed(speed(threads=7))).severity == "note"


@pytest.mark.parametrize("threads", [1, 4])
def test_threads_that_have_cores_are_silent(threads: int) -> None:
    assert not oversubscribed(speed(threads=threads))


def test_what_does_not_compute_has_nothing_to_gain() -> None:
    assert not oversubscribed(speed(), data_wait=0.016, forward=0.002, backward=0.002)
    assert not oversubscribed(speed(device="cuda"))
    assert not oversubscribed(speed(), count=20)  # too short
