"""The traces of torch.profiler among what is shown, and how far reading them has come."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from torch_debugger.records import TraceReport
from torch_debugger.report.json_and_markdown import finding_to_json
from torch_debugger.report.profile import opening
from torch_debugger.report.trace import difference
from torch_debugger.system.errors import UsageError
from torch_debugger.viewer import read_cprofile as unmarshalling
from torch_debugger.viewer.questions import Query
from torch_debugger.viewer.timing import modules_of_fact, profile_of_fact


def answer_traces(query: Query) -> dict[str, Any]:
    return {"traces": query.shown_runs.traces.listed()}


# One trace of torch.profiler: its steps, advice, operators, kernels, memory, ranks and Python stacks.
_MOST_STEPS = 200


def answer_trace(query: Query) -> dict[str, Any]:
    trace = query.shown_runs.traces.find(query.text("trace"))
    report = trace.report
    part = query.text("part", "overview")
    if part in _PARTS:
        return _PARTS[part](report)
    advice = [finding_to_json(each, os.getcwd(), None) for each in trace.findings]
    return _overview(report) | {"findings": advice}


def _overview(report: TraceReport) -> dict[str, Any]:
    return {
        "summary": opening(report.profile),
        "file": report.file,
        "steps": [dataclasses.asdict(step) for step in report.steps[:_MOST_STEPS]],
        "step_s": report.step_s,
        "parts": report.parts,
        "device": dataclasses.asdict(report.device) if report.device is not None else None,
        "notes": list(report.notes),
        "modules": modules_of_fact(report.profile),
        "profile": profile_of_fact(report.profile),
        "has": {
            "operators": bool(report.ops),
            "kernels": bool(report.kernels),
            "memory": report.memory is not None,
            "stacks": bool(report.stacks),
        },
    }


_PARTS: dict[str, Callable[[TraceReport], dict[str, Any]]] = {
    "operators": lambda report: {
        "steps": max(1, len(report.steps)),
        "on_device": report.device is not None,
        "by_name": [dataclasses.asdict(each) for each in report.ops],
        "by_shape": [dataclasses.asdict(each) for each in report.ops_by_shape],
    },
    "kernels": lambda report: {
        "steps": max(1, len(report.steps)),
        "kernels": [dataclasses.asdict(each) for each in report.kernels],
    },
    "memory": lambda report: {
        "memory": dataclasses.asdict(report.memory) if report.memory is not None else None,
        "allocations": [dataclasses.asdict(each) for each in report.allocations],
    },
    "stacks": lambda report: {"stacks": [[each.parent, each.name, each.total_s, each.calls] for each in report.stacks]},
}


# What has changed from one trace of torch.profiler to another, in a step and by operator.
_MOST = 300


def answer_trace_difference(query: Query) -> dict[str, Any]:
    book = query.shown_runs.traces
    before, after = book.find(query.text("before")), book.find(query.text("after"))
    found = difference(before.report, after.report)
    plain = dataclasses.asdict(found)
    return plain | {"ops": plain["ops"][:_MOST], "kernels": plain["kernels"][:_MOST]}


# The traces of a distributed training side by side: what each rank computed and communicated in a step.
def answer_trace_ranks(query: Query) -> dict[str, Any]:
    """Of all traces that say the same number of ranks as this one, one for each rank: the first, the newest."""
    book = query.shown_runs.traces
    chosen = book.find(query.text("trace")).report
    found = {chosen.rank.rank: chosen}
    for name in book.files:
        trace = book.opened().get(name)
        if trace is not None and trace.report.rank.world_size == chosen.rank.world_size:
            found.setdefault(trace.report.rank.rank, trace.report)
    reports = [found[rank] for rank in sorted(found)] if chosen.rank.world_size > 1 else []
    return {
        "world_size": chosen.rank.world_size,
        "ranks": [dataclasses.asdict(each.rank) for each in reports],
        "collectives": [
            {"rank": each.rank.rank, "steps": max(1, len(each.steps)), **dataclasses.asdict(one)}
            for each in reports or [chosen]
            for one in each.collectives
        ],
    }


# A stretch of a trace's timeline in as many bars as can be drawn; with `find`, where the next such name is.
_PIXELS = 1500


def answer_trace_timeline(query: Query) -> dict[str, Any]:
    timeline = query.shown_runs.traces.find(query.text("trace")).timeline
    python = query.text("python") == "1"
    words = query.text("find")
    if words:
        return {"found": timeline.find(words, query.number("after", 0.0) or 0.0, python=python)}
    until = query.number("to", timeline.took_s) or timeline.took_s
    return timeline.window(query.number("from", 0.0) or 0.0, until, query.whole("width", _PIXELS), python=python)


# A profile of Python's own cProfile: its functions, their numbers, and who called whom.
def answer_calls(query: Query) -> dict[str, Any]:
    name = query.text("profile")
    if name not in query.shown_runs.call_profiles:
        raise UsageError(f"There is no profile {name!r} among what is shown.")
    return {"file": name, **query.shown_runs.call_profiles[name]}


# A file of cProfile's read by a process of its own, and a sentence where that cannot be done.
ENDINGS = (".prof", ".pstats", ".cprof", ".profile")
_MOST_BYTES = 200_000_000
_PATIENCE_S = 20.0
_DICTIONARY = (b"{", b"\xfb")  # how marshal begins one: plain, or to be referred to
_TUPLE = (b"(", b")", b"\xa8", b"\xa9")
_TEXT = bytes(range(32, 127)) + b"\n\r\t"
_KINDS = {
    b"\x1f\x8b": "a gzip file",
    b"PK\x03\x04": "a zip archive, such as torch.save writes",
    b"\x80\x02": "a pickle",
    b"\x80\x03": "a pickle",
    b"\x80\x04": "a pickle",
    b"\x80\x05": "a pickle",
    b"\x7fELF": "a program",
    b"SQLite": "a database",
}
_EXPECTED = "a profile as cProfile writes it (a marshalled dictionary of functions) was expected"
_ANEW = "Make one with: python -m cProfile -o profile.prof train.py"


def is_call_profile(path: str) -> bool:
    """By its name; another file by its first bytes, a dictionary whose first key is a tuple: event files of
    TensorBoard may begin with the same byte."""
    if not os.path.isfile(path):
        return False
    begins = _beginning(path)
    return path.lower().endswith(ENDINGS) or (begins[:1] in _DICTIONARY and begins[1:2] in _TUPLE)


def read_call_profile(path: str) -> dict[str, Any]:
    """Functions, their numbers, and who called whom. Raises UsageError with what to do."""
    size = os.path.getsize(path)
    begins = _beginning(path)
    # JSON begins with the same brace, but goes on with what marshal never writes.
    if not begins.startswith(_DICTIONARY) or begins[1:2] in (b'"', b" ", b"\n", b"\r", b"\t", b"}", b"'"):
        raise UsageError(f"{path} is no profile: {_EXPECTED}, and this {_begins_like(begins)}. {_ANEW}")
    if size > _MOST_BYTES:
        raise UsageError(
            f"{path} is {size / 1e6:.0f} MB large: profiles of up to {_MOST_BYTES / 1e6:.0f} MB are opened. "
            "Profile a part of the script, between enable() and disable() of a cProfile.Profile()."
        )
    answer = _read_in_subprocess(path)
    if "profile" not in answer:
        raise UsageError(_sentence(path, size, answer))
    if not answer["profile"]["functions"]:
        raise UsageError(
            f"{path} is a profile without a single function: nothing ran between its beginning and its end. {_ANEW}"
        )
    profile: dict[str, Any] = answer["profile"]
    return profile


def _beginning(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(64)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {os.strerror(error.errno or 0)}.") from error


def _begins_like(begins: bytes) -> str:
    if not begins:
        return "file is empty"
    for magic, kind in _KINDS.items():
        if begins.startswith(magic):
            return f"begins like {kind}"
    if begins.lstrip()[:1] in (b"{", b"["):
        return "begins like JSON"
    if not begins.strip(_TEXT):
        return "is text"
    return f"begins with the bytes {begins[:4].hex(' ')}"


def _read_in_subprocess(path: str) -> dict[str, Any]:
    command = [sys.executable, "-I", "-S", unmarshalling.__file__]
    with open(path, "rb") as file:
        try:
            done = subprocess.run(
                command, stdin=file, capture_output=True, timeout=_PATIENCE_S, check=False, cwd=os.sep
            )
        except subprocess.TimeoutExpired:
            return {"fault": "time"}
    if done.returncode != 0:
        return {"fault": "killed" if done.returncode < 0 else "failed"}
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _sentence(path: str, size: int, answer: dict[str, Any]) -> str:
    version = f"Python {platform.python_version()}"
    fault, detail = answer["fault"], answer.get("detail", "")
    if fault == "cut":
        return (
            f"{path} ends in the middle: {_EXPECTED}, and its {size:,} bytes stop before the last function. "
            f"The program that wrote it was ended, or it was not copied whole. {_ANEW}"
        )
    if fault == "misfit":
        return f"{path} is no profile: {_EXPECTED}, and this holds {detail}. {_ANEW}"
    if fault == "unknown bytes":
        return (
            f"{path} begins like a profile, but {version} cannot read it ({detail}). It is damaged, or another "
            f"version of Python wrote it: open it with that one, or make it again with this. {_ANEW}"
        )
    return (
        f"{path} was not read: a process with limits on time and memory tried to, and was stopped by them or "
        f"crashed. No profile of {size:,} bytes does that: the file is damaged, or made to do harm. {_ANEW}"
    )
