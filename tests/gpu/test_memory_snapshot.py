"""Memory snapshots on a real GPU: a known leak and a known peak, live and in torch's own pickle."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import torch
from torch import nn

import torch_debugger
from torch_debugger.memory.snapshots import Snapshot

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

MB = 1 << 20


def _line_of(mark: str) -> int:
    source = inspect.getsource(inspect.getmodule(_line_of)).splitlines()  # type: ignore[arg-type]
    return next(number for number, line in enumerate(source, start=1) if line.endswith(f"# {mark}"))


def _train(net: nn.Module, optimizer: torch.optim.Optimizer, kept: list[torch.Tensor]) -> None:
    for _ in range(4):
        x = torch.randn(256, 1024, device="cuda")
        y = net(x)
        kept.append(y.repeat(1, 4))  # the leak
        scratch = torch.zeros(64 * MB, device="cuda", dtype=torch.float32)  # the peak
        loss = y.square().mean() + scratch[:1].sum()
        del scratch
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def _require_found(snapshot: Snapshot) -> None:
    stats = snapshot.stats()
    leak, peak = (
        f"{Path(__file__).name}:{_line_of('the leak')}",
        f"{Path(__file__).name}:{_line_of('the peak')}",
    )
    lines = {each.what.split("/")[-1]: each for each in stats.by_line}
    assert lines[leak].count >= 4
    assert lines[leak].size_bytes >= 4 * 256 * 4096 * 4
    assert stats.at_peak[0].what.endswith(peak)
    assert stats.at_peak[0].size_bytes >= 256 * MB
    (device,) = [each for each in snapshot.fact.devices if each.device == "cuda:0"]
    assert device.peak_bytes >= device.used_bytes


def _model() -> tuple[nn.Module, torch.optim.Optimizer]:
    net = nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024)).cuda()
    return net, torch.optim.Adam(net.parameters())


def test_a_recording_and_torchs_own_pickle_tell_the_same(tmp_path: Path) -> None:
    kept: list[torch.Tensor] = []
    with torch_debugger.memory.record():
        net, optimizer = _model()
        torch.cuda.reset_peak_memory_stats()
        _train(net, optimizer, kept)
        live = torch_debugger.memory.snapshot()
        allocated = torch.cuda.memory_allocated()
        highest = torch.cuda.max_memory_allocated()
        torch.cuda.memory._dump_snapshot(str(tmp_path / "snapshot.pickle"))
    print(live)
    _require_found(live)
    (device,) = [each for each in live.fact.devices if each.device == "cuda:0"]
    assert device.used_bytes == pytest.approx(allocated, rel=0.01)
    assert device.peak_bytes == pytest.approx(highest, rel=0.02)
    categories = {each.what: each.size_bytes for each in live.stats().by_category}
    weights = sum(each.numel() * 4 for each in net.parameters())
    assert categories["parameters"] == pytest.approx(weights, rel=0.05)
    assert categories["gradients"] == pytest.approx(weights, rel=0.05)
    assert categories["optimizer state"] == pytest.approx(2 * weights, rel=0.05)
    assert any(each.what == "kept" for each in live.stats().by_name)
    read = torch_debugger.memory.load(tmp_path / "snapshot.pickle")
    print(read)
    _require_found(read)
    assert read.total_bytes == pytest.approx(allocated, rel=0.01)


def test_without_a_history_names_are_told() -> None:
    net, optimizer = _model()
    kept: list[torch.Tensor] = []
    _train(net, optimizer, kept)
    before = torch_debugger.memory.snapshot()
    _train(net, optimizer, kept)
    growth = torch_debugger.memory.snapshot() - before
    print(growth)
    (grown,) = [each for each in growth.by_name if each.what == "kept"]
    assert grown.size_bytes == pytest.approx(4 * 256 * 4096 * 4, rel=0.01)
    assert not torch._C._cuda_isHistoryEnabled()


def test_lines_that_wait_for_the_device_are_named() -> None:
    x = torch.randn(1000, device="cuda")
    mode = torch.cuda.get_sync_debug_mode()
    with torch_debugger.syncs() as waits:
        for _ in range(3):
            x.sum().item()  # the wait
            x.add_(1)
        x[x > 0].sum()  # the mask
    print(waits)
    counts = {each.place.line: each.count for each in waits.found}
    assert counts[_line_of("the wait")] == 3
    assert counts[_line_of("the mask")] >= 1
    assert _line_of("the wait") + 1 not in counts
    assert torch.cuda.get_sync_debug_mode() == mode
