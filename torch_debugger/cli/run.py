"""`torch-debugger run`: your script, unchanged, watched, judged and reported on."""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from torch_debugger.runner.options import add_script_options, log_url, read_run, settings_of_child
from torch_debugger.system.program import say

if TYPE_CHECKING:
    from torch_debugger.checks.judge import RanksJudge
    from torch_debugger.report.result import RunResult
    from torch_debugger.runner.parent import RunningTrackers
    from torch_debugger.runner.rank_parents import RankLaunch
    from torch_debugger.runner.script import Program
    from torch_debugger.settings import Settings


_STDERR = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_script_options(parser, "run")


def run(arguments: argparse.Namespace) -> int:
    from torch_debugger.checks.judge import RanksJudge
    from torch_debugger.cli.page_beside_run import PageBeside
    from torch_debugger.runner.child_process import run_instead_of_us
    from torch_debugger.runner.outputs import can_keep_logs_here, end_like, open_log_folder, require_writable
    from torch_debugger.runner.parent import RunningTrackers as Couriers
    from torch_debugger.runner.rank_parents import rank_launch

    program, settings = read_run(arguments)
    judge = RanksJudge(settings.only, settings.ignore)  # complains about names it does not know
    if settings.json_file is not None:
        require_writable(settings.json_file)
    if not settings.in_process and not _can_watch():
        run_instead_of_us(program)
    launch = None if settings.in_process else rank_launch()
    if settings.keep_log and settings.log_dir is None:
        is_first = launch is None or launch.is_first
        settings = dataclasses.replace(settings, keep_log=can_keep_logs_here(say_so=is_first))
    if launch is not None:
        return _run_rank(program, settings, judge, launch)
    with (
        open_log_folder(settings.log_dir, program.target, keep=settings.keep_log) as folder,
        Couriers(program, settings, folder) as couriers,
        PageBeside(settings, folder) as page,
    ):
        if settings.in_process:
            status = _conclude(settings, folder, couriers, *_run_here(program, settings, folder))
        else:
            status = _run_apart(program, settings, judge, folder, couriers)
        page.stay()
    return end_like(status)


def _can_watch() -> bool:
    """Whether there may be the little file through which the script tells where it is: limits (`ulimit -f`) can
    forbid it."""
    from torch_debugger.log.process_channels import Board

    try:
        os.close(Board.create().fd)
    except OSError as error:
        say(f"cannot watch under the limits of this process ({error.strerror}); the script runs unwatched.")
        return False
    return True


def _run_rank(program: Program, settings: Settings, judge: RanksJudge, launch: RankLaunch) -> int:
    from torch_debugger.cli.page_beside_run import PageBeside
    from torch_debugger.runner.outputs import end_like
    from torch_debugger.runner.parent import RunningTrackers as Couriers
    from torch_debugger.runner.rank_parents import open_shared_folder, run_other_rank

    log_dir, script = settings.log_dir, program.target
    with open_shared_folder(launch, log_dir, script, keep=settings.keep_log) as folder:
        if launch.is_first:
            with Couriers(program, settings, folder) as couriers, PageBeside(settings, folder):
                status = _run_apart(program, settings, judge, folder, couriers, launch)
        else:
            status = run_other_rank(program, settings, launch, folder)
            _attempt(lambda: _stand_in(program, settings, judge, launch, folder))
    return end_like(status)


def _stand_in(program: Program, settings: Settings, judge: RanksJudge, launch: RankLaunch, folder: str) -> None:
    from torch_debugger.runner.rank_parents import report_of, stands_in

    if stands_in(launch, folder):
        log = folder if settings.keep_log else None
        _show(settings, folder, report_of(judge, launch, folder, program.target, log))


def _run_apart(
    program: Program,
    settings: Settings,
    judge: RanksJudge,
    folder: str,
    couriers: RunningTrackers,
    launch: RankLaunch | None = None,
) -> int:
    """The exit status: -n when signal n ended the script."""
    from torch_debugger.runner.child_process import interrupts_left_to_child
    from torch_debugger.runner.outputs import speak_while_somebody_listens
    from torch_debugger.runner.parent import run_in_child

    speak_while_somebody_listens()
    early: list[RunResult] = []

    def report_early(result: RunResult) -> None:
        early.append(result)
        _show(settings, folder, result)

    speak = report_early if launch is not None else None
    with interrupts_left_to_child():
        result, status = run_in_child(program, settings, judge, folder, None, couriers, launch, speak)
        if early:  # said already: what came since is in the files
            result = dataclasses.replace(result, told=result.findings)
            settings = dataclasses.replace(settings, quiet=True)
        return _conclude(settings, folder, couriers, result, status)


def _run_here(program: Program, settings: Settings, folder: str) -> tuple[RunResult, int]:
    from torch_debugger.runner.in_process import run_in_process
    from torch_debugger.runner.status import PlainStatus, Silence

    display = Silence() if settings.quiet else PlainStatus(_STDERR, 0.0)
    needs_log = settings.keep_log or settings.trackers  # a courier follows a log, also one that is not kept
    result, code = run_in_process(
        program.target,
        program.arguments,
        settings_of_child(settings, folder if needs_log else None),
        module=program.module,
        announce=display.announce,
    )
    return (result if settings.keep_log else dataclasses.replace(result, log=None)), code


def _conclude(settings: Settings, folder: str, couriers: RunningTrackers, result: RunResult, status: int) -> int:
    from torch_debugger.runner.outputs import exit_code

    result = dataclasses.replace(result, log=log_url(settings) or result.log)
    _show(settings, folder, result)
    _attempt(lambda: couriers.conclude(result))
    return exit_code(status, result.findings, settings.fail_on)


def _show(settings: Settings, folder: str, result: RunResult) -> None:
    from torch_debugger.runner.outputs import print_report, write_reports

    log_dir = folder if settings.keep_log else None
    _attempt(lambda: write_reports(result, json_file=settings.json_file, log_dir=log_dir))
    _attempt(lambda: print_report(result, quiet=settings.quiet))


def _attempt(deed: Callable[[], None]) -> None:
    try:
        deed()
    except Exception as error:  # the script's exit code matters more than our report of it
        say(f"the report could not be completed ({type(error).__name__}: {error}).")
