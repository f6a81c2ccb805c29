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
from torch_debugger.model.step_memory import MemoryPeak, Site
from torch_debugger.records import Place, Rehearsal, StepRehearsal
from torch_debugger.records.run import CONTEXT_BYTES
from torch_debugger.records.units import gpu_bytes, is_hopper
from torch_debugger.source.files import place_at
from torch_debugger.system.errors import UsageError
from torch_debugger.trials.gpu_rehearsal import rehearse
from torch_debugger.trials.preflight_case import Call
from torch_debugger.trials.rehearsed_step import Step, perform

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
_MODULES = 10  # of the largest ones are told
_FORWARD_LIMIT_S = 60.0


@dataclass(frozen=True)
class Wish:
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

    def __init__(self, step: Step, call: Call, wish: Wish, tell: Callable[[int], None] = lambda done: None) -> None:
        # LBFGS runs the model inside of its step, as often as the numbers tell it to.
        optimizer = None if isinstance(step.optimizer, torch.optim.LBFGS) else step.optimizer
        self.step = dataclasses.replace(step, dtype=wish.torch_dtype, optimizer=optimizer)
        self.call, self.wish, self.tell = call, wish, tell
        self._cublas = CUBLAS_HOPPER_BYTES if is_hopper(wish.gpu) else CUBLAS_BYTES
        self._real = False

    def rehearsed(self) -> StepRehearsal:
        """Raises FailedError where the step cannot be made again, UsageError where the wish cannot be met."""
        batch = self.wish.batch or self.step.batch
        if self.wish.batch and not self.step.batch:
            raise UsageError(f"Another batch cannot be rehearsed. {self.step.no_batch}")
        self.wish.gpu_bytes  # noqa: B018 - a name that is not known is told before the work
        forward = self._forward()
        self.tell(1)
        peak = self._peak(batch)
        self.tell(2)
        largest, why = self._largest(batch, peak)
        return dataclasses.replace(
            self._described(batch, peak), largest_batch=largest, no_largest_batch=why, forward=forward
        )

    def _forward(self) -> Rehearsal | None:
        name, model = next(iter(self.step.models.items()))
        if any(each.device.type != "cpu" for each in model.parameters()):
            return None
        return rehearse(model, name, *self.call, timeout_s=_FORWARD_LIMIT_S, step=1, unregistered=True)

    def _peak(self, batch: int) -> MemoryPeak:
        """On tensors without data; where the step needs data, on real ones."""
        try:
            return perform_apart(self.step, batch, real=False, cublas_bytes=self._cublas)
        except FailedError:
            self._real = True
            return perform_apart(self.step, batch, real=True, cublas_bytes=self._cublas)

    def _largest(self, batch: int, peak: MemoryPeak) -> tuple[int | None, str]:
        if not self.wish.gpu:
            return None, ""
        if not self.step.batch:
            return None, self.step.no_batch
        known = {batch: peak.reserved_bytes}
        try:
            need = self._on_line(batch, peak) if self._real else self._need
            return BatchSearch(need, self.wish.gpu_bytes - CONTEXT_BYTES, known).largest(batch), ""
        except NoLimitError as reason:
            return None, str(reason)
        except FailedError as error:
            return None, f"The step cannot be made with another batch ({error})."

    def _need(self, batch: int) -> int:
        return perform_apart(self.step, batch, real=False, cublas_bytes=self._cublas).reserved_bytes

    def _on_line(self, batch: int, peak: MemoryPeak) -> Callable[[int], int]:
        """Real steps with larger batches may not fit into this machine: a smaller one gives the slope."""
        if batch < 2:
            raise FailedError("the step needs numbers, and one sample gives no second point for a line")
        half = perform_apart(self.step, batch // 2, real=True, cublas_bytes=self._cublas)
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
            dtype=self.wish.dtype, batch=batch, peak_bytes=peak.peak_bytes, reserved_bytes=peak.reserved_bytes,
            by_category=peak.by_category, by_module={name or "(the loss)": size for name, size in kept},
            phase=site.phase, place=place, accumulate=step.accumulate, gpu=self.wish.gpu,
            gpu_bytes=self.wish.gpu_bytes, on_real_data=self._real,
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
            self._check_that_it_matters(begin)
        low, high = self._bracket()
        if high is None:
            raise NoLimitError(f"A batch of {low:,} still fits, and larger ones were not tried.")
        return low

    def _check_that_it_matters(self, begin: int) -> None:
        if max(self.known) >= _SURELY * begin and len(set(self.known.values())) == 1:
            raise NoLimitError(
                "The memory is the same whatever the batch: its size may be written into the step's lines."
            )

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


def perform_apart(step: Step, batch: int, *, real: bool, cublas_bytes: int) -> MemoryPeak:
    if sys.platform == "win32":
        raise FailedError("This system cannot fork, and a rehearsal needs a process of its own.")
    load_fake_tensors()
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return _without_fork(step, batch, real, cublas_bytes)
    forked = ForkedTask(lambda: _told(step, batch, real, cublas_bytes), _TIME_LIMIT_S, urgent=True, kernels=real)
    text = forked.wait()
    if forked.ended != "done":
        took = f"took more than {_TIME_LIMIT_S:g} s" if forked.ended == "timeout" else "died"
        raise FailedError(f"The process of the rehearsal {took}.")
    plain = json.loads(text)
    if "usage" in plain:
        raise UsageError(plain["usage"])
    if "error" in plain:
        raise FailedError(plain["error"])
    return MemoryPeak(**{**plain, "site": Site(**plain["site"])})


def _without_fork(step: Step, batch: int, real: bool, cublas_bytes: int) -> MemoryPeak:
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


def _told(step: Step, batch: int, real: bool, cublas_bytes: int) -> str:
    try:
        with eager_and_unchecked():
            peak = perform(step, batch, real=real, cublas_bytes=cublas_bytes)
    except UsageError as error:
        return json.dumps({"usage": str(error)})
    except Exception as error:  # the user's own code runs here, and may raise anything
        return json.dumps({"error": _in_short(error)})
    return json.dumps(dataclasses.asdict(peak))


def _in_short(error: Exception) -> str:
    first = f"{error}".strip().splitlines()[:1]
    return f"{type(error).__name__}: {first[0][:300] if first else 'without a word'}"


# A rehearsal in this very process: a fork of one that has used CUDA can make no backward.
#
# Only on tensors without data: they stand in for the model's own, which are put back afterwards.
_HELD = ("_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks")


def perform_in_place(step: Step, batch: int, *, cublas_bytes: int) -> MemoryPeak:
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
def _undone(step: Step) -> Iterator[None]:
    modules = [module for model in step.models.values() for module in model.modules()]
    kept = [(module, _fields(module)) for module in modules]
    groups = [] if step.optimizer is None else [(group, dict(group)) for group in step.optimizer.param_groups]
    fields = {} if step.optimizer is None else dict(vars(step.optimizer))
    try:
        yield
    finally:
        for module, held in kept:
            _put_back(vars(module), held)
        for group, before in groups:
            _refill(group, before)
        if step.optimizer is not None:
            _refill(vars(step.optimizer), fields)


def _fields(module: torch.nn.Module) -> dict[str, Any]:
    """Of its dictionaries both: which ones they are, and what they hold."""
    held = dict(vars(module))
    return held | {name: (held[name], dict(held[name])) for name in _HELD if name in held}


def _put_back(fields: dict[str, Any], held: dict[str, Any]) -> None:
    plain = dict(held)
    for name in _HELD:
        if name in held:
            plain[name], content = held[name]
            _refill(plain[name], content)
    _refill(fields, plain)


def _refill(target: dict[str, Any], content: dict[str, Any]) -> None:
    target.clear()
    target.update(content)
