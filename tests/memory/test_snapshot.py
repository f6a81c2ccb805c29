"""Live memory snapshots on the CPU: whose memory it is, by line, module and name, and what grew."""

from __future__ import annotations

import gc
import json
import pickle
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import torch_debugger
from tests.dumps.made import leaking, write
from torch_debugger.memory.snapshots import Hot, Snapshot
from torch_debugger.system.errors import UsageError

FLOAT = 4


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(300, 400)  # builds the body
        self.head = nn.Linear(400, 3)
        self.register_buffer("scale", torch.ones(777))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.body(x).sigmoid()  # keeps its output
        return self.head(hidden)  # type: ignore[no-any-return]


@pytest.fixture(autouse=True)
def nothing_left() -> None:
    """Tensors of other tests, in cycles, would be counted."""
    gc.collect()


def line_of(mark: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, start=1) if line.endswith(f"# {mark}"))


def at(found: tuple[Hot, ...], mark: str) -> Hot:
    (hot,) = [each for each in found if each.what.endswith(f"test_snapshot.py:{line_of(mark)}")]
    return hot


def named(found: tuple[Hot, ...], name: str) -> Hot:
    (hot,) = [each for each in found if each.what == name]
    return hot


def train_step(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    net(torch.randn(8, 300)).square().mean().backward()
    optimizer.step()


def test_what_a_training_holds_by_category_module_and_name() -> None:
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    train_step(net, optimizer)
    features = [torch.zeros(1000) for _ in range(5)]
    stats = torch_debugger.memory.snapshot().stats()
    weights = sum(each.numel() for each in net.parameters()) * FLOAT
    assert at(stats.by_line, "builds the body").size_bytes == (300 * 400 + 400) * FLOAT
    assert named(stats.by_module, "net.body").size_bytes == 2 * (300 * 400 + 400) * FLOAT, "and its gradients"
    assert named(stats.by_name, "features") == Hot("features", 5000 * FLOAT, 5, "tensors")
    assert named(stats.by_name, "optimizer exp_avg").size_bytes == weights
    categories = {each.what: each.size_bytes for each in stats.by_category}
    assert categories["parameters"] >= weights
    assert categories["buffers"] >= 777 * FLOAT
    assert categories["optimizer state"] >= 2 * weights
    assert len(features) == 5


def test_views_and_tied_weights_count_once() -> None:
    rows = torch.zeros(100, 10)
    views = [rows[0], rows[1:], rows.view(-1)]
    before = torch_debugger.memory.snapshot()
    more = [rows[2], rows[3]]
    assert not [each for each in (torch_debugger.memory.snapshot() - before).by_name if each.what == "more"]
    (hot,) = [each for each in before.stats().by_name if each.what in ("rows", "views")]
    assert (hot.size_bytes, hot.count) == (1000 * FLOAT, 1)
    assert views and more


def test_a_view_that_the_collector_meets_first_takes_no_name_away() -> None:
    rows = torch.zeros(100, 10)
    before = torch_debugger.memory.snapshot()
    gc.collect()  # moves `rows` behind what is made from here on
    last = rows[4]
    grown = (torch_debugger.memory.snapshot() - before).by_name
    assert not [each for each in grown if each.what in ("rows", "last")]
    assert len(last) == 10


def test_attributes_and_dictionaries_are_named() -> None:
    class Keeper:
        def __init__(self) -> None:
            self.history = [torch.zeros(50), torch.zeros(50)]

    keeper = Keeper()
    cache = {"keys": torch.zeros(60)}
    stats = torch_debugger.memory.snapshot().stats()
    assert named(stats.by_name, "keeper.history").count == 2
    assert named(stats.by_name, "cache['keys']").size_bytes == 60 * FLOAT
    assert keeper and cache


def test_a_recording_knows_the_lines_and_what_autograd_keeps() -> None:
    net = Net()
    with torch_debugger.memory.record() as recording:
        before = torch_debugger.memory.snapshot()
        outputs = [net(torch.randn(8, 300)) for _ in range(4)]  # the calls
        after = torch_debugger.memory.snapshot()
    growth = after - before
    assert at(growth.by_line, "keeps its output").size_bytes == 4 * 8 * 400 * FLOAT
    assert at(growth.by_line, "keeps its output").count == 4
    assert at(growth.by_line, "the calls").size_bytes == 4 * 8 * 300 * FLOAT, "the inputs, kept for the weights"
    assert named(growth.by_module, "net").size_bytes == 4 * 8 * 400 * FLOAT
    assert named(growth.by_name, "outputs").size_bytes == 4 * 8 * 3 * FLOAT
    assert growth.total_bytes == 4 * 8 * (400 + 300 + 3) * FLOAT
    assert recording.last is not None
    assert at(recording.last.stats().by_line, "keeps its output").count == 4
    assert str(recording) == str(recording.last)
    assert outputs


def test_what_is_gone_is_forgotten() -> None:
    with torch_debugger.memory.record():
        before = torch_debugger.memory.snapshot()
        for _ in range(20):
            torch.zeros(10_000).add_(1)  # gone at once
        assert not torch_debugger.memory.snapshot() - before


def test_what_was_there_before_a_recording_is_not_given_to_its_lines() -> None:
    weight = torch.zeros(4000)
    with torch_debugger.memory.record():
        weight.add_(1)  # in place
        row = weight[:10]  # a view
        lines = [each.what for each in torch_debugger.memory.snapshot().stats().by_line]
    here = tuple(f"test_snapshot.py:{line_of(mark)}" for mark in ("in place", "a view"))
    assert not [each for each in lines if each.endswith(here)]
    assert row is not None


def test_a_recording_changes_nothing() -> None:
    def trained(record: bool) -> tuple[list[torch.Tensor], torch.Tensor, float]:
        torch.manual_seed(0)
        random.seed(0)
        net = Net()
        optimizer = torch.optim.Adam(net.parameters())
        if record:
            with torch_debugger.memory.record():
                train_step(net, optimizer)
                torch_debugger.memory.snapshot()
                train_step(net, optimizer)
        else:
            train_step(net, optimizer)
            train_step(net, optimizer)
        return [each.detach() for each in net.parameters()], torch.rand(3), random.random()

    plain, recorded = trained(False), trained(True)
    assert all(torch.equal(one, other) for one, other in zip(plain[0], recorded[0], strict=True))
    assert torch.equal(plain[1], recorded[1])
    assert plain[2] == recorded[2]


def test_nothing_is_left_behind() -> None:
    from torch.nn.modules import module as hooks
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

    class StopError(Exception):
        pass

    with pytest.raises(StopError), torch_debugger.memory.record() as recording:
        raise StopError
    assert recording.last is not None, "also of a block that failed: the memory of a crash"
    assert _get_current_dispatch_mode_stack() == []
    assert not hooks._global_forward_hooks and not hooks._global_forward_pre_hooks


def test_a_decorator() -> None:
    recording = torch_debugger.memory.record()

    @recording
    def work() -> torch.Tensor:
        return torch.zeros(10)

    assert work().shape == (10,)
    assert recording.stats() is not None


def test_no_tensor_is_kept_alive() -> None:
    import weakref

    big = torch.zeros(1000)
    seen = weakref.ref(big)
    with torch_debugger.memory.record():
        snapshot = torch_debugger.memory.snapshot()
        del big
        assert seen() is None
    assert snapshot.total_bytes > 0


def test_the_seeds_pattern(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from torch_debugger.memory import snapshot

    kept = torch.zeros(123_456)
    snap = snapshot()
    with open(tmp_path / "mem_snapshot.pkl", "wb") as f:
        pickle.dump(snap, f)
    print(snap.stats())
    told = capsys.readouterr().out
    assert told.startswith("Memory in use: ")
    assert "by name" in told and "kept" in told
    assert torch_debugger.memory.load(tmp_path / "mem_snapshot.pkl") == snap, "nothing but its text is unpickled"
    with open(tmp_path / "mem_snapshot.pkl", "rb") as f:
        assert pickle.load(f) == snap
    assert kept is not None


def test_saved_and_loaded(tmp_path: Path) -> None:
    held = [torch.zeros(10)]
    snap = torch_debugger.memory.snapshot()
    snap.save(tmp_path / "memory.json")
    assert torch_debugger.memory.load(tmp_path / "memory.json") == snap
    assert json.loads((tmp_path / "memory.json").read_text())["snapshot"] == json.loads(json.dumps(snap.to_dict()))
    assert not torch_debugger.memory.load(tmp_path / "memory.json") - snap
    with pytest.raises(UsageError, match="cannot be written: No such file or directory"):
        snap.save(tmp_path / "none" / "memory.json")
    assert held


def test_the_dictionary_of_torchs_own_call_is_taken() -> None:
    """`torch.cuda.memory._snapshot()` gives such a one."""
    assert torch_debugger.memory.load(leaking()).stats().by_line[0].what == "/home/a/train.py:31"


def test_as_text_and_html(tmp_path: Path) -> None:
    snap = torch_debugger.memory.load(write(tmp_path / "snapshot.pickle", leaking()))
    assert str(snap) == (
        "Memory in use: 18.9 MB on cuda:0 (67.1 MB reserved, 78.6 MB at the peak). Told by torch's CUDA\n"
        "allocator and its history.\n"
        "by line\n"
        "  16.8 MB  89 %  4 x  /home/a/train.py:31\n"
        "   2.1 MB  11 %  1 x  /home/a/train.py:9\n"
        "by line, at the peak\n"
        "  67.1 MB  85 %  1 x  /home/a/train.py:20\n"
        "  8.39 MB  11 %  2 x  /home/a/train.py:31\n"
        "   2.1 MB   3 %  1 x  /home/a/train.py:9\n"
        "  1.05 MB   1 %  1 x  line not known\n"
        "by category\n"
        "  18.9 MB  100 %  5 x  allocated"
    )
    assert repr(snap) == "<memory snapshot: 18.9 MB in 2 spots>"
    html = snap._repr_html_()
    assert "<td>16.8 MB</td><td>4</td><td><code>/home/a/train.py:31</code></td>" in html
    assert snap.stats().to_dict()["total_bytes"] == snap.total_bytes


def test_names_from_a_file_steer_neither_terminal_nor_page() -> None:
    plain = leaking()
    frames = plain["segments"][0]["blocks"][0]["frames"]
    frames[2]["filename"] = "/home/<i>\x1b[31m.py"
    snap = torch_debugger.memory.load(plain)
    assert "\x1b" not in str(snap)
    assert "<i>" not in snap._repr_html_() and "\x1b" not in snap._repr_html_()


def test_growth_in_words(tmp_path: Path) -> None:
    less: dict[str, Any] = leaking()
    less["segments"][0]["blocks"] = less["segments"][0]["blocks"][:1]
    less["device_traces"] = []
    before, after = torch_debugger.memory.load(less), torch_debugger.memory.load(leaking())
    assert str(torch_debugger.memory.compare(before, after)).startswith(
        "Memory grew by 12.6 MB.\nby line\n  12.6 MB  100 %  3 x  /home/a/train.py:31\n"
    )
    assert str(before - after).startswith("Memory shrank by 12.6 MB.\nby line\n  -12.6 MB  100 %  -3 x")
    assert str(after - after) == "Nothing grew and nothing shrank."
    assert "Memory grew" in (after - before)._repr_html_()


def test_nothing_is_snapshot() -> None:
    from torch_debugger.records import MemorySnapshot

    empty = Snapshot(MemorySnapshot("live tensors", (), (), (), (), ()))
    assert str(empty) == "Memory in use: nothing. Told by the tensors that Python knows of."
