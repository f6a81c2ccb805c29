"""A rehearsal from beginning to end: the forward's devices, the memory of a step, the largest batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import torch

from torch_debugger.anatomy.memory_peak import MemoryPeak
from torch_debugger.anatomy.sources import place_at
from torch_debugger.anatomy.workspaces import CUBLAS_BYTES, CUBLAS_HOPPER_BYTES
from torch_debugger.errors import UsageError
from torch_debugger.records import Place, Rehearsal, StepRehearsal
from torch_debugger.records.gpus import gpu_bytes, is_hopper
from torch_debugger.records.rehearsal import CONTEXT_BYTES
from torch_debugger.trials.preflight.case import Call
from torch_debugger.trials.rehearsal import rehearse
from torch_debugger.trials.step_rehearsal.apart import FailedError, perform_apart
from torch_debugger.trials.step_rehearsal.largest_batch import BatchSearch, NoLimitError
from torch_debugger.trials.step_rehearsal.step import Step

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


class Conduct:
    """Of one step; `tell` hears how many of its parts are done."""

    def __init__(
        self, step: Step, call: Call, wish: Wish, tell: Callable[[int], None] = lambda done: None
    ) -> None:
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
