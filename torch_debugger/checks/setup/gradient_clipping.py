"""Gradient clipping: too late, or so strong that nothing moves."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.optimization import UpdateSizes
from torch_debugger.records import ClipFact, Finding, Record, TensorRows


class ClipAfterStep(Check):
    """Gradients are clipped after `optimizer.step()`, when they have been used already.

    Symptom:
        The loss spikes or goes to NaN although the gradients are clipped; another limit changes nothing.
    Evidence:
        Whenever it was looked at, the optimizer had stepped between the last backward() and the clip.
    Fix:
        Clip between `loss.backward()` and `optimizer.step()`.
    Known limits:
        A limit of infinity, used to measure the norm, is not reported, and neither is a clip that also runs
        at the right place. A clip of your own making is not seen.
    """

    id = "TD137"
    name = "clip-after-step"
    title = "gradients are clipped after the optimizer has used them"
    reads = (ClipFact,)
    explains = ("lr-too-high", "loss-not-finite", "overflow-ahead", "exploding-gradient")

    looks_needed = 3

    def __init__(self) -> None:
        self._late: dict[str, list[ClipFact]] = {}
        self._in_time: set[str] = set()

    def see(self, record: ClipFact, state: RunState) -> Iterable[Finding]:
        if not record.late:
            self._in_time.add(record.optimizer)
        elif not math.isinf(record.limit):
            looks = self._late.setdefault(record.optimizer, [])
            looks.append(record)
            if len(looks) == self.looks_needed and record.optimizer not in self._in_time:
                yield self._found(looks)

    def _found(self, looks: list[ClipFact]) -> Finding:
        last = looks[-1]
        known = [look.norm for look in looks if math.isfinite(look.norm)]
        largest = max(known, default=math.nan)
        used = f"; it had just used gradients of norm {largest:.3g}" if largest > last.limit else ""
        code = last.place.code or "the clip"
        return self.finding(
            severity="error",
            confidence=0.96,
            message=f"`{code}`{at_line(last.place)} clips the gradients after `{last.optimizer}.step()`, in each "
            f"of the {len(looks)} steps looked at{used}.",
            why="The update is over by then: what is clipped are gradients that nobody uses any more.",
            fix=f"Move `{code}`{at_line(last.place)} between `backward()` and `{last.optimizer}.step()`.",
            where=last.place,
            steps=(looks[0].step, last.step),
            evidence={"limit": last.limit, "largest_norm": largest, "looks": float(len(looks))},
        )


class ClipAlwaysActive(Check):
    """Every gradient is clipped to a small part of itself, and the updates are too small to learn by.

    Symptom:
        The loss falls very slowly, as with a learning rate that is far too small; a higher rate helps.
    Evidence:
        The norm that `clip_grad_norm_` found was many times its limit in all steps looked at, or
        `clip_grad_value_` left a small part of the norm; the optimizer follows the size of the gradient (SGD),
        and one update changes the weights by less than a hundred-thousandth.
    Fix:
        Raise `max_norm` to about the usual norm of the gradients, or `clip_value` by as much as it takes, so
        that only outliers are clipped.
    Known limits:
        Optimizers that divide by the size of the gradient (Adam and its kin) are not judged: there a
        clip that is always active changes little. A clip that normalises every gradient, with a learning rate
        to go with it, moves the weights and is not reported.
    """

    id = "TD138"
    name = "clip-always-active"
    title = "gradients are clipped so far down that the model hardly moves"
    reads = (ClipFact, TensorRows)
    explains = ("lr-too-low",)

    # Reinforcement learning and transformers are clipped often, by a factor of 2 to 20.
    smallest_factor = 20.0
    clips_needed = 12
    # Of the weights, by one update; a thousandth is usual.
    small_update = 5e-5
    updates_needed = 3
    # The size of their updates follows the size of the gradient.
    followers = ("SGD", "ASGD")

    def __init__(self) -> None:
        self._clips: dict[str, list[ClipFact]] = {}
        self._updates = UpdateSizes()
        self._cleared: set[str] = set()  # optimizers with a look that was not clipped by much

    def see(self, record: Record, state: RunState) -> None:
        if isinstance(record, TensorRows):
            self._updates.see(record)
        elif isinstance(record, ClipFact) and not record.late:
            if self.smallest_factor <= _factor(record) < math.inf:
                self._clips.setdefault(record.optimizer, []).append(record)
            else:
                self._cleared.add(record.optimizer)

    def finish(self, state: RunState) -> Iterable[Finding]:
        ratios = self._updates.ratios
        moved = statistics.median(ratios) if len(ratios) >= self.updates_needed else math.inf
        for name, clips in self._clips.items():
            optimizer = state.optimizers.get(name)
            follows = optimizer is not None and optimizer.kind in self.followers
            always = name not in self._cleared and len(clips) >= self.clips_needed
            if follows and always and moved < self.small_update:
                yield self._found(clips, moved)

    def _found(self, clips: list[ClipFact], moved: float) -> Finding:
        last = clips[-1]
        factor = statistics.median(_factor(clip) for clip in clips)
        usual = statistics.median(clip.norm for clip in clips)
        by_value = math.isfinite(last.left)
        found = f"that left {1 / factor:.1g} of their norm" if by_value else f"their norm was {usual:.3g} or so"
        return self.finding(
            severity="warning",
            confidence=0.85,
            message=f"Every gradient is clipped to {last.limit:g}{at_line(last.place)}: in all {len(clips)} steps "
            f"looked at {found}, and an update changes the weights by {moved:.1g} of their size.",
            why="Clipping is meant for outliers. Where it acts on every step it divides the learning rate, "
            f"here by about {factor:.0f}.",
            fix=(f"Raise the limit{at_line(last.place)} from {last.limit:g} to about {_round(last.limit * factor)}."),
            where=last.place,
            steps=(clips[0].step, last.step),
            evidence={"limit": last.limit, "usual_norm": usual, "update_ratio": moved, "looks": float(len(clips))},
        )


def _factor(clip: ClipFact) -> float:
    """By how much the clip has made the gradients smaller."""
    if math.isfinite(clip.left):
        return clip.norm / clip.left if clip.left > 0 else math.nan
    return clip.norm / clip.limit if clip.limit > 0 else math.nan


def _round(value: float) -> str:
    return f"{float(f'{value:.1g}'):g}"
