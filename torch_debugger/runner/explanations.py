"""Why an exception was raised, for programs that have caught it: `torch_debugger.explain(error)`."""

from __future__ import annotations

import dataclasses
import os
import re
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from torch_debugger.checks.crashes.explanation import user_frame
from torch_debugger.checks.judge import Judge
from torch_debugger.records import CrashFact, Finding
from torch_debugger.report.result import RunDigest
from torch_debugger.report.terminal import Report
from torch_debugger.runner.exceptions import is_explained, mark_explained
from torch_debugger.source.pasted_tracebacks import bare_crash, read_crash
from torch_debugger.system.errors import UsageError
from torch_debugger.system.program import say_on_sys_stderr, script_name
from torch_debugger.system.tracebacks import hide_our_frames


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
        mark_explained(chosen)
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
        from torch_debugger.runner.plumbing import capture as capture_live

        return capture_live(error)
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return read_crash(text) or bare_crash(type(error).__name__)


# `%load_ext torch_debugger`: an exception in a cell is explained under its traceback.
def load_ipython_extension(shell: Any) -> None:
    unload_ipython_extension(shell)
    shell.events.register("post_run_cell", explain_cell)


def unload_ipython_extension(shell: Any) -> None:
    if explain_cell in shell.events.callbacks["post_run_cell"]:
        shell.events.unregister("post_run_cell", explain_cell)


def explain_cell(result: Any) -> None:
    """Called after each cell; an exception that has nothing to do with torch gets no comment."""
    error = getattr(result, "error_in_exec", None)
    if not isinstance(error, Exception) or is_explained(error):
        return
    try:
        mark_explained(error)
        hide_our_frames(error)
        explanation = Explanation(capture(error))
        if is_worth_a_comment(explanation.crash, explanation.findings):
            explanation.print()
    except Exception as fault:  # the cell's own traceback has been shown; ours must not follow
        say_on_sys_stderr(f"could not explain this ({type(fault).__name__}: {fault}).")


# Whether a crash at a prompt is any of our business: a typo in a cell needs no comment.
_PLAIN = {"NameError", "SyntaxError", "ImportError"}  # they say themselves all there is to say
_TORCH_FILE = re.compile(r"[\\/]torch[\\/]")


def is_worth_a_comment(crash: CrashFact | None, findings: Sequence[Finding]) -> bool:
    """Whether a check knows something, or torch was at least involved."""
    if crash is None or concerns_torch(crash):
        return True
    return not _PLAIN & set(crash.bases) and any(finding.name != "unexplained-crash" for finding in findings)


def concerns_torch(crash: CrashFact) -> bool:
    """A torch frame, a module, or tensors where the crash happened."""
    frame = user_frame(crash)
    behind = crash.frames[crash.frames.index(frame) :] if frame is not None else crash.frames
    if any(_TORCH_FILE.search(each.file) for each in behind) or crash.qualified.startswith("torch."):
        return True
    if frame is None or _PLAIN & set(crash.bases):
        return False
    if frame.module is not None:
        return True
    # At the top level of a notebook all its variables are in reach: only those the line mentions count.
    words = set(re.findall(r"\w+", frame.code))
    inside = frame.function != "<module>" and not frame.function.startswith("<cell line")
    return any(inside or re.split(r"\W", tensor.name)[0] in words for tensor in frame.tensors)
