"""Errors of a GPU and who holds its memory, tried without one: on the tensors of the CPU and in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.checks.crashes.scripts import HEAD, claims, crash_of, judge, run_script, tell
from torch_debugger.checks.crashes.memory_and_cuda import explain_device_memory
from torch_debugger.crashes.cuda import examine_cuda, lookups_out_of_range
from torch_debugger.crashes.frames import LiveCrash as Scene
from torch_debugger.crashes.frames import Running, walk_traceback
from torch_debugger.crashes.layers import module_paths
from torch_debugger.crashes.memory import count_by_kind, forecast, kept_tensors, models_of
from torch_debugger.records import CrashFact, Finding, LocalTensor, MemoryLook, Place, SavedByModule
from torch_debugger.records.codec import from_plain, to_plain
from torch_debugger.records.crash import CrashEvidence, CudaEvidence, Forecast, KeptTensors, MemoryEvidence, ModuleBytes

LOOP = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 8)
        self.head = nn.Linear(8, 3)
    def forward(self, tokens):
        return self.head(self.embed(tokens).mean(dim=1))
net = Net()
loss = F.cross_entropy(net(torch.zeros(4, 5).long()), torch.zeros(4).long())
for tokens, labels in [(1, 2)]:
    loss.missing()
"""
IN_RANGE = {"batch[0]": torch.zeros(4, 5).long(), "batch[1]": torch.zeros(4).long()}


def cuda_scene_of(tmp_path: Path, *batches: dict[str, torch.Tensor]) -> Scene:
    """A loop whose last batches were these, at the moment a GPU would have failed."""
    error = run_script(tmp_path / "net.py", HEAD + LOOP)
    assert error is not None
    frames = [seen for seen in walk_traceback(error.__traceback__) if seen.file.endswith("net.py")]
    net = frames[0].frame.f_locals["net"]
    assert isinstance(net, nn.Module)
    calls = {"net": ((torch.zeros(4, 5).long(),), {})}
    return Scene(error, frames, {}, Running(models={"net": net}, calls=calls, batches=batches))


def finding_of(tmp_path: Path, evidence: CudaEvidence) -> Finding:
    return judge(cuda_crash(tmp_path, evidence))[0]


def cuda_crash(tmp_path: Path, evidence: CudaEvidence) -> CrashFact:
    real = crash_of(tmp_path / "net.py", HEAD + LOOP)
    told = replace(real, kind="AcceleratorError", message=f"CUDA error: {evidence.told}")
    return replace(told, evidence=CrashEvidence(cuda=evidence))


def test_an_index_without_a_row(tmp_path: Path) -> None:
    tokens = torch.tensor([[0, 1, 2, 3, 4]] * 3 + [[5, 6, 50, 8, 9]])
    lookups = lookups_out_of_range(cuda_scene_of(tmp_path, {**IN_RANGE, "batch[0]": tokens}, IN_RANGE))
    assert [(lookup.found.indices.name, lookup.age) for lookup in lookups] == [("tokens", 0)]
    finding = finding_of(tmp_path, CudaEvidence("assert", "device-side assert triggered", lookups=lookups))
    assert finding.message == (
        "`net.embed` has rows 0 to 49, but `tokens` of the last batch holds a value out of range: 50 at row 3, "
        "column 2."
    )
    assert finding.edit is not None and finding.edit.after == "self.embed = nn.Embedding(51, 8)"
    assert finding.why.endswith("it showed at net.py:16.")


def test_a_label_without_a_score(tmp_path: Path) -> None:
    labels = torch.tensor([0, 3, 1, 2])
    lookups = lookups_out_of_range(cuda_scene_of(tmp_path, IN_RANGE, {**IN_RANGE, "batch[1]": labels}))
    finding = finding_of(tmp_path, CudaEvidence("assert", "device-side assert triggered", lookups=lookups))
    assert finding.message == (
        "`net.head` gives 3 scores, for labels 0 to 2, but `labels` of 2 batches ago holds a value out of "
        "range: 3 at position 1."
    )
    assert finding.edit is not None and finding.edit.after == "self.head = nn.Linear(8, 4)"


def test_the_label_that_does_not_count_is_in_range(tmp_path: Path) -> None:
    labels = torch.tensor([0, -100, 1, 2])
    assert lookups_out_of_range(cuda_scene_of(tmp_path, {**IN_RANGE, "batch[1]": labels})) == ()


