"""What a run runs on: processor, memory, accelerators, system, interpreter, packages, a few variables.

Everything is read from files and from the interpreter: no accelerator is woken and no package imported.
"""

from __future__ import annotations

import glob
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress

import psutil

from torch_debugger.redaction import redact_value

_MOST_PACKAGES = 3000
_WAIT_S = 5.0
_INSTALLED = re.compile(r"(?P<name>[A-Za-z0-9][\w.]*?)-(?P<version>\d[^-]*)(?:-py[\d.]+)?\.(?:dist|egg)-info")
_TELLING = re.compile(
    r"CUDA_\w+|CUBLAS_\w+|CUDNN_\w+|NVIDIA_VISIBLE_DEVICES|NVIDIA_TF32_OVERRIDE|HIP_\w+|ROCR_VISIBLE_DEVICES"
    r"|OMP_\w+|MKL_\w+|OPENBLAS_NUM_THREADS|KMP_\w+|PYTORCH_\w+|TORCH\w*|NCCL_\w+|GLOO_\w+|PYTHONHASHSEED"
    r"|(?:LOCAL_|GROUP_)?RANK|(?:LOCAL_)?WORLD_SIZE|MASTER_ADDR|MASTER_PORT|SLURM_(?:JOB_ID|NNODES|NTASKS|PROCID)"
)
_VALUE_LENGTH = 500


def describe_hardware() -> dict[str, str]:
    told = {
        "cpu": _processor(),
        "cores": str(os.cpu_count() or ""),
        "usable cores": _usable_cores(),
        "memory": f"{psutil.virtual_memory().total / 2**30:.1f} GiB",
    }
    told |= {f"gpu {number}": name for number, name in enumerate(_gpus())}
    return {name: value for name, value in told.items() if value}


def describe_system() -> dict[str, str]:
    return {
        "os": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "host": platform.node(),
    }


def list_packages(folders: Iterable[str] | None = None) -> dict[str, str]:
    """What is installed, by the names of the folders that say so: quicker than reading each of them."""
    found: dict[str, str] = {}
    for folder in sys.path if folders is None else folders:
        with suppress(OSError):
            for entry in sorted(os.listdir(folder or ".")):
                match = _INSTALLED.fullmatch(entry)
                if match is not None and len(found) < _MOST_PACKAGES:
                    found.setdefault(match["name"].lower().replace("_", "-"), match["version"])
    return dict(sorted(found.items()))


def telling_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Those that change a training; the others are nobody's business."""
    chosen = {name: value for name, value in environment.items() if _TELLING.fullmatch(name)}
    return {name: str(redact_value(name, value))[:_VALUE_LENGTH] for name, value in sorted(chosen.items())}


def _processor() -> str:
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            name, _, value = line.partition(":")
            if name.strip() in ("model name", "Hardware", "cpu model"):
                return value.strip()
    return platform.processor() or _say("sysctl", "-n", "machdep.cpu.brand_string") or platform.machine()


def _usable_cores() -> str:
    """A container or a job scheduler may give fewer than there are."""
    return str(len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ""


def _gpus() -> list[str]:
    """Their names as the driver tells them, which starts nothing on them."""
    names: list[str] = []
    for path in sorted(glob.glob("/proc/driver/nvidia/gpus/*/information")):
        with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
            names += re.findall(r"^Model:\s*(.+?)\s*$", file.read(), re.MULTILINE)
    return names or _say("nvidia-smi", "--query-gpu=name", "--format=csv,noheader").splitlines()


def _say(program: str, *words: str) -> str:
    if shutil.which(program) is None:
        return ""
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=_WAIT_S, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""
    return ""
