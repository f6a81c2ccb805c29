"""A GPU that ran out of memory: who holds it and what fits, tried on the CPU's tensors and in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.checks.crashes.scripts import HEAD, claims, crash_of, judge, run_script, tell
from torch_debugger.checks.crashes.memory_and_cuda import explain_device_memory
from torch_debugger.crashes.frames import LiveCrash as Scene
from torch_debugger.crashes.frames import Running, walk_traceback
from torch_debugger.crashes.layers import module_paths
from torch_debugger.crashes.memory import count_by_kind, forecast, kept_tensors, models_of
from torch_debugger.records import CrashFact, MemoryLook, Place, SavedByModule
from torch_debugger.records.codec import from_plain, to_plain
from torch_debugger.records.crash import CrashEvidence, Forecast, KeptTensors, MemoryEvidence, ModuleBytes

CPU = torch.device("cpu")
GB = 10**9
FORECAST = Forecast(
    model="net",
    batch=64,
    peak_bytes=30 * GB,
    saved_bytes=25 * GB,
    sample_bytes=GB // 2,
    largest_batch=40,
    modules=(ModuleBytes("net.blocks", "ModuleList", 24 * GB), ModuleBytes("net.head", "Linear", GB)),
    autocast_bytes=16 * GB,
    repeated="net.blocks",
    checkpointed_bytes=18 * GB,
)
FULL = MemoryEvidence(
    device="cuda:0",
    asked_bytes=2 * GB,
    total_bytes=24 * GB,
    free_bytes=GB,
    allocated_bytes=22 * GB,
    reserved_bytes=22 * GB + GB // 2,
    parameter_bytes=GB,
    gradient_bytes=GB,
    optimizer_bytes=2 * GB,
    forecast=FORECAST,
)


def scene_of(tmp_path: Path, source: str, running: Running | None = None) -> Scene:
    error = run_script(tmp_path / "net.py", HEAD + source)
    assert error is not None
    frames = walk_traceback(error.__traceback__)
    frames = [seen for seen in frames if seen.file.endswith("net.py") or "torch" in seen.file]
    return Scene(error, frames, module_paths(frames, {}), running or Running())


def crash(tmp_path: Path, evidence: MemoryEvidence) -> CrashFact:
    """A crash at a real line, with the evidence of a machine with a GPU."""
    real = crash_of(tmp_path / "net.py", "net = [1]\nloss = net.loss\n")
    return replace(
        real, kind="OutOfMemoryError", message="CUDA out of memory.", evidence=CrashEvidence(memory=evidence)
    )


KEEPER = """
net = nn.Sequential(nn.Linear(500, 2000), nn.Tanh(), nn.Linear(2000, 1))
optimizer = torch.optim.Adam(net.parameters())
losses = []
total = 0
for i in range(3):
    loss = net(torch.randn(100, 500)).mean()
    losses.append(loss)
    total += loss