def test_batches_in_range_are_not_blamed(tmp_path: Path) -> None:
    assert lookups_out_of_range(cuda_scene_of(tmp_path, IN_RANGE)) == ()
    seen = (LocalTensor("tokens", (4, 5), "int64", "cpu", False, lowest=0, highest=49),)
    evidence = CudaEvidence("assert", "device-side assert triggered", seen=seen)
    finding = finding_of(tmp_path, evidence)
    assert finding.confidence == 0.7
    assert "CUDA_LAUNCH_BLOCKING=1" in finding.fix and "`tokens` 0 to 49" in finding.why
    exact = finding_of(tmp_path, replace(evidence, blocking=True))
    assert "CUDA_LAUNCH_BLOCKING" not in exact.fix and "later" not in exact.why


def test_an_address_that_is_wrong(tmp_path: Path) -> None:
    finding = finding_of(tmp_path, CudaEvidence("address", "an illegal memory access was encountered"))
    assert (finding.name, finding.confidence) == ("cuda-kernel-error", 0.6)
    assert "compute-sanitizer" in finding.fix


def test_memory_in_disguise(tmp_path: Path) -> None:
    short = CudaEvidence(
        "library", "CUBLAS_STATUS_ALLOC_FAILED", alive=True, free_bytes=5_000_000, total_bytes=24 * 10**9
    )
    finding = finding_of(tmp_path, short)
    assert finding.message == (
        "CUBLAS_STATUS_ALLOC_FAILED at net.py:16 is an out-of-memory error: 5 MB of the device's 24 GB are free."
    )
    enough = finding_of(tmp_path, replace(short, free_bytes=10 * 10**9))
    assert "out-of-memory" not in enough.message and enough.confidence == 0.6


def test_an_index_in_disguise(tmp_path: Path) -> None:
    tokens = torch.full((4, 5), 70)
    lookups = lookups_out_of_range(cuda_scene_of(tmp_path, {**IN_RANGE, "batch[0]": tokens}))
    finding = finding_of(tmp_path, CudaEvidence("library", "CUBLAS_STATUS_EXECUTION_FAILED", lookups=lookups))
    assert finding.name == "cuda-kernel-error" and "70 at row 0" in finding.message


def test_a_build_for_other_devices(tmp_path: Path) -> None:
    evidence = CudaEvidence(
        "image", "no kernel image is available", alive=True, name="Tesla K80", capability="sm_37",
        architectures=("sm_70", "sm_90"),
    )  # fmt: skip
    assert finding_of(tmp_path, evidence).message == (
        "This torch has no kernels for Tesla K80 (sm_37): it was built for sm_70, sm_90."
    )
    assert claims(cuda_crash(tmp_path, replace(evidence, capability="sm_90"))) == []


def test_cuda_in_a_worker(tmp_path: Path) -> None:
    worker = Place(str(tmp_path / "net.py"), 9, None, "return self.x[i].cuda()")
    finding = finding_of(tmp_path, CudaEvidence("fork", "Cannot re-initialize CUDA", worker=worker))
    assert finding.message == "net.py:9 uses CUDA in a forked worker: `.cuda()`."
    assert finding.where.line == 9


def test_an_index_survives_the_log(tmp_path: Path) -> None:
    tokens = torch.full((4, 5), 70)
    lookups = lookups_out_of_range(cuda_scene_of(tmp_path, {**IN_RANGE, "batch[0]": tokens}))
    fact = cuda_crash(tmp_path, CudaEvidence("assert", "device-side assert triggered", lookups=lookups))
    assert from_plain("CrashFact", to_plain(fact)) == fact


@pytest.mark.parametrize(
    "text",
    [
        "CUDA error: device-side assert triggered",
        "CUDA error: an illegal memory access was encountered",
        "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
        "Cannot re-initialize CUDA in forked subprocess",
        "CUDA error: no kernel image is available for execution on the device",
    ],
)
def test_the_users_own_words_are_not_claimed(text: str, tmp_path: Path) -> None:
    assert claims(crash_of(tmp_path / "net.py", f'{HEAD}raise RuntimeError("{text}")\n')) == []


def test_other_exceptions_are_not_looked_at(tmp_path: Path) -> None:
    assert examine_cuda(cuda_scene_of(tmp_path, IN_RANGE)) is None


