"""TD318: two views that agree because every sample looks the same."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.curves import fallen_share, recent_level, start_level
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, LossGraph, Place, Record, SampleSpread


class CollapsedRepresentation(Check):
    """The model gives the same embedding to every sample, which satisfies a loss that only asks for agreement.

    Symptom:
        The loss of a Siamese or self-supervised model falls to its lowest value at once, and its embeddings are
        of no use: nothing can be told apart by them.
    Evidence:
        Two or more tensors of embeddings among the variables at `backward()`, or returned by the models: at the
        start samples differed, at the last look by a thirtieth of that or less, and the loss has reached its
        floor.
    Fix:
        Give the loss something that pushes samples apart (negatives, a contrastive or variance term), or stop
        the gradient of one branch (`z2.detach()`) and put a small predictor on the other.
    Known limits:
        Embeddings that are neither variables around `backward()` nor what a model returns are not seen.
    """

    id = "TD318"
    name = "collapsed-representation"
    title = "every sample gets the same embedding"
    reads = (SampleSpread, LossGraph)

    # Deviation of the directions at the start: near 1 / sqrt(features) where samples differ.
    alive = 0.01
    # Beside the first look, of the deviation between samples or between their directions.
    collapsed = 0.03
    # The same where hardly a fiftieth of the loss is left: views that agree so well have nothing else to say.
    nearly_collapsed, all_fallen = 0.07, 0.98
    on_the_way = 0.5
    first_late_step = 100
    # The loss is at its floor: next to nothing is left of it, or it is the negative cosine's -1.
    fallen = 0.9
    cosine_floor = -0.98

    def __init__(self) -> None:
        self._looks: list[SampleSpread] = []
        self._made = Place()
        self._limit = self.collapsed

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, LossGraph):
            self._made = record.made or record.place
        elif isinstance(record, SampleSpread):
            self._looks.append(record)
            del self._looks[1:-2]
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        if len(self._looks) < 3 or self._looks[-1].step < self.first_late_step:
            return
        share = fallen_share(state.losses.finite())
        self._limit = self.nearly_collapsed if share is not None and share > self.all_fallen else self.collapsed
        same = [name for name in self._looks[-1].names if self._has_collapsed(name)]
        if len(same) >= 2 and self._is_at_floor(state):
            yield self._judge(same, state)

    def _has_collapsed(self, name: str) -> bool:
        if not all(name in look.names for look in self._looks):
            return False
        directions = [_of(look, name)[0] for look in self._looks]
        sizes = [_of(look, name)[1] for look in self._looks]
        return directions[0] > self.alive and (self._shrinks(directions) or self._shrinks(sizes))

    def _shrinks(self, values: list[float]) -> bool:
        first, before, last = values
        return before < self.on_the_way * first and last < self._limit * first

    def _is_at_floor(self, state: RunState) -> bool:
        points = state.losses.finite()
        if len(points) < 6:
            return False
        share = fallen_share(points)
        at_minus_one = recent_level(points) <= self.cosine_floor < start_level(points)
        return at_minus_one or (share is not None and share >= self.fallen)

    def _judge(self, same: list[str], state: RunState) -> Finding:
        first, last = self._looks[0], self._looks[-1]
        both = " and ".join(f"`{name}`" for name in same[:2])
        turned = self._shrinks([_of(look, same[0])[0] for look in self._looks])
        before, now = _of(first, same[0])[not turned], _of(last, same[0])[not turned]
        differ = "differ in direction" if turned else "differ"
        return self.finding(
            severity="error",
            confidence=0.9,
            message=(
                f"All samples get the same embedding: the rows of {both} {differ} by {now:.2g} at step "
                f"{last.step}, by {before:.2g} at step {first.step}, and the loss is at its floor."
            ),
            why=(
                "The loss asks only that two views of a sample agree. The shortest way there is one answer for "
                "everything, which says nothing about the samples."
            ),
            fix=(
                "Add to the loss what pushes samples apart (negatives, or a variance term), or take "
                f"{_detached(same[1])} as the target and put a small predictor network on `{same[0]}`."
            ),
            where=self._made,
            first_step=self._looks[1].step,
            last_step=last.step,
            evidence={"deviation": now, "deviation_at_start": before, "tensors": ", ".join(same)},
        )


def _detached(name: str) -> str:
    return f"`{name}.detach()`" if name.isidentifier() else "the second output, with `.detach()`,"


def _of(look: SampleSpread, name: str) -> tuple[float, float]:
    index = look.names.index(name)
    return look.directions[index], look.between[index]
