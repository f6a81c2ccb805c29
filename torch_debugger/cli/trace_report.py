"""`torch-debugger profile --read`: traces of torch.profiler as tables in the terminal, or as JSON."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Sequence

from torch_debugger.checks.trace_judge import judge_trace
from torch_debugger.errors import UsageError
from torch_debugger.profiling.traces.finding import find_traces
from torch_debugger.profiling.traces.reading import Trace, read_rank, read_trace
from torch_debugger.records import Finding, TracedRank, TraceReport
from torch_debugger.records.units import bytes_text
from torch_debugger.saying import say

_LARGE_BYTES = 20_000_000  # takes seconds
_MOST_RANKS = 64


def print_trace(path: str, compare: str | None = None, json_file: str | None = None) -> None:
    """One trace, the newest of a folder; with `compare`, what has changed from it to that one."""
    if compare is not None:
        _print_difference(path, compare, json_file)
        return
    from torch_debugger.report.trace import trace_text, trace_to_json

    files = trace_files(path)
    trace = read_newest(path, files)
    ranks = _ranks(trace.report, files[:_MOST_RANKS])
    findings, folder = advice_on(trace), os.getcwd()
    if json_file is not None:
        _write_json(trace_to_json(trace.report, findings, ranks, folder), json_file)
    if json_file != "-":
        sys.stdout.write(trace_text(trace.report, findings, ranks, folder))


def _print_difference(path: str, other: str, json_file: str | None) -> None:
    from torch_debugger.report.trace_difference import difference, difference_text

    before, after = (read_newest(each, trace_files(each)).report for each in (path, other))
    found = difference(before, after)
    if json_file is not None:
        _write_json({"format": 1, **dataclasses.asdict(found)}, json_file)
    if json_file != "-":
        sys.stdout.write(difference_text(found))


def _write_json(answer: object, file: str) -> None:
    text = json.dumps(answer, indent=1, allow_nan=False) + "\n"
    if file == "-":
        sys.stdout.write(text)
        return
    try:
        with open(file, "w", encoding="utf-8") as into:
            into.write(text)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror or error}.") from error


def advice_on(trace: Trace) -> tuple[Finding, ...]:
    return judge_trace([trace.settings, *trace.optimizers, trace.report.training, trace.fact])


def read_newest(path: str, files: Sequence[str]) -> Trace:
    if len(files) > 1:
        say(f"{path} holds {len(files):,} traces; this is the newest, {os.path.relpath(files[0])}.")
    return read_file(files[0])


def read_file(file: str) -> Trace:
    size = os.path.getsize(file) if os.path.isfile(file) else 0
    if size > _LARGE_BYTES:
        say(f"Reading {file} ({bytes_text(size)}) ...")
    return read_trace(file)


def trace_files(path: str) -> list[str]:
    if not os.path.isdir(path):
        return [path]
    found = find_traces(path)
    if not found:
        raise UsageError(
            f"There is no trace in {path}: no *.pt.trace.json[.gz] is in it or below it, as "
            "torch.profiler.tensorboard_trace_handler writes them."
        )
    return found


def _ranks(newest: TraceReport, files: Sequence[str]) -> list[TracedRank]:
    """The newest trace of each rank of the same training; the others are read for their times alone."""
    found = {newest.rank.rank: newest.rank}
    if newest.rank.world_size < 2:
        return []
    for file in files[1:]:
        known = read_rank(file)
        if known.world_size == newest.rank.world_size and known.rank >= 0 and known.rank not in found:
            found[known.rank] = read_file(file).report.rank
        if len(found) == newest.rank.world_size:
            break
    return [found[rank] for rank in sorted(found)]
