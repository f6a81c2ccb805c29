"""What decides how fast a training can be and is set once: switches of torch, threads, the device."""

from __future__ import annotations

import os

import torch

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
            self.watch.emit(read_settings(step, on_cuda=self.watch.on_device))


def read_settings(step: int, *, on_cuda: bool) -> SpeedSettings:
    return SpeedSettings(
        device="cuda" if on_cuda else "cpu",
        device_name=torch.cuda.get_device_name() if on_cuda else "",
        capability=torch.cuda.get_device_capability() if on_cuda else (0, 0),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        threads=torch.get_num_threads(),
        tf32_matmul=torch.backends.cuda.matmul.allow_tf32,
        tf32_cudnn=torch.backends.cudnn.allow_tf32,
        cudnn_benchmark=torch.backends.cudnn.benchmark,
        deterministic=torch.are_deterministic_algorithms_enabled(),
        anomaly_mode=torch.is_anomaly_enabled(),
        step=step,
        anomaly_at=_anomaly_line(),
    )


def _anomaly_line() -> Place:
    """In the files that are running."""
    running = {frame.f_code.co_filename for frame in frames()}
    files = [file for file in running if is_user_file(file)]
    names = ("set_detect_anomaly", "detect_anomaly")
    return next((place for name in names for file in files for _, place in calls_of(file, name)), Place())
