"""TD960: a process group that could not be set up."""

from __future__ import annotations

import dataclasses
import difflib
import os
import re
from collections.abc import Callable

from torch_debugger.checks.crash_check import CrashCheck
from torch_debugger.checks.crashes.explanation import Blame, line_text, place_text, user_frame
from torch_debugger.checks.crashes.user_code import rewritten, statement_of
from torch_debugger.records import CrashEvidence, CrashFact, CrashFrame, Edit, Place
from torch_debugger.records.crash_loading import ChildEvidence, GroupEvidence, ReductionEvidence

# A process group that could not be set up: its port, its environment, its backend, its ranks.
_DISTRIBUTED = "torch/distributed/"
_NEEDED = "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"
_ALONE = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1",
          "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}  # fmt: skip


def explain_port(crash: CrashFact) -> Blame | None:
    found = re.search(r"port: (\d+), .*EADDRINUSE|:(\d+)\b.*ddress already in use", crash.message)
    if found is None or not raised_by(crash, _DISTRIBUTED):
        return None
    group, port = group_of(crash), found[1] or found[2]
    holder = group.holder or "another process, perhaps an earlier run that has not ended,"
    free = f" {group.free_port} is free at the moment." if group.free_port else ""
    return Blame(
        message=f"Rank 0 cannot open port {port} at {place_text(crash.place)}: {holder} already listens there.",
        why="Rank 0 listens on MASTER_PORT, and the other processes meet it there. A port has one listener.",
        fix=f"Choose another port for MASTER_PORT (or in init_method), or end what holds this one.{free} "
        f"`torchrun --standalone {script_name(crash.place)}` finds a free port by itself.",
        evidence={
            "port": float(port),
            **({"held by": group.holder} if group.holder else {}),
            "line": line_text(crash.place),
        },
        confidence=0.97 if group.holder else 0.88,
    )


def explain_environment(crash: CrashFact) -> Blame | None:
    """env:// without the variables that torchrun sets."""
    found = re.search(r"environment variable (\w+) expected, but not set", crash.message)
    last = crash.frames[-1].function if crash.frames else ""
    if found is None or last != "_get_env_or_raise" or not raised_by(crash, _DISTRIBUTED):
        return None
    group = group_of(crash)
    unset = [name for name in _NEEDED if name not in group.environment] if _is_live(crash) else [found[1]]
    if found[1] not in unset:
        return None
    lines = "; ".join(f'os.environ.setdefault("{name}", "{_ALONE[name]}")' for name in unset)
    are = f"{_listed(unset)} {'is' if len(unset) == 1 else 'are'} not"
    if len(unset) == len(_NEEDED):
        are = "none of them is"
    return Blame(
        message=f"init_process_group at {place_text(crash.place)} reads {_listed(_NEEDED)} from the "
        f"environment, and {are} set.",
        why="`torchrun` sets these variables for each process that it starts; `python` does not.",
        fix=f"Start it with `torchrun --nproc-per-node=1 {script_name(crash.place)}`. To run one process by "
        f"hand, write before the call: {lines}.",
        evidence={**group.environment, "not set": ", ".join(unset), "line": line_text(crash.place)},
        confidence=0.97 if _is_live(crash) else 0.85,
    )


def explain_variable(crash: CrashFact) -> Blame | None:
    """os.environ["LOCAL_RANK"] in a script that was not started by torchrun."""
    name, frame = crash.attributes.get("key"), user_frame(crash)
    in_os = bool(crash.frames) and crash.frames[-1].file.endswith(("<frozen os>", "os.py"))
    if crash.kind != "KeyError" or name not in _ALONE or frame is None or not in_os:
        return None
    if name in group_of(crash).environment:
        return None
    statement = statement_of(frame, crash.place.module)
    written = re.search(rf"os\.environ\[(['\"]){name}\1\]", statement.whole.code or "")
    instead = f'os.environ.get("{name}", "{_ALONE[name]}")'
    edit = rewritten(statement.whole, written[0], instead) if written else None
    return Blame(
        message=f"{place_text(crash.place)} reads {name} from the environment, and it is not set.",
        why=f"`torchrun` sets {name} for each process that it starts; `python` does not.",
        fix=f"Start it with `torchrun --nproc-per-node=1 {script_name(crash.place)}`, or let it run alone as "
        f"well: write `{instead}`.",
        evidence={"not set": str(name), "line": line_text(crash.place)},
        confidence=0.97 if _is_live(crash) else 0.85,
        edit=edit,
    )


