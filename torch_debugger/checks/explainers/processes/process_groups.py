"""A process group that could not be set up: its port, its environment, its backend, its ranks."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, user_frame
from torch_debugger.checks.explainers.calls import rewritten
from torch_debugger.checks.explainers.processes.processes import group_of, raised_by, script_name
from torch_debugger.checks.explainers.statements import statement_of
from torch_debugger.records import CrashFact, Edit, Place
from torch_debugger.records.evidence.processes import GroupEvidence

_DISTRIBUTED = "torch/distributed/"
_NEEDED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
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
        where=crash.place,
        evidence={"port": float(port), **_holder(group), "line": line_text(crash.place)},
        confidence=0.97 if group.holder else 0.88,
    )


def _holder(group: GroupEvidence) -> dict[str, float | str]:
    return {"held by": group.holder} if group.holder else {}


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
    return Blame(
        message=f"init_process_group at {place_text(crash.place)} reads {_listed(_NEEDED)} from the "
        f"environment, and {_unset(unset)} set.",
        why="`torchrun` sets these variables for each process that it starts; `python` does not.",
        fix=f"Start it with `torchrun --nproc-per-node=1 {script_name(crash.place)}`. To run one process by "
        f"hand, write before the call: {lines}.",
        where=crash.place,
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
        where=crash.place,
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
        where=crash.place,
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
    before = (
        f"It was called before, at {place_text(others[0])}." if len(others) == 1 else "It was called before."
    )
    return Blame(
        message=f"init_process_group is called a second time at {place_text(crash.place)}. {before}",
        why="A process has one default group, which lives until destroy_process_group.",
        fix="Leave out the second call, or make it only `if not torch.distributed.is_initialized()`.",
        where=crash.place,
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


def _unset(names: list[str]) -> str:
    if len(names) == len(_NEEDED):
        return "none of them is"
    return f"{_listed(names)} {'is' if len(names) == 1 else 'are'} not"


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
