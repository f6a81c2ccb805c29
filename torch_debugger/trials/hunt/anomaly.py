"""A piece of training in which no NaN or Inf passes unseen: looked for at backward, traced on the tape."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from torch_debugger.anatomy.frames import place_of, user_frame
from torch_debugger.records import NonFinite, Place
from torch_debugger.trials.hunt.again import LostError
from torch_debugger.trials.hunt.backwards import BackwardCall, unscaled
from torch_debugger.trials.hunt.leaves import all_finite, bad_ones
from torch_debugger.trials.hunt.recorder import Recorder
from torch_debugger.trials.hunt.states import INF, NAN, word_for
from torch_debugger.trials.hunt.tape import Made
from torch_debugger.trials.hunt.tracing import Slope, Traced, name_tensors, trace

_MADE_HERE = ("forward", "loss", "backward", "weights")  # and not given, as NaN paddings are


@dataclass(frozen=True)
class Minded:
    """What counts as an anomaly."""

    nan: bool = True
    inf: bool = True

    def state(self, state: str) -> bool:
        return (state == NAN and self.nan) or (state == INF and self.inf)

    def among(self, tensors: Sequence[torch.Tensor]) -> list[tuple[torch.Tensor, str]]:
        if all_finite(tensors):
            return []
        return [(tensor, state) for tensor, state in bad_ones(tensors) if self.state(state)]


@dataclass(frozen=True)
class Anomaly:
    fact: NonFinite
    lines: tuple[Place, ...] = ()  # of the user's, that led to the op, the innermost first
    hindrance: str = ""  # why it could not be traced for certain


class Watch:
    """Looks at what a recorder has recorded."""

    def __init__(self, recorder: Recorder, minded: Minded) -> None:
        self.recorder = recorder
        self.minded = minded

    def after_backward(self, call: BackwardCall) -> Anomaly | None:
        """One look at the losses and the gradients together, so that a device is waited for only once."""
        gradients = [leaf.grad for leaf in call.leaves if leaf.grad is not None]
        if all_finite([*call.losses, *gradients, *call.marks.tensors()]):
            return None
        losses = self.minded.among(call.losses)
        targets = [made for made in map(self.recorder.tape.made, call.losses) if made is not None]
        if losses and not unscaled(targets):
            return self._traced("loss", losses[0], targets, None)
        bad = self.minded.among(gradients)
        wrong = {id(gradient) for gradient, _ in bad}
        leaves = [leaf for leaf in call.leaves if leaf.grad is not None and id(leaf.grad) in wrong]
        mark = call.marks.nan() if self.minded.nan else None
        if mark is not None and not bad:
            bad = [(mark, NAN)]  # a mask has kept it from the leaves
        found = self._of_gradients(bad[0], targets, call, leaves) if bad else None
        if found is None or found.fact.origin is not None or mark is None:
            return found
        fact = dataclasses.replace(found.fact, origin=call.marks.origin(), how="graph")
        return dataclasses.replace(found, fact=fact)

    def _of_gradients(
        self, bad: tuple[torch.Tensor, str], targets: list[Made], call: BackwardCall, leaves: list[torch.Tensor]
    ) -> Anomaly | None:
        """Of a scaled loss too large gradients are to be expected: the loss itself must have bad ones."""
        before = unscaled(targets)
        gradients = None if before else call.gradients
        slope = Slope(gradients, [self.recorder.tape.made(leaf) or leaf for leaf in call.leaves])
        found = self._traced("gradient", bad, before or targets, slope, leaves)
        return found if not before or (found is not None and found.fact.origin is not None) else None

    def after_grad(self, results: Sequence[Any], step: Any) -> Anomaly | None:
        """torch.autograd.grad has given these."""
        held = [(index, each) for index, each in enumerate(results) if each is not None]
        bad = self.minded.among([each for _, each in held])
        if not bad:
            return None
        index = next(index for index, each in held if each is bad[0][0])
        return self._traced("gradient", bad[0], [Made(step, index)], None)

    def at_end(self, since: int) -> Anomaly | None:
        """Without a backward: what was made and never used, or read as a number."""
        ends = self.recorder.tape.ends(since)
        bad = self.minded.among([tensor for tensor, _ in ends])
        made = {id(tensor): each for tensor, each in ends}
        for tensor, state in bad[:5]:
            found = self._traced("result", (tensor, state), [made[id(tensor)]], None)
            if found is not None and _was_made_here(found):
                return found
        return self._of_surfaced()

    def _of_surfaced(self) -> Anomaly | None:
        if self.recorder.surfaced is None:
            return None
        made, value = self.recorder.surfaced
        bad = self.minded.among([torch.tensor(value)])
        found = self._traced("result", bad[0], [made], None) if bad else None
        return found if found is not None and _was_made_here(found) else None

    def _traced(
        self,
        what: str,
        bad: tuple[torch.Tensor, str],
        targets: Sequence[Made],
        slope: Slope | None,
        leaves: Iterable[torch.Tensor] = (),
    ) -> Anomaly | None:
        """None where it turns out to be an Inf that the user has put there."""
        traced, hindrance = _try(targets, slope)
        if traced.innocent:
            return None
        site = place_of(user_frame(2))
        names = tuple(name_tensors(leaves, targets))
        if traced.origin is not None and traced.origin.phase == "weights":
            names = (traced.origin.given,)
        how = "step" if traced.origin is not None else ""
        fact = NonFinite(0, what, word_for(*bad), site, traced.origin, names, how)
        return Anomaly(fact, traced.lines, hindrance)


def _try(targets: Sequence[Made], slope: Slope | None) -> tuple[Traced, str]:
    if not targets:
        return Traced(None), "it was computed in a compiled function, or before `detect_anomaly` was on"
    try:
        traced = trace(targets, slope)
    except LostError:
        return Traced(None), "a part of it was computed too long ago"
    except Exception as error:  # the user's code may raise anything when it runs a second time
        return Traced(None), f"it could not be run again ({type(error).__name__}: {error})"
    if traced.out_of_sight:
        return traced, "it came out of a compiled function, or was computed before `detect_anomaly` was on"
    if traced.was_changed:
        return traced, "a tensor it was computed from has been written into since"
    return traced, "" if traced.origin is not None else "it was run again and gave finite numbers"


def _was_made_here(found: Anomaly) -> bool:
    """By an op, and not written there as a NaN."""
    origin = found.fact.origin
    if origin is None or origin.phase not in _MADE_HERE:
        return False
    return not any(argument.endswith("nan") for argument in origin.arguments)
