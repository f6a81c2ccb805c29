from __future__ import annotations

from torch_debugger.records import HeldByVariable, MemoryLook
from torch_debugger.records.performance import SavedByModule
from torch_debugger.report.json_and_markdown import to_json
from torch_debugger.report.result import RunDigest
from torch_debugger.report.sentences import closing

GB = 1_000_000_000
MODULES = tuple(SavedByModule(f"net.blocks.{number}", GB // 4) for number in range(4))


def look(step: int, moment: str, allocated: int, peak: int, **parts: int) -> MemoryLook:
    history = HeldByVariable("history", GB // 2, 40, True)
    shown = {name.replace("_", " "): size for name, size in parts.items()}
    return MemoryLook(step, "cuda:0", moment, shown, MODULES, (history,), allocated, peak)


def test_the_peak_is_told_with_what_it_was_made_of() -> None:
    digest = RunDigest("train.py")
    digest.see(look(2, "before backward", 3 * GB, 3 * GB, parameters=GB, activations=2 * GB))
    digest.see(
        look(12, "before backward", 4 * GB, 4 * GB, parameters=GB, activations=2 * GB, kept_from_earlier_steps=GB)
    )
    digest.see(look(12, "after the update", 3 * GB, 5 * GB, parameters=GB, gradients=GB, optimizer_state=GB))
    result = digest.result([])
    assert dict(closing(result))["memory"] == (
        "peak 5 GB, 1 GB of it for a moment within a step; 4 GB on cuda:0 before the backward of step 12: "
        "activations 2 GB (net.blocks.0 250 MB, net.blocks.1 250 MB, net.blocks.2 250 MB), parameters 1 GB, "
        "kept from earlier steps 1 GB (history 500 MB)"
    )
    (told,) = to_json(result)["memory"]
    assert (told["step"], told["used_bytes"], told["peak_bytes"]) == (12, 4 * GB, 5 * GB)
    assert told["parts"]["activations"] == 2 * GB


def test_a_little_memory_is_not_worth_a_line() -> None:
    digest = RunDigest("train.py")
    digest.see(look(2, "before backward", 0, 0, parameters=99_000_000))
    assert "memory" not in dict(closing(digest.result([])))
