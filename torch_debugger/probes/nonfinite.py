"""The first NaN or Inf of a run: noticed where numbers pass by, traced on the spot.

On the CPU a loss is seen before its backward and a gradient before its update, so the step's inputs,
random state and weights are still those that made it: the step is run again on them (by the replay that
the session hands in), and names the op that made something not finite out of finite operands.
"""

from __future__ import annotations

import dataclasses
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Protocol

import torch
from torch import isfinite, nn
from torch.optim import Optimizer

from torch_debugger.model.autograd_graph import saved
from torch_debugger.probes.async_steps import AsyncSteps, Inputs
from torch_debugger.probes.model.root_modules import RootModules
from torch_debugger.probes.watch import Watch
from torch_debugger.records import NonFinite, Origin, Place
from torch_debugger.source.files import is_user_file
from torch_debugger.source.frames import frames, user_frame
from torch_debugger.source.losses import loss_name
from torch_debugger.source.objects import is_a
from torch_debugger.source.statements import assignment_before, last_call_before
from torch_debugger.source.variables import VariablesAt, moment_of
from torch_debugger.stats.dispatch_modes import no_grad
from torch_debugger.stats.summary import measure_operand

FRAMES = 4  # of the user's, from the innermost out


class Replays(Protocol):
    """Runs a step again; what that takes is not a probe's business."""

    def of_step(
        self, moments: Sequence[VariablesAt], loss: str, raised: bool = False
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
    def __init__(self, watch: Watch, roots: RootModules, lagging: AsyncSteps, replays: Replays, policy: Policy) -> None:
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
            wrong: tuple[str, ...] = ()  # parameters that were not finite already when the first bad step began
            if self.lagging.knows_weights_of(step):
                names = self.roots.path_of_parameter()
                wrong = tuple(names[id(p)] for p in self.lagging.weights.not_finite() if id(p) in names)
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

    def anomaly_mode_stopped(self, moments: Sequence[VariablesAt], site: Place, named: Origin) -> None:
        """By an exception out of backward; `named` is the node of the graph that torch has named."""
        origin, how = self.watch.traced(self.replays.of_step, moments, "") or (None, "")
        if origin is None:
            origin, how = named, "anomaly"
        self._tell("gradient", math.nan, self.watch.step, site, origin, how, (), policy="anomaly")

    def was_raised(self, fact: NonFinite, moments: Sequence[VariablesAt]) -> None:
        """By our own `detect_anomaly`: the step is run again only where that could not be."""
        found = None
        if fact.origin is None or fact.how == "graph":
            found = self.watch.traced(self.replays.of_step, moments, fact.value if fact.what == "loss" else "")
        origin, how = found if found is not None and found[0] is not None else (fact.origin, fact.how)
        names, value = fact.parameters, float(fact.value)
        self._tell(fact.what, value, self.watch.step, fact.site, origin, how, names, policy="detect_anomaly")

    def was_refused(self, word: str, moments: Sequence[VariablesAt], site: Place) -> None:
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

    @no_grad()
    def _wrong_parameters(self) -> tuple[str, ...]:
        wrong: list[str] = []
        for root, module in self.roots.alive():
            for name, parameter in module.named_parameters():
                if not nn.parameter.is_lazy(parameter) and parameter.is_floating_point():
                    total = parameter.detach().sum(dtype=torch.float64)  # float16 overflows at 65504
                    if not math.isfinite(float(total)):
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
        shown = site  # without the op's own line: where the loss is computed
        if origin is None or not origin.place.file:
            shown = assignment_before(site, loss_name(site)) or site
        by = (bad.optimizer, bad.numbers, bad.gradients_seen) if bad is not None else ("", {}, True)
        policy = policy or self.policy.kind
        self.found = NonFinite(step, what, _word(value), shown, origin, parameters, how, self.scaled, *by, policy)
        self.watch.emit(self.found)
        self.policy.told(self.found)


def _last_layer(parameters: tuple[str, ...]) -> str | None:
    """Gradients flow backward: the last layer with a bad one is the first to have had it."""
    return parameters[-1].rpartition(".")[0] or None if parameters else None


def _word(value: float) -> str:
    if math.isnan(value):
        return "nan"
    return "inf" if value > 0 else "-inf"


# Which op between the model and the loss made a NaN or Inf, told by what autograd saved.
#
# Used where the forward itself was finite: the loss expression cannot be run again, but its nodes still hold their
# operands.
Test = Callable[[torch.Tensor], bool]

# op -> (saved operand, what is wrong with it)
_EDGES: dict[str, tuple[str, Test]] = {
    "LogBackward0": ("_saved_self", lambda t: bool((t <= 0).any())),
    "Log2Backward0": ("_saved_self", lambda t: bool((t <= 0).any())),
    "Log10Backward0": ("_saved_self", lambda t: bool((t <= 0).any())),
    "Log1PBackward0": ("_saved_self", lambda t: bool((t <= -1).any())),
    "SqrtBackward0": ("_saved_result", lambda t: bool(t.isnan().any())),
    "RsqrtBackward0": ("_saved_result", lambda t: not bool(t.isfinite().all())),
    "DivBackward0": ("_saved_other", lambda t: bool((t == 0).any())),
    "ReciprocalBackward0": ("_saved_result", lambda t: not bool(t.isfinite().all())),
    "ExpBackward0": ("_saved_result", lambda t: not bool(t.isfinite().all())),
    "AcosBackward0": ("_saved_self", lambda t: bool((t.abs() > 1).any())),
    "AsinBackward0": ("_saved_self", lambda t: bool((t.abs() > 1).any())),
}


def find_in_graph(root: Any, site: Place, limit: int = 256) -> Origin | None:
    """The suspicious op farthest from the loss: what follows it only passes the NaN on."""
    found: tuple[str, torch.Tensor] | None = None
    seen, queue = {root}, deque([root])
    while queue and len(seen) < limit:
        node = queue.popleft()
        operand_name, is_wrong = _EDGES.get(node.name(), ("", None))
        if is_wrong is not None:
            operand = saved(node, operand_name)
            if is_a(operand, torch.Tensor) and is_wrong(operand.detach()):
                found = (node.name(), operand.detach())
        for operand_node, _ in node.next_functions:
            if operand_node is not None and operand_node not in seen:
                seen.add(operand_node)
                queue.append(operand_node)
    if found is None:
        return None
    function = found[0].removesuffix("Backward0").lower()  # its name in source code
    line = last_call_before(site, (function,)) or Place()
    return Origin("loss", None, function, line, (measure_operand(found[1]),))


# What is done about a NaN besides telling: nothing, end the script, stop in a debugger, skip the update.
StopAt = Callable[[FrameType, str, dict[str, Any]], None]


class Policy:
    """`report` never makes the host wait for a device; the others may."""

    def __init__(self, watch: Watch, kind: str, stop_at: StopAt | None = None) -> None:
        self.watch = watch
        self.kind = kind
        self.waits = kind != "report"
        self._stop_at = stop_at
        self._due: NonFinite | None = None
        self._left_out: dict[int, list[tuple[torch.Tensor, torch.Tensor]]] = {}  # optimizer -> its gradients
        self.skipped = 0

    def told(self, fact: NonFinite) -> None:
        self._due = fact

    def act(self) -> None:
        """Called where the script's own line runs, outside of what keeps our exceptions in."""
        fact, self._due = self._due, None
        if fact is None or not self.watch.active:
            return
        if self.kind == "stop":
            self.watch.stopping = True
            raise SystemExit(1)
        if self.kind == "break" and self._stop_at is not None:
            frame = user_frame(2)
            if frame is not None:
                self._stop_at(frame, f"the {fact.what} became {fact.value} at step {fact.step}", {})

    # skip-step

    @no_grad()
    def before_update(self, optimizer: Optimizer) -> None:
        """Without gradients an optimizer changes nothing. Looked at by sums in float64, which no float32 gradient can
        overflow."""
        pairs = [(p, p.grad) for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if self.kind != "skip-step" or not pairs:
            return
        values = [gradient.coalesce().values() if gradient.is_sparse else gradient for _, gradient in pairs]
        sums = [value.sum(dtype=torch.float64).to(values[0].device) for value in values]
        if bool(isfinite(torch.stack(sums)).all()):
            return
        self._left_out[id(optimizer)] = pairs
        for parameter, _ in pairs:
            parameter.grad = None
        self.skipped += 1
        self.watch.scalars["skipped_steps"] = float(self.skipped)
        if self.skipped == 1:
            self.watch.notice("Updates with gradients that are not finite are left out (--on-nan skip-step).")

    def after_update(self, optimizer: Optimizer) -> None:
        for parameter, gradient in self._left_out.pop(id(optimizer), ()):
            parameter.grad = gradient
