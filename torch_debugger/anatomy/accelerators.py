"""Whether there is an accelerator, without a question to its driver, whose files would stay open."""

from __future__ import annotations

import glob
import os

import torch


def may_have_an_accelerator() -> bool:
    if torch.version.cuda:
        return _may_see_cuda() and any(glob.glob(pattern) for pattern in ("/dev/nvidia[0-9]*", "/dev/dxg"))
    if torch.version.hip:
        return os.path.exists("/dev/kfd")
    return torch.accelerator.is_available()


def gpu_or_cpu() -> str:
    """The type of device that scripts choose by torch.cuda.is_available()."""
    built = torch.version.cuda or torch.version.hip
    return "cuda" if built and may_have_an_accelerator() else "cpu"


def _may_see_cuda() -> bool:
    return os.environ.get("CUDA_VISIBLE_DEVICES", "0") not in ("", "-1")
