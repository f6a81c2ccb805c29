"""Everything of a process that watching replaces or adds, written down before and compared after."""

from __future__ import annotations

import builtins
import gc
import os
import signal
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from typing import Any

import psutil
import torch
import torch._dynamo  # wraps torch.manual_seed: now, and not while somebody watches
from torch import nn
from torch.nn.modules import module as modules
from torch.optim import Optimizer
from torch.optim import optimizer as optimizers
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import (
    _BaseDataLoaderIter,
    _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter,
)

import torch_debugger.runner.plumbing

COLLECTIVES = (
    "allreduce", "allreduce_coalesced", "broadcast", "reduce", "allgather", "_allgather_base", "gather",
    "scatter", "reduce_scatter", "_reduce_scatter_base", "alltoall", "alltoall_base", "barrier",
)  # fmt: skip
PATCHED: list[tuple[Any, str]] = [
    (torch.autograd, "backward"), (torch.autograd.graph.saved_tensors_hooks, "__enter__"), (torch, "compile"),
    (torch, "manual_seed"), (torch.random, "manual_seed"), (Optimizer, "__init__"), (Optimizer, "zero_grad"),
    (nn.Module, "zero_grad"), (nn.Module, "load_state_dict"), (nn.Module, "to"), (nn.Module, "cuda"),
    (LRScheduler, "__init__"), (ReduceLROnPlateau, "__init__"), (DataLoader, "__init__"),
    (DataLoader, "__iter__"), (_BaseDataLoaderIter, "__next__"), (_MultiProcessingDataLoaderIter, "__init__"),
    (_MultiProcessingDataLoaderIter, "_next_index"), (_MultiProcessingDataLoaderIter, "_get_data"),
    (_SingleProcessDataLoaderIter, "_next_data"), (_MultiProcessingDataLoaderIter, "_shutdown_workers"),
    (torch.cuda.graphs.graph, "__enter__"), (torch.cuda.graphs.graph, "__exit__"),
    (torch.amp.GradScaler, "scale"), (torch.amp.GradScaler, "step"), (torch.nn.utils, "clip_grad_norm_"),
    (torch.nn.utils.clip_grad, "clip_grad_norm_"), (torch.nn.utils, "clip_grad_value_"),
    (torch.nn.utils.clip_grad, "clip_grad_value_"), (torch.distributed, "init_process_group"),
    (torch.distributed.distributed_c10d, "init_process_group"),
    *((torch.distributed.ProcessGroup, name) for name in COLLECTIVES), (BaseProcess, "start"),
    (builtins, "input"), (signal, "signal"), (signal, "getsignal"), (sys, "excepthook"),
    (threading, "excepthook"),
]  # fmt: skip


@contextmanager
def left_untouched() -> Iterator[None]:
    """Fails when what runs inside leaves anything behind."""
    gc.collect()  # what an earlier test has left is not gone because of this one
    before = everything()
    yield
    gc.collect()
    after = everything()
    changed = {name: (before[name], after[name]) for name in before if before[name] != after[name]}
    assert not changed, changed


def everything() -> dict[str, Any]:
    process = psutil.Process()
    return {
        "patched": {f"{owner.__name__}.{name}": vars(owner).get(name, "absent") for owner, name in PATCHED},
        "summary writer": _add_scalar(),
        "import finders": list(sys.meta_path),
        "class slots": {kind for kind in _kinds(nn.Module) if "_compiled_call_impl" in vars(kind)},
        "module hooks": {name: dict(item) for name, item in vars(modules).items() if _is_hooks(name, item)},
        "optimizer hooks": [
            dict(optimizers._global_optimizer_pre_hooks), dict(optimizers._global_optimizer_post_hooks)
        ],
        "finalizers": [str(item.func) for item in weakref.finalize._registry.values() if _is_ours(item.func)],
        "threads": threading.enumerate(),
        "files": [(file.path, file.fd) for file in process.open_files()],
        "handles": len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0,
        "children": process.children(),
        "watching": torch_debugger.runner.plumbing._current,
    }  # fmt: skip


def _add_scalar() -> Any:
    writer = sys.modules.get("torch.utils.tensorboard.writer")
    return None if writer is None else writer.SummaryWriter.add_scalar


def _kinds(kind: type) -> Iterator[type]:
    for each in kind.__subclasses__():
        yield each
        yield from _kinds(each)


def _is_hooks(name: str, item: Any) -> bool:
    return name.startswith("_global_") and isinstance(item, dict)


def _is_ours(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).startswith("torch_debugger")
