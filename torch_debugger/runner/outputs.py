"""Where a run's log goes: a folder that stays, an object store, or a folder gone when the report is read."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import itertools
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from torch_debugger.checks.catalog import find_check
from torch_debugger.checks.judge import Judge, RanksJudge
from torch_debugger.log.object_stores import is_url
from torch_debugger.log.upload import Spool
from torch_debugger.records import SEVERITIES, CrashFact, Finding
from torch_debugger.report.json_and_markdown import render_markdown, to_json
from torch_debugger.report.result import RanksDigest, RunDigest, RunResult
from torch_debugger.report.text import write_whole
from torch_debugger.runner.status import fresh_line, write
from torch_debugger.system.errors import DebuggerError, UsageError
from torch_debugger.system.program import say
from torch_debugger.system.redaction import redact_record, redact_text
from torch_debugger.system.secret_names import SECRET


@contextmanager
def open_log_folder(chosen: str | None, script: str, *, keep: bool) -> Iterator[str]:
    """The absolute path of a folder that exists and can be written; not kept, it is removed at the end."""
    if keep and chosen is not None and is_url(chosen):
        with closing(_spool(chosen)) as spool:
            yield spool.folder
    elif keep and chosen is not None:
        with _chosen_folder(chosen) as folder:
            yield str(folder)
    elif keep:
        yield str(_new_folder(script))
    else:
        with tempfile.TemporaryDirectory(prefix="torch-debugger-", ignore_cleanup_errors=True) as folder:
            yield folder


def _spool(url: str) -> Spool:
    try:
        spool = Spool(url, say)
    except DebuggerError as error:
        raise UsageError(f"{error} Choose another place with --log-dir, or keep no log with --no-log.") from error
    if any("tfevents" in file.name for file in spool.found):
        spool.close()
        raise holds_another_run(url)
    return spool


def holds_another_run(place: str) -> UsageError:
    return UsageError(f"{place} already holds the log of another run. Choose a new folder with --log-dir.")


def can_keep_logs_here(*, say_so: bool) -> bool:
    """Whether `runs` can be made in, or written to, where the user stands: a script may be started in a folder
    that is read-only, and runs there without us."""
    above = Path("runs") if os.path.lexists("runs") else Path()
    try:
        tempfile.TemporaryFile(dir=above).close()
    except OSError as error:
        if say_so:
            where = f"{above if above.name else 'this folder'} cannot be written ({error.strerror})"
            say(f"no log is kept: {where}. Name another folder with --log-dir.")
        return False
    return True


@contextmanager
def _chosen_folder(chosen: str) -> Iterator[Path]:
    """It is ours as long as the run lasts: of two that begin at the same moment, one is refused."""
    folder = Path(chosen).absolute()
    make_writable(folder)
    with _locked(folder) as is_ours:
        if not is_ours or any(folder.glob("*tfevents*")):
            raise holds_another_run(chosen)
        yield folder


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """By a lock that is gone with the process, however that ends."""
    try:
        import fcntl
    except ImportError:  # Windows: two at once are not told apart there
        yield True
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_ours = True
    except BlockingIOError:
        is_ours = False
    except OSError:  # a file system without locks
        is_ours = True
    try:
        yield is_ours
    finally:
        os.close(fd)


def _new_folder(script: str) -> Path:
    """runs/train-20260131-174502; a run started within the same second gets -2."""
    first = Path("runs", f"{name_of_script(script)}-{time.strftime('%Y%m%d-%H%M%S')}").absolute()
    later = (first.with_name(f"{first.name}-{number}") for number in itertools.count(2))
    make_writable(first.parent)
    for folder in itertools.chain([first], later):
        with suppress(FileExistsError):
            folder.mkdir()
            break
    make_writable(folder)
    return folder


def name_of_script(script: str) -> str:
    if script == "-":
        return "stdin"
    return Path(script).stem if script.endswith(".py") else Path(script).name


def make_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise UsageError(
            f"The log folder {folder} cannot be written: {error.strerror}. "
            "Choose another with --log-dir, or keep no log with --no-log."
        ) from error


# The end of a run: its report on stderr and in files, and the exit code.
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
        sys.stderr = io.TextIOWrapper(unread, sys.stderr.encoding, errors="backslashreplace", line_buffering=True)


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

    from torch_debugger.report.sentences import stack_lines
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


# Prints a crash at the moment it happens: what is known by then, and the traceback below it.
class CrashPrinter:
    def __init__(self, judge: Judge | RanksJudge, digest: RunDigest | RanksDigest, *, quiet: bool) -> None:
        self._judge, self._digest, self._quiet = judge, digest, quiet
        self.told: tuple[Finding, ...] = ()

    def show(self, crash: CrashFact) -> bool:
        """The explanation, and below it the traceback: unless secrets are left out of that. The script's own,
        with all that it says, is for its own process to print."""
        is_whole = SECRET not in crash.traceback
        result = self._digest.result(self._judge.findings, outcome="crashed", exit_code=1)
        try:
            print_crash(result, crash.traceback if is_whole else "", quiet=self._quiet)
        except Exception as error:  # whatever is wrong with our words, the traceback must be read
            say(f"the crash could not be explained ({type(error).__name__}: {error}).")
            if is_whole:
                say(crash.traceback)
        self.told = result.findings
        return is_whole
