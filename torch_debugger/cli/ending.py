"""The end of a run: its report on stderr and in files, and the exit code."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch_debugger.checks.catalog import find_check
from torch_debugger.cli.status import fresh_line, write
from torch_debugger.errors import UsageError
from torch_debugger.records import SEVERITIES, Finding
from torch_debugger.redaction import redact_record, redact_text
from torch_debugger.report.json_form import to_json
from torch_debugger.report.markdown import render_markdown
from torch_debugger.report.result import RunResult
from torch_debugger.report.whole_file import write_whole

_STDERR = 2


class _Unread(io.FileIO):
    """stderr, also where nobody reads it any more."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except OSError:
            return len(data)


def speak_while_somebody_listens() -> None:
    """For a parent, whose exit code is the script's: a closed pipe or a full disk at stderr costs the report
    alone; nothing raises, now or when Python flushes its streams at the end."""
    if sys.stderr is sys.__stderr__ and isinstance(sys.stderr, io.TextIOWrapper):
        unread = io.BufferedWriter(_Unread(sys.stderr.fileno(), "w", closefd=False))
        sys.stderr = io.TextIOWrapper(
            unread, sys.stderr.encoding, errors="backslashreplace", line_buffering=True
        )


def print_crash(result: RunResult, traceback: str, *, quiet: bool) -> None:
    """The explanation, and below it the traceback as python would have shown it."""
    from rich.console import Console

    from torch_debugger.report.terminal import render_findings

    write(_STDERR, fresh_line(_STDERR))
    if not (quiet and _says_little(result)):
        render_findings(_verdict_alone(result) if quiet else result, Console(stderr=True))
        write(_STDERR, "\n")
    write(_STDERR, traceback)


def print_hang(result: RunResult, *, stacks: bool) -> None:
    """Why it stands still, and below it where everybody stands."""
    from rich.console import Console

    from torch_debugger.report.hang_stacks import stack_lines
    from torch_debugger.report.terminal import render_findings

    write(_STDERR, fresh_line(_STDERR))
    render_findings(_verdict_alone(result), Console(stderr=True))
    lines = stack_lines(result.hangs, result.folder) if stacks else []
    write(_STDERR, "\n" + "".join(f"{line}\n" for line in lines))


def print_report(result: RunResult, *, quiet: bool) -> None:
    """On stderr; quiet means: only a verdict is worth a word."""
    if quiet and (result.told or _says_little(result)):
        return
    from rich.console import Console

    from torch_debugger.report.terminal import render_terminal

    write(_STDERR, fresh_line(_STDERR) + ("\n" if result.told else ""))
    render_terminal(_verdict_alone(result) if quiet else result, Console(stderr=True))


def _says_little(result: RunResult) -> bool:
    """No verdict, or one that only repeats the traceback."""
    return result.verdict is None or find_check(result.verdict.name).last_resort


def _verdict_alone(result: RunResult) -> RunResult:
    first = result.chapters[0]
    findings = (first.cause, *first.symptoms)
    return dataclasses.replace(result, findings=findings, cost=None, faults=(), notices=(), log=None)


def write_reports(result: RunResult, *, json_file: str | None, log_dir: str | None) -> None:
    """The result as JSON where it was asked for, and beside the log where one is kept; without secrets."""
    result = redact_record(result)
    text = json.dumps(to_json(result), indent=2, allow_nan=False) + "\n"
    if json_file is not None:
        write_whole(Path(json_file), text)
    if log_dir is not None and os.path.isdir(log_dir):
        with contextlib.suppress(OSError):  # the log is on the same disk, and has said what is wrong with it
            write_whole(Path(log_dir, "result.json"), text)
            write_whole(Path(log_dir, "report.md"), redact_text(render_markdown(result)))


def require_writable(json_file: str) -> None:
    """Complains before the run, not after hours of it."""
    target = Path(json_file)
    if target.is_dir():
        raise UsageError(f"--json needs a file to write, and {json_file} is a folder.")
    try:
        fd, name = tempfile.mkstemp(dir=target.parent)
    except OSError as error:
        raise UsageError(f"--json {json_file} cannot be written: {error.strerror}.") from error
    os.close(fd)
    os.unlink(name)


def exit_code(script_code: int, findings: Sequence[Finding], fail_on: str | None) -> int:
    """The script's own, or 3 when it succeeded with a finding that --fail-on does not accept."""
    if script_code != 0 or fail_on is None:
        return script_code
    refused = SEVERITIES[SEVERITIES.index(fail_on) :]
    return 3 if any(finding.severity in refused for finding in findings) else 0


def exit_code_of(status: int) -> int:
    """128 + n when signal n ended the script, as shells say it."""
    return 128 - status if status < 0 else status


def end_like(status: int) -> int:
    """By the same signal as the script, without a second core file; else, and where no signal ends us (on
    Windows, as the first process of a container), the exit code to end with."""
    if status < 0 and sys.platform != "win32":
        import resource

        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return exit_code_of(status)