def explain_absent_group(crash: CrashFact) -> Blame | None:
    last = crash.frames[-1].function if crash.frames else ""
    absent = "Default process group has not been initialized" in crash.message
    group, frame = group_of(crash), user_frame(crash)
    if not absent or last != "_get_default_group" or not raised_by(crash, _DISTRIBUTED) or frame is None:
        return None
    if group.initialized:
        return None
    later = [place for place in group.calls if place.line != crash.place.line]
    known = f"It is called at {place_text(later[0])}, which has not run by then: move it before" if later else (
        'Call `torch.distributed.init_process_group("gloo")` (on GPUs "nccl") before'
    )  # fmt: skip
    return Blame(
        message=f"`{crash.place.code}` at {place_text(crash.place)} needs a process group, "
        "and init_process_group has not been called.",
        why="Collectives, DistributedDataParallel and DistributedSampler ask the default process group for the "
        "rank and the number of processes.",
        fix=f"{known} this line. Start the script with `torchrun --nproc-per-node=1 "
        f"{script_name(crash.place)}`, which sets the variables that it reads.",
        evidence={"line": line_text(crash.place), **_lines("called at", later)},
        confidence=0.97 if _is_live(crash) else 0.85,
    )


def explain_second_group(crash: CrashFact) -> Blame | None:
    frame = user_frame(crash)
    if "initialize the default process group twice" not in crash.message or frame is None:
        return None
    if not raised_by(crash, _DISTRIBUTED) or (_is_live(crash) and not group_of(crash).initialized):
        return None
    others = [place for place in group_of(crash).calls if place.line != crash.place.line]
    before = f"It was called before, at {place_text(others[0])}." if len(others) == 1 else "It was called before."
    return Blame(
        message=f"init_process_group is called a second time at {place_text(crash.place)}. {before}",
        why="A process has one default group, which lives until destroy_process_group.",
        fix="Leave out the second call, or make it only `if not torch.distributed.is_initialized()`.",
        evidence={"line": line_text(crash.place), **_lines("first call", others)},
        confidence=0.97 if _is_live(crash) else 0.85,
        edit=_guarded(crash),
    )


def _guarded(crash: CrashFact) -> Edit | None:
    frame = user_frame(crash)
    found = re.match(r"((?:\w+\.)*)init_process_group\(", frame.code) if frame is not None else None
    if frame is None or found is None or "\n" in frame.code:
        return None
    place = statement_of(frame, None).whole
    return rewritten(place, frame.code, f"if not {found[1]}is_initialized(): {frame.code}")


def _lines(name: str, places: list[Place]) -> dict[str, str]:
    return {name: line_text(places[0])} if places else {}


def _is_live(crash: CrashFact) -> bool:
    return crash.evidence.processes is not None


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


# A backend that this torch does not have, ranks that do not exist, and processes that did not come.
_NOT_BUILT = r"Distributed package doesn't have (\w+) built in"
_UNKNOWN = r"[Uu]nknown (?:c10d )?backend type (\w+)|Invalid backend: '?(\w+)'?"


