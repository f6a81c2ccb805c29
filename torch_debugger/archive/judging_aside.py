"""Judging in a thread of its own: a long log without a result takes minutes, and nobody waits for them.

What has been judged is not read again: of a run that goes on, only what was written since.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

from torch_debugger.clocks import time
from torch_debugger.records import Finding, Record
from torch_debugger.runlog.reader import LogFollower, read_log_of_ranks

_SLICE_S = 0.02  # in which whoever asks for the findings so far has to wait
_TELL_EVERY_S = 1.0


class JudgedAside:
    """The findings of a run's folder as far as they are known; `news` rises when there may be others."""

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._judge: _Judging | None = None
        self._asked = (False, -1)  # for the last time
        self._news_before = 0

    @property
    def news(self) -> int:
        return self._news_before + (self._judge.news if self._judge is not None else 0)

    @property
    def step(self) -> int | None:
        """Up to which has been judged; None: everything has."""
        return self._judge.step if self._judge is not None and self._judge.is_busy else None

    def begin_again(self) -> None:
        self._news_before = self.news
        self._judge = None

    def findings(self, folder: str, ended: bool, reads: int) -> list[Finding]:
        """`reads` is another number when there is more to read."""
        asked, self._asked = self._asked, (ended, reads)
        if self._judge is None or (self._judge.is_over and asked != self._asked):
            self.begin_again()
            self._judge = _Judging(folder, ended)
        elif asked == self._asked and not self._judge.is_busy:
            return self._judge.known()
        return self._judge.findings(ended, self._patience_s)


class _Judging:
    def __init__(self, folder: str, ended: bool) -> None:
        from torch_debugger.checks.ranks_judge import RanksJudge

        self._judge = RanksJudge()
        self._folder = folder
        self._log = None if ended else LogFollower(folder)
        self._lock = threading.Lock()
        self._work: threading.Thread | None = None
        self.is_over = False  # judged to its end
        self._caught_up = self._someone_left = False  # with less than everything
        self.news = 0
        self.step = 0

    @property
    def is_busy(self) -> bool:
        return self._work is not None and self._work.is_alive()

    def findings(self, ended: bool, patience_s: float) -> list[Finding]:
        """After so many seconds at most: those so far, where `is_busy`."""
        if not self.is_busy and not self.is_over:
            self._caught_up = self._someone_left = False
            self._work = threading.Thread(target=self._catch_up, args=(ended,), name="judging", daemon=True)
            self._work.start()
        if self._work is not None:
            self._work.join(patience_s)
        return self.known()

    def known(self) -> list[Finding]:
        with self._lock:
            self._someone_left |= not self._caught_up
            return list(self._judge.findings)

    def _catch_up(self, ended: bool) -> None:
        told = time.monotonic()
        records = read_log_of_ranks(self._folder) if self._log is None else self._log.read_ranks_on()
        while self._judge_some(records):
            if time.monotonic() - told > _TELL_EVERY_S:
                told = time.monotonic()
                self.news += 1
            time.sleep(0.001)  # a lock that is taken again at once is never given to another thread
        with self._lock:
            if ended:
                self._judge.finish()
                self.is_over = True
            self._caught_up = True
            self.news += self._someone_left

    def _judge_some(self, records: Iterator[tuple[int | None, Record]]) -> bool:
        """False: all there are."""
        ends = time.monotonic() + _SLICE_S
        with self._lock:
            for rank, record in records:
                self._judge.see(record, rank)
                self.step = max(self.step, getattr(record, "step", 0))
                if time.monotonic() > ends:
                    return True
        return False
