"""`--in-process`: the same pieces in one process, for debuggers, IDEs, notebooks and tests."""

from __future__ import annotations

import builtins
import dataclasses
import signal
import sys
import types
from collections.abc import Callable, Sequence

from torch_debugger.checks.judge import Judge
from torch_debugger.log.process_channels import RequestSender, make_request_pipe
from torch_debugger.records import CrashFact, Finding, HangFact, Record
from torch_debugger.report.result import RunDigest, RunResult
from torch_debugger.runner.environment import Gathering, file_of, typed_command
from torch_debugger.runner.hang_reports import end_here
from torch_debugger.runner.outputs import CrashPrinter, exit_code_of
from torch_debugger.runner.script import Program, run_as_main
from torch_debugger.runner.watched_script import ScriptWatch, look_into_crash
from torch_debugger.settings import Settings
from torch_debugger.system.program import say
from torch_debugger.system.tracebacks import hide_our_frames


class _Bench:
    """A sink that judges at once."""

    keeps = False

    def __init__(
        self, judge: Judge, digest: RunDigest, requests: RequestSender, announce: Callable[[Finding], None]
    ) -> None:
        self._judge = judge
        self._digest = digest
        self._requests = requests
        self._announce = announce
        self.crash: CrashFact | None = None

    def add(self, record: Record) -> None:
        self._digest.see(record)
        if isinstance(record, CrashFact):
            self.crash = record
        for finding in self._judge.see(record):
            if self.crash is None:  # what explains a crash is told with its traceback
                self._announce(finding)
            if finding.request is not None:
                self._requests.send(finding.request)
        if isinstance(record, HangFact) and record.final and record.policy == "abort":
            end_here()


def run_in_process(
    script: str,
    arguments: Sequence[str],
    settings: Settings,
    *,
    module: bool = False,
    announce: Callable[[Finding], None] = lambda finding: None,
) -> tuple[RunResult, int]:
    """Runs the script as this process's `__main__`, which it stays, and gives the result and the exit
    status."""
    program = Program(script, tuple(arguments), module)
    judge, digest = Judge(settings.only, settings.ignore), RunDigest(script)
    reader, sender = make_request_pipe()
    bench = _Bench(judge, digest, sender, announce)
    watch = ScriptWatch(program, settings, sinks=[bench], requests=reader)
    crash = CrashPrinter(judge, digest, quiet=settings.quiet)
    tell_surroundings = _surroundings(program, watch) if settings.log_dir else None
    watch.start()
    error = _run(program, watch)
    code = _show(error, bench.crash, crash) if error is not None else 0
    if error is not None and settings.post_mortem:
        look_into_crash(error)
    if tell_surroundings is not None:
        tell_surroundings()
    watch.end()
    for end in (reader, sender):
        end.close()
    judge.finish()
    result = digest.result(
        judge.findings,
        exit_code=exit_code_of(code),
        log=settings.log_dir,
        faults=judge.faults,
        checks=len(judge.checks),
    )
    return dataclasses.replace(result, told=crash.told), code


def _surroundings(program: Program, watch: ScriptWatch) -> Callable[[], None]:
    """Begins to gather them; what is given back tells them, at the end: the log waits for the numpy of the
    script."""
    found: list[Record] = []
    gathering = Gathering(typed_command(), file_of(program.target, module=program.module), found.append, say)

    def tell() -> None:
        gathering.wait()
        for record in found:
            watch.tell(record)

    return tell


def _run(program: Program, watch: ScriptWatch) -> BaseException | None:
    fresh = types.ModuleType("__main__")
    vars(fresh).update(__builtins__=builtins, __annotations__={})
    sys.modules["__main__"] = fresh
    try:
        run_as_main(program)
    except BaseException as error:
        watch.saw(error)
        return error
    return None


def _show(error: BaseException, crash: CrashFact | None, printer: CrashPrinter) -> int:
    """Says what the interpreter would have said, and the exit status it would have ended with."""
    if isinstance(error, SystemExit):
        return _exit_code(error)
    hide_our_frames(error)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    is_plain = crash is not None and crash.traceback and sys.excepthook is sys.__excepthook__
    if crash is None or not is_plain or not printer.show(crash):
        sys.excepthook(type(error), error, error.__traceback__)
    return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1


def _exit_code(error: SystemExit) -> int:
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    sys.stderr.write(f"{error.code}\n")
    return 1
