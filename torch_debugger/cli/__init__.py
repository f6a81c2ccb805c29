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

VERBS = {  # in the order of the help
    "run": "Run a training script unchanged, and say what is wrong with it.",
    "view": "show runs in the browser: what was found, curves, layers, pictures",
    "report": "write a run, or several compared, as one HTML file that needs no server, no network and no JavaScript",
    "runs": "list the runs below a folder, whoever logged them, with how each one went",
    "diff": "compare two runs: what differs, and the first step and tensor at which they part",
    "import-runs": "make logs from runs that W&B (offline) or MLflow keep on this machine",
    "doctor": "Try a training script's model, batch, loss and optimizer on copies, at its first step.",
    "rehearse": "Rehearse a script's training step for a GPU, without one: peak memory, largest batch, device bugs.",
    "profile": "Profile some steps of a training script, then end it: time by line, by module and by op.",
    "memory": "show a memory snapshot: what is in memory, by line and by module; also a pickle of PyTorch's",
    "summary": "show the layers of a model: sizes, parameters, operations",
    "gradcheck": "check the gradients of the custom autograd Functions in a file",
    "demo": "watch a broken training script being debugged, in under a minute",
    "checks": "list everything torch-debugger looks for",
    "explain": "explain one check: symptom, evidence, fix, known limits",
    "explain-traceback": "explain a traceback from a log, a mail or an issue, or one line of it: "
    "a file, text on stdin, a message",
}


class Verb(Protocol):
    """What a verb's module holds."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...
    def run(self, arguments: argparse.Namespace) -> int: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; the number is the exit code."""
    _occupy_closed_streams()
    words = list(sys.argv[1:] if argv is None else argv)
    arguments = parse(words)
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


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Only the verb that was named is loaded: the help lists the others without it."""
    parser = argparse.ArgumentParser(
        prog="torch-debugger",
        description="Finds out why a PyTorch training run goes wrong.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"torch-debugger {__version__}")
    commands = parser.add_subparsers(metavar="VERB", required=True)
    named = next((word for word in words if word in VERBS), None)
    for name in words[:1] if words[:1] == [named] else VERBS:
        command = commands.add_parser(name, help=VERBS[name], description=VERBS[name], allow_abbrev=False)
        if name == named:
            verb: Verb = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
            command.set_defaults(verb=verb)
            verb.add_arguments(command)
    return parser.parse_args(words)