def explain_backend(crash: CrashFact) -> Blame | None:
    found = re.search(_NOT_BUILT, crash.message) or re.search(_UNKNOWN, crash.message)
    if found is None or not raised_by(crash, _DISTRIBUTED):
        return None
    built, name = group_of(crash).built, next(word for word in found.groups() if word).lower()
    if name in built:
        return None
    near = difflib.get_close_matches(name, built, n=1) or [one for one in ("gloo",) if one in built or not built]
    have = f" It has {' and '.join(built)}." if built else ""
    return Blame(
        message=f"init_process_group at {place_text(crash.place)} asks for the backend `{name}`, which this "
        f"PyTorch does not have.{have}",
        why="`nccl` is for NVIDIA GPUs and only in builds of PyTorch with CUDA; `gloo` works on every CPU.",
        fix=f'Write "{near[0]}" instead of "{name}"'
        + (', or `"nccl" if torch.cuda.is_available() else "gloo"`' if name == "nccl" else "")
        + "."
        if near
        else "Choose another backend.",
        evidence={"backend": name, "available": ", ".join(built), "line": line_text(crash.place)},
        confidence=0.97 if built else 0.88,
        edit=_renamed(crash, name, near[0]) if near else None,
    )


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
    elif not raised_by(crash, _DISTRIBUTED) or not any(seen.function == "init_process_group" for seen in crash.frames):
        return None
    if rank is None or size is None or rank < size:
        return None
    return Blame(
        message=f"{place_text(crash.place)} takes rank {rank} among {size} "
        f"process{'es' if size > 1 else ''}: ranks count from 0 to {size - 1}.",
        why="Every process has a rank of its own below the number of processes (WORLD_SIZE).",
        fix=f"Give this process a rank from 0 to {size - 1}, or WORLD_SIZE the number of all processes. With "
        f"`torchrun --nproc-per-node={size} {script_name(crash.place)}` both are set right.",
        evidence={"rank": float(rank), "processes": float(size), "line": line_text(crash.place)},
        confidence=0.96,
    )


def explain_absent_ranks(crash: CrashFact) -> Blame | None:
    found = re.search(r"Timed out after (\d+) seconds waiting for clients. (\d+)/(\d+) clients joined", crash.message)
    if found is None or not raised_by(crash, _DISTRIBUTED):
        return None
    seconds, joined, all_of = found.groups()
    return Blame(
        message=f"init_process_group at {place_text(crash.place)} waited {seconds} s for {all_of} processes; "
        f"only {joined} came.",
        why=f"WORLD_SIZE says that there are {all_of}, and the group starts when all of them have joined rank 0.",
        fix=f"Start all {all_of} (`torchrun --nproc-per-node={all_of} {script_name(crash.place)}` does), with "
        f"the same MASTER_ADDR and MASTER_PORT; or set WORLD_SIZE to {joined}. If the others were started, "
        "look for what stopped them.",
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
        evidence={"address": f"{found[2]}:{found[3]}", "line": line_text(crash.place)},
        confidence=0.85,
    )


# NCCL speaks between GPUs, one for each process: none is there, or two processes have taken the same one.
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
        evidence={"backend": "nccl", "GPUs": 0.0, "line": line_text(crash.place)},
        confidence=0.97 if group.gpus == 0 else 0.88,
    )


def explain_shared_gpu(crash: CrashFact) -> Blame | None:
    found = _TWICE.search(crash.message)
    if found is None or not raised_by(crash, _DISTRIBUTED):
        return None
    group, ranks = group_of(crash), sorted(int(rank) for rank in found.groups())
    device = f"GPU {group.current_gpu}" if group.current_gpu is not None else "the same GPU"
    told = group.environment.get("LOCAL_WORLD_SIZE", "")
    here = int(told) if told.isdecimal() else None
    shared, why = "", "Until set_device is called every process works on GPU 0."
    fix = f"Call {_SET_DEVICE} in every process before init_process_group, and put model and data on `cuda` after it."
    if group.gpus is not None and here is not None and here > group.gpus:
        shared = f": {here} processes share {group.gpus} GPU{'' if group.gpus == 1 else 's'}"
        why = "There are fewer GPUs than processes."
        fix = (
            f"Start no more processes than there are GPUs: `torchrun --nproc-per-node={group.gpus or 1} "
            f'{script_name(crash.place)}`. To try the script with more, use the backend "gloo", which shares a GPU.'
        )
    return Blame(
        message=f"Ranks {ranks[0]} and {ranks[1]} both use {device} of one machine, as NCCL found at "
        f"{place_text(crash.place)}{shared}.",
        why=f"NCCL wants a GPU for each process. {why}",
        fix=fix,
        evidence={
            **({"GPUs": float(group.gpus)} if group.gpus is not None else {}),
            **({"processes here": float(here)} if here is not None else {}),
            **{name: group.environment[name] for name in ("RANK", "LOCAL_RANK") if name in group.environment},
            "line": line_text(crash.place),
        },
        confidence=0.95 if group.gpus is not None else 0.85,
    )


