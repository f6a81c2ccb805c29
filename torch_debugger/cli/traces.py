"""`torch-debugger profile --read`: traces of torch.profiler as tables in the terminal, or as JSON."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import tempfile
import threading
from collections.abc import Sequence
from functools import partial

from torch_debugger.checks.judge import judge_trace
from torch_debugger.log.folders import find_runs
from torch_debugger.profiling.trace_files import find_traces, is_trace
from torch_debugger.profiling.traces import Trace, read_rank, read_trace
from torch_debugger.records import Finding, TracedRank, TraceReport
from torch_debugger.records.units import bytes_text
from torch_debugger.system.errors import UsageError
from torch_debugger.system.program import say
from torch_debugger.viewer.shown_runs import OpenTrace, TraceBook

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
    from torch_debugger.report.trace import difference, difference_text

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


# Traces of torch.profiler for the page: each as a run, and with all its tables and its timeline.
_MOST_SHOWN = 20


class TraceRuns:
    """The traces among what is to be shown, each as a run in a temporary folder, which goes with the page."""

    def __init__(self, paths: Sequence[str]) -> None:
        """What was named is read now, unless it is large; the others while the page is shown already."""
        named = [path for path in paths if is_trace(path)]
        found = [file for path in paths if os.path.isdir(path) for file in find_traces(path)]
        self.others = [path for path in paths if path not in named]
        self._names: list[str] = []
        self._folder = tempfile.TemporaryDirectory(prefix="torch-debugger-", ignore_cleanup_errors=True)
        self.folders = {"traces": self._folder.name} if named or found else {}
        self.are_all = bool(self.folders) and not any(find_runs(path) for path in self.others)
        if len(found) > _MOST_SHOWN:
            say(f"Of {len(found):,} traces the newest {_MOST_SHOWN} are shown.")
        files = {self._name(file): file for file in [*named, *found[:_MOST_SHOWN]]}
        self.book = TraceBook(files)
        later: list[str] = []
        for name, file in files.items():
            if file in named and os.path.getsize(file) <= _LARGE_BYTES:
                self._write(name, file)
            else:
                later.append(name)
        if later:
            threading.Thread(target=self._read_all, args=(later, files), daemon=True).start()

    def close(self) -> None:
        self._folder.cleanup()

    def _read_all(self, names: Sequence[str], files: dict[str, str]) -> None:
        for name in names:
            try:
                self._write(name, files[name])
            except UsageError as error:
                say(str(error))
                self.book.fail(name, str(error))
            except Exception as error:  # of one file: the page and the other traces go on
                fault = f"{type(error).__name__}: {error}"
                sentence = f"{files[name]} was not read, by a fault of torch-debugger's own: {fault}"
                say(sentence)
                self.book.fail(name, sentence)

    def _write(self, name: str, file: str) -> None:
        from torch_debugger.log.writer import LogWriter

        trace = read_trace(file, partial(self.book.note_share, name))
        for note in trace.notes:
            say(note)
        self.book.add(name, OpenTrace(trace.report, trace.lanes, advice_on(trace)))
        writer = LogWriter(os.path.join(self._folder.name, name), on_fault=say)
        writer.add(trace.fact)
        if trace.memory is not None:
            writer.add(trace.memory)
        writer.close()

    def _name(self, file: str) -> str:
        """Of the run: the file's own, made different from all others, and no way out of the folder."""
        name = os.path.basename(file).removesuffix(".gz").removesuffix(".json").removesuffix(".pt.trace")
        name = os.fsencode(name).decode("utf-8", "replace")
        name = name if name.strip(".") else "trace"
        same = sum(taken == name or taken.startswith(f"{name} (") for taken in self._names)
        self._names.append(f"{name} ({same + 1})" if same else name)
        return self._names[-1]
