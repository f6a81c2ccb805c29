"""`torch-debugger profile`: where the time of a script's steps goes, and then its end."""

from __future__ import annotations

import argparse

from torch_debugger.cli.run import run as run_watched
from torch_debugger.runner.options import add_script_options
from torch_debugger.system.errors import UsageError

_STEPS = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_script_options(parser, "profile")
    parser.add_argument(
        "--read",
        metavar="PATH",
        help="run nothing: show what is in a trace of torch.profiler, a file or a folder of "
        "tensorboard_trace_handler; --json FILE (or -) writes it as JSON",
    )
    parser.add_argument(
        "--compare",
        metavar="PATH",
        help="with --read: what has changed from the first trace to this one, in a step and by operator",
    )
    parser.epilog = (
        f"After the first steps {_STEPS} are profiled, or as many as --profile-steps says; then the script "
        "ends, unless --max-steps lets it go on. The trace lies in the log's folder."
    )


def run(arguments: argparse.Namespace) -> int:
    from torch_debugger.settings import PROFILED_FROM

    traces = _named_traces(arguments)
    if traces:
        from torch_debugger.cli.traces import print_trace

        print_trace(traces[0], traces[1] if len(traces) > 1 else None, arguments.json)
        return 0
    if arguments.compare is not None:
        raise UsageError("--compare compares traces: name the first one with --read.")
    arguments.profile_steps = arguments.profile_steps or str(_STEPS)
    if arguments.max_steps is None and arguments.profile_steps.isdecimal():
        arguments.max_steps = str(PROFILED_FROM + int(arguments.profile_steps))
    return run_watched(arguments)


def _named_traces(arguments: argparse.Namespace) -> list[str]:
    """`--read ONE [OTHER]`, `--read ONE --compare OTHER`, and traces where a script could stand."""
    from torch_debugger.profiling.trace_files import is_trace

    words = list(arguments.program)
    if arguments.read is None and not (words and is_trace(words[0])):  # JSON would run as Python
        return []
    if late := [word for word in words if word.startswith("-")]:
        raise UsageError(f"{late[0]} stands behind a trace: options come first.")
    named = ([arguments.read] if arguments.read is not None else []) + words
    named += [arguments.compare] if arguments.compare is not None else []
    if len(named) > 2:
        raise UsageError(f"Of {len(named)} traces no difference can be shown: name two.")
    return named
