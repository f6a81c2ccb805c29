"""What init_process_group was given, and what it found: environment, backends, ports."""

from __future__ import annotations

import os
import re
import socket
from os import getpid
from typing import Any

import psutil
import torch.cuda
import torch.distributed

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.probes.crash_frames import Seen
from torch_debugger.probes.examiners.calls_in_files import calls_in, user_files
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence.processes import GroupEvidence

VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
_TORCH = os.path.join("torch", "distributed")
_SAMPLER = os.path.join("data", "distributed.py")
_COMMAND_LENGTH = 60


def examine_group(scene: Scene) -> GroupEvidence | None:
    if not (_is_about_a_group(scene) or _is_a_variable(scene.error)):
        return None
    call = scene.frame_of("init_process_group", "distributed_c10d.py")
    port = re.search(r"port: (\d+), .*EADDRINUSE", str(scene.error))
    available = torch.distributed.is_available()
    return GroupEvidence(
        environment={name: os.environ[name] for name in VARIABLES if name in os.environ},
        backend=_text(call, "backend"),
        rank=_number(call, "rank", "RANK"),
        world_size=_number(call, "world_size", "WORLD_SIZE"),
        initialized=available and torch.distributed.is_initialized(),
        built=_built() if available else (),
        gpus=torch.cuda.device_count(),
        current_gpu=torch.cuda.current_device() if torch.cuda.is_initialized() else None,  # type: ignore[no-untyped-call]
        hides_gpus=os.environ.get("CUDA_VISIBLE_DEVICES"),
        holder=_holder(int(port[1])) if port else "",
        free_port=_free_port() if port else None,
        calls=tuple(place for place, _ in calls_in(user_files(scene.frames), "init_process_group")),
    )


def _is_about_a_group(scene: Scene) -> bool:
    last = scene.innermost
    return last is not None and not last.user and (_TORCH in last.file or last.file.endswith(_SAMPLER))


def _is_a_variable(error: BaseException) -> bool:
    key = error.args[0] if isinstance(error, KeyError) and error.args else None
    return type(key) is str and key in VARIABLES


def _text(call: Seen | None, name: str) -> str:
    held = call.frame.f_locals.get(name) if call is not None else None
    return str(held) if is_a(held, str) else ""


def _number(call: Seen | None, name: str, variable: str) -> int | None:
    """As the call was given it; else, as it reads it from the environment."""
    held: Any = call.frame.f_locals.get(name) if call is not None else None
    if type(held) is int and held >= 0:
        return held
    told = os.environ.get(variable, "")
    return int(told) if told.isdecimal() else None


def _built() -> tuple[str, ...]:
    asked = {"gloo": "is_gloo_available", "nccl": "is_nccl_available", "mpi": "is_mpi_available",
             "ucc": "is_ucc_available", "xccl": "is_xccl_available"}  # fmt: skip
    return tuple(name for name, ask in asked.items() if getattr(torch.distributed, ask, bool)())


def _holder(port: int) -> str:
    """The process that listens there; empty where this user may not know."""
    for one in psutil.net_connections(kind="tcp"):
        if one.laddr and one.laddr.port == port and one.status == psutil.CONN_LISTEN and one.pid:
            if one.pid == getpid():
                return "this script itself"
            command = " ".join(psutil.Process(one.pid).cmdline())
            return f"`{command[:_COMMAND_LENGTH]}` (process {one.pid})"
    return ""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])
