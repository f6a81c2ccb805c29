"""What was found in a run, and how it ended: as written beside its log, or judged again from its records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torch_debugger.archive.judgements import Result, judge_again, read_result
from torch_debugger.archive.judging_aside import JudgedAside
from torch_debugger.archive.log import Log
from torch_debugger.archive.places import Folder
from torch_debugger.records import Finding, Record


class JudgedRun:
    """The part of a `Run` that knows it."""

    _place: Folder
    _is_part: bool
    reads: int

    def __init__(self) -> None:
        super().__init__()
        self._aside: JudgedAside | None = None

    @property
    def findings(self) -> list[Finding]:
        """Ranked, the verdict first; empty for the log of another tool."""
        if self._aside is not None:  # which keeps what it has found
            return self._judged(self._aside)
        known: list[Finding] = self._once("findings", self._judged)
        return known

    @property
    def verdict(self) -> Finding | None:
        """The one finding to act on first; notes alone are no verdict."""
        first = self.findings[0] if self.findings else None
        return first if first is not None and first.severity != "note" else None

    def judge_aside(self, patience_s: float) -> JudgedAside:
        """From now on `findings` are those so far, where all of them would take longer than this."""
        self._aside = JudgedAside(patience_s)
        return self._aside

    def judge_anew(self) -> None:
        """What was judged aside is no longer there."""
        if self._aside is not None:
            self._aside.begin_again()

    @property
    def judged_to(self) -> int | None:
        """The step up to which `findings` are those of now; None: all of them are known."""
        return self._aside.step if self._aside is not None else None

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

    def _judged(self, aside: JudgedAside | None = None) -> list[Finding]:
        result = self._result()
        if result is not None:
            return result.findings
        if not self._whole().has_records():
            return []
        running = self.status == "running"
        if aside is None or self._place.is_copy or self._is_part:
            return judge_again(self._whole().records_of_ranks(), ended=not running)
        return aside.findings(self._place.path, not running, self.reads)

    def _result(self) -> Result | None:
        found: Result | None = self._once("result", lambda: read_result(self._place.path))
        return found

    def _whole(self) -> Log:
        raise NotImplementedError

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        raise NotImplementedError
