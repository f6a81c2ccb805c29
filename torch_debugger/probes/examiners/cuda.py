"""What a CUDA device, or what is left of it, tells about an error of its own.

After a failed assertion or a wrong address the context is dead: any call into it raises. Shapes,
the allocator's counts and tensors on the CPU can still be read, and nothing else is.
"""

from __future__ import annotations

import os
import re

import torch

from torch_debugger.probes.crash_frames import describe
from torch_debugger.probes.examiners.cuda_lookups import index_tensors, lookups_out_of_range
from torch_debugger.probes.examiners.cuda_worker import worker_line
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records import LocalTensor
from torch_debugger.records.evidence import CudaEvidence

_KINDS = (
    ("fork", re.compile(r"Cannot re-initialize CUDA in forked subprocess|CUDA error: initialization error")),
    ("assert", re.compile(r"device-side assert triggered")),
    ("address", re.compile(r"an illegal memory access was encountered|misaligned address")),
    ("image", re.compile(r"no kernel image is available")),
    ("library", re.compile(r"CUBLAS_STATUS_\w+|CUDNN_STATUS_\w+|CUSOLVER_STATUS_\w+|CUFFT_\w+")),
    ("launch", re.compile(r"unspecified launch failure|too many resources requested|invalid configuration")),
)
_DEAD = ("assert", "address", "launch")


def examine_cuda(scene: Scene) -> CudaEvidence | None:
    """Errors that the device itself reports, and CUDA in a forked worker."""
    text = str(scene.error)
    kinds = [(kind, match[0]) for kind, form in _KINDS if (match := form.search(text))]
    if not kinds or not isinstance(scene.error, RuntimeError):
        return None
    kind, told = kinds[0]
    if kind == "fork":
        return CudaEvidence(kind, told, worker=worker_line(scene, text))
    free, total = _memory() if kind in ("library", "image") else (0, 0)
    name, capability = _device() if kind == "image" else ("", "")
    return CudaEvidence(
        kind=kind,
        told=told,
        blocking=os.environ.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0"),
        alive=total > 0,
        lookups=lookups_out_of_range(scene) if kind in (*_DEAD, "library") else (),
        seen=tuple(_described(scene)),
        free_bytes=free,
        total_bytes=total,
        name=name,
        capability=capability,
        architectures=tuple(torch.cuda.get_arch_list()) if kind == "image" else (),
    )


def _memory() -> tuple[int, int]:
    """Free and total bytes; nothing where the context does not answer."""
    try:
        free, total = torch.cuda.mem_get_info()
    except (RuntimeError, AssertionError):
        return 0, 0
    return int(free), int(total)


def _device() -> tuple[str, str]:
    try:
        major, minor = torch.cuda.get_device_capability()
        return torch.cuda.get_device_name(), f"sm_{major}{minor}"
    except (RuntimeError, AssertionError):
        return "", ""


def _described(scene: Scene) -> list[LocalTensor]:
    facts = [describe(source.name, source.tensor) for source in index_tensors(scene)]
    return [fact for fact in facts if fact is not None][:6]
