"""Why an exception was raised, for programs that have caught it: `torch_debugger.explain(error)`."""

from __future__ import annotations

import dataclasses
import os
import sys
import traceback
from collections.abc import Sequence

from rich.console import Console

from torch_debugger.checks.judge import Judge
from torch_debugger.errors import UsageError
from torch_debugger.integrations.program import script_name
from torch_debugger.integrations.told import mark_told
from torch_debugger.pasted.reading import bare_crash, read_crash
from torch_debugger.records import CrashFact, Finding
from torch_debugger.report.digest import RunDigest
from torch_debugger.report.page import Report


class Explanation:
    """What is known of one exception; its str() is the whole text."""

    def __init__(self, crash: CrashFact, only: Sequence[str] = (), ignore: Sequence[str] = ()) -> None:
        judge = Judge(only, ignore)
        judge.see(crash)
        script = crash.place.file or script_name()
        result = RunDigest(script).result(judge.findings, outcome="explained", faults=judge.faults)
        self.crash = crash
        self.report = Report(dataclasses.replace(result, part=True))

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.report.findings

    @property
    def finding(self) -> Finding | None:
        """The cause, or the general form where no check knows one."""
        return self.findings[0] if self.findings else None

    def print(self) -> None:
        """On stderr; one that is closed or cannot be written to is no reason to fail."""
        try:
            self.report.print(Console(stderr=True))
        except (OSError, ValueError, AttributeError):
            return

    def __str__(self) -> str:
        return str(self.report)

    def __repr__(self) -> str:
        if self.finding is None:
            return f"<Explanation of {self.crash.kind}>"
        place = self.finding.where
        spot = f" at {os.path.basename(place.file)}:{place.line}" if place.file else ""
        return f"<Explanation {self.finding.name}{spot}>"


def explain(error: BaseException | None = None, *, show: bool = True) -> Explanation:
    """Why an exception was raised: shown on stderr, and returned.

    Without an argument: the exception being handled, else the last one that reached the prompt.
    """
    chosen = _chosen(error)
    explanation = Explanation(capture(chosen))
    if show:
        mark_told(chosen)
        explanation.print()
    return explanation


def _chosen(error: object) -> BaseException:
    if error is None:
        seen = sys.exc_info()[1], getattr(sys, "last_exc", None), getattr(sys, "last_value", None)
        error = next((each for each in seen if each is not None), None)
        if error is None:
            raise UsageError(
                "explain() found no exception: none is being handled and none was seen at the prompt. "
                "Call it in an `except` block, or give it the exception: explain(error)."
            )
    if issubclass(type(error), BaseException):
        return error  # type: ignore[return-value]
    hint = " For the text of a traceback use `torch-debugger explain-traceback`." if type(error) is str else ""
    raise UsageError(f"explain() takes an exception, not {type(error).__name__}.{hint}")


def capture(error: BaseException) -> CrashFact:
    """The crash as its frames tell it; by the text of its traceback where torch is not even imported."""
    if "torch" in sys.modules:
        from torch_debugger.plumbing import capture as capture_live

        return capture_live(error)
    told = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return read_crash(told) or bare_crash(type(error).__name__)
