"""NCCL speaks between GPUs, one for each process: none is there, or two processes have taken the same one."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.checks.explainers.processes.processes import group_of, raised_by, script_name
from torch_debugger.records import CrashFact
from torch_debugger.records.evidence.processes import GroupEvidence

_DISTRIBUTED = "torch/distributed/"
_NONE = "ProcessGroupNCCL is only supported with GPUs, no GPUs found"
_TWICE = re.compile(r"Duplicate GPU detected ?: rank (\d+) and rank (\d+) both on CUDA device")
_SET_DEVICE = '`torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))`'


def explain_no_gpu(crash: CrashFact) -> Blame | None:
    group = group_of(crash)
    if _NONE not in crash.message or not raised_by(crash, _DISTRIBUTED) or group.gpus:
        return None
    hidden = group.hides_gpus is not None
    why = "`nccl` speaks between NVIDIA GPUs only."
    if hidden:
        why += f' CUDA_VISIBLE_DEVICES is "{group.hides_gpus}" here: GPUs that it does not name are not seen.'
    return Blame(
        message=f"init_process_group at {place_text(crash.place)} asks for the backend `nccl`, and this "
        "process sees no GPU.",
        why=why,
        fix='Choose the backend by what is there: `"nccl" if torch.cuda.is_available() else "gloo"`'
        + ("; or unset CUDA_VISIBLE_DEVICES." if hidden else ". If there is a GPU, look at `nvidia-smi`."),
        where=crash.place,
        evidence={"backend": "nccl", "GPUs": 0.0, "line": line_text(crash.place)},
        confidence=0.97 if group.gpus == 0 else 0.88,
    )


def explain_shared_gpu(crash: CrashFact) -> Blame | None:
    found = _TWICE.search(crash.message)
    if found is None or not raised_by(crash, _DISTRIBUTED):
        return None
    group, ranks = group_of(crash), sorted(int(rank) for rank in found.groups())
    device = f"GPU {group.current_gpu}" if group.current_gpu is not None else "the same GPU"
    here = _processes_here(group)
    too_many = group.gpus is not None and here is not None and here > group.gpus
    one = group.gpus == 1
    return Blame(
        message=f"Ranks {ranks[0]} and {ranks[1]} both use {device} of one machine, as NCCL found at "
        f"{place_text(crash.place)}"
        + (f": {here} processes share {group.gpus} GPU{'' if one else 's'}." if too_many else "."),
        why="NCCL wants a GPU for each process. "
        + (
            "There are fewer GPUs than processes."
            if too_many
            else "Until set_device is called every process works on GPU 0."
        ),
        fix=_no_more_than(group.gpus or 1, script_name(crash.place))
        if too_many
        else f"Call {_SET_DEVICE} in every process before init_process_group, and put model and data on "
        "`cuda` after it.",
        where=crash.place,
        evidence={
            **({"GPUs": float(group.gpus)} if group.gpus is not None else {}),
            **({"processes here": float(here)} if here is not None else {}),
            **{name: group.environment[name] for name in ("RANK", "LOCAL_RANK") if name in group.environment},
            "line": line_text(crash.place),
        },
        confidence=0.95 if group.gpus is not None else 0.85,
    )


def _processes_here(group: GroupEvidence) -> int | None:
    told = group.environment.get("LOCAL_WORLD_SIZE", "")
    return int(told) if told.isdecimal() else None


def _no_more_than(gpus: int, script: str) -> str:
    return (
        f"Start no more processes than there are GPUs: `torchrun --nproc-per-node={gpus} {script}`. "
        'To try the script with more, use the backend "gloo", which shares a GPU.'
    )
