from __future__ import annotations

import dataclasses

import pytest

from tests.checks.speed.sampled_loops import speed_settings, steps
from tests.fakes import cost, judged, place
from torch_debugger.records import Finding, Place, SpeedSettings

SET = place(6, code="torch.set_num_threads(int(os.environ['CORES']))")


def speed(threads: int = 16, cores: int = 4, at: Place = SET, device: str = "cpu") -> SpeedSettings:
    return dataclasses.replace(speed_settings(device), threads=threads, cores=cores, threads_at=at)


def check(settings: SpeedSettings, count: int = 200, **parts_s: float) -> list[Finding]:
    return judged([settings, *steps(count, **parts_s), cost()], "threads-oversubscribed")


def test_the_line_gets_the_number_of_cores() -> None:
    (finding,) = check(speed())
    assert finding.severity == "warning"
    assert finding.message == (
        "Torch computes with 16 threads, and this process may use 4 cores: in every op the threads stand in "
        "line for them and wait for each other."
    )
    assert finding.fix == (
        "Write `torch.set_num_threads(4)` (or start the script with OMP_NUM_THREADS=4). Expected to save at "
        "least 17 % of each step, and more with small ops."
    )
    assert finding.edit is not None and finding.edit.after == "torch.set_num_threads(4)"
    assert finding.where.line == 6
    assert finding.evidence == {"expected_gain": pytest.approx(0.17), "threads": 16.0, "cores": 4.0}


def test_without_a_line_the_fix_says_where() -> None:
    (finding,) = check(speed(at=Place(), cores=1))
    assert "may use one core" in finding.message
    assert finding.fix.startswith("Write `torch.set_num_threads(1)` at the start (or ")
    assert finding.edit is None


def test_a_few_threads_too_many_are_a_note() -> None:
    (finding,) = check(speed(threads=7))
    assert finding.severity == "note"


@pytest.mark.parametrize("threads", [1, 4])
def test_threads_that_have_cores_are_silent(threads: int) -> None:
    assert not check(speed(threads=threads))


def test_what_does_not_compute_has_nothing_to_gain() -> None:
    assert not check(speed(), data_wait=0.016, forward=0.002, backward=0.002)
    assert not check(speed(device="cuda"))
    assert not check(speed(), count=20)  # too short
