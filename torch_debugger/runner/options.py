"""The command line of `torch-debugger run` and its kin: which script, and the settings it runs under."""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Sequence
from typing import Any

from torch_debugger.runner.script import Program
from torch_debugger.settings import Settings, add_options
from torch_debugger.system.errors import UsageError

# of doctor and rehearse
OF_TRIALS: dict[str, Any] = {"keep_log": False, "log_limit_bytes": 10**8, "budget": 1.0, "on_hang": "dump"}


def add_script_options(parser: argparse.ArgumentParser, verb: str) -> None:
    """Those of the settings, and the script with its own arguments behind them."""
    parser.usage = f"torch-debugger {verb} [options] (script.py | -m package.module) [arguments of the script ...]"
    add_options(parser, "run" if verb == "profile" else verb)
    parser.add_argument("-m", dest="module", action="store_true", help="the next word is a module, as in python -m")
    parser.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def read_run(arguments: argparse.Namespace) -> tuple[Program, Settings]:
    """What cannot be understood is said now, and not at step 500."""
    program = read_program(arguments.program, arguments.module)
    settings = Settings.read(arguments)
    if settings.breaks:
        from torch_debugger.source.breakpoint_conditions import parse_break

        for text in settings.breaks:
            parse_break(text)
    if settings.trackers:
        from torch_debugger.integrations.tracker import read_tracker

        for text in settings.trackers:
            read_tracker(text)
    return program, settings


def log_url(settings: Settings) -> str | None:
    """Where the log goes when it is no folder."""
    from torch_debugger.log.object_stores import is_url

    place = settings.log_dir if settings.keep_log else None
    return place if place is not None and is_url(place) else None


def settings_of_child(settings: Settings, folder: str | None) -> Settings:
    """As the watched process is given them: `folder` is where it writes, wherever the log goes from there."""
    settings = dataclasses.replace(
        settings,
        log_limit_bytes=settings.log_limit_bytes * 9 // 10,  # the rest is for what the parent writes
        page=settings.keep_log and not settings.is_trial,
        on_hang="off" if settings.is_trial else settings.on_hang,
    )
    if log_url(settings) is not None:
        from torch_debugger.log.upload import STORE_ROTATE_BYTES

        settings = dataclasses.replace(settings, log_rotate_bytes=STORE_ROTATE_BYTES)
    return dataclasses.replace(settings, log_dir=folder)


def read_program(words: Sequence[str], module: bool, verb: str = "run") -> Program:
    command = list(words[1:] if words[:1] == ["--"] else words)
    if not command:
        kind, example = ("module", "-m package.module") if module else ("script", "train.py")
        raise UsageError(f"No {kind} was given. Use it like this: torch-debugger {verb} {example}")
    path, *arguments = command
    if not module and path != "-":  # stdin, as for python
        if os.path.isdir(path) and not {"__main__.py", "__main__.pyc"} & set(os.listdir(path)):
            raise UsageError(f"{path} is a folder. Name the script in it, such as {os.path.join(path, 'train.py')}.")
        if not os.path.exists(path):
            raise UsageError(f"There is no script {path} (looked in {os.getcwd()}).")
        if not os.access(path, os.R_OK):  # opening it to see would empty a pipe
            raise UsageError(f"The script {path} may not be read by you: look at its permissions.")
    return Program(path, tuple(arguments), module)
