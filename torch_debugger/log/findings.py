"""What was found in a run, and how it ended: as written beside its log, or judged again from its records."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from torch_debugger.log.event_log import Log
from torch_debugger.log.folders import Folder
from torch_debugger.log.reader_records import LogFollower, read_log_of_ranks
from torch_debugger.records import SEVERITIES, Edit, Finding, Place, Record
from torch_debugger.system.clocks import time


class JudgedRun:
    """The part of a `Run` that knows it."""

    _place: Folder
    _is_part: bool
    reads: int

    def __init__(self) -> None:
        super().__init__()
        self._background: BackgroundJudge | None = None

    @property
    def findings(self) -> list[Finding]:
        """Ranked, the verdict first; empty for the log of another tool."""
        if self._background is not None:  # which keeps what it has found
            return self._judged(self._background)
        known: list[Finding] = self._once("findings", self._judged)
        return known

    @property
    def verdict(self) -> Finding | None:
        """The one finding to act on first; notes alone are no verdict."""
        first = self.findings[0] if self.findings else None
        return first if first is not None and first.severity != "note" else None

    def judge_aside(self, patience_s: float) -> BackgroundJudge:
        """From now on `findings` are those so far, where all of them would take longer than this."""
        self._background = BackgroundJudge(patience_s)
        return self._background

    def judge_anew(self) -> None:
        """What was judged aside is no longer there."""
        if self._background is not None:
            self._background.begin_again()

    @property
    def judged_to(self) -> int | None:
        """The step up to which `findings` are those of now; None: all of them are known."""
        return self._background.step if self._background is not None else None

    @property
    def exit_code(self) -> int | None:
        """Of the script, where torch-debugger saw its end."""
        result = self._result()
        return result.exit_code if result is not None else None

    @property
    def status(self) -> str:
        raise NotImplementedError

    def records(self, *kinds: type) -> Iterator[Record]:
        raise NotImplementedError

    def _judged(self, background: BackgroundJudge | None = None) -> list[Finding]:
        result = self._result()
        if result is not None:
            return result.findings
        if not self._whole().has_records():
            return []
        running = self.status == "running"
        if background is None or self._place.is_copy or self._is_part:
            return judge_again(self._whole().records_of_ranks(), ended=not running)
        return background.findings(self._place.path, not running, self.reads)

    def _result(self) -> Result | None:
        found: Result | None = self._once("result", lambda: read_result(self._place.path))
        return found

    def _whole(self) -> Log:
        raise NotImplementedError

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        raise NotImplementedError


# The findings of a run: as they were written beside its log, or judged again from its records.
_MALFORMED = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
_LARGEST_BYTES = 64_000_000
RESULT_FILE = "result.json"


@dataclass(frozen=True, slots=True)
class Result:
    """What `torch-debugger run` wrote at the end of a run."""

    outcome: str
    findings: list[Finding]
    steps: int
    exit_code: int | None


def read_result(folder: str) -> Result | None:
    """From the result.json of a run's folder; None where there is none, or none that can be read."""
    plain = read_plain_result(folder)
    if plain is None:
        return None
    try:
        names = [str(finding["name"]) for finding in plain["findings"]]
        findings = [_finding(finding, names) for finding in plain["findings"]]
        steps, exit_code = plain.get("steps"), plain.get("exit_code")
        return Result(
            str(plain["outcome"]),
            findings,
            steps if isinstance(steps, int) else 0,
            exit_code if isinstance(exit_code, int) else None,
        )
    except _MALFORMED:
        return None


def read_plain_result(folder: str) -> dict[str, Any] | None:
    """As it stands in the file, whatever that is; None where there is no object of JSON."""
    try:
        path = os.path.join(folder, RESULT_FILE)
        if not os.path.isfile(path) or os.path.getsize(path) > _LARGEST_BYTES:
            return None
        with open(path, encoding="utf-8") as file:
            plain = json.load(file)
    except (OSError, *_MALFORMED):
        return None
    return plain if isinstance(plain, dict) else None


def judge_again(records: Iterable[tuple[int | None, Record]], ended: bool = True) -> list[Finding]:
    """Records with the rank they are of. What only the end of a run can tell is left open while it goes on."""
    from torch_debugger.checks.judge import RanksJudge

    judge = RanksJudge()
    for rank, record in records:
        judge.see(record, rank)
    if ended:
        judge.finish()
    return judge.findings


def result_stamp(folder: str) -> tuple[int, int] | None:
    """Changes when a result.json is written; None while there is none."""
    try:
        state = os.stat(os.path.join(folder, "result.json"))
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size


def _finding(plain: dict[str, Any], names: list[str]) -> Finding:
    where, edit, cause = plain["where"], plain.get("edit"), plain.get("symptom_of")
    if plain["severity"] not in SEVERITIES:
        raise ValueError(f"no severity {plain['severity']!r}")
    return Finding(
        check=str(plain["check"]),
        name=str(plain["name"]),
        severity=plain["severity"],
        confidence=float(plain["confidence"]),
        message=str(plain["message"]),
        why=str(plain["why"]),
        fix=str(plain["fix"]),
        where=Place(where["file"], where["line"], where["module"]),
        first_step=int(plain["first_step"]),
        last_step=int(plain["last_step"]),
        evidence=dict(plain["evidence"]),
        status=str(plain["status"]),
        edit=Edit(edit["file"], edit["line"], edit["before"], edit["after"]) if edit else None,
        symptom_of=names[cause] if cause is not None else None,
        ranks=tuple(int(rank) for rank in plain.get("ranks", ())),
    )


# Judging in a thread of its own: a long log without a result takes minutes, and nobody waits for them.
#
# What has been judged is not read again: of a run that goes on, only what was written since.
_SLICE_S = 0.02  # in which whoever asks for the findings so far has to wait
_TELL_EVERY_S = 1.0


class BackgroundJudge:
    """The findings of a run's folder as far as they are known; `news` rises when there may be others."""

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._judge: _Judging | None = None
        self._last_request = (False, -1)  # for the last time
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
        previous, self._last_request = self._last_request, (ended, reads)
        if self._judge is None or (self._judge.is_over and previous != self._last_request):
            self.begin_again()
            self._judge = _Judging(folder, ended)
        elif previous == self._last_request and not self._judge.is_busy:
            return self._judge.known()
        return self._judge.findings(ended, self._patience_s)


class _Judging:
    def __init__(self, folder: str, ended: bool) -> None:
        from torch_debugger.checks.judge import RanksJudge

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
        reported = time.monotonic()
        records = read_log_of_ranks(self._folder) if self._log is None else self._log.read_ranks_on()
        while self._judge_some(records):
            if time.monotonic() - reported > _TELL_EVERY_S:
                reported = time.monotonic()
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
