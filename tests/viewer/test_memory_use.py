from __future__ import annotations

from pathlib import Path

from tests.viewer.test_timing_question import ask, shown_runs_of, times, write
from torch_debugger.records import MemoryLook
from torch_debugger.records.performance import SavedByModule

MB = 1_000_000


def look(step: int, activations: int, moment: str = "before backward", device: str = "cpu") -> MemoryLook:
    parts = {"parameters": 50 * MB, "activations": activations, "inputs": 1000}
    return MemoryLook(step, device, moment, parts, (SavedByModule("net.stem", activations // 2),), whole=True)


def test_memory_is_told_by_what_it_is_used_for_with_its_fullest_moment(tmp_path: Path) -> None:
    looks = [look(1, 100 * MB), look(1, 0, "after the update"), look(3, 400 * MB), look(9, 100 * MB)]
    write(tmp_path / "run", [*times(3, slow=1), *looks])

    (told,) = ask(shown_runs_of(tmp_path), "timing", run="run")["memory_use"]

    assert (told["device"], told["steps"]) == ("cpu", [1, 3, 9])
    assert told["categories"] == {
        "parameters": [50 * MB] * 3,
        "activations": [100 * MB, 400 * MB, 100 * MB],
        "rest": [1000] * 3,
    }
    assert told["peak"] == {
        "step": 3,
        "bytes": 450 * MB + 1000,
        "text": "at most 450 MB on cpu before the backward of step 3: activations 400 MB (net.stem 200 MB), "
        "parameters 50 MB, inputs 1 kB",
    }


def test_each_device_is_told_by_itself_the_fullest_first(tmp_path: Path) -> None:
    looks = [look(1, 10 * MB), look(1, 900 * MB, device="cuda:0")]
    write(tmp_path / "run", [*times(3, slow=1), *looks])

    told = ask(shown_runs_of(tmp_path), "timing", run="run")["memory_use"]

    assert [each["device"] for each in told] == ["cuda:0", "cpu"]
