"""Everything a run can be asked for, each written once: the options of the command line are made from it, the JSON
for the child process, and what `Debugger(...)` takes."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from torch_debugger.system.errors import UsageError

if TYPE_CHECKING:
    import argparse

PROFILED_FROM = 12  # steps before a profile begins: caches filled, kernels chosen, the first closer looks over
DEEP_STEPS = 3  # at the start of every run
_SIZES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}

_T = TypeVar("_T")


def parse_budget(option: str, text: str) -> float:
    """'2%' or '0.02' -> 0.02"""
    cleaned = text.strip()
    try:
        value = float(cleaned.rstrip("%")) / (100.0 if cleaned.endswith("%") else 1.0)
    except ValueError:
        value = -1.0
    if not 0.0 < value <= 10.0:
        raise UsageError(f"{option} takes a share of the run's time such as 2% or 0.02, not {text!r}.")
    return value


def parse_size(option: str, text: str) -> int:
    """'200MB' -> 200_000_000"""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", text)
    unit = match.group(2).upper() if match else "?"
    if match is None or unit not in _SIZES or float(match.group(1)) <= 0:
        raise UsageError(f"{option} takes a size such as 200MB or 1GiB, not {text!r}.")
    return int(float(match.group(1)) * _SIZES[unit])


def parse_seconds(option: str, text: str) -> float:
    """'60', '90s', '5m' or '1h' -> seconds"""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|sec|m|min|h)?\s*", text)
    seconds = float(match.group(1)) * {"m": 60.0, "h": 3600.0}.get((match.group(2) or "s")[0], 1.0) if match else 0
    if seconds <= 0:
        raise UsageError(f"{option} takes a number of seconds, or a time such as 90s or 5m, not {text!r}.")
    return seconds


def parse_count(option: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise UsageError(f"{option} takes a whole number from 1 on, not {text!r}.")
    return int(text)


def parse_port(option: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or not int(text) < 65536:
        raise UsageError(f"{option} takes a number from 0 to 65535, not {text!r}.")
    return int(text)


def _parse_names(option: str, lists: Sequence[str]) -> tuple[str, ...]:
    """--only a,b --only c -> a, b, c"""
    return tuple(name.strip() for words in lists for name in words.split(",") if name.strip())


def _all_of(option: str, texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(texts)


def _absolute(option: str, path: str) -> str:
    return path and os.path.abspath(path)  # the script may change folders


def _as_typed(option: str, text: _T) -> _T:
    return text


class Option:
    """How a setting is asked for on the command line. Of several options of one setting the last one decides."""

    def __init__(
        self, flag: str, metavar: str | None, help: str, parse: Callable[[str, Any], Any] = _as_typed, **words: Any
    ) -> None:
        self.flag, self.help, self.parse = flag, help, parse
        self.words = words if metavar is None else {"metavar": metavar, **words}  # for argparse

    def value(self, arguments: argparse.Namespace) -> Any:
        """None where it was not given."""
        given = getattr(arguments, self.flag.lstrip("-").replace("-", "_"), None)
        return None if given is None else self.parse(self.flag, given)


def _constant(flag: str, help: str, value: object) -> Option:
    return Option(flag, None, help, action="store_const", const=value)


def _setting(default: _T, *options: Option, child: bool = True, verbs: Sequence[str] = ("run",)) -> _T:
    """`child`: the watched process needs it as well. `verbs`: whose options these are."""
    metadata = {"options": options, "child": child, "verbs": verbs}
    field: _T = dataclasses.field(default=default, metadata=metadata)
    return field


def _switch(default: bool, flag: str, help: str, *, child: bool = True) -> bool:
    return _setting(default, _constant(flag, help, not default), child=child)


_LOG_DIR = "where the log goes: a folder, or a URL such as s3://bucket/name (default: runs/SCRIPT-TIME)"
_MEMORY = "memory of the GPU: 24GB, 80GiB, or a name such as h100, a100, 4090, t4"
_BATCH = "rehearse with a batch of N samples (default: the script's own)"
_DTYPE = "under autocast to this dtype (default: as the script has it)"
_BUDGET = "how much of the run's time watching may take (default: 2%%)"
_DEEP_STEPS = f"look closely at the first N steps (default: {DEEP_STEPS}), to compare runs"
_FAIL_ON = "exit with 3 when such a finding, or a worse one, is made"
_TO = "show the run in wandb, mlflow or trackio as well; may be given several times"
_VIEW_PORT = "the same, at this port of this machine (default: one that is free)"
_BREAK = "stop with pdb where this holds, such as 'nan(output) @ encoder.*'; `step` counts from 1"
_ON_NAN = "at a NaN or Inf: report it (default), end the script, stop with pdb, or leave such updates out"
_TIMEOUT = "how long it may stand still (default: learned, from 40 s on)"
_ON_HANG = "when it does: say so, say so with all stacks (default), or do that and end the run with 124"
_GRADIENTS = "check your custom autograd Functions, once each, on copies of the inputs they meet"
_MINIMAL = "write the minimal case there: this model, one sample, one step"


# fmt: off
@dataclass(frozen=True)
class Settings:
    """In the order of the help."""

    # None: runs/SCRIPT-TIME; for a `Debugger`: keep no log
    log_dir: str | None = _setting(None, Option("--log-dir", "FOLDER", _LOG_DIR))
    keep_log: bool = _switch(True, "--no-log", "keep no log when the run has ended", child=False)
    log_limit_bytes: int = _setting(
        200 * 10**6, Option("--log-limit", "SIZE", "how large the log may grow (default: 200MB)", parse_size))
    log_rotate_bytes: int = _setting(256 * 10**6)  # of one event file; then the next begins
    rehearsed_gpu: str = _setting("", Option("--gpu-memory", "SIZE", _MEMORY), verbs=("rehearse",))
    # 0, and an empty dtype: as the script has it
    rehearsed_batch: int = _setting(0, Option("--batch", "N", _BATCH, parse_count), verbs=("rehearse",))
    rehearsed_dtype: str = _setting(
        "", Option("--dtype", None, _DTYPE, choices=("bf16", "fp16", "fp32")), verbs=("rehearse",))
    json_file: str | None = _setting(
        None, Option("--json", "FILE", "write the result there as JSON", _absolute),
        child=False, verbs=("run", "rehearse"))
    budget: float = _setting(0.02, Option("--budget", "SHARE", _BUDGET, parse_budget))
    profile_steps: int = _setting(
        0, _constant("--profile", "profile 5 steps closely: time by line, by module and by op", 5),
        Option("--profile-steps", "N", "the same, N steps", parse_count))
    max_steps: int | None = _setting(
        None, Option("--max-steps", "N", "end the script after N training steps", parse_count))
    deep_steps: int = _setting(DEEP_STEPS, Option("--deep-steps", "N", _DEEP_STEPS, parse_count))  # at any cost
    deep_always: bool = _setting(False)  # every step: Debugger's flow report
    samples: bool = _switch(True, "--no-samples", "keep no samples of the data (pictures, tokens) in the log")
    page: bool = _setting(True)  # the log is kept: what only the page shows goes into it too
    rehearse: bool = _setting(True)
    fail_on: str | None = _setting(
        None, Option("--fail-on", None, _FAIL_ON, choices=("error", "warning")), child=False)
    only: tuple[str, ...] = _setting(
        (), Option("--only", "CHECK", "judge by these checks only", _parse_names, action="append"), child=False)
    ignore: tuple[str, ...] = _setting(
        (), Option("--ignore", "CHECK", "judge by all checks but these", _parse_names, action="append"), child=False)
    trackers: tuple[str, ...] = _setting(
        (), Option("--to", "TRACKER[:PROJECT]", _TO, _all_of, action="append"), child=False)
    # None: the run is not shown in the browser while it goes on; 0: at any port that is free
    view_port: int | None = _setting(
        None, _constant("--view", "show the run in the browser while it goes on", 0),
        Option("--view-port", "N", _VIEW_PORT, parse_port), child=False)
    quiet: bool = _switch(False, "--quiet", "say nothing but the verdict, if there is one", child=False)
    live: bool = _switch(False, "--live", "keep a status row at the bottom of the terminal", child=False)
    breaks: tuple[str, ...] = _setting((), Option("--break", "'EXPR @ GLOB'", _BREAK, _all_of, action="append"))
    on_nan: str = _setting(
        "report", Option("--on-nan", None, _ON_NAN, choices=("report", "stop", "break", "skip-step")))
    # 0: learned from the run
    hang_timeout_s: float = _setting(0.0, Option("--hang-timeout", "SECONDS", _TIMEOUT, parse_seconds))
    on_hang: str = _setting(
        "off", Option("--on-hang", None, _ON_HANG, choices=("warn", "dump", "abort"), default="dump"),
        _constant("--no-watchdog", "do not watch for hangs", "off"))
    post_mortem: bool = _switch(False, "--pdb", "after a crash and its explanation, pdb in the frame of your code")
    check_custom_gradients: bool = _switch(False, "--check-custom-gradients", _GRADIENTS)
    in_process: bool = _setting(
        os.name == "nt", _constant("--in-process", "run the script in this process, for debuggers and IDEs", True),
        child=False)
    preflight: bool = _setting(False)  # trials at the first backward, then the end
    minimal: str = _setting(  # where a pre-flight writes the minimal case
        "", Option("--minimal", "FILE.py", _MINIMAL, _absolute), verbs=("doctor",))
    step_rehearsal: bool = _setting(False)  # a rehearsal of the first training step, then the end
    # fmt: on

    @classmethod
    def read(cls, arguments: argparse.Namespace, **others: Any) -> Settings:
        """What the command line says, and `others`; the rest is as it is by default."""
        for field in dataclasses.fields(cls):
            for option in field.metadata["options"]:
                value = option.value(arguments)
                if value is not None:
                    others[field.name] = value
        return cls(**others)

    def to_json(self) -> str:
        """For the child process: what it needs to know to watch a run."""
        wanted = (field.name for field in dataclasses.fields(self) if field.metadata["child"])
        return json.dumps({name: getattr(self, name) for name in wanted})

    @staticmethod
    def from_json(text: str) -> Settings:
        plain = json.loads(text)
        return Settings(**{**plain, "breaks": tuple(plain["breaks"])})  # JSON knows lists only

    @property
    def is_trial(self) -> bool:
        """The script comes as far as its first training step, and no further."""
        return self.preflight or self.step_rehearsal


def add_options(parser: argparse.ArgumentParser, verb: str) -> None:
    """Those of the settings that this verb lets choose."""
    log = parser.add_mutually_exclusive_group()
    for field in dataclasses.fields(Settings):
        for option in field.metadata["options"] if verb in field.metadata["verbs"] else ():
            add = log.add_argument if field.name in ("log_dir", "keep_log") else parser.add_argument
            add(option.flag, help=option.help, **option.words)
