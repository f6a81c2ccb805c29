"""Anomaly mode left on, and more threads than cores."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState
from torch_debugger.checks.call_edits import edit_line
from torch_debugger.checks.step_time import LEAST_GAIN, expected, milliseconds, severity_of, share_below, step_s
from torch_debugger.records import CostFact, Finding, Place, Record, SampledStacks


class AnomalyModeLeftOn(Check):
    """Torch's anomaly mode is on while every loss is finite: every op notes its stack, for nothing.

    Symptom:
        The training is 1.2 to 4 times as slow as it was before somebody looked for a NaN.
    Evidence:
        Sampled stacks are where torch writes down the stack of each op, which it does in anomaly mode alone.
        All losses so far are finite. To that comes what the search for NaN takes in the backward: 15 % of it,
        the least that was measured (up to half).
    Fix:
        Delete the line, and switch anomaly mode on again when there is a NaN to be found.
    Known limits:
        A run that has had a NaN or Inf in its loss is not told: there the mode does its work. A few
        steps in anomaly mode are not told either. Convolutions have few ops for their time, and may be missed.
    """

    id = "TD710"
    name = "anomaly-mode-left-on"
    title = "torch's anomaly mode slows a healthy training down"
    reads = (SampledStacks,)

    # Where torch keeps an op's stack, once for each op of the forward.
    noting = "format_stack"
    # Of the backward. Measured on six models on one core: 0.17 (convolutions) to 0.51 (small recurrent cells).
    searching = 0.15
    least_noted = 0.03  # of the time: the mode is on for more than a few steps
    # It is on after the first second too: some switch it on for the first steps.
    least_samples = 25

    def __init__(self) -> None:
        # Samples so far, and those in which a stack was written down: at the first look, and at the last.
        self._looks: list[tuple[int, float]] = []

    def see(self, record: SampledStacks, state: RunState) -> Iterable[Finding]:
        if record.who == "training":
            self._looks[1:] = [(record.samples, record.samples * share_below(record, self.noting))]
            yield from self.finish(state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        (before, noted_before), (samples, noted_by_now) = (
            (self._looks or [(0, 0.0)])[0],
            (self._looks or [(0, 0.0)])[-1],
        )
        enough = samples - before >= self.least_samples
        noted = (noted_by_now - noted_before) / (samples - before) if enough else 0.0
        is_on = state.speed is not None and state.speed.anomaly_mode
        if noted < self.least_noted or not state.split.is_enough():
            return
        if not all(math.isfinite(loss) for _, loss in state.losses.points):
            return
        gain = noted + (self.searching * state.split.share("backward") if is_on else 0.0)
        severity = severity_of(gain)
        if severity is not None:
            at = state.speed.anomaly_at if state.speed is not None else Place()
            place, whole_s = at or state.loss_place, step_s(state)
            code = place.code or ""
            alone = code.endswith("set_detect_anomaly(True)") and "=" not in code  # the line does nothing else
            edit = edit_line(place, "") if alone else None
            yield self.finding(
                severity=severity,
                confidence=0.93,
                message=f"Anomaly mode takes at least {milliseconds(gain * whole_s)} of the {milliseconds(whole_s)} of "
                f"each step, and there is no anomaly: all {len(state.losses.points)} losses seen are finite.",
                why="In anomaly mode torch writes down the whole Python stack for every op of the forward, and "
                "looks for NaN in what every op of the backward returns.",
                fix=f"{'Delete the line' if edit else 'Switch anomaly mode off'} until there is a NaN to be found; "
                f"`torch-debugger run` names its op and line without it. {expected(gain, whole_s)}",
                where=place,
                steps=(1, state.step),
                evidence={
                    "expected_gain": gain,
                    "noting_stacks_s": noted * whole_s,
                    "backward_s": state.split.per_step_s("backward"),
                    "step_s": whole_s,
                },
                edit=edit,
            )


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
        return self.finish(state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        speed = state.speed
        if speed is None or speed.device != "cpu" or not speed.cores or not state.split.is_enough():
            return
        gain = self.saved * state.split.share(*self.computing)
        if speed.threads > speed.cores and gain >= LEAST_GAIN:
            cores = "one core" if speed.cores == 1 else f"{speed.cores} cores"
            after, written = _CALL.subn(f"set_num_threads({speed.cores})", speed.threads_at.code or "", count=1)
            edit = edit_line(speed.threads_at, after) if written else None
            instead = f"Write `{edit.after}`" if edit else f"Write `torch.set_num_threads({speed.cores})` at the start"
            yield self.finding(
                severity="warning" if speed.threads >= self.warned_at * speed.cores else "note",
                confidence=0.9,
                message=f"Torch computes with {speed.threads} threads, and this process may use {cores}: in every op "
                "the threads stand in line for them and wait for each other.",
                why="An op is over when its last thread is. With more threads than cores some of them only begin "
                "when others are through, and the rest spin meanwhile. Torch counts the cores of the machine; "
                "a container or a batch system may give it fewer.",
                fix=f"{instead} (or start the script with OMP_NUM_THREADS={speed.cores}). Expected to save at "
                f"least {100 * gain:.0f} % of each step, and more with small ops.",
                where=speed.threads_at,
                steps=(1, state.step),
                evidence={"expected_gain": gain, "threads": float(speed.threads), "cores": float(speed.cores)},
                edit=edit,
            )
