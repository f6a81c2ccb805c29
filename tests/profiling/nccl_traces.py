"""Traces of a training on two GPUs, in the form of torch 2.11, with round numbers: microseconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HOST, TRAINING, BACKWARD = 100, 100, 101


def host(name: str, began: float, took: float, cat: str = "cpu_op", thread: int = TRAINING, **args: Any) -> Any:
    return {
        "ph": "X",
        "cat": cat,
        "name": name,
        "pid": HOST,
        "tid": thread,
        "ts": began,
        "dur": took,
        "args": args,
    }


def device(name: str, began: float, took: float, identity: int, cat: str = "kernel", stream: int = 7) -> Any:
    args: dict[str, Any] = {"External id": identity, "device": 0, "stream": stream, "correlation": identity}
    if cat == "kernel":
        args |= {
            "blocks per SM": 0.5,
            "est. achieved occupancy %": 40,
            "grid": [66, 1, 1],
            "block": [128, 1, 1],
        }
    else:
        args |= {"bytes": 4096}
    return {
        "ph": "X",
        "cat": cat,
        "name": name,
        "pid": 0,
        "tid": stream,
        "ts": began,
        "dur": took,
        "args": args,
    }


def memory(moment: float, used: int, size: int) -> Any:
    args = {"Total Allocated": used, "Total Reserved": 4096, "Bytes": size, "Device Type": 1, "Device Id": 0}
    return {
        "ph": "i",
        "cat": "cpu_instant_event",
        "name": "[memory]",
        "tid": TRAINING,
        "ts": moment,
        "args": args,
    }


GEMM = "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_nn_align4>(Params)"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def step(number: int, began: float, reduce_us: float = 200) -> list[Any]:
    """1000 us: 100 for the DataLoader, a copy of 50, a product of 300, an all_reduce beside its last 100."""
    one, shapes = 10 * number, [[64, 32], [16, 32], []]
    return [
        host(f"ProfilerStep#{number}", began, 1000, "user_annotation"),
        host("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", began, 100, "user_annotation"),
        host("aten::copy_", began + 110, 20, **{"External id": one + 1, "Input Dims": shapes}),
        host("cudaMemcpyAsync", began + 112, 10, "cuda_runtime", **{"External id": one + 1}),
        host("aten::linear", began + 150, 100, **{"External id": one + 2, "Input Dims": shapes}),
        host("aten::addmm", began + 160, 80, **{
            "External id": one + 3, "Sequence number": number, "Input Dims": [[16], [64, 32], [32, 16], [], []],
            "Input type": ["float", "float", "float", "Scalar", "Scalar"],
        }),
        host("cudaLaunchKernel", began + 170, 10, "cuda_runtime", **{"External id": one + 3}),
        host("c10d::allreduce_", began + 300, 20, thread=BACKWARD, **{
            "External id": one + 4, "Input Dims": [[[528]], [], []],
        }),
        host("Optimizer.step#AdamW.step", began + 600, 100, "user_annotation"),
        host("aten::_foreach_addcdiv_", began + 610, 50, **{"External id": one + 5}),
        device("Memcpy HtoD (Pageable -> Device)", began + 120, 50, one + 1, "gpu_memcpy"),
        device(GEMM, began + 200, 300, one + 3),
        device(ALL_REDUCE, began + 400, reduce_us, one + 4, stream=20),
        device("Optimizer.step#AdamW.step", began + 650, 100, one + 5, "gpu_user_annotation"),
        device("multi_tensor_apply_kernel<AdamW>", began + 650, 100, one + 5),
        device("Memset (Device)", began + 800, 10, one + 5, "gpu_memset"),
        memory(began + 165, 1000 * number + 2048, 2048),
        memory(began + 900, 1000 * number, -2048),
    ]  # fmt: skip


def events(reduce_us: float = 200) -> list[Any]:
    return [*step(3, 0, reduce_us), *step(4, 1000, reduce_us)]


def write_rank(path: Path, rank: int = 0, reduce_us: float = 200, world_size: int = 2) -> str:
    around = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "NVIDIA A100", "computeMajor": 8, "computeMinor": 0}],
        "record_shapes": 1,
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world_size, "pg_count": 1},
    }
    path.write_text(json.dumps({**around, "traceEvents": events(reduce_us), "traceName": path.name}))
    return str(path)
