"""TD704: torch computes with more threads than there are cores."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.gains import LEAST_GAIN
from torch_debugger.checks.state import RunState
from torch_debugger.records import CostFact, Edit, Finding, Place, Record, SpeedSettings

_CALL = re.compile(r"set_num_threads\([^()]*(\([^()]*\))?[^()]*\)")


class ThreadsOversubscribed(Check):
    """Torch computes with more threads than this process has cores, so threads wait for each other in line.

    Symptom:
        A training on the CPU is slower than on a smaller machine; the system shows every core at work. In a
        container it is slower the more cores its host has.
    Evidence:
        `torch.get_num_threads()` against the cores that this process may use: those that it is bound to, and
        the quota of its container.
    Fix:
        `torch.set_num_threads(cores)`, or the environment variable OMP_NUM_THREADS.
    Known limits:
        The gain is the least that was measured (4 cores with 5, 8 and 16 threads); steps of small ops got 2 to
        8 times as fast. Threads of loader workers and of other processes are not counted.
    """

    id = "TD704"
    name = "threads-oversubscribed"
    title = "more threads compute than there are cores"
    reads = (CostFact,)

    saved = 0.17  # of the time in ops: large products gave 0.17 to 0.22, small steps 0.3 to 0.87
    warned_at = 2.0  # threads for each core: small steps took three to eight times as long
    computing = ("forward", "backward", "optimizer")

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        return self._judge(state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        return self._judge(state)

    def _judge(self, state: RunState) -> Iterable[Finding]:
        speed = state.speed
        if speed is None or speed.device != "cpu" or not speed.cores or not state.split.is_enough():
            return
        gain = self.saved * state.split.share(*self.computing)
        if speed.threads > speed.cores and gain >= LEAST_GAIN:
            yield self._found(speed, gain, state)

    def _found(self, speed: SpeedSettings, gain: float, state: RunState) -> Finding:
        cores = "one core" if speed.cores == 1 else f"{speed.cores} cores"
        edit = _with_threads(speed.threads_at, speed.cores)
        instead = (
            f"Write `{edit.after}`" if edit else f"Write `torch.set_num_threads({speed.cores})` at the start"
        )
        return self.finding(
            severity="warning" if speed.threads >= self.warned_at * speed.cores else "note",
            confidence=0.9,
            message=(
                f"Torch computes with {speed.threads} threads, and this process may use {cores}: in every op "
                "the threads stand in line for them and wait for each other."
            ),
            why=(
                "An op is over when its last thread is. With more threads than cores some of them only begin "
                "when others are through, and the rest spin meanwhile. Torch counts the cores of the machine; "
                "a container or a batch system may give it fewer."
            ),
            fix=(
                f"{instead} (or start the script with OMP_NUM_THREADS={speed.cores}). Expected to save at "
                f"least {100 * gain:.0f} % of each step, and more with small ops."
            ),
            where=speed.threads_at,
            first_step=1,
            last_step=state.step,
            evidence={
                "expected_gain": gain,
                "threads": float(speed.threads),
                "cores": float(speed.cores),
            },
            edit=edit,
        )


def _with_threads(place: Place, cores: int) -> Edit | None:
    code = place.code or ""
    if not _CALL.search(code) or not place.file or not place.line:
        return None
    return Edit(place.file, place.line, code, _CALL.sub(f"set_num_threads({cores})", code, count=1))
