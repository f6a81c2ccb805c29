"""Traces of torch.profiler in files: what they tell, how large they may be, and what is no trace."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from torch_debugger.profiling import trace_events as gathering
from torch_debugger.profiling import trace_files as event_stream
from torch_debugger.profiling.profiled_steps import write_small_trace
from torch_debugger.profiling.timeline import DeviceWork, Op, Timeline
from torch_debugger.profiling.trace_events import is_users
from torch_debugger.profiling.trace_files import find_traces, is_trace
from torch_debugger.profiling.traces import Trace, read_trace
from torch_debugger.system.errors import UsageError

ROOT = Path(__file__).parents[2]
EXPECTED = "Expected is a trace of torch.profiler: what tensorboard_trace_handler or export_chrome_trace wrote."


def op(name: str, began: float, took: float, cat: str = "cpu_op", **args: Any) -> dict[str, Any]:
    """Times in microseconds, as in a trace."""
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 7, "ts": began, "dur": took, "args": args}


def python(name: str, began: float, took: float) -> dict[str, Any]:
    return op(name, began, took, "python_function")


def on_gpu(name: str, began: float, took: float, identity: int, cat: str = "kernel", **args: Any) -> dict[str, Any]:
    return op(name, began, took, cat, **{"External id": identity}, **args) | {"tid": 99}


# A step of 1000 us: the model runs for 300, its backward for 200, the host waits at .item() for 100.
STEP = [
    op("ProfilerStep#4", 0, 1000, "user_annotation"),
    python("train.py(10): <module>", 0, 1000),
    python("train.py(3): step", 50, 900),
    python("nn.Module: Net_0", 100, 300),
    python("torch/nn/modules/module.py(1500): _call_impl", 101, 298),
    python("models/net.py(20): forward", 110, 280),
    python("nn.Module: Linear_0", 120, 100),
    op("aten::linear", 130, 80, **{"External id": 1, "Sequence number": 5, "Input Dims": [[8, 4], [2, 4]]}),
    op("aten::addmm", 140, 60, **{"External id": 2}),
    op("cudaLaunchKernel", 150, 10, "cuda_runtime", **{"External id": 2, "correlation": 11}),
    op("autograd::engine::evaluate_function: AddmmBackward0", 500, 200,
       **{"Sequence number": 5, "Fwd thread id": 7}),
    op("aten::mm", 550, 100, **{"External id": 3, "Fwd thread id": 7}),
    op("aten::item", 750, 120, **{"External id": 4}),
    op("cudaStreamSynchronize", 760, 100, "cuda_runtime", **{"External id": 4}),
    on_gpu("gemm", 200, 50, 2),
    on_gpu("gemm_backward", 600, 70, 3),
    on_gpu("Memcpy HtoD (Pageable -> Device)", 20, 10, 1, "gpu_memcpy", bytes=4096),
]  # fmt: skip


def write(path: Path, events: list[Any], **around: Any) -> str:
    path.write_text(json.dumps({"schemaVersion": 1, **around, "traceEvents": events, "traceName": "x"}))
    return str(path)


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    return read_trace(write(tmp_path / "x.pt.trace.json", STEP, deviceProperties=[{"id": 0}]))


def test_time_by_function_module_and_op(trace: Trace) -> None:
    fact = trace.fact
    assert (fact.first_step, fact.steps, fact.wall_s, fact.on_device) == (5, 1, pytest.approx(1e-3), True)
    lines = {f"{each.place.file}:{each.place.line}": each for each in fact.lines}
    assert lines["models/net.py:20"].host_s == pytest.approx(280e-6)
    assert lines["models/net.py:20"].place.code == "in forward"
    assert lines["models/net.py:20"].device_s == pytest.approx(130e-6), "its backward and its copy too"
    assert lines["train.py:3"].host_s == pytest.approx((900 - 280 - 200) * 1e-6), "neither the model nor backward"
    modules = {each.module: each for each in fact.modules}
    assert modules["Net_0"].forward_s == pytest.approx(300e-6)
    assert modules["Net_0.Linear_0"].kind == "Linear"
    assert modules["Net_0.Linear_0"].backward_s == pytest.approx(200e-6)
    ops = {each.op: each for each in fact.ops}
    assert ops["aten::linear"].host_s == pytest.approx(20e-6), "without what it calls"
    assert ops["aten::addmm"].device_s == pytest.approx(50e-6)
    assert ops["aten::linear"].shapes == "[[8, 4], [2, 4]]"
    (sync,) = fact.syncs
    assert (sync.op, sync.count, sync.wait_s) == ("aten::item", 1, pytest.approx(100e-6))
    (copy,) = fact.copies
    assert (copy.way, copy.pinned, copy.size_bytes) == ("host to device", False, 4096)
    assert fact.kernels == 2
    assert trace.notes == ()
    assert trace.memory is None


def memory(moment: float, used: int, kind: int = 0, device: int = -1) -> dict[str, Any]:
    args = {"Total Allocated": used, "Bytes": 1, "Device Type": kind, "Device Id": device}
    return {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "ts": moment, "args": args}


def test_memory_over_time(tmp_path: Path) -> None:
    events = [memory(0, 10), memory(1000, 500, 1, 0), memory(2000, 70), memory(3000, 30)]
    found = read_trace(write(tmp_path / "x.json", [*STEP, *events])).memory
    assert found is not None
    assert found.moments_ms == (0.0, 1.0, 2.0, 3.0)
    assert found.used_bytes == {"cpu": (10, 10, 70, 70), "cuda:0": (0, 500, 500, 500)}
    assert found.peak_bytes == {"cpu": 70, "cuda:0": 500}


def test_a_long_curve_keeps_its_peak(tmp_path: Path) -> None:
    events = [memory(moment, 9000 if moment == 1234 else moment % 7) for moment in range(5000)]
    found = read_trace(write(tmp_path / "x.json", [*STEP, *events])).memory
    assert found is not None
    assert len(found.moments_ms) == 400
    assert max(found.used_bytes["cpu"]) == found.peak_bytes["cpu"] == 9000


def test_a_real_trace_of_the_tutorials_form(tmp_path: Path) -> None:
    net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1))
    with torch.profiler.profile(
        schedule=torch.profiler.schedule(wait=1, warmup=1, active=3),
        on_trace_ready=torch.profiler.tensorboard_trace_handler(str(tmp_path), use_gzip=True),
        record_shapes=True,
        profile_memory=True,
        with_stack=True,
    ) as profiler:
        for _ in range(6):
            net(torch.randn(16, 32)).square().mean().backward()
            profiler.step()
    (file,) = find_traces(str(tmp_path))
    assert file.endswith(".pt.trace.json.gz")
    trace = read_trace(file)
    assert trace.fact.steps == 3
    assert {each.op for each in trace.fact.ops} >= {"aten::addmm", "aten::mm"}
    assert {each.module for each in trace.fact.modules} == {
        "Sequential_0", "Sequential_0.Linear_0", "Sequential_0.ReLU_0", "Sequential_0.Linear_1",
    }  # fmt: skip
    assert {each.calls for each in trace.fact.modules} == {3}
    assert any((each.place.file or "").endswith("test_traces.py") for each in trace.fact.lines)
    assert trace.memory is not None and trace.memory.peak_bytes["cpu"] > 0


def test_without_stacks_it_says_what_is_missing(tmp_path: Path) -> None:
    trace = read_trace(write(tmp_path / "x.json", [op("aten::mm", 0, 5)]))
    assert trace.notes == ("Functions and modules are not told: the trace was made without with_stack=True.",)
    assert trace.fact.lines == trace.fact.modules == ()


def test_a_cut_off_trace_tells_what_is_left(tmp_path: Path) -> None:
    whole = Path(write(tmp_path / "whole.json", STEP * 200)).read_bytes()
    path = tmp_path / "cut.json"
    path.write_bytes(whole[: len(whole) // 2])
    trace = read_trace(str(path))
    assert trace.notes == ("cut.json ends in the middle: told is what came before its end.",)
    assert trace.fact.ops
    packed = gzip.compress(whole)
    path.write_bytes(packed[: len(packed) * 3 // 4])
    assert read_trace(str(path)).notes[0].startswith("cut.json ends in the middle")


def test_chunks_of_any_size_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "x.json", [*STEP, op("aten::größe", 990, 2)])
    whole = list(event_stream.EventStream(path))
    monkeypatch.setattr(event_stream, "_CHUNK", 17)
    stream = event_stream.EventStream(path)
    assert list(stream) == whole
    assert not stream.cut


def test_a_bare_list_of_events_is_a_trace_too(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(STEP))
    assert read_trace(str(path)).fact.steps == 1


def test_a_huge_trace_is_read_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch_debugger.profiling import traces as reading

    for module in (gathering, reading):
        monkeypatch.setattr(module, "MOST_EVENTS", 10)
    trace = read_trace(write(tmp_path / "x.json", STEP * 10))
    assert trace.notes[0] == "x.json is very large: told are its first 10 events. Profile fewer steps."


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", f"is no JSON. {EXPECTED}"),
        ("epoch,loss", f"is no JSON. {EXPECTED}"),
        ('{"a": 1}', f"has no `traceEvents`. {EXPECTED}"),
        ('{"traceEvents": 5}', f"are no list. {EXPECTED}"),
        ('{"traceEvents": []}', f"holds no operation of torch. {EXPECTED}"),
        ('{"traceEvents": [', f"holds no operation of torch and its end is missing. {EXPECTED}"),
        ('{"traceEvents": [{"ph": "X", "name": "a',
         f"holds no operation of torch and its end is missing. {EXPECTED}"),
        ("[" * 100_000, f"holds no operation of torch and its end is missing. {EXPECTED}"),
        ('[{"ph": "X", "cat": "cpu_op", "name": 3, "ts": "x", "dur": null}, 7, null, "a"]',
         f"holds no operation of torch. {EXPECTED}"),
        ('[{"ph": "X", "cat": "cpu_op", "name": "a", "ts": NaN, "dur": Infinity}]',
         f"holds no operation of torch. {EXPECTED}"),
    ],
)  # fmt: skip
def test_what_is_no_trace_gets_a_sentence(tmp_path: Path, content: str, sentence: str) -> None:
    path = tmp_path / "x.pt.trace.json"
    path.write_text(content)
    with pytest.raises(UsageError) as refused:
        read_trace(str(path))
    assert str(refused.value).endswith(sentence)
    assert str(path) in str(refused.value)


def test_events_with_odd_values_do_no_harm(tmp_path: Path) -> None:
    odd = [
        {**op("aten::mm", 5, 2), "args": "none", "tid": {"a": 1}},
        {**op("aten::mm", 5, -2)},
        op("ProfilerStep#many", 0, 5, "user_annotation"),
        on_gpu("gemm", 5, 5, 12345),
        {"ph": "i", "name": "[memory]", "ts": 1, "args": {"Total Allocated": "much"}},
    ]
    assert read_trace(write(tmp_path / "x.json", odd)).fact.ops[0].calls == 1


@pytest.mark.parametrize(
    ("file", "users"),
    [
        ("train.py", True),
        ("models/net.py", True),
        ("/home/a/project/train.py", True),
        ("torch/nn/modules/linear.py", False),
        ("contextlib.py", False),
        ("transformers/trainer.py", False),
        ("/env/lib/python3.11/site-packages/timm/x.py", False),
    ],
)
def test_whose_file_it_is(file: str, users: bool) -> None:
    assert is_users(file) is users


def test_which_files_are_traces(tmp_path: Path) -> None:
    inside = tmp_path / "plugins" / "profile"
    inside.mkdir(parents=True)
    for name in ("a.pt.trace.json", "b.pt.trace.json.gz", "result.json", "trace.json.gz"):
        (inside / name).write_text("")
    assert {Path(each).name for each in find_traces(str(tmp_path))} == {"a.pt.trace.json", "b.pt.trace.json.gz"}
    assert is_trace(str(inside / "trace.json.gz"))
    assert not is_trace(str(inside / "result.json"))


def test_a_small_trace_holds_the_longest_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch_debugger.profiling import profiled_steps as small_trace

    monkeypatch.setattr(small_trace, "MOST_EVENTS", 2)
    ops = [Op("aten::mm", 0, 9000, 1, -1, False, ""), Op("aten::add", 9000, 9100, 1, -1, False, "")]
    works = [DeviceWork("gemm", 100, 8000, ops[0], 0)]
    path = str(tmp_path / "trace.json.gz")
    assert write_small_trace(Timeline(ops, works), path) == 2
    fact = read_trace(path).fact
    assert [each.op for each in fact.ops] == ["aten::mm"]
    assert fact.kernels == 1


def test_traces_are_read_without_torch(tmp_path: Path) -> None:
    path = write(tmp_path / "x.json", STEP)
    code = f"from torch_debugger.profiling.traces import read_trace\nread_trace({path!r})"
    ask = "import sys; print('torch' in sys.modules, 'torch_debugger' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{ask}"], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "False True\n", done.stderr
