"""Ranks that do not agree: on the model, on the shapes of a collective, or on who is still there."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.checks.explainers.processes.processes import raised_by, reduction_of
from torch_debugger.records import CrashFact

_DISTRIBUTED = ("torch/distributed/", "torch/nn/parallel/")
_SAME = "Build the model from numbers that are the same on every rank"


def explain_parameter_sizes(crash: CrashFact) -> Blame | None:
    found = re.search(r"\[(\d+)\]: params\[(\d+)\] in this process with sizes (\[[\d, ]*\])", crash.message)
    if found is None or not raised_by(crash, *_DISTRIBUTED):
        return None
    reduction = reduction_of(crash)
    name = f"`{reduction.differs}`" if reduction is not None and reduction.differs else f"parameter {found[2]}"
    return Blame(
        message=f"Rank {found[1]} built another model than rank 0: its {name} has shape {found[3]}, and "
        f"another one on rank 0 ({place_text(crash.place)}).",
        why="DistributedDataParallel averages gradients element by element, so all ranks must hold the same "
        "parameters, of the same sizes and in the same order.",
        fix=f"{_SAME}: a vocabulary, a number of classes or a config that each rank reads from its own part of "
        "the data differs. Make it on rank 0 and send it with `torch.distributed.broadcast_object_list`, or "
        "compute it from the whole data.",
        where=crash.place,
        evidence={
            "parameter": name.strip("`"),
            f"shape on rank {found[1]}": found[3],
            "line": line_text(crash.place),
        },
        confidence=0.95,
    )


def explain_parameter_counts(crash: CrashFact) -> Blame | None:
    found = re.search(
        r"DDP expects same model across all ranks, but Rank (\d+) has (\d+) params, while rank (\d+) has "
        r"inconsistent (\d+) params",
        crash.message,
    )
    if found is None or not raised_by(crash, *_DISTRIBUTED):
        return None
    mine, count, other, others = found.groups()
    return Blame(
        message=f"Rank {mine} built a model with {count} parameters and rank {other} one with {others} "
        f"({place_text(crash.place)}).",
        why="DistributedDataParallel needs the same model on every rank.",
        fix=f"{_SAME}, and freeze the same layers everywhere: look for an `if rank == 0` or a per-rank setting "
        "before this line.",
        where=crash.place,
        evidence={f"rank {mine}": float(count), f"rank {other}": float(others), "line": line_text(crash.place)},
        confidence=0.95,
    )


def explain_collective_sizes(crash: CrashFact) -> Blame | None:
    """What a process hands to a collective does not fit together."""
    found = re.search(
        r"ProcessGroup\w+::(\w+): invalid tensor size at index (\d+) "
        r"\(expected \(([\d, ]*)\), got \(([\d, ]*)\)\)",
        crash.message,
    )
    if found is None or not raised_by(crash, *_DISTRIBUTED):
        return None
    call, index, wanted, got = found.groups()
    return Blame(
        message=f"{call} at {place_text(crash.place)} was given a tensor of shape [{wanted}], but the one at "
        f"index {index} of the list has shape [{got}].",
        why="Every rank's tensor lands in one entry of the list, so all of them must have one shape on all "
        "ranks.",
        fix="Make the entries like the tensor (`torch.empty_like`). Where ranks hold different numbers of "
        "samples, as in a last batch, pad to one size first, or gather with `all_gather_object`.",
        where=crash.place,
        evidence={"tensor": f"[{wanted}]", f"entry {index}": f"[{got}]", "line": line_text(crash.place)},
        confidence=0.95,
    )


def explain_lost_peer(crash: CrashFact) -> Blame | None:
    """Another rank is gone or silent: what it died of is not in this process."""
    closed = re.search(r"Connection (?:closed|reset) by peer|op\.preamble\.length <= op\.nbytes", crash.message)
    silent = re.search(r"Timed out waiting (\d+)ms for (?:recv|send) operation", crash.message)
    if not (closed or silent) or not raised_by(crash, *_DISTRIBUTED, "torch/autograd/"):
        return None
    sizes = closed is not None and "preamble" in closed[0]
    happened = _happened(sizes, silent)
    return Blame(
        message=f"The collective at {place_text(crash.place)} did not complete: {happened}.",
        why="Every rank must make the same collective calls, as often, with tensors of one shape. This process "
        "only sees that another did not; what happened there is not known here.",
        fix="Look first at the output of the other ranks: one of them failed or finished before. If none did, "
        "look for a collective (or a backward of DistributedDataParallel) that only some ranks reach: `if rank "
        "== 0`, a loader with fewer batches on one rank (use DistributedSampler, or `with model.join()`).",
        where=crash.place,
        evidence={"line": line_text(crash.place)},
        confidence=0.6,
    )


def _happened(sizes: bool, silent: re.Match[str] | None) -> str:
    if sizes:
        return "another rank sent a tensor of another size"
    if silent is not None:
        return f"another rank did not answer within {int(silent[1]) / 1000:g} s"
    return "another rank closed the connection"