CPU = torch.device("cpu")
GB = 10**9
FORECAST = Forecast(
    model="net", batch=64, peak_bytes=30 * GB, saved_bytes=25 * GB, sample_bytes=GB // 2, largest_batch=40,
    modules=(ModuleBytes("net.blocks", "ModuleList", 24 * GB), ModuleBytes("net.head", "Linear", GB)),
    autocast_bytes=16 * GB, repeated="net.blocks", checkpointed_bytes=18 * GB,
)  # fmt: skip
FULL = MemoryEvidence(
    device="cuda:0", asked_bytes=2 * GB, total_bytes=24 * GB, free_bytes=GB, allocated_bytes=22 * GB,
    reserved_bytes=22 * GB + GB // 2, parameter_bytes=GB, gradient_bytes=GB, optimizer_bytes=2 * GB,
    forecast=FORECAST,
)  # fmt: skip


def memory_scene_of(tmp_path: Path, source: str, running: Running | None = None) -> Scene:
    error = run_script(tmp_path / "net.py", HEAD + source)
    assert error is not None
    frames = walk_traceback(error.__traceback__)
    frames = [seen for seen in frames if seen.file.endswith("net.py") or "torch" in seen.file]
    return Scene(error, frames, module_paths(frames, {}), running or Running())


def memory_crash(tmp_path: Path, evidence: MemoryEvidence) -> CrashFact:
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
    counted = count_by_kind(memory_scene_of(tmp_path, KEEPER), CPU)
    parameters = (500 * 2000 + 2000 + 2000 + 1) * 4
    assert counted.parameters == counted.gradients == parameters
    assert 2 * parameters <= counted.optimizer < 2 * parameters + 100
    assert counted.optimizer_to_come == 0


def test_losses_that_keep_their_graphs(tmp_path: Path) -> None:
    kept = {each.name: each for each in kept_tensors(memory_scene_of(tmp_path, KEEPER), CPU)}
    # Of three graphs two have not been through backward: their inputs and hidden values are still there.
    assert kept["losses"].graph_bytes == 2 * 100 * (500 + 2000) * 4
    assert kept["losses"].place.code == "losses.append(loss)"
    assert kept["total"].place.code == "total += loss"
    assert "loss" not in kept


def test_what_fits_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene = memory_scene_of(tmp_path, KEEPER.replace("net(torch.randn(100, 400))", "net(torch.randn(100, 500)).foo"))
    running = Running(models={"net": models_of(scene)["net"]}, calls={"net": ((torch.randn(4096, 500),), {})})
    found = forecast(replace(scene, running=running), running.models, 10**9, 0)
    assert found is not None and found.batch == 4096
    assert found.sample_bytes >= (2000 + 2000) * 4
    assert found.largest_batch == pytest.approx(10**9 / (found.sample_bytes + 2000), rel=0.1)
    assert "at most 15 s" in capsys.readouterr().err
    again = forecast(replace(scene, running=running), running.models, 0, 0)
    assert again is not None and again.largest_batch == 0


def test_a_batch_that_is_too_large(tmp_path: Path) -> None:
    finding = judge(memory_crash(tmp_path, FULL))[0]
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
    finding = judge(memory_crash(tmp_path, replace(FULL, kept=(kept,))))[0]
    assert finding.message == (
        "net.py:2 asked for 2 GB more on cuda:0, which has 24 GB; torch held 22 GB; `losses` keeps 40 tensors "
        "of 160 B, with the graphs of earlier steps 15 GB."
    )
    assert finding.edit is not None and finding.edit.after == "losses.append(loss.item())"
    assert finding.where.line == 9


def test_memory_in_pieces_and_of_other_programs(tmp_path: Path) -> None:
    finding = judge(memory_crash(tmp_path, replace(FULL, allocated_bytes=15 * GB)))[0]
    assert "expandable_segments" in finding.fix and "7.5 GB in pieces" in finding.message, "memory in pieces"
    finding = judge(memory_crash(tmp_path, replace(FULL, allocated_bytes=2 * GB, reserved_bytes=2 * GB)))[0]
    assert "other programs" in finding.message and "nvidia-smi" in finding.fix, "memory of other programs"
    finding = judge(memory_crash(tmp_path, replace(FULL, forecast=None)))[0]
    assert "could not be measured" in finding.fix, "a step that could not be measured names no batch"


def test_full_memory_survives_the_log(tmp_path: Path) -> None:
    fact = memory_crash(tmp_path, FULL)
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
    blame = explain_device_memory(memory_crash(tmp_path, replace(FULL, look=look)))
    assert blame is not None
    assert blame.why.endswith(
        " Before the backward of step 12, activations took 15 GB, most of it for `net.blocks.0` 6 GB."
    )