loss.backward()
optimizer.step()
net(torch.randn(100, 400))
"""


def test_bytes_by_kind(tmp_path: Path) -> None:
    counted = count_by_kind(scene_of(tmp_path, KEEPER), CPU)
    parameters = (500 * 2000 + 2000 + 2000 + 1) * 4
    assert counted.parameters == counted.gradients == parameters
    assert 2 * parameters <= counted.optimizer < 2 * parameters + 100
    assert counted.optimizer_to_come == 0


def test_losses_that_keep_their_graphs(tmp_path: Path) -> None:
    kept = {each.name: each for each in kept_tensors(scene_of(tmp_path, KEEPER), CPU)}
    # Of three graphs two have not been through backward: their inputs and hidden values are still there.
    assert kept["losses"].graph_bytes == 2 * 100 * (500 + 2000) * 4
    assert kept["losses"].place.code == "losses.append(loss)"
    assert kept["total"].place.code == "total += loss"
    assert "loss" not in kept


def test_what_fits_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene = scene_of(tmp_path, KEEPER.replace("net(torch.randn(100, 400))", "net(torch.randn(100, 500)).foo"))
    running = Running(models={"net": models_of(scene)["net"]}, calls={"net": ((torch.randn(4096, 500),), {})})
    found = forecast(replace(scene, running=running), running.models, 10**9, 0)
    assert found is not None and found.batch == 4096
    assert found.sample_bytes >= (2000 + 2000) * 4
    assert found.largest_batch == pytest.approx(10**9 / (found.sample_bytes + 2000), rel=0.1)
    assert "at most 15 s" in capsys.readouterr().err
    again = forecast(replace(scene, running=running), running.models, 0, 0)
    assert again is not None and again.largest_batch == 0


def test_a_batch_that_is_too_large(tmp_path: Path) -> None:
    finding = judge(crash(tmp_path, FULL))[0]
    assert tell(finding).splitlines()[:2] == [
        "out-of-memory 0.95 line 2",
        "net.py:2 asked for 2 GB more on cuda:0, which has 24 GB; torch held 22 GB.",
    ]
    assert finding.why == (
        "In use: parameters 1 GB, gradients 1 GB, optimizer state 2 GB, activations and other tensors 18 GB. A "
        "step of `net` at batch 64 needs 30 GB, most of it saved by `net.blocks` 24 GB, `net.head` 1 GB."
    )
    assert finding.fix == (
        "Use a batch of at most 40 instead of 64: each sample takes 500 MB. To keep the effect of 64, "
        'accumulate the gradients of 2 batches of 32. `with torch.autocast("cuda", dtype=torch.bfloat16):` '
        "around the forward saves 14 GB of 30 GB. `torch.utils.checkpoint.checkpoint` around each block of "
        "`net.blocks` saves 18 GB, for one more forward."
    )


def test_losses_kept_from_earlier_steps(tmp_path: Path) -> None:
    place = Place(str(tmp_path / "net.py"), 9, None, "losses.append(loss)")
    kept = KeptTensors("losses", 40, 160, 15 * GB, place, "loss")
    finding = judge(crash(tmp_path, replace(FULL, kept=(kept,))))[0]
    assert finding.message == (
        "net.py:2 asked for 2 GB more on cuda:0, which has 24 GB; torch held 22 GB; `losses` keeps 40 tensors "
        "of 160 B, with the graphs of earlier steps 15 GB."
    )
    assert finding.edit is not None and finding.edit.after == "losses.append(loss.item())"
    assert finding.where.line == 9


def test_memory_in_pieces(tmp_path: Path) -> None:
    finding = judge(crash(tmp_path, replace(FULL, allocated_bytes=15 * GB)))[0]
    assert "expandable_segments" in finding.fix and "7.5 GB in pieces" in finding.message


def test_memory_of_other_programs(tmp_path: Path) -> None:
    finding = judge(crash(tmp_path, replace(FULL, allocated_bytes=2 * GB, reserved_bytes=2 * GB)))[0]
    assert "other programs" in finding.message and "nvidia-smi" in finding.fix


def test_a_step_that_could_not_be_measured_names_no_batch(tmp_path: Path) -> None:
    finding = judge(crash(tmp_path, replace(FULL, forecast=None)))[0]
    assert "could not be measured" in finding.fix


def test_it_survives_the_log(tmp_path: Path) -> None:
    fact = crash(tmp_path, FULL)
    assert from_plain("CrashFact", to_plain(fact)) == fact


NOT_MEMORY: dict[str, str] = {
    "the user's own words": 'raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0")\n',
    "the user's own MemoryError": 'raise MemoryError("no room")\n',
    "a list that is too long to be": "x = [0] * (10 ** 18)\n",
    "a size below zero": "torch.zeros(-1)\n",
    "an allocator of the user's": """
class Pool:
    def take(self, size):
        raise RuntimeError(f"DefaultCPUAllocator: can't allocate memory: you tried to allocate {size} bytes.")
Pool().take(10)
""",
}


@pytest.mark.parametrize("name", NOT_MEMORY)
def test_other_crashes_are_not_claimed(name: str, tmp_path: Path) -> None:
    source: Any = NOT_MEMORY[name].lstrip("\n")
    assert "out-of-memory" not in claims(crash_of(tmp_path / "net.py", HEAD + source))


def test_what_was_seen_of_the_activations_while_it_ran_is_told(tmp_path: Path) -> None:
    modules = (SavedByModule("net.blocks.0", 6 * GB), SavedByModule("", GB))
    look = MemoryLook(12, "cuda:0", "before backward", {"activations": 15 * GB, "parameters": GB}, modules)
    blame = explain_device_memory(crash(tmp_path, replace(FULL, look=look)))
    assert blame is not None
    assert blame.why.endswith(
        " Before the backward of step 12, activations took 15 GB, most of it for `net.blocks.0` 6 GB."
    )
