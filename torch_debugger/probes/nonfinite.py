"""The first NaN or Inf of a run: noticed where numbers pass by, traced on the spot.

On the CPU a loss is seen before its backward and a gradient before its update, so the step's inputs,
random state and weights are still those that made it: the step is run again on them (by the replay that
the session hands in), and names the op that made something not finite out of finite operands.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import nn

from torch_debugger.anatomy.frames import frames
from torch_debugger.anatomy.loss_variable import loss_name
from torch_debugger.anatomy.moments import Moment, moment_of
from torch_debugger.anatomy.sources import is_user_file
from torch_debugger.anatomy.statements import assignment_before
from torch_debugger.probes.lagging import Inputs, Lagging
from torch_debugger.probes.lossorigin import find_in_graph
from torch_debugger.probes.policies import Policy
from torch_debugger.probes.roots import Roots
from torch_debugger.probes.watch import Watch
from torch_debugger.records import NonFinite, Origin, Place
from torch_debugger.stats.unseen import no_grad

FRAMES = 4  # of the user's, from the innermost out


class Replays(Protocol):
    """Runs a step again; what that takes is not a probe's business."""

    def of_step(
        self, moments: Sequence[Moment], loss: str, raised: bool = False
    ) -> tuple[Origin | None, str] | None:
        """The step under way, from the user's frames, innermost first: the origin and how it was found.

        loss: nan, inf or -inf; empty where it was finite and the gradients are at fault.
        raised: the lines end in an exception, and the number is in the frames that raise it.
        """

    def of_inputs(self, inputs: Inputs, slopes: bool) -> tuple[Origin, str] | None:
        """A step of some time ago, from what was put into its models."""


@dataclass(frozen=True)
class BadWeight:
    """A weight that is not finite, and who made it so."""

    origin: Origin
    optimizer: str = ""  # that has moved it; none yet
    numbers: dict[str, float] = field(default_factory=dict)  # of that optimizer
    gradients_seen: bool = True  # in its last update


