"""What a trace of torch.profiler is made into: steps and parts, operators, kernels, ranks, memory, stacks."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.profiling.nccl_traces import ALL_REDUCE, GEMM, write_rank
from tests.profiling.test_traces import STEP, op, python, write
from torch_debugger.profiling.trace_files import find_traces, read_header
from torch_debugger.profiling.trace_operators import plain_shapes, uses_tensor_cores
from torch_debugger.profiling.trace_steps import Cover
from torch_debugger.profiling.traces import Trace, read_rank, read_trace

H200 = Path(__file__).parent / "h200.pt.trace.json.gz"


@pytest.fixture(scope="module")
def ranked(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return read_trace(write_rank(tmp_path_factory.mktemp("ranks") / "rank0.pt.trace.json"))


def test_the_parts_of_a_step_are_the_step(ranked: Trace) -> None:
    report = ranked.report
    assert [step.number for step in report.steps] == [3, 4]
    assert report.step_s == pytest.approx(1e-3)
    expected = {
        "kernel": 400, "memcpy": 50, "memset": 10, "communication": 100,
        "runtime": 8 + 10,  # of the copy's call what was before the copy; the launch
        "dataloader": 100,
        "cpu exec": 2 + 20 + 20 + 40,  # around the runtime's calls, before the product and in the update
    }  # fmt: skip
    parts = {name: seconds * 1e6 for name, seconds in report.parts.items()}
    assert {name: parts[name] for name in ("kernel", "memcpy", "memset", "communication", "dataloader")} == {
        name: pytest.approx(expected[name]) for name in ("kernel", "memcpy", "memset", "communication", "dataloader")
    }
    assert sum(parts.values()) == pytest.approx(1000)
    assert parts["runtime"] == pytest.approx(expected["runtime"])


def test_operators_by_name_and_by_the_shapes_of_their_inputs(ranked: Trace) -> None:
    by_name = {each.name: each for each in ranked.report.ops}
    linear, product = by_name["aten::linear"], by_name["aten::addmm"]
    assert (linear.calls, linear.host_s, linear.host_self_s) == (2, pytest.approx(200e-6), pytest.approx(40e-6))
    assert (linear.device_self_s, linear.device_s) == (0.0, pytest.approx(600e-6)), "what it called has started it"
    assert product.device_self_s == pytest.approx(600e-6)
    assert "cudaLaunchKernel" not in by_name
    shapes = {(each.name, each.shapes) for each in ranked.report.ops_by_shape}
    assert ("aten::addmm", "[16], [64, 32], [32, 16]") in shapes


def test_kernels_and_how_well_the_device_was_used(ranked: Trace) -> None:
    by_name = {each.name: each for each in ranked.report.kernels}
    assert set(by_name) == {GEMM, ALL_REDUCE, "multi_tensor_apply_kernel<AdamW>"}, "no copies, no fills"
    assert (by_name[GEMM].calls, by_name[GEMM].op) == (2, "aten::addmm")
    assert by_name[GEMM].tensor_cores and not by_name[ALL_REDUCE].tensor_cores
    device = ranked.report.device
    assert device is not None and device.name == "NVIDIA A100"
    assert device.occupancy == pytest.approx(0.4)
    assert device.sm_efficiency == pytest.approx(0.5 * 600 / 1000)
    assert device.tensor_cores == pytest.approx(300 / 600)


def test_computing_and_communicating(ranked: Trace) -> None:
    rank = ranked.report.rank
    assert (rank.rank, rank.world_size, rank.backend, rank.steps) == (0, 2, "nccl", 2)
    numbers = (rank.computing_s, rank.overlap_s, rank.communicating_s, rank.other_s)
    assert [round(each * 1e6) for each in numbers] == [300, 100, 100, 500]
    (collective,) = ranked.report.collectives
    assert (collective.name, collective.calls, collective.size_bytes) == ("AllReduce", 2, 2 * 528 * 4)


def test_memory_over_time_and_what_asked_for_it(ranked: Trace) -> None:
    memory = ranked.report.memory
    assert memory is not None
    assert memory.peak_bytes == {"cuda:0": 6048}
    assert memory.peak_s == {"cuda:0": pytest.approx(1165e-6)}
    assert memory.reserved_bytes == {"cuda:0": (4096,) * 4}
    by_op = {each.op: each for each in ranked.report.allocations}
    assert set(by_op) == {"aten::addmm"}, "what gives back only is no request"
    assert (by_op["aten::addmm"].allocations, by_op["aten::addmm"].allocated_bytes) == (2, 4096)


def test_a_step_lasts_until_its_kernels_are_over(tmp_path: Path) -> None:
    late = [op("ProfilerStep#1", 0, 100, "user_annotation"), op("aten::mm", 10, 5, **{"External id": 1})]
    kernel = op("gemm", 90, 400, "kernel", **{"External id": 1}) | {"tid": 7}
    report = read_trace(write(tmp_path / "x.json", [*late, kernel])).report
    assert report.step_s == pytest.approx(490e-6)
    assert report.parts["kernel"] == pytest.approx(400e-6)


def test_python_functions_as_a_tree(tmp_path: Path) -> None:
    calls = [
        python("train.py(1): <module>", 0, 100),
        python("a.py(2): f", 10, 20),
        python("a.py(2): f", 40, 20),
    ]
    report = read_trace(write(tmp_path / "x.json", [op("aten::mm", 0, 100), *calls])).report
    assert [(each.parent, each.name, each.calls) for each in report.stacks] == [
        (-1, "train.py(1): <module>", 1), (0, "a.py(2): f", 2),
    ]  # fmt: skip
    assert report.stacks[1].total_s == pytest.approx(40e-6)


def test_a_trace_of_a_real_gpu() -> None:
    trace = read_trace(str(H200))
    report = trace.report
    assert report.device is not None and report.device.name == "NVIDIA H200"
    assert trace.settings.capability == (9, 0) and not trace.settings.tf32_matmul, "it has kernels named sgemm"
    assert sum(report.parts.values()) == pytest.approx(report.step_s)
    assert {"kernel", "memcpy", "memset", "runtime", "dataloader", "cpu exec", "other"} == set(report.parts)
    assert {each.name for each in report.ops} >= {"aten::addmm", "aten::convolution_backward"}
    assert [each.name for each in report.collectives] == ["all_reduce"]
    assert report.memory is not None and report.memory.reserved_bytes["cuda:0"][-1] > report.memory.peak_bytes["cuda:0"]
    assert [(each.kind, each.form) for each in trace.optimizers] == [("Adam", "in lists")]
    assert {each.dtype for each in trace.fact.products} == {"float32"}


def test_a_trace_of_a_small_training_on_the_cpu(tmp_path: Path) -> None:
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.Adam(net.parameters())
    loader = DataLoader(TensorDataset(torch.randn(48, 16), torch.zeros(48, dtype=torch.long)), batch_size=8)
    with torch.profiler.profile(
        schedule=torch.profiler.schedule(wait=1, warmup=1, active=3, repeat=1),
        on_trace_ready=torch.profiler.tensorboard_trace_handler(str(tmp_path)),
        record_shapes=True,
        profile_memory=True,
        with_stack=True,
    ) as profiler:
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
            profiler.step()
    trace = read_trace(find_traces(str(tmp_path))[0])
    report = trace.report
    assert [step.number for step in report.steps] == [2, 3, 4]
    assert set(report.parts) == {"dataloader", "cpu exec", "other"}
    assert all(sum(step.parts.values()) == pytest.approx(step.took_s) for step in report.steps)
    assert ("aten::addmm", "[32], [8, 16], [16, 32]") in {(each.name, each.shapes) for each in report.ops_by_shape}
    assert report.kernels == () and report.device is None
    assert report.training.loader_workers is False
    assert (report.training.loader_at.file or "").endswith("test_trace_tables.py")
    assert [(each.kind, each.form, len(each.parameters)) for each in trace.optimizers] == [("Adam", "one by one", 4)]
    assert any(each.op == "aten::addmm" for each in report.allocations)
    assert any(each.name.startswith("nn.Module: Linear") for each in report.stacks)


def test_a_cover_counts_as_the_slow_way_does() -> None:
    draw = random.Random(3)
    for _ in range(50):
        intervals = [(start, start + draw.randrange(12)) for start in (draw.randrange(80) for _ in range(12))]
        covered = {moment for began, ended in intervals for moment in range(began, ended)}
        cover = Cover(intervals)
        assert cover.total_ns == len(covered)
        for began, ended in ((0, 100), (10, 30), (37, 38), (50, 50), (85, 120)):
            assert cover.within(began, ended) == len(covered & set(range(began, ended)))


def test_a_header_may_be_cut_anywhere(tmp_path: Path) -> None:
    text = Path(write_rank(tmp_path / "x.pt.trace.json", rank=5, world_size=8)).read_text()
    header = read_header(text)
    assert (header.rank, header.world_size, header.capability) == (5, 8, (8, 0))
    assert read_rank(str(tmp_path / "x.pt.trace.json")) == header
    for length in range(300):
        assert read_header(text[:length]).rank in (-1, 5)
    assert read_header(json.dumps({"deviceProperties": 5, "distributedInfo": {"rank": "x"}})).rank == -1


def test_names_of_kernels_and_shapes() -> None:
    with_cores = (
        "ampere_fp16_s16816gemm_fp16_64x64",
        "sm90_xmma_gemm_bf16bf16_bf16f32",
        "void flash_fwd_kernel<>",
    )
    without = (
        "cutlass_80_simt_sgemm_64x64",
        "ampere_sgemm_128x64_tn",
        "elementwise_kernel<128>",
        "ncclDevKernel",
    )
    assert [uses_tensor_cores(name) for name in with_cores] == [True] * 3
    assert [uses_tensor_cores(name) for name in without] == [False] * 4
    assert plain_shapes("[[8, 4], [2, 4], [], []]") == "[8, 4], [2, 4]"
    assert plain_shapes("[[[8], [4]], []]") == "[[8], [4]]"
    assert plain_shapes("") == ""


def test_progress_is_said_while_a_file_is_read(tmp_path: Path) -> None:
    shares: list[float] = []
    read_trace(write(tmp_path / "x.json", STEP), shares.append)
    assert shares[-1] == 1.0 and shares == sorted(shares)
