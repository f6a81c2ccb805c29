"""The options of `torch-debugger run`, and what they mean."""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass

from torch_debugger.integrations.tracker import Tracker, read_tracker
from torch_debugger.log.object_stores import is_url
from torch_debugger.log.upload import STORE_ROTATE_BYTES
from torch_debugger.runner.script import Program
from torch_debugger.settings import DEEP_STEPS, Settings, parse_budget, parse_seconds, parse_size
from torch_debugger.system.errors import UsageError


def add_run_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    parser.usage = "torch-debugger run [options] (script.py | -m package.module) [arguments of the script ...]"
    log = parser.add_mutually_exclusive_group()
    log.add_argument(
        "--log-dir",
        metavar="FOLDER",
        help="where the log goes: a folder, or a URL such as s3://bucket/name (default: runs/SCRIPT-TIME)",
    )
    log.add_argument("--no-log", action="store_true", help="keep no log when the run has ended")
    add("--log-limit", metavar="SIZE", default="200MB", help="how large the log may grow (default: 200MB)")
    add("--json", metavar="FILE", help="write the result there as JSON")
    add(
        "--budget",
        metavar="SHARE",
        default="2%",
        help="how much of the run's time watching may take (default: 2%%)",
    )
    add("--profile", action="store_true", help="profile 5 steps closely: time by line, by module and by op")
    add("--profile-steps", metavar="N", help="the same, N steps")
    add("--max-steps", metavar="N", help="end the script after N training steps")
    add("--deep-steps", metavar="N", help="look closely at the first N steps (default: 3), to compare runs")
    add("--no-samples", action="store_true", help="keep no samples of the data (pictures, tokens) in the log")
    add(
        "--fail-on",
        choices=("error", "warning"),
        help="exit with 3 when such a finding, or a worse one, is made",
    )
    add("--only", metavar="CHECK", action="append", default=[], help="judge by these checks only")
    add("--ignore", metavar="CHECK", action="append", default=[], help="judge by all checks but these")
    add(
        "--to",
        metavar="TRACKER[:PROJECT]",
        action="append",
        default=[],
        help="show the run in wandb, mlflow or trackio as well; may be given several times",
    )
    _add_what_is_shown_and_done(parser)
    add("-m", dest="module", action="store_true", help="the next word is a module, as in python -m")
    add("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def _add_what_is_shown_and_done(parser: argparse.ArgumentParser) -> None:
    """While the script runs: where it can be seen, and what happens at a NaN, a hang or a crash."""
    add = parser.add_argument
    add("--view", action="store_true", help="show the run in the browser while it goes on")
    add("--view-port", metavar="N", help="the same, at this port of this machine (default: one that is free)")
    add("--quiet", action="store_true", help="say nothing but the verdict, if there is one")
    add("--live", action="store_true", help="keep a status row at the bottom of the terminal")
    add(
        "--break",
        dest="breaks",
        metavar="'EXPR @ GLOB'",
        action="append",
        default=[],
        help="stop with pdb where this holds, such as 'nan(output) @ encoder.*'; `step` counts from 1",
    )
    add(
        "--on-nan",
        choices=("report", "stop", "break", "skip-step"),
        default="report",
        help="at a NaN or Inf: report it (default), end the script, stop with pdb, or leave such updates out",
    )
    add("--hang-timeout", metavar="SECONDS", help="how long it may stand still (default: learned, from 40 s on)")
    add(
        "--on-hang",
        choices=("warn", "dump", "abort"),
        default="dump",
        help="when it does: say so, say so with all stacks (default), or do that and end the run with 124",
    )
    add("--no-watchdog", action="store_true", help="do not watch for hangs")
    add("--pdb", action="store_true", help="after a crash and its explanation, pdb in the frame of your code")
    add(
        "--check-custom-gradients",
        action="store_true",
        help="check your custom autograd Functions, once each, on copies of the inputs they meet",
    )
    add("--in-process", action="store_true", help="run the script in this process, for debuggers and IDEs")


@dataclass(frozen=True)
class RunOptions:
    """The command line of one run, checked."""

    program: Program
    log_dir: str | None
    keep_log: bool
    log_limit_bytes: int
    json_file: str | None
    budget: float
    max_steps: int | None
    fail_on: str | None
    only: tuple[str, ...]
    ignore: tuple[str, ...]
    quiet: bool
    live: bool
    in_process: bool
    breaks: tuple[str, ...] = ()
    on_nan: str = "report"
    on_hang: str = "dump"
    hang_timeout_s: float = 0.0
    post_mortem: bool = False
    check_custom_gradients: bool = False
    samples: bool = True
    profile_steps: int = 0
    preflight: bool = False
    minimal: str = ""
    step_rehearsal: bool = False
    rehearsed_gpu: str = ""
    rehearsed_batch: int = 0
    rehearsed_dtype: str = ""
    deep_steps: int = DEEP_STEPS
    trackers: tuple[Tracker, ...] = ()
    view: bool = False
    view_port: int = 0

    @staticmethod
    def read(arguments: argparse.Namespace) -> RunOptions:
        return RunOptions(
            program=read_program(arguments.program, arguments.module),
            log_dir=arguments.log_dir,
            keep_log=not arguments.no_log,
            log_limit_bytes=parse_size(arguments.log_limit),
            json_file=arguments.json and os.path.abspath(arguments.json),  # the script may change folders
            budget=parse_budget(arguments.budget),
            max_steps=read_count("--max-steps", arguments.max_steps),
            deep_steps=read_count("--deep-steps", arguments.deep_steps) or DEEP_STEPS,
            fail_on=arguments.fail_on,
            only=_read_names(arguments.only),
            ignore=_read_names(arguments.ignore),
            quiet=arguments.quiet,
            live=arguments.live,
            in_process=arguments.in_process or os.name == "nt",
            breaks=_read_breaks(arguments.breaks),
            on_nan=arguments.on_nan,
            on_hang="off" if arguments.no_watchdog else arguments.on_hang,
            hang_timeout_s=_read_timeout(arguments.hang_timeout),
            post_mortem=arguments.pdb,
            check_custom_gradients=arguments.check_custom_gradients,
            samples=not arguments.no_samples,
            profile_steps=read_count("--profile-steps", arguments.profile_steps) or 5 * arguments.profile,
            trackers=tuple(read_tracker(word) for word in arguments.to),
            view=arguments.view or arguments.view_port is not None,
            view_port=read_port("--view-port", arguments.view_port),
        )

    @property
    def log_url(self) -> str | None:
        """Where the log goes when it is no folder."""
        return self.log_dir if self.keep_log and self.log_dir is not None and is_url(self.log_dir) else None

    def settings(self, folder: str | None) -> Settings:
        """What the watched process is told."""
        shown = self.keep_log and not (self.preflight or self.step_rehearsal)
        settings = Settings(
            log_dir=folder,
            budget=self.budget,
            log_limit_bytes=self.log_limit_bytes * 9 // 10,  # the rest is for what the parent writes
            max_steps=self.max_steps,
            deep_steps=self.deep_steps,
            breaks=self.breaks,
            on_nan=self.on_nan,
            on_hang="off" if self.preflight or self.step_rehearsal else self.on_hang,
            hang_timeout_s=self.hang_timeout_s,
            post_mortem=self.post_mortem,
            check_custom_gradients=self.check_custom_gradients,
            page=shown,
            samples=self.samples,
            profile_steps=self.profile_steps,
            preflight=self.preflight,
            minimal=self.minimal,
            step_rehearsal=self.step_rehearsal,
            rehearsed_gpu=self.rehearsed_gpu,
            rehearsed_batch=self.rehearsed_batch,
            rehearsed_dtype=self.rehearsed_dtype,
        )
        return dataclasses.replace(settings, log_rotate_bytes=STORE_ROTATE_BYTES) if self.log_url else settings


def read_program(words: Sequence[str], module: bool, verb: str = "run") -> Program:
    given = list(words[1:] if words[:1] == ["--"] else words)
    if not given:
        kind, example = ("module", "-m package.module") if module else ("script", "train.py")
        raise UsageError(f"No {kind} was given. Use it like this: torch-debugger {verb} {example}")
    if not module and given[0] != "-":  # stdin, as for python
        _require_script(given[0])
    return Program(given[0], tuple(given[1:]), module)


def _require_script(path: str) -> None:
    if os.path.isdir(path) and not {"__main__.py", "__main__.pyc"} & set(os.listdir(path)):
        raise UsageError(f"{path} is a folder. Name the script in it, such as {os.path.join(path, 'train.py')}.")
    if not os.path.exists(path):
        raise UsageError(f"There is no script {path} (looked in {os.getcwd()}).")
    if not os.access(path, os.R_OK):  # opening it to see would empty a pipe
        raise UsageError(f"The script {path} may not be read by you: look at its permissions.")


def read_count(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise UsageError(f"{option} takes a whole number from 1 on, not {text!r}.")
    return int(text)


def _read_timeout(text: str | None) -> float:
    """0, which means learned, where none was given."""
    return parse_seconds("--hang-timeout", text) if text is not None else 0.0


def read_port(option: str, text: str | None) -> int:
    """0, which is any that is free, where none was given."""
    if text is None:
        return 0
    if not text.isascii() or not text.isdigit() or not int(text) < 65536:
        raise UsageError(f"{option} takes a number from 0 to 65535, not {text!r}.")
    return int(text)


def _read_breaks(texts: Sequence[str]) -> tuple[str, ...]:
    """As they are, once the language has understood them: better now than at step 500."""
    if texts:
        from torch_debugger.source.breakpoint_conditions import parse_break

        for text in texts:
            parse_break(text)
    return tuple(texts)


def _read_names(lists: Sequence[str]) -> tuple[str, ...]:
    """--only a,b --only c -> a, b, c"""
    return tuple(name.strip() for words in lists for name in words.split(",") if name.strip())
