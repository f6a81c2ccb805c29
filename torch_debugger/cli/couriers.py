"""`--to`: the couriers of one run, one a tracker, and what they have to say."""

from __future__ import annotations

import os
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING

from torch_debugger.cli.status import write_line
from torch_debugger.report.printable import one_line
from torch_debugger.runlog.stores import is_url

if TYPE_CHECKING:
    from torch_debugger.cli.options import RunOptions
    from torch_debugger.integrations.trackers.shipping import Carrier
    from torch_debugger.report.result import RunResult

_STDERR = 2


class Couriers:
    """Started with the script; whatever ends the run, none of them is left behind."""

    def __init__(self, options: RunOptions, folder: str) -> None:
        self._options = options
        self._folder = folder
        self._carriers: list[Carrier] = []
        self._news: deque[str] = deque()  # filled by their threads, said by ours

    def __enter__(self) -> Couriers:
        if not self._options.trackers:
            return self
        from torch_debugger.integrations.trackers.delivery import run_name
        from torch_debugger.integrations.trackers.shipping import CourierProcess

        name = run_name(self._options.program.target)
        beside = self._folder if self._keeps_folder() else os.getcwd()
        for tracker in self._options.trackers:
            try:
                self._carriers.append(CourierProcess(tracker, self._folder, beside, name, self._news.append))
            except OSError as error:
                self._news.append(f"{tracker.title} will not have the run: {error.strerror}.")
        return self

    def _keeps_folder(self) -> bool:
        """Neither one that is gone at the end, nor what waits to go to an object store."""
        return self._options.keep_log and not is_url(self._options.log_dir or "")

    def speak(self) -> None:
        while self._news:
            write_line(_STDERR, one_line(self._news.popleft()))

    def conclude(self, result: RunResult) -> None:
        """The report is printed by now: whoever waits here has read it."""
        if self._carriers:
            from torch_debugger.integrations.trackers.ending import ending_of
            from torch_debugger.integrations.trackers.shipping import conclude

            conclude(self._carriers, ending_of(result), lambda sentence: write_line(_STDERR, sentence))
        self.speak()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for carrier in self._carriers:
            carrier.abandon()
