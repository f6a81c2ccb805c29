"""Outputs that no longer depend on the input: dead ReLUs, collapsed embeddings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from torch_debugger.checks.base import Check, RunState
from torch_debugger.checks.models import is_last_layer, rectifier_place
from torch_debugger.checks.trends import fallen_share, recent_level, start_level
from torch_debugger.records import Finding, LossGraph, Place, Record, Rectifier, SampleSpread, TensorRows


@dataclass
class _RectifierLooks:
    """One rectifier over the deep steps of a run."""

    streak: list[Rectifier] = field(default_factory=list)  # deep steps in a row with most units dead
    looks: int = 0  # those, and steps since that gave the feeding layer a gradient of exactly zero
    last_step: int = 0
    was_alive: bool = False
    reported: bool = False


class DeadRelu(Check):
    """Most units of a ReLU layer give zero for every sample, step after step.

    Symptom:
        The loss hardly moves, or the model answers the same to every input. A unit that is zero for all
        samples gets no gradient, so it does not come back by itself.
    Evidence:
        On several deep steps in a row most units of the layer were zero for every sample of the batch. For
        a layer that was dead as a whole, steps on which the layer that feeds it got a gradient of exactly
        zero count as well.
    Fix:
        Dead from the first step: mend the start values (He initialisation, bias 0) and scale the inputs.
        Dead later: use a smaller learning rate. `nn.LeakyReLU` keeps a small gradient in either case.
    Known limits:
        With batches below 16 samples, and with fewer than 8 units, only a layer that is dead as a whole is
        reported. A layer that is dead in part is reported only if that lasts for 500 steps in which the loss
        stands still. While the loss
        falls well a layer with more than nine units in ten dead is noted, and a narrow one is not
        reported at all: it may be a hinge in the loss with nothing left to correct.
    """

    id = "TD301"
    name = "dead-relu"
    title = "most units of a ReLU layer are dead"
    reads = (Rectifier, TensorRows)
    explains = ("vanishing-gradient",)

    # Share of units that are zero for a whole batch; at the start of training about none are.
    dead_share_error = 0.9
    dead_share_warning = 0.5
    # A narrow layer loses many of its units by chance.
    smallest_layer = 8
    # A unit active on one sample in ten is silent for a batch of 16 with a chance of 0.19, for 8 with 0.43.
    smallest_batch = 16
    looks_needed = 3
    # A batch of odd samples passes; death does not.
    steps_apart = 10
    # Deep networks stand on a plateau first, with half their units silent, and then learn.
    steps_apart_in_part = 500
    # A run that lost this share of its loss since the units died, or this much in all, learns without them.
    healthy_fall = 0.5
    healthy_fall_in_all = 0.9
    # A layer that is dead in part matters only to a loss that is known to stand still.
    stalled_fall = 0.2

    def __init__(self) -> None:
        self._layers: dict[str, _RectifierLooks] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, Rectifier):
            layer = self._layers.setdefault(record.name, _RectifierLooks())
            self._look(layer, record)
            concerned = [layer]
        else:
            assert isinstance(record, TensorRows)
            dead = [layer for layer in self._layers.values() if layer.streak]
            concerned = [layer for layer in dead if layer.streak[-1].dead_units == layer.streak[-1].units]
            if record.table.kind != "parameter" or not concerned:
                return
            for layer in concerned:
                weight = f"{layer.streak[-1].source}.weight"
                if record.step <= layer.last_step or weight not in record.table.names:
                    continue
                if record.by_name("grad_norm")[weight] == 0.0:
                    layer.looks += 1
                    layer.last_step = record.step
                else:
                    self._revive(layer)
        for layer in concerned:
            if not layer.reported and self._is_certain(layer) and self._lasted(layer):
                layer.reported = True
                yield from self._judge(layer, state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        for layer in self._layers.values():
            if self._is_certain(layer) and (not self._is_in_part(layer) or self._lasted(layer)):
                yield from self._judge(layer, state)

    def _is_certain(self, layer: _RectifierLooks) -> bool:
        return bool(layer.streak) and layer.looks >= self.looks_needed

    def _lasted(self, layer: _RectifierLooks) -> bool:
        needed = self.steps_apart_in_part if self._is_in_part(layer) else self.steps_apart
        return layer.last_step - layer.streak[0].step >= needed

    def _is_in_part(self, layer: _RectifierLooks) -> bool:
        return self._dead_share(layer) <= self.dead_share_error

    def _dead_share(self, layer: _RectifierLooks) -> float:
        return min(record.dead_units / record.units for record in layer.streak)

    def _look(self, layer: _RectifierLooks, record: Rectifier) -> None:
        whole = record.dead_units == record.units
        wide = record.units >= self.smallest_layer and record.batch >= self.smallest_batch
        if not whole and not (wide and record.dead_units > self.dead_share_warning * record.units):
            self._revive(layer)
            return
        if not layer.streak or layer.last_step != record.step:  # a layer may be called twice in one step
            layer.looks += 1
        layer.streak.append(record)
        layer.last_step = record.step
        # Enough for the story: how it began, and the last looks.
        del layer.streak[1 : -self.looks_needed]

    def _revive(self, layer: _RectifierLooks) -> None:
        layer.streak.clear()
        layer.looks = 0
        layer.was_alive = True

    def _judge(self, layer: _RectifierLooks, state: RunState) -> Iterable[Finding]:
        first, last, share = layer.streak[0], layer.streak[-1], self._dead_share(layer)
        points = state.losses.finite()
        lately, fallen = fallen_share([point for point in points if point[0] >= first.step]), fallen_share(points)
        learning = (lately or 0.0) >= self.healthy_fall or (fallen or 0.0) >= self.healthy_fall_in_all
        whole = share > self.dead_share_error
        if last.units < self.smallest_layer:
            if learning or not state.losses.points:
                return
        elif not whole and (fallen is None or fallen >= self.stalled_fall):
            return
        count = "The only unit" if last.units == 1 else f"{last.dead_units} of {last.units} units"
        name = last.name if last.source in last.name else f"`{last.name}` (fed by `{last.source}`)"
        since = f"since step {first.step}" if layer.was_alive else f"from the first look, step {first.step}, on"
        yield self.finding(
            severity="note" if learning else "error" if whole else "warning",
            confidence=0.95 if whole else 0.8,
            message=f"{count} of {name} {'is' if last.units == 1 else 'are'} dead {since}: zero for every "
            f"sample of the batch ({last.batch} samples).",
            why="A ReLU that is zero for all samples passes no gradient back, so the weights that feed it "
            "stop learning and the unit stays dead.",
            fix=_fix(layer, last, state),
            where=last.place if last.place.file else rectifier_place(last.source, state),
            steps=(first.step, layer.last_step),
            evidence={
                "dead_units": float(last.dead_units),
                "units": float(last.units),
                "dead_share": share,
                "zeros": last.zeros,
                "batch": float(last.batch),
                "source": last.source,
            },
        )


def _fix(layer: _RectifierLooks, last: Rectifier, state: RunState) -> str:
    spare = "`nn.LeakyReLU(0.01)` instead of ReLU keeps a gradient."
    if is_last_layer(last.source, state):
        return (
            f"Remove the ReLU after `{last.source}`: it is the model's output and cannot go below 0, so one "
            "push too far ends all learning. If targets are never negative, use `nn.Softplus` there."
        )
    if not layer.was_alive:
        return (
            f"It was so before training could do it: check the start values of `{last.source}` (a bias far below 0, "
            f"weights too large) and the scale of its inputs; `nn.init.kaiming_normal_` with bias 0 is safe. {spare}"
        )
    rates = [group["lr"] for one in state.optimizers.values() for group in one.groups if "lr" in group]
    rate = f" from {max(rates):g} to {max(rates) / 10:g}" if rates else " by a factor of 10"
    return f"Training killed it: lower the learning rate{rate}, or clip the gradients. {spare}"


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

    def see(self, record: Record, state: RunState) -> None:
        if isinstance(record, LossGraph):
            self._made = record.made or record.place
        elif isinstance(record, SampleSpread):
            self._looks.append(record)
            del self._looks[1:-2]

    def finish(self, state: RunState) -> Iterable[Finding]:
        if len(self._looks) < 3 or self._looks[-1].step < self.first_late_step:
            return
        points = state.losses.finite()
        share = fallen_share(points)
        self._limit = self.nearly_collapsed if share is not None and share > self.all_fallen else self.collapsed
        same = [name for name in self._looks[-1].names if self._has_collapsed(name)]
        if len(same) < 2 or len(points) < 6:
            return
        at_minus_one = recent_level(points) <= self.cosine_floor < start_level(points)
        if at_minus_one or (share is not None and share >= self.fallen):
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

    def _judge(self, same: list[str], state: RunState) -> Finding:
        first, last = self._looks[0], self._looks[-1]
        both = " and ".join(f"`{name}`" for name in same[:2])
        turned = self._shrinks([_of(look, same[0])[0] for look in self._looks])
        before, now = _of(first, same[0])[not turned], _of(last, same[0])[not turned]
        differ = "differ in direction" if turned else "differ"
        detached = f"`{same[1]}.detach()`" if same[1].isidentifier() else "the second output, with `.detach()`,"
        return self.finding(
            severity="error",
            confidence=0.9,
            message=f"All samples get the same embedding: the rows of {both} {differ} by {now:.2g} at step "
            f"{last.step}, by {before:.2g} at step {first.step}, and the loss is at its floor.",
            why="The loss asks only that two views of a sample agree. The shortest way there is one answer for "
            "everything, which says nothing about the samples.",
            fix="Add to the loss what pushes samples apart (negatives, or a variance term), or take "
            f"{detached} as the target and put a small predictor network on `{same[0]}`.",
            where=self._made,
            steps=(self._looks[1].step, last.step),
            evidence={"deviation": now, "deviation_at_start": before, "tensors": ", ".join(same)},
        )


def _of(look: SampleSpread, name: str) -> tuple[float, float]:
    index = look.names.index(name)
    return look.directions[index], look.between[index]
