"""Where the bytes of a device went, and what would fit."""

from __future__ import annotations

import re

import torch

from torch_debugger.probes.examiners.memory_forecast import forecast
from torch_debugger.probes.examiners.memory_holders import count_by_kind, kept_tensors, models_of
from torch_debugger.probes.examiners.memory_host import asked_of_host, sizes_asked
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence import MemoryEvidence
from torch_debugger.stats.memory import host_memory

_DEVICE_FORM = re.compile(r"Tried to allocate ([\d.]+) ([KMG]i?B).*?GPU (\d+)", re.DOTALL)
_ALLOWED = re.compile(r"([\d.]+) ([KMG]iB) allowed")  # by set_per_process_memory_fraction
_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "KB": 2**10, "MB": 2**20, "GB": 2**30}


def examine_memory(scene: Scene) -> MemoryEvidence | None:
    """An allocation that failed: on a CUDA device, or in the memory of the host."""
    text = str(scene.error)
    if isinstance(scene.error, torch.OutOfMemoryError):
        return _of_device(scene, text)
    asked = asked_of_host(scene.error, text)
    if asked is None:
        return None
    total_bytes, free_bytes = host_memory()
    sizes, call = sizes_asked(scene, text, asked)
    return MemoryEvidence(
        device="cpu",
        asked_bytes=asked,
        total_bytes=total_bytes,
        free_bytes=free_bytes,
        sizes=sizes,
        sized_by=call,
    )


def _of_device(scene: Scene, text: str) -> MemoryEvidence | None:
    """The context is alive after a refused allocation: the allocator's counts cost no sync and no memory."""
    told = _DEVICE_FORM.search(text)
    if told is None or not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return None
    device = torch.device("cuda", int(told[3]))
    counted = count_by_kind(scene, device)
    reserved = torch.cuda.memory_reserved(device)
    free, total = _limits(device, text, reserved)
    # Gradients of the step before are mostly still there during forward.
    fixed = counted.parameters + counted.trained + counted.optimizer + counted.optimizer_to_come
    return MemoryEvidence(
        device=str(device),
        asked_bytes=_bytes(told),
        total_bytes=total,
        free_bytes=free,
        allocated_bytes=torch.cuda.memory_allocated(device),
        reserved_bytes=reserved,
        parameter_bytes=counted.parameters,
        gradient_bytes=counted.gradients,
        optimizer_bytes=counted.optimizer,
        kept=kept_tensors(scene, device),
        forecast=forecast(scene, models_of(scene), free + reserved, fixed),
        look=scene.running.memory.get(str(device)),
    )


def _limits(device: torch.device, text: str, reserved: int) -> tuple[int, int]:
    """Free and total bytes: the device's, or less where the program has limited itself."""
    free, total = torch.cuda.mem_get_info(device)
    allowed = _ALLOWED.search(text)
    if allowed is None:
        return free, total
    return min(free, max(0, _bytes(allowed) - reserved)), min(total, _bytes(allowed))


def _bytes(told: re.Match[str]) -> int:
    return int(float(told[1]) * _UNITS[told[2]])