# Ranks that do not agree: on the model, on the shapes of a collective, or on who is still there.
_COLLECTIVES = "torch/distributed/", "torch/nn/parallel/"
_SAME = "Build the model from numbers that are the same on every rank"


def explain_parameter_sizes(crash: CrashFact) -> Blame | None:
    found = re.search(r"\[(\d+)\]: params\[(\d+)\] in this process with sizes (\[[\d, ]*\])", crash.message)
    if found is None or not raised_by(crash, *_COLLECTIVES):
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
        evidence={"parameter": name.strip("`"), f"shape on rank {found[1]}": found[3], "line": line_text(crash.place)},
        confidence=0.95,
    )


def explain_parameter_counts(crash: CrashFact) -> Blame | None:
    found = re.search(
        r"DDP expects same model across all ranks, but Rank (\d+) has (\d+) params, while rank (\d+) has "
        r"inconsistent (\d+) params",
        crash.message,
    )
    if found is None or not raised_by(crash, *_COLLECTIVES):
        return None
    mine, count, other, others = found.groups()
    return Blame(
        message=f"Rank {mine} built a model with {count} parameters and rank {other} one with {others} "
        f"({place_text(crash.place)}).",
        why="DistributedDataParallel needs the same model on every rank.",
        fix=f"{_SAME}, and freeze the same layers everywhere: look for an `if rank == 0` or a per-rank setting "
        "before this line.",
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
    if found is None or not raised_by(crash, *_COLLECTIVES):
        return None
    call, index, wanted, got = found.groups()
    return Blame(
        message=f"{call} at {place_text(crash.place)} was given a tensor of shape [{wanted}], but the one at "
        f"index {index} of the list has shape [{got}].",
        why="Every rank's tensor lands in one entry of the list, so all of them must have one shape on all ranks.",
        fix="Make the entries like the tensor (`torch.empty_like`). Where ranks hold different numbers of "
        "samples, as in a last batch, pad to one size first, or gather with `all_gather_object`.",
        evidence={"tensor": f"[{wanted}]", f"entry {index}": f"[{got}]", "line": line_text(crash.place)},
        confidence=0.95,
    )


def explain_lost_peer(crash: CrashFact) -> Blame | None:
    """Another rank is gone or silent: what it died of is not in this process."""
    closed = re.search(r"Connection (?:closed|reset) by peer|op\.preamble\.length <= op\.nbytes", crash.message)
    silent = re.search(r"Timed out waiting (\d+)ms for (?:recv|send) operation", crash.message)
    if not (closed or silent) or not raised_by(crash, *_COLLECTIVES, "torch/autograd/"):
        return None
    happened = "another rank closed the connection"
    if closed is not None and "preamble" in closed[0]:
        happened = "another rank sent a tensor of another size"
    elif silent is not None:
        happened = f"another rank did not answer within {int(silent[1]) / 1000:g} s"
    return Blame(
        message=f"The collective at {place_text(crash.place)} did not complete: {happened}.",
        why="Every rank must make the same collective calls, as often, with tensors of one shape. This process "
        "only sees that another did not; what happened there is not known here.",
        fix="Look first at the output of the other ranks: one of them failed or finished before. If none did, "
        "look for a collective (or a backward of DistributedDataParallel) that only some ranks reach: `if rank "
        "== 0`, a loader with fewer batches on one rank (use DistributedSampler, or `with model.join()`).",
        evidence={"line": line_text(crash.place)},
        confidence=0.6,
    )


# What explainers of crashes among processes share: who raised, and a child's crash read as one's own.
_CHILD_CONFIDENCE = 0.85  # nothing but text came back from it


def raised_by(crash: CrashFact, *parts: str) -> bool:
    """Whether the frame that raised lies in one of these places of torch: torch/distributed"""
    last = crash.frames[-1] if crash.frames else None
    if last is None or last.user:
        return False
    file = last.file.replace(os.sep, "/")
    return any(f"/{part}" in file for part in parts)


def group_of(crash: CrashFact) -> GroupEvidence:
    processes = crash.evidence.processes
    return processes.group if processes is not None and processes.group is not None else GroupEvidence()


def reduction_of(crash: CrashFact) -> ReductionEvidence | None:
    return crash.evidence.processes.reduction if crash.evidence.processes is not None else None


def child_of(crash: CrashFact) -> ChildEvidence | None:
    return crash.evidence.processes.child if crash.evidence.processes is not None else None


def script_name(place: Place) -> str:
    return os.path.basename(place.file) if place.file else "train.py"


def child_place(child: ChildEvidence) -> Place:
    """The innermost line of the user's in the child."""
    users = [frame for frame in child.frames if frame.user]
    return Place(users[-1].file, users[-1].line, None, users[-1].code) if users else Place()


def also_in_a_child(explain: Callable[[CrashFact], Blame | None]) -> Callable[[CrashFact], Blame | None]:
    """The explainer, which reads the traceback of a spawned process as well as this one's."""

    def explain_either(crash: CrashFact) -> Blame | None:
        child = child_of(crash)
        if child is None:
            return explain(crash)
        blame = explain(_as_crash(crash, child)) if child.frames else None
        if blame is None:
            return None
        process: dict[str, float | str] = {"process": child.index} if child.index is not None else {}
        return dataclasses.replace(
            blame,
            where=blame.where or child_place(child),
            evidence=blame.evidence | process,
            confidence=min(blame.confidence, _CHILD_CONFIDENCE),
        )

    return explain_either


def _as_crash(crash: CrashFact, child: ChildEvidence) -> CrashFact:
    frames = tuple(
        CrashFrame(frame.file, frame.line, frame.function, frame.code, frame.user, None, None, (), frame.line)
        for frame in child.frames
    )
    kind = child.kind.rpartition(".")[2]
    return CrashFact(
        kind, child.message, frames, child_place(child), None, "", crash.step,
        qualified=child.kind, bases=(kind,), evidence=CrashEvidence(),
    )  # fmt: skip


# A process that the script started and that failed, told by what it left behind.
_Explainer = Callable[[CrashFact], Blame | None]
SETUP: tuple[_Explainer, ...] = tuple(
    also_in_a_child(explain)
    for explain in (
        explain_port, explain_environment, explain_absent_group, explain_second_group, explain_variable,
        explain_backend, explain_rank, explain_absent_ranks, explain_absent_master, explain_no_gpu,
        explain_shared_gpu,
    )
)  # fmt: skip
DISAGREEMENTS: tuple[_Explainer, ...] = tuple(
    also_in_a_child(explain)
    for explain in (
        explain_parameter_sizes, explain_parameter_counts, explain_collective_sizes, explain_lost_peer
    )
)  # fmt: skip
_SIGNALS = {
    "SIGKILL": "Often the system ended it because memory ran out (`dmesg` tells); it may also have been killed "
    "on purpose",
    "SIGSEGV": "A library crashed in compiled code; `python -X faulthandler` shows the line",
    "SIGABRT": "Compiled code gave up; its last words are in the output above. With gloo, tensors of different "
    "sizes or dtypes on two ranks end like this",
    "SIGBUS": "Often shared memory (/dev/shm) is full",
    "SIGTERM": "Something asked it to end",
    "SIGINT": "Somebody pressed Ctrl-C",
}


def explain_spawned(crash: CrashFact) -> Blame | None:
    child = child_of(crash)
    if child is None or any(explain(crash) for explain in (*SETUP, *DISAGREEMENTS)):
        return None
    number = str(child.index) if child.index is not None else "of the script's"
    if child.kind:
        place, told = child_place(child), child.kind
        if child.message:
            first = next(iter(child.message.strip().splitlines()), "")
            told = f"{child.kind.rpartition('.')[2]}: {first if len(first) <= 200 else f'{first[:200]} ...'}"
        inside = f"`{place.code}`" if place.code else "its line"
        return Blame(
            message=f"Process {number} stopped at {place_text(place)}, {inside}, with {told}",
            why="The error is the child's. Only the text of its traceback came back from it, so its tensors and "
            f"values are not known here; {place_text(crash.place)} merely waited for it.",
            fix=f"Look at {place_text(place)}. To have it explained with all its values, call the function once in "
            "this process instead: `fn(0, *args)`, with one process.",
            where=place if place.file else crash.place,
            evidence={"line": line_text(place), "started at": line_text(crash.place)},
            confidence=0.85,
        )
    how = f"was ended by {child.signal}" if child.signal else f"ended with exit code {child.exit_code}"
    meaning = _SIGNALS.get(child.signal, "What it printed before is all it left")
    return Blame(
        message=f"Process {number}, started at {place_text(crash.place)}, {how} and left no traceback.",
        why=f"{meaning}. The cause itself is not known here.",
        fix="Read what that process printed last, and run the function once in this process (`fn(0, *args)`) "
        "to see where it ends.",
        evidence={"line": line_text(crash.place), **({"signal": child.signal} if child.signal else {})},
        confidence=0.7,
    )


class ProcessGroupSetup(CrashCheck):
    """The process group of torch.distributed could not be set up, or is asked for before it is.

    Symptom:
        "address already in use", "environment variable RANK expected, but not set", "Default process
        group has not been initialized", "doesn't have NCCL built in", "no GPUs found", "Duplicate GPU
        detected", a timeout while others are waited for.
    Evidence:
        The environment variables that are set, the arguments of init_process_group, the backends that this
        PyTorch has, the GPUs that this process sees and the one it uses, the process that holds the port, and
        the lines that call init_process_group.
    Fix:
        Start the script with `torchrun`, which sets the variables and finds a port, or set them by hand;
        call init_process_group once, before what needs it, with a backend that is there; with NCCL, one
        process for each GPU, each on its own (`torch.cuda.set_device`).
    Known limits:
        Which process holds a port can be told only for processes of the same user. Of processes on other
        machines nothing is known. A spawned process leaves only text, which is read with less confidence.
    """

    id = "TD960"
    name = "process-group-setup"
    title = "the process group could not be set up"
    explainers = SETUP


class RanksDisagree(CrashCheck):
    """Two ranks hold different models, hand different shapes to a collective, or one of them is gone.

    Symptom:
        "appears not to match sizes of the same param in process 0", "DDP expects same model across all
        ranks", "invalid tensor size", "Connection closed by peer", a collective that times out.
    Evidence:
        What torch says of both ranks, at a line of torch.distributed or DistributedDataParallel. Of a rank
        that is gone only its absence is known, and the confidence is low.
    Fix:
        Make on every rank what depends on data from the same data; give every rank as many batches, of
        one size; read the output of the rank that failed first.
    Known limits:
        One process sees its own side only. With gloo some mismatches end the process at once, without an
        exception, or pass unnoticed.
    """

    id = "TD962"
    name = "ranks-disagree"
    title = "the ranks do not agree"
    explainers = DISAGREEMENTS


class SpawnedProcessFailed(CrashCheck):
    """A process started by torch.multiprocessing.spawn or torchrun raised an exception or was ended.

    Symptom:
        The script stops with ProcessRaisedException, ProcessExitedException or ChildFailedError.
    Evidence:
        The traceback that the process left as text: its error and the innermost line of your own; or the
        signal that ended it.
    Fix:
        Look at that line. Run the function once in the main process to have the error explained whole.
    Known limits:
        The tensors and values of the other process are gone, so no cause is claimed beyond its own words.
        What ended a process by a signal is not known.
    """

    id = "TD963"
    name = "spawned-process-failed"
    title = "a process that the script started failed"
    explainers = (explain_spawned,)
