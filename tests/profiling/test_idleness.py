"""How long the device stands still after a wait."""

from __future__ import annotations

import pytest

from torch_debugger.profiling.attribution import IdleAfter
from torch_debugger.profiling.timeline import DeviceWork, Timeline


def timeline(*spans: tuple[int, int]) -> Timeline:
    return Timeline(works=[DeviceWork("kernel", began, ended, None, 0) for began, ended in spans])


@pytest.mark.parametrize(
    ("moment", "idle"),
    [
        (25, 20),  # between two stretches: the whole gap
        (20, 20),  # the wait ends with the last kernel
        (15, 0),  # the device is at work
        (45, 0),
        (90, 0),  # nothing follows
        (5, 0),  # nothing was before
    ],
)
def test_the_gap_around_a_moment(moment: int, idle: int) -> None:
    assert IdleAfter(timeline((10, 20), (40, 60), (50, 80))).at_ns(moment) == idle


def test_work_on_several_streams_is_one_stretch() -> None:
    busy = timeline((0, 50), (10, 20), (30, 60), (70, 80))
    assert busy.stretches() == [(0, 60), (70, 80)]
    assert busy.busy_ns() == 70


def test_without_any_work_there_is_no_idle_time() -> None:
    assert IdleAfter(timeline()).at_ns(5) == 0
