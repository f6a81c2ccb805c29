"""Traces of torch.profiler for the page: each as a run, and with all its tables and its timeline."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Sequence
from functools import partial

from torch_debugger.archive.folders import find_runs
from torch_debugger.cli.trace_report import advice_on
from torch_debugger.errors import UsageError
from torch_debugger.profiling.traces.finding import find_traces, is_trace
from torch_debugger.profiling.traces.reading import read_trace
from torch_debugger.saying import say
from torch_debugger.viewer.trace_book import OpenTrace, TraceBook

_MOST_SHOWN = 20
_LARGE_BYTES = 20_000_000  # takes seconds: the page does not wait for it


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
        from torch_debugger.runlog.writer import LogWriter

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
