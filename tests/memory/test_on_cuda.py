"""What is particular to CUDA, played without one: torch's history switched on and off, blocks and their owners.
tests/gpu has the same on a real GPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import torch_debugger
from tests.dumps.made import MB, leaking
from torch_debugger.memory.snapshots import Owner, read_allocator
from torch_debugger.records import Place


class History:
    """torch's switch."""

    def __init__(self, on: bool) -> None:
        self.on = on
        self.calls: list[dict[str, Any]] = []

    def switch(self, enabled: str | None = "all", **settings: Any) -> None:
        self.on = enabled is not None
        self.calls.append({"enabled": enabled, **settings})


@pytest.fixture
def history(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> History:
    made = History(on=request.param)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda.memory, "_record_memory_history", made.switch)
    monkeypatch.setattr(torch.cuda.memory, "_snapshot", leaking)
    monkeypatch.setattr(torch._C, "_cuda_isHistoryEnabled", lambda: made.on, raising=False)
    return made


@pytest.mark.parametrize("history", [False], indirect=True)
def test_the_history_is_on_inside_and_off_again(history: History) -> None:
    with torch_debugger.memory.record(max_entries=500) as recording:
        assert history.on
        inside = torch_debugger.memory.snapshot()
    assert history.calls == [
        {"enabled": "all", "max_entries": 500, "stacks": "python"},
        {"enabled": None},
    ]
    assert inside.fact.source == "allocator history"
    assert inside.stats().by_line[0].what == "/home/a/train.py:31"
    assert inside.fact.devices[0].peak_bytes == 75 * MB
    assert recording.last is not None and recording.last.fact.at_peak == inside.fact.at_peak


@pytest.mark.parametrize("history", [True], indirect=True)
def test_a_history_of_the_users_own_stays_on(history: History) -> None:
    with torch_debugger.memory.record():
        pass
    assert history.on
    assert history.calls == []


@pytest.mark.parametrize("history", [False], indirect=True)
def test_the_host_is_told_beside_the_device(history: History) -> None:
    kept = [torch.zeros(1000)]
    stats = torch_debugger.memory.snapshot().stats()
    assert {"kept", "held by autograd or a library"} <= {each.what for each in (*stats.by_name, *stats.by_category)}
    assert "on cuda:0" in stats.title and "on cpu" in stats.title
    assert kept


def test_blocks_get_the_names_of_the_tensors_in_them() -> None:
    owners = {
        (0, 0x9000): Owner("parameters", "net.fc.weight", Place("/home/a/net.py", 5, "net.fc", "fc = Linear()")),
        (0, 0x1000): Owner("activations", "kept", Place()),
    }
    found = read_allocator(leaking(), owners, unowned="not seen")
    told = {(spot.category, spot.name, spot.place.line, spot.place.module): spot.size_bytes for spot in found.spots}
    assert told == {
        ("parameters", "net.fc.weight", 9, "net.fc"): 2 * MB,  # the line of the history, not of the constructor
        ("activations", "kept", 31, None): 4 * MB,
        ("not seen", "", 31, None): 12 * MB,
    }


def test_without_a_history_a_parameter_has_the_line_that_builds_its_layer() -> None:
    plain = leaking()
    plain["device_traces"] = []
    for segment in plain["segments"]:
        for block in segment["blocks"]:
            block["frames"] = []
    place = Place("/home/a/net.py", 5, "net.fc", "fc = Linear()")
    found = read_allocator(plain, {(0, 0x9000): Owner("parameters", "net.fc.weight", place)})
    assert next(spot.place for spot in found.spots if spot.category == "parameters") == place
