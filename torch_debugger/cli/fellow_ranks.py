"""The other ranks of a run, as the one that reports for all sees them: by files, words and process numbers."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Collection

import psutil

from torch_debugger.cli.rank_launch import RankLaunch
from torch_debugger.runlog.logfile import host_in_names, rank_in_name, writer_in_name
from torch_debugger.runlog.reader import event_files

_HURRIED_S = 2.0  # torchrun ends all ranks when one has failed, and kills what is left 30 s later
_LATE_S = 5.0  # after our own end, in which a rank of this machine may still begin
_SILENCE_S = 60.0  # of a rank on another machine, after which nothing more is expected


class FellowRanks:
    """Waited for when our own rank has ended: the report is for all of them."""

    def __init__(
        self,
        launch: RankLaunch,
        folder: str,
        ended: Callable[[], Collection[int]] = tuple,
        in_hurry: Callable[[], bool] = lambda: False,
    ) -> None:
        self._launch, self._folder = launch, folder
        self._ended, self._in_hurry = ended, in_hurry
        self._since = time.monotonic()
        self._hurried_since: float | None = None

    def wait(self, timeout_s: float) -> int | None:
        """0 when nothing more is to be expected of any, else None, after some time."""
        if self._is_over(time.monotonic()):
            return 0
        time.sleep(timeout_s)
        return None

    def _is_over(self, now: float) -> bool:
        if self._hurried_since is None and self._in_hurry():
            self._hurried_since = now
        if self._hurried_since is not None and now - self._hurried_since > _HURRIED_S:
            return True
        return not self.are_left(self._files().keys() | self._launch.neighbours, now)

    def are_left(self, ranks: Collection[int], now: float = math.inf) -> bool:
        """Whether any of these may still write. Without a time nobody is waited for who was never heard of."""
        files, left = self._files(), set(ranks) - set(self._ended()) - {self._launch.rank}
        return any(self._may_write(files.get(rank, []), now) for rank in left)

    def _files(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for path in event_files(self._folder):
            rank = rank_in_name(path)
            if rank is not None:
                found.setdefault(rank, []).append(path)
        return found

    def _may_write(self, paths: list[str], now: float) -> bool:
        if not paths:
            return now - self._since < _LATE_S
        writers = [writer for path in paths if (writer := writer_in_name(path)) is not None]
        here = [pid for host, pid in writers if host == host_in_names()]
        if here:
            return any(map(_runs, here))
        return time.time() - max(map(_changed, paths)) < _SILENCE_S


def _runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _changed(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
