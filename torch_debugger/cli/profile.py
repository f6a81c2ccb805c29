"""`torch-debugger profile`: where the time of a script's steps goes, and then its end."""

from __future__ import annotations

import argparse

from torch_debugger.cli.options import add_run_options
from torch_debugger.cli.run import run as run_watched

NAME = "profile"
HELP = "Profile some steps of a training script, then end it: time by line, by module and by op."

_STEPS = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_options(parser)
    parser.usage = parser.usage and parser.usage.replace("torch-debugger run", "torch-debugger profile")
    parser.add_argument(
        "--read",
        metavar="PATH",
        help="run nothing: tell what is in a trace of torch.profiler, a file or a folder of "
        "tensorboard_trace_handler",
    )
    parser.epilog = (
        f"After the first steps {_STEPS} are profiled, or as many as --profile-steps says; then the script "
        "ends, unless --max-steps lets it go on. The trace lies in the log's folder."
    )


def run(arguments: argparse.Namespace) -> int:
    from torch_debugger.settings import PROFILED_FROM

    if arguments.read is not None:
        from torch_debugger.cli.traces import print_trace

        print_trace(arguments.read)
        return 0
    arguments.profile_steps = arguments.profile_steps or str(_STEPS)
    if arguments.max_steps is None and arguments.profile_steps.isdecimal():
        arguments.max_steps = str(PROFILED_FROM + int(arguments.profile_steps))
    return run_watched(arguments)
