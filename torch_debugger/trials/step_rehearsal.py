"""A rehearsal from beginning to end: the forward's devices, the memory of a step, the largest batch."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributions import Distribution

from torch_debugger.model.cuda_memory import CUBLAS_BYTES, CUBLAS_HOPPER_BYTES
from torch_debugger.model.forks import ForkedTask
from torch_debugger.model.reruns import randomness_kept
from torch_debugger.model.step_memory import AllocationSite, MemoryPeak
from torch_debugger.records import Place, StepRehearsal
from torch_debugger.records.run import CONTEXT_BYTES
from torch_debugger.records.units import gpu_bytes, is_hopper
from torch_debugger.source.files import place_at
from torch_debugger.system.errors import UsageError
from torch_debugger.trials.gpu_rehearsal import rehearse
from torch_debugger.trials.preflight_case import Call
from torch_debugger.trials.rehearsed_step import RunnableStep, perform

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
_MODULES = 10  # of the largest ones are told
_FORWARD_LIMIT_S = 60.0


@dataclass(frozen=True)
class RehearsalSettings:
    """What is asked of a rehearsal."""

    gpu: str = ""  # 24GB, h100
    batch: int = 0  # 0: the step's own
    dtype: str = ""  # of autocast; empty: as the step has it

    @property
    def gpu_bytes(self) -> int:
        try:
            return gpu_bytes(self.gpu) if self.gpu else 0
        except ValueError as error:
            raise UsageError(str(error)) from None

    @property
    def torch_dtype(self) -> torch.dtype | None:
        if self.dtype and self.dtype not in DTYPES:
            raise UsageError(f"dtype is one of {', '.join(DTYPES)}, not {self.dtype!r}.")
        return DTYPES.get(self.dtype)


class StepRehearser:
    """Of one step; `tell` hears how many of its parts are done."""

    def __init__(
        self,
        step: RunnableStep,
        call: Call,
        settings: RehearsalSettings,
        tell: Callable[[int], None] = lambda done: None,
    ) -> None:
        # LBFGS runs the model inside of its step, as often as the numbers tell it to.
        optimizer = None if isinstance(step.optimizer, torch.optim.LBFGS) else step.optimizer
        self.step = dataclasses.replace(step, dtype=settings.torch_dtype, optimizer=optimizer)
        self.call, self.settings, self.tell = call, settings, tell
        self._real = False  # the step is made on real tensors, for it needs their numbers

    def rehearsed(self) -> StepRehearsal:
        """Raises FailedError where the step cannot be made again, UsageError where the settings cannot be met."""
        step, batch = self.step, self.settings.batch or self.step.batch
        if self.settings.batch and not step.batch:
            raise UsageError(f"Another batch cannot be rehearsed. {step.no_batch}")
        self.settings.gpu_bytes  # noqa: B018 - a name that is not known is reported before the work
        forward = None
        name, model = next(iter(step.models.items()))
        if all(each.device.type == "cpu" for each in model.parameters()):
            forward = rehearse(model, name, *self.call, timeout_s=_FORWARD_LIMIT_S, step=1, unregistered=True)
        self.tell(1)
        try:
            peak = self._peak(batch)
        except FailedError:
            self._real = True
            peak = self._peak(batch)
        self.tell(2)
        largest, why = self._largest(batch, peak)
        described = self._described(batch, peak)
        return dataclasses.replace(described, largest_batch=largest, no_largest_batch=why, forward=forward)

    def _peak(self, batch: int) -> MemoryPeak:
        cublas_bytes = CUBLAS_HOPPER_BYTES if is_hopper(self.settings.gpu) else CUBLAS_BYTES
        return perform_apart(self.step, batch, real=self._real, cublas_bytes=cublas_bytes)

    def _largest(self, batch: int, peak: MemoryPeak) -> tuple[int | None, str]:
        if not self.settings.gpu:
            return None, ""
        if not self.step.batch:
            return None, self.step.no_batch
        known = {batch: peak.reserved_bytes}
        try:
            need = self._on_line(batch, peak) if self._real else lambda other: self._peak(other).reserved_bytes
            return BatchSearch(need, self.settings.gpu_bytes - CONTEXT_BYTES, known).largest(batch), ""
        except NoLimitError as reason:
            return None, str(reason)
        except FailedError as error:
            return None, f"The step cannot be made with another batch ({error})."

    def _on_line(self, batch: int, peak: MemoryPeak) -> Callable[[int], int]:
        """Real steps with larger batches may not fit into this machine: a smaller one gives the slope."""
        if batch < 2:
            raise FailedError("the step needs numbers, and one sample gives no second point for a line")
        half = self._peak(batch // 2)
        slope = (peak.peak_bytes - half.peak_bytes) / (batch - batch // 2)
        if slope <= 0:
            raise NoLimitError("With so few samples the peak does not come from them. Rehearse a larger batch.")
        return lambda other: int(peak.reserved_bytes + slope * (other - batch))

    def _described(self, batch: int, peak: MemoryPeak) -> StepRehearsal:
        step, site = self.step, peak.site
        place = (
            place_at(site.file, site.line, site.module or None)
            if site.file and site.phase != "optimizer step"  # the line that runs then is that of the backward
            else Place(module=site.module or None)
        )
        numbers = {id(each): each.numel() for model in step.models.values() for each in model.parameters()}
        kept = list(peak.kept_by_module.items())[:_MODULES]
        return StepRehearsal(
            model=" and ".join(step.models), parameters=sum(numbers.values()),
            optimizer=type(step.optimizer).__name__ if step.optimizer is not None else "",
            dtype=self.settings.dtype, batch=batch, peak_bytes=peak.peak_bytes, reserved_bytes=peak.reserved_bytes,
            by_category=peak.by_category, by_module={name or "(the loss)": size for name, size in kept},
            phase=site.phase, place=place, accumulate=step.accumulate, gpu=self.settings.gpu,
            gpu_bytes=self.settings.gpu_bytes, on_real_data=self._real,
        )  # fmt: skip


# The largest batch that fits: guessed from a straight line, then tried.
_MOST_TRIES = 10
_STRAIGHT_TRIES = 3  # by a line through two tries; after that by halves
_FURTHER = 8  # times the batch, where two tries took the same memory
_SURELY = 10_000  # times the batch would show in the memory
_CLOSE = 100  # the answer may be that part of itself too small


class NoLimitError(Exception):
    """However large the batch was, it fitted; the text says so."""


@dataclass
class BatchSearch:
    """Each try is a rehearsal of its own: `need(batch)` says how many bytes it takes."""

    need: Callable[[int], int]
    limit: int
    known: dict[int, int] = field(default_factory=dict)
    _straight: int = 0

    def largest(self, begin: int) -> int:
        """0 where not even one sample fits."""
        self._try(begin)
        for _ in range(_MOST_TRIES):
            low, high = self._bracket()
            if high is not None and high - low <= max(1, low // _CLOSE):
                return low
            self._try(self._guess(low, high))
            if max(self.known) >= _SURELY * begin and len(set(self.known.values())) == 1:
                raise NoLimitError(
                    "The memory is the same whatever the batch: its size may be written into the step's lines."
                )
        low, high = self._bracket()
        if high is None:
            raise NoLimitError(f"A batch of {low:,} still fits, and larger ones were not tried.")
        return low

    def _try(self, batch: int) -> None:
        if batch not in self.known:
            self.known[batch] = self.need(batch)

    def _bracket(self) -> tuple[int, int | None]:
        """The largest that is known to fit, and the smallest that is known not to."""
        high = min((batch for batch, size in self.known.items() if size > self.limit), default=None)
        return max((batch for batch in self.known if high is None or batch < high), default=0), high

    def _guess(self, low: int, high: int | None) -> int:
        least = low + max(1, low // _CLOSE)
        if high is None:
            return max(self._on_line(sorted(self.known)[-2:]) or _FURTHER * low, least)
        ends = [low, high] if low else sorted(self.known)[:2]
        self._straight += 1
        guess = self._on_line(ends) if self._straight <= _STRAIGHT_TRIES else None
        return min(max(guess or (low + high) // 2, least), max(high - 1, 1))

    def _on_line(self, tries: list[int]) -> int | None:
        """Where the line through two tries meets the limit; None where there is none."""
        if len(tries) < 2:
            return 2 * tries[0] if self.known[tries[0]] <= self.limit else None
        one, two = tries
        slope = (self.known[two] - self.known[one]) / (two - one)
        return int(one + (self.limit - self.known[one]) / slope) if slope > 0 else None


# One rehearsal of a step in a fork: what it changes, breaks or kills is lost with the fork.
_TIME_LIMIT_S = 300.0


class FailedError(Exception):
    """The step could not be made; the text says why."""


@functools.cache
def load_fake_tensors() -> None:
    """Hundreds of modules that their first use brings in: once, and not in every fork."""
    drawn = random.getstate()
    with FakeTensorMode():
        torch.empty(1)
    random.setstate(drawn)


def perform_apart(step: RunnableStep, batch: int, *, real: bool, cublas_bytes: int) -> MemoryPeak:
    def task() -> str:
        try:
            with eager_and_unchecked():
                peak = perform(step, batch, real=real, cublas_bytes=cublas_bytes)
        except UsageError as error:
            return json.dumps({"usage": str(error)})
        except Exception as error:  # the user's own code runs here, and may raise anything
            return json.dumps({"error": _in_short(error)})
        return json.dumps(dataclasses.asdict(peak))

    if sys.platform == "win32":
        raise FailedError("This system cannot fork, and a rehearsal needs a process of its own.")
    load_fake_tensors()
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        if real:
            raise FailedError(
                "the step needs values, and a process that has used CUDA cannot make it apart from the training. "
                "Rehearse it in a fresh process, before anything is on the GPU."
            )
        try:
            return perform_in_place(step, batch, cublas_bytes=cublas_bytes)
        except UsageError:
            raise
        except Exception as error:  # the user's own code runs here, and may raise anything
            raise FailedError(_in_short(error)) from None
    forked = ForkedTask(task, _TIME_LIMIT_S, urgent=True, kernels=real)
    text = forked.wait()
    if forked.ended != "done":
        took = f"took more than {_TIME_LIMIT_S:g} s" if forked.ended == "timeout" else "died"
        raise FailedError(f"The process of the rehearsal {took}.")
    plain = json.loads(text)
    if "usage" in plain:
        raise UsageError(plain["usage"])
    if "error" in plain:
        raise FailedError(plain["error"])
    return MemoryPeak(**{**plain, "site": AllocationSite(**plain["site"])})


def _in_short(error: Exception) -> str:
    first = f"{error}".strip().splitlines()[:1]
    return f"{type(error).__name__}: {first[0][:300] if first else 'without a word'}"


# A rehearsal in this very process: a fork of one that has used CUDA can make no backward.
#
# Only on tensors without data: they stand in for the model's own, which are put back afterwards.
_DICTIONARIES = ("_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks")


def perform_in_place(step: RunnableStep, batch: int, *, cublas_bytes: int) -> MemoryPeak:
    with _undone(step), randomness_kept(), eager_and_unchecked():
        return perform(step, batch, cublas_bytes=cublas_bytes)


@contextlib.contextmanager
def eager_and_unchecked() -> Iterator[None]:
    """Nothing is compiled, and distributions do not look at the values of their arguments."""
    checks = Distribution._validate_args
    with contextlib.ExitStack() as stack:
        if "torch._dynamo" in sys.modules:  # else nothing is compiled, and importing it takes seconds
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        Distribution.set_default_validate_args(False)
        stack.callback(Distribution.set_default_validate_args, checks)
        yield


@contextlib.contextmanager
def _undone(step: RunnableStep) -> Iterator[None]:
    """Each dictionary of the modules and of the optimizer is the same one afterwards, and holds the same."""
    changed: list[dict[str, Any]] = []
    for module in (each for model in step.models.values() for each in model.modules()):
        fields = vars(module)
        changed += [fields, *(fields[name] for name in _DICTIONARIES if name in fields)]
    if step.optimizer is not None:
        changed += [*step.optimizer.param_groups, vars(step.optimizer)]
    before = [dict(each) for each in changed]
    try:
        yield
    finally:
        for each, content in zip(changed, before, strict=True):
            each.clear()
            each.update(content)
