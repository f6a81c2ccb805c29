"""What decides how fast a training can be and is set once: switches of torch, threads, the device."""

from __future__ import annotations

from typing import Any

import torch

from torch_debugger.anatomy.core_use import usable_cores
from torch_debugger.anatomy.frames import frames
from torch_debugger.anatomy.method_calls import calls_of
from torch_debugger.anatomy.sources import is_user_file
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Place, SpeedSettings


class SpeedSetup:
    """Told when the first steps are over: by then a script has made its settings."""

    AT_STEP = 4

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        watch.on_step.append(self._step_done)

    def _step_done(self, step: int, scalars: dict[str, float]) -> None:
        if step == self.AT_STEP:
            self.watch.probe("speed settings", self._tell, step)

    def _tell(self, step: int) -> None:
        self.watch.emit(read_settings(step, on_cuda=self.watch.on_device))


def read_settings(step: int, *, on_cuda: bool) -> SpeedSettings:
    return SpeedSettings(
        device="cuda" if on_cuda else "cpu",
        device_name=torch.cuda.get_device_name() if on_cuda else "",
        capability=torch.cuda.get_device_capability() if on_cuda else (0, 0),
        cores=usable_cores(),
        threads=torch.get_num_threads(),
        tf32_matmul=_is_tf32(torch.backends.cuda.matmul),
        tf32_cudnn=_is_tf32(getattr(torch.backends.cudnn, "conv", torch.backends.cudnn)),
        cudnn_benchmark=torch.backends.cudnn.benchmark,
        deterministic=torch.are_deterministic_algorithms_enabled(),
        anomaly_mode=torch.is_anomaly_enabled(),
        step=step,
        anomaly_at=_line_that_calls("set_detect_anomaly", "detect_anomaly"),
        threads_at=_line_that_calls("set_num_threads"),
        device_bytes=_all_memory() if on_cuda else 0,
    )


def _line_that_calls(*names: str) -> Place:
    """In the files that are running, the innermost first."""
    running = dict.fromkeys(frame.f_code.co_filename for frame in frames())
    files = [file for file in running if is_user_file(file)]
    return next((place for name in names for file in files for _, place in calls_of(file, name)), Place())


def _all_memory() -> int:
    return int(torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory)


def _is_tf32(part: Any) -> bool:
    """Of the two switches that torch has, the old one cannot be read once the new one was set."""
    precision = getattr(part, "fp32_precision", "")
    return bool(precision == "tf32" if precision else part.allow_tf32)