class NonFiniteHunt:
    def __init__(self, watch: Watch, roots: Roots, lagging: Lagging, replays: Replays, policy: Policy) -> None:
        self.watch = watch
        self.roots = roots
        self.replays = replays
        self.policy = policy
        self.lagging = lagging
        self.found: NonFinite | None = None
        self.scaled = False  # a GradScaler is at work
        self.explain_weights: Callable[[str, bool], BadWeight] | None = None  # True: before any update

    def loss_is_not_finite(self, value: float, loss: torch.Tensor, site: Place, saved_hooks: bool) -> None:
        """Seen at backward, before anything has changed."""
        if self.found is not None:
            return
        wrong = self._wrong_parameters()
        if wrong:
            self._tell_of_weights("loss", value, self.watch.step, site, wrong)
            return
        origin, how = self._replay(_word(value))
        if origin is None and loss.grad_fn is not None and not saved_hooks:
            origin = find_in_graph(loss.grad_fn, site)
            how = "graph" if origin is not None else how
        self._tell("loss", value, self.watch.step, site, origin, how, ())

    def loss_arrived(self, value: float, site: Place, step: int) -> None:
        """Told by the device some steps late."""
        if self.found is None and not math.isfinite(value):
            wrong = self._frozen_wrong(step)
            if wrong:  # born so, or by an update with gradients that were finite
                self._tell_of_weights("loss", value, step, site, wrong, born=step == self.lagging.since)
                self.lagging.let_go()
                return
            origin, how = self._replay_late(step, slopes=False)
            self._tell("loss", value, step, site, origin, how, ())

    def gradient_is_not_finite(self, parameters: tuple[str, ...], site: Place, step: int) -> None:
        """Seen before the update, or later from a device: the loss was finite, its gradient is not."""
        if self.found is not None:
            return
        late = step != self.watch.step or self.lagging.of(step) is not None  # its update is made
        origin, how = self._replay_late(step, slopes=True) if late else self._replay("")
        if origin is None:
            origin = Origin("backward", _last_layer(parameters), None)
        self._tell("gradient", math.nan, step, site, origin, how, parameters)

    def _replay(self, loss: str) -> tuple[Origin | None, str]:
        own = [moment_of(frame) for frame in frames(2) if is_user_file(frame.f_code.co_filename)][:FRAMES]
        found = self.watch.traced(self.replays.of_step, own, loss)
        return found or (None, "")

    def _replay_late(self, step: int, slopes: bool) -> tuple[Origin | None, str]:
        """On the inputs and weights of that step; a loss may also show what the gradients before it did."""
        known = [self.lagging.of(each) for each in (step, step - 1) if self.lagging.knows_weights_of(each)]
        found: tuple[Origin, str] | None = None
        for kept in known:
            if kept is not None and found is None:
                found = self.watch.traced(self.replays.of_inputs, kept, slopes or kept.step < step)
        self.lagging.let_go()
        return found or (None, "late")

    def anomaly_mode_stopped(self, moments: Sequence[Moment], site: Place, named: Origin) -> None:
        """By an exception out of backward; `named` is the node of the graph that torch has named."""
        origin, how = self.watch.traced(self.replays.of_step, moments, "") or (None, "")
        if origin is None:
            origin, how = named, "anomaly"
        self._tell("gradient", math.nan, self.watch.step, site, origin, how, (), policy="anomaly")

    def was_raised(self, fact: NonFinite, moments: Sequence[Moment]) -> None:
        """By our own `detect_anomaly`: the step is run again only where that could not be."""
        found = None
        if fact.origin is None or fact.how == "graph":
            found = self.watch.traced(self.replays.of_step, moments, fact.value if fact.what == "loss" else "")
        origin, how = found if found is not None and found[0] is not None else (fact.origin, fact.how)
        names, value = fact.parameters, float(fact.value)
        self._tell(fact.what, value, self.watch.step, fact.site, origin, how, names, policy="detect_anomaly")

    def was_refused(self, word: str, moments: Sequence[Moment], site: Place) -> None:
        """By an exception before backward, which a number that is not finite has brought about."""
        wrong = self._wrong_parameters()
        if wrong:
            self._tell_of_weights("value", float(word), self.watch.step, site, wrong)
            return
        origin, how = self.watch.traced(self.replays.of_step, moments, word, True) or (None, "")
        if origin is not None:
            self._tell("value", float(word), self.watch.step, site, origin, how, ())

    def weights_are_not_finite(self, parameters: tuple[str, ...], site: Place, step: int) -> None:
        """Seen before an update, or later from a device; neither loss nor gradients have shown it."""
        if self.found is None:
            self._tell_of_weights("weight", math.nan, step, site, parameters)

    def _tell_of_weights(
        self, what: str, value: float, step: int, site: Place, wrong: tuple[str, ...], born: bool = False
    ) -> None:
        bad = BadWeight(Origin("weights", _last_layer(wrong[:1]), None, given=wrong[0]))
        if self.explain_weights is not None:
            bad = self.explain_weights(wrong[0], born)
        if self.lagging.since:  # from a device only one gradient is heard of in every step
            bad = dataclasses.replace(bad, gradients_seen=False)
        self._tell(what, value, step, site, bad.origin, "step", wrong, bad)

    def _frozen_wrong(self, step: int) -> tuple[str, ...]:
        """Parameters that were not finite already when the first bad step began."""
        if not self.lagging.knows_weights_of(step):
            return ()
        names = self.roots.path_of_parameter()
        return tuple(names[id(p)] for p in self.lagging.weights.not_finite() if id(p) in names)

    @no_grad()
    def _wrong_parameters(self) -> tuple[str, ...]:
        wrong: list[str] = []
        for root, module in self.roots.alive():
            for name, parameter in module.named_parameters():
                if not nn.parameter.is_lazy(parameter) and not _is_finite(parameter):
                    wrong.append(f"{root.name}.{name}")
        return tuple(wrong)

    def _tell(
        self,
        what: str,
        value: float,
        step: int,
        site: Place,
        origin: Origin | None,
        how: str,
        parameters: tuple[str, ...],
        bad: BadWeight | None = None,
        policy: str = "",
    ) -> None:
        shown = site if origin is not None and origin.place.file else _line_of_the_loss(site)
        by = (bad.optimizer, bad.numbers, bad.gradients_seen) if bad is not None else ("", {}, True)
        self.found = NonFinite(
            step,
            what,
            _word(value),
            shown,
            origin,
            parameters,
            how,
            self.scaled,
            *by,
            policy or self.policy.kind,
        )
        self.watch.emit(self.found)
        self.policy.told(self.found)


def _line_of_the_loss(site: Place) -> Place:
    """Without the op's own line: where the loss is computed."""
    return assignment_before(site, loss_name(site)) or site


def _is_finite(parameter: torch.Tensor) -> bool:
    if not parameter.is_floating_point():
        return True
    return math.isfinite(float(parameter.detach().sum(dtype=torch.float64)))  # float16 overflows at 65504


def _last_layer(parameters: tuple[str, ...]) -> str | None:
    """Gradients flow backward: the last layer with a bad one is the first to have had it."""
    return parameters[-1].rpartition(".")[0] or None if parameters else None


def _word(value: float) -> str:
    if math.isnan(value):
        return "nan"
    return "inf" if value > 0 else "-inf"
