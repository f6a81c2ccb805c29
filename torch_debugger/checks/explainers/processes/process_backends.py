"""A backend that this torch does not have, ranks that do not exist, and processes that did not come."""

from __future__ import annotations

import difflib
import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, user_frame
from torch_debugger.checks.explainers.calls import rewritten
from torch_debugger.checks.explainers.processes.processes import group_of, raised_by, script_name
from torch_debugger.checks.explainers.statements import statement_of
from torch_debugger.records import CrashFact, Edit

_DISTRIBUTED = "torch/distributed/"
_NOT_BUILT = r"Distributed package doesn't have (\w+) built in"
_UNKNOWN = r"[Uu]nknown (?:c10d )?backend type (\w+)|Invalid backend: '?(\w+)'?"


def explain_backend(crash: CrashFact) -> Blame | None:
    found = re.search(_NOT_BUILT, crash.message) or re.search(_UNKNOWN, crash.message)
    if found is None or not raised_by(crash, _DISTRIBUTED):
        return None
    built, name = group_of(crash).built, next(word for word in found.groups() if word).lower()
    if name in built:
        return None
    near = difflib.get_close_matches(name, built, n=1) or [
        one for one in ("gloo",) if one in built or not built
    ]
    have = f" It has {' and '.join(built)}." if built else ""
    return Blame(
        message=f"init_process_group at {place_text(crash.place)} asks for the backend `{name}`, which this "
        f"PyTorch does not have.{have}",
        why="`nccl` is for NVIDIA GPUs and only in builds of PyTorch with CUDA; `gloo` works on every CPU.",
        fix=f'Write "{near[0]}" instead of "{name}"' + _chosen(name) + "."
        if near
        else "Choose another backend.",
        where=crash.place,
        evidence={"backend": name, "available": ", ".join(built), "line": line_text(crash.place)},
        confidence=0.97 if built else 0.88,
        edit=_renamed(crash, name, near[0]) if near else None,
    )


def _chosen(name: str) -> str:
    return ', or `"nccl" if torch.cuda.is_available() else "gloo"`' if name == "nccl" else ""


def _renamed(crash: CrashFact, name: str, instead: str) -> Edit | None:
    frame = user_frame(crash)
    if frame is None:
        return None
    place = statement_of(frame, None).whole
    edits = [rewritten(place, f"{quote}{name}{quote}", f"{quote}{instead}{quote}") for quote in "\"'"]
    return next((edit for edit in edits if edit is not None), None)


def explain_rank(crash: CrashFact) -> Blame | None:
    """A rank that is not below the number of processes waits for a place that is not there."""
    group = group_of(crash)
    rank, size = group.rank, group.world_size
    sampler = re.search(r"Invalid rank (\d+), rank should be in the interval \[0, (\d+)\]", crash.message)
    if sampler is not None and raised_by(crash, "torch/utils/data/distributed.py"):
        rank, size = int(sampler[1]), int(sampler[2]) + 1
    elif not raised_by(crash, _DISTRIBUTED) or not any(
        seen.function == "init_process_group" for seen in crash.frames
    ):
        return None
    if rank is None or size is None or rank < size:
        return None
    return Blame(
        message=f"{place_text(crash.place)} takes rank {rank} among {size} "
        f"process{'es' if size > 1 else ''}: ranks count from 0 to {size - 1}.",
        why="Every process has a rank of its own below the number of processes (WORLD_SIZE).",
        fix=f"Give this process a rank from 0 to {size - 1}, or WORLD_SIZE the number of all processes. With "
        f"`torchrun --nproc-per-node={size} {script_name(crash.place)}` both are set right.",
        where=crash.place,
        evidence={"rank": float(rank), "processes": float(size), "line": line_text(crash.place)},
        confidence=0.96,
    )


def explain_absent_ranks(crash: CrashFact) -> Blame | None:
    found = re.search(
        r"Timed out after (\d+) seconds waiting for clients. (\d+)/(\d+) clients joined", crash.message
    )
    if found is None or not raised_by(crash, _DISTRIBUTED):
        return None
    seconds, joined, all_of = found.groups()
    return Blame(
        message=f"init_process_group at {place_text(crash.place)} waited {seconds} s for {all_of} processes; "
        f"only {joined} came.",
        why=f"WORLD_SIZE says that there are {all_of}, and the group starts when all of them have joined rank "
        "0.",
        fix=f"Start all {all_of} (`torchrun --nproc-per-node={all_of} {script_name(crash.place)}` does), with "
        f"the same MASTER_ADDR and MASTER_PORT; or set WORLD_SIZE to {joined}. If the others were started, "
        "look for what stopped them.",
        where=crash.place,
        evidence={"joined": float(joined), "expected": float(all_of), "line": line_text(crash.place)},
        confidence=0.93,
    )


def explain_absent_master(crash: CrashFact) -> Blame | None:
    found = re.search(r"timed out after (\d+)ms while trying to connect to \(([^,]+), (\d+)\)", crash.message)
    if found is None or not raised_by(crash, _DISTRIBUTED) or explain_rank(crash) is not None:
        return None
    rank = group_of(crash).rank
    who = f"Rank {rank}" if rank is not None else "This process"
    return Blame(
        message=f"{who} could not reach rank 0 at {found[2]}:{found[3]} within {int(found[1]) / 1000:g} s "
        f"({place_text(crash.place)}).",
        why="Every process meets rank 0 at MASTER_ADDR and MASTER_PORT; nobody answered there. Whether rank 0 "
        "was not started, has ended, or sits behind another address is not known from here.",
        fix=f"Start rank 0 as well, and see that MASTER_ADDR ({found[2]}) and MASTER_PORT ({found[3]}) are its "
        f"own. `torchrun --nproc-per-node=2 {script_name(crash.place)}` starts all processes of one machine.",
        where=crash.place,
        evidence={"address": f"{found[2]}:{found[3]}", "line": line_text(crash.place)},
        confidence=0.85,
    )
