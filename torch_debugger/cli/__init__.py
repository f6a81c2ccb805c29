"""The command line: `torch-debugger VERB ...`, one module a verb, loaded when it is asked for."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import Protocol

from torch_debugger._version import __version__
from torch_debugger.system.errors import DebuggerError, UsageError

VERBS = (
    "run", "view", "report", "runs", "diff", "import-runs", "doctor", "rehearse", "profile", "memory",
    "summary", "gradcheck", "demo", "checks", "explain", "explain-traceback",
)  # fmt: skip


class Verb(Protocol):
    """What a verb's module holds."""

    NAME: str
    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...
    def run(self, arguments: argparse.Namespace) -> int: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; the number is the exit code."""
    _occupy_closed_streams()
    words = list(sys.argv[1:] if argv is None else argv)
    # The other verbs are needed only to list them in the help.
    names = (words[0],) if words and words[0] in VERBS else VERBS
    arguments = _parser([_load(name) for name in names]).parse_args(words)
    try:
        code = int(arguments.verb.run(arguments))
        sys.stdout.flush()
        return code
    except DebuggerError as error:
        sys.stderr.write(f"torch-debugger: {_plainly(error)}\n")
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        from torch_debugger.runner.outputs import end_like

        return end_like(-signal.SIGINT)
    except BrokenPipeError:  # who read our output has read enough (`| head`): the rest goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:  # our traceback would only be in the user's way
        sys.stderr.write(f"torch-debugger: gave up by a fault of its own: {type(error).__name__}: {_plainly(error)}\n")
        return 1


def _occupy_closed_streams() -> None:
    """Started without a stdout (`>&-`), we must open no file of ours under its number: what the script prints
    would go there. These are closed again by exec, so that the script finds its streams as they were."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(fd)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - for as long as we run


def _plainly(error: Exception) -> str:
    """Names of files, and names in files, may hold what steers a terminal."""
    from torch_debugger.report.text import printable

    return "\n".join(printable(line) for line in str(error).split("\n"))


def _load(name: str) -> Verb:
    module: Verb = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    return module


def _parser(verbs: Sequence[Verb]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="torch-debugger",
        description="Finds out why a PyTorch training run goes wrong.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"torch-debugger {__version__}")
    commands = parser.add_subparsers(metavar="VERB", required=True)
    for verb in verbs:
        command = commands.add_parser(verb.NAME, help=verb.HELP, description=verb.HELP, allow_abbrev=False)
        command.set_defaults(verb=verb)
        verb.add_arguments(command)
    return parser
