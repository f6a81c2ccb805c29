"""Traces of torch.profiler, for the verbs that open them: told in the terminal, and as runs for the page."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Sequence

from torch_debugger.archive.folders import find_runs
from torch_debugger.errors import UsageError
from torch_debugger.profiling.traces.finding import find_traces, is_trace
from torch_debugger.profiling.traces.reading import Trace, read_trace
from torch_debugger.records.units import bytes_text
from torch_debugger.saying import say

_MOST_SHOWN = 20
_LARGE_BYTES = 20_000_000  # takes seconds


def print_trace(path: str) -> None:
    """One trace, the newest of a folder, as tables."""
    from torch_debugger.report.printable import one_line
    from torch_debugger.report.profile import profile_text

    files = _files(path)
    if len(files) > 1:
        say(f"{path} holds {len(files):,} traces; this is the newest, {os.path.relpath(files[0])}.")
    trace = _read(files[0])
    sys.stdout.write(profile_text(trace.fact, os.getcwd()))
    sys.stdout.writelines(f"{one_line(sentence)}\n" for sentence in (*_memory_words(trace), *trace.notes))


def _read(file: str) -> Trace:
    size = os.path.getsize(file) if os.path.isfile(file) else 0
    if size > _LARGE_BYTES:
        say(f"Reading {file} ({bytes_text(size)}) ...")
    return read_trace(file)


def _files(path: str) -> list[str]:
    if not os.path.isdir(path):
        return [path]
    found = find_traces(path)
    if not found:
        raise UsageError(
            f"There is no trace in {path}: no *.pt.trace.json[.gz] is in it or below it, as "
            "torch.profiler.tensorboard_trace_handler writes them."
        )
    return found


def _memory_words(trace: Trace) -> list[str]:
    if trace.memory is None:
        return []
    peaks = ", ".join(f"{device} {bytes_text(peak)}" for device, peak in trace.memory.peak_bytes.items())
    return [f"Memory that torch had given out, at most: {peaks}."]


class TraceRuns:
    """The traces among what is to be shown, each as a run in a temporary folder, which goes with the page."""

    def __init__(self, paths: Sequence[str]) -> None:
        """What was named is read now; what lies in folders while the page is shown already."""
        named = [path for path in paths if is_trace(path)]
        found = [file for path in paths if os.path.isdir(path) for file in find_traces(path)]
        self.others = [path for path in paths if path not in named]
        self._names: list[str] = []
        self._folder = tempfile.TemporaryDirectory(prefix="torch-debugger-", ignore_cleanup_errors=True)
        self.folders = {"traces": self._folder.name} if named or found else {}
        self.are_all = bool(self.folders) and not any(find_runs(path) for path in self.others)
        for file in named:
            self._write(file)
        if len(found) > _MOST_SHOWN:
            say(f"Of {len(found):,} traces the newest {_MOST_SHOWN} are shown.")
        if found:
            threading.Thread(target=self._read_all, args=(found[:_MOST_SHOWN],), daemon=True).start()

    def close(self) -> None:
        self._folder.cleanup()

    def _read_all(self, files: Sequence[str]) -> None:
        for file in files:
            try:
                self._write(file)
            except UsageError as error:
                say(str(error))
            except Exception as error:  # of one file: the page and the other traces go on
                say(f"{file} was not read, by a fault of torch-debugger's own: {type(error).__name__}: {error}")

    def _write(self, file: str) -> None:
        from torch_debugger.runlog.writer import LogWriter

        trace = _read(file)
        for note in trace.notes:
            say(note)
        writer = LogWriter(os.path.join(self._folder.name, self._name(file)), on_fault=say)
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
