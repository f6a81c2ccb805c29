"""Everything a run can be told, in one frozen object that travels to the child as JSON."""

from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import dataclass

from torch_debugger.system.errors import UsageError

PROFILED_FROM = 12  # steps before a profile begins: caches filled, kernels chosen, the first closer looks over
DEEP_STEPS = 3  # at the start of every run
_SIZES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


@dataclass(frozen=True, slots=True)
class Settings:
    """What the child process needs to know to watch a run."""

    log_dir: str | None = None  # None: keep no log (in-process use without a folder)
    budget: float = 0.02
    log_limit_bytes: int = 200 * 10**6
    log_rotate_bytes: int = 256 * 10**6  # of one event file; then the next begins
    max_steps: int | None = None
    deep_always: bool = False  # every step deep: Debugger's flow report
    deep_steps: int = DEEP_STEPS  # that many at the start are deep whatever they cost: made for comparing runs
    page: bool = True  # the log is kept: what only the page shows goes into it too
    samples: bool = True  # a few samples of the data go into the log
    rehearse: bool = True
    breaks: tuple[str, ...] = ()  # EXPR @ GLOB, each a breakpoint
    post_mortem: bool = False  # --pdb
    check_custom_gradients: bool = False
    on_nan: str = "report"  # report | stop | break | skip-step
    on_hang: str = "off"  # off | warn | dump | abort
    hang_timeout_s: float = 0.0  # 0: learned from the run
    preflight: bool = False  # trials at the first backward, then the end
    minimal: str = ""  # where a pre-flight writes the minimal case
    profile_steps: int = 0  # that many are profiled closely
    step_rehearsal: bool = False  # a rehearsal of the first training step, then the end
    rehearsed_gpu: str = ""  # 24GB, h100
    rehearsed_batch: int = 0  # 0: as the script has it
    rehearsed_dtype: str = ""  # bf16 | fp16 | fp32; empty: as the script has it

    def __post_init__(self) -> None:
        object.__setattr__(self, "breaks", tuple(self.breaks))  # JSON knows lists only

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @staticmethod
    def from_json(text: str) -> Settings:
        return Settings(**json.loads(text))


def parse_budget(text: str) -> float:
    """'2%' or '0.02' -> 0.02"""
    cleaned = text.strip()
    try:
        value = float(cleaned.rstrip("%")) / (100.0 if cleaned.endswith("%") else 1.0)
    except ValueError:
        value = -1.0
    if not 0.0 < value <= 10.0:
        raise UsageError(f"--budget takes a share of the run's time such as 2% or 0.02, not {text!r}.")
    return value


def parse_size(text: str) -> int:
    """'200MB' -> 200_000_000"""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", text)
    unit = match.group(2).upper() if match else "?"
    if match is None or unit not in _SIZES or float(match.group(1)) <= 0:
        raise UsageError(f"--log-limit takes a size such as 200MB or 1GiB, not {text!r}.")
    return int(float(match.group(1)) * _SIZES[unit])


def parse_seconds(option: str, text: str) -> float:
    """'60', '90s', '5m' or '1h' -> seconds"""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|sec|m|min|h)?\s*", text)
    seconds = float(match.group(1)) * {"m": 60.0, "h": 3600.0}.get((match.group(2) or "s")[0], 1.0) if match else 0
    if seconds <= 0:
        raise UsageError(f"{option} takes a number of seconds, or a time such as 90s or 5m, not {text!r}.")
    return seconds
