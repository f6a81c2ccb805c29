"""Errors of a GPU in words, and the indices behind them, tried without one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.checks.crashes.scripts import HEAD, claims, crash_of, judge, run_script
from torch_debugger.crashes.cuda import examine_cuda, lookups_out_of_range
from torch_debugger.crashes.frames import LiveCrash as Scene
from torch_debugger.crashes.frames import Running, walk_traceback
from torch_debugger.records import CrashFact, Finding, LocalTensor, Place
from torch_debugger.records.codec import from_plain, to_plain
from torch_debugger.records.crash import CrashEvidence, CudaEvidence

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


def scene_of(tmp_path: Path, *batches: dict[str, torch.Tensor]) -> Scene:
    """A loop whose last batches were these, at the moment a GPU would have failed."""
    error = run_script(tmp_path / "net.py", HEAD + LOOP)
    assert error is not None
    frames = [seen for seen in walk_traceback(error.__traceback__) if seen.file.endswith("net.py")]
    net = frames[0].frame.f_locals["net"]
    assert isinstance(net, nn.Module)
    calls = {"net": ((torch.zeros(4, 5).long(),), {})}
    return Scene(error, frames, {}, Running(models={"net": net}, calls=calls, batches=batches))


def finding_of(tmp_path: Path, evidence: CudaEvidence) -> Finding:
    return judge(crash(tmp_path, evidence))[0]


def crash(tmp_path: Path, evidence: CudaEvidence) -> CrashFact:
    real = crash_of(tmp_path / "net.py", HEAD + LOOP)
    told = replace(real, kind="AcceleratorError", message=f"CUDA error: {evidence.told}")
    return replace(told, evidence=CrashEvidence(cuda=evidence))


def test_an_index_without_a_row(tmp_path: Path) -> None:
    tokens = torch.tensor([[0, 1, 2, 3, 4]] * 3 + [[5, 6, 50, 8, 9]])
    lookups = lookups_out_of_range(scene_of(tmp_path, {**IN_RANGE, "batch[0]": tokens}, IN_RANGE))
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
    lookups = lookups_out_of_range(scene_of(tmp_path, IN_RANGE, {**IN_RANGE, "batch[1]": labels}))
    finding = finding_of(tmp_path, CudaEvidence("assert", "device-side assert triggered", lookups=lookups))
    assert finding.message == (
        "`net.head` gives 3 scores, for labels 0 to 2, but `labels` of 2 batches ago holds a value out of "
        "range: 3 at position 1."
    )
    assert finding.edit is not None and finding.edit.after == "self.head = nn.Linear(8, 4)"


def test_the_label_that_does_not_count_is_in_range(tmp_path: Path) -> None:
    labels = torch.tensor([0, -100, 1, 2])
    assert lookups_out_of_range(scene_of(tmp_path, {**IN_RANGE, "batch[1]": labels})) == ()


def test_batches_in_range_are_not_blamed(tmp_path: Path) -> None:
    assert lookups_out_of_range(scene_of(tmp_path, IN_RANGE)) == ()
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
    lookups = lookups_out_of_range(scene_of(tmp_path, {**IN_RANGE, "batch[0]": tokens}))
    finding = finding_of(tmp_path, CudaEvidence("library", "CUBLAS_STATUS_EXECUTION_FAILED", lookups=lookups))
    assert finding.name == "cuda-kernel-error" and "70 at row 0" in finding.message


def test_a_build_for_other_devices(tmp_path: Path) -> None:
    evidence = CudaEvidence(
        "image",
        "no kernel image is available",
        alive=True,
        name="Tesla K80",
        capability="sm_37",
        architectures=("sm_70", "sm_90"),
    )
    assert finding_of(tmp_path, evidence).message == (
        "This torch has no kernels for Tesla K80 (sm_37): it was built for sm_70, sm_90."
    )
    assert claims(crash(tmp_path, replace(evidence, capability="sm_90"))) == []


def test_cuda_in_a_worker(tmp_path: Path) -> None:
    worker = Place(str(tmp_path / "net.py"), 9, None, "return self.x[i].cuda()")
    finding = finding_of(tmp_path, CudaEvidence("fork", "Cannot re-initialize CUDA", worker=worker))
    assert finding.message == "net.py:9 uses CUDA in a forked worker: `.cuda()`."
    assert finding.where.line == 9


def test_it_survives_the_log(tmp_path: Path) -> None:
    tokens = torch.full((4, 5), 70)
    lookups = lookups_out_of_range(scene_of(tmp_path, {**IN_RANGE, "batch[0]": tokens}))
    fact = crash(tmp_path, CudaEvidence("assert", "device-side assert triggered", lookups=lookups))
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
    assert examine_cuda(scene_of(tmp_path, IN_RANGE)) is None
