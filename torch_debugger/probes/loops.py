"""The probes that watch how the training loop is written."""

from __future__ import annotations

from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.schedulers import Schedulers
from torch_debugger.probes.watch import Probe, Watch


def loop_probes(watch: Watch, optimizers: Optimizers) -> list[Probe]:
    return [Schedulers(watch, optimizers)]
