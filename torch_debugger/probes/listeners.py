"""Which probes hear that a step begins or ends."""

from __future__ import annotations

from collections.abc import Sequence

from torch_debugger.probes.guard import Guard
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.sampling import DEEP, LIGHT


class Listeners:
    """Asking nine probes twice a step costs more than most steps' news: only those who listen are asked."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._beginners: list[Probe] = []
        self._enders: list[Probe] = []
        self._light_beginners: list[Probe] = []
        self._light_enders: list[Probe] = []

    def gather(self, probes: Sequence[Probe]) -> None:
        self._beginners = [probe for probe in probes if type(probe).begin_step is not Probe.begin_step]
        self._enders = [probe for probe in probes if type(probe).end_step is not Probe.end_step]
        self._light_enders = [probe for probe in self._enders if not probe.deep_only]

    def add_for_light_steps(self, probe: Probe) -> None:
        self._light_beginners.append(probe)
        self._light_enders.append(probe)

    def begin_step(self, before: int, depth: int) -> None:
        if DEEP in (before, depth):  # between steps that are not deep nothing changes for them
            beginners = self._beginners
        elif depth == LIGHT:
            beginners = self._light_beginners
        else:
            return
        for probe in beginners:
            self._guard.call(probe.name, probe.begin_step, depth)

    def cut_short(self) -> None:
        for probe in self._beginners:
            self._guard.contain(probe.name, probe.cut_short)

    def end_step(self, depth: int) -> None:
        for probe in self._enders if depth == DEEP else self._light_enders:
            if probe.name not in self._guard.removed:
                self._guard.contain(probe.name, probe.end_step)

    def end_all(self) -> None:
        """After the last step, whatever its depth."""
        for probe in self._enders:
            self._guard.call(probe.name, probe.end_step)
