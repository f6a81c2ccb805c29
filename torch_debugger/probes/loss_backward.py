"""Where the loss is seen: `torch.autograd.backward`, which every `loss.backward()` goes through."""

from __future__ import annotations

import dataclasses
import functools
import math
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from torch_debugger.model.autograd_graph import read_nodes, walk_nodes
from torch_debugger.probes.gradients_scaling_clipping import Scaler
from torch_debugger.probes.loss_graph import RectifierLook, local_tensors, read_rectifiers
from torch_debugger.probes.loss_terms import TermLook, read_terms
from torch_debugger.probes.loss_token_targets import read_token_targets
from torch_debugger.probes.model.root_modules import RootModule, RootModules
from torch_debugger.probes.nonfinite import NonFiniteHunt
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.probe import Patches, Probe
from torch_debugger.probes.schedule import DEEP
from torch_debugger.probes.step_times import BACKWARD
from torch_debugger.probes.watch import Watch
from torch_debugger.records import AutogradNode, LossGraph, LossSite, Place, SkippedLosses
from torch_debugger.source.constructors import find_call
from torch_debugger.source.files import is_user_file, place_at
from torch_debugger.source.frames import frames, locals_of, place_of, user_frame
from torch_debugger.source.losses import (
    NODE_CALLS,
    TERM_CALLS,
    computed_at,
    loss_name,
    lowered_gain,
    returned_activation,
)
from torch_debugger.source.objects import is_a
from torch_debugger.source.statements import assignment_before, innermost_loop, last_call_before, only_call
from torch_debugger.source.syntax import function_at
from torch_debugger.stats.dispatch_modes import item_of, leave_classes_of
from torch_debugger.stats.transfer import Numbers
from torch_debugger.system.tracebacks import hidden_in_tracebacks


class Backward(Probe):
    name = "backward"
    LOOKS_A_STEP = 4  # per site: LBFGS calls its closure, with a backward, dozens of times in one step
    GRAPHS = 3  # told per site; after that only when the graph looks different

    def __init__(
        self, watch: Watch, roots: RootModules, optimizers: Optimizers, hunt: NonFiniteHunt, scaler: Scaler
    ) -> None:
        super().__init__(watch)
        self.roots = roots
        self.optimizers = optimizers
        self.hunt, self.scaler = hunt, scaler
        self.on_look: list[Callable[[torch.Tensor, FrameType | None], None]] = []  # (loss, the caller's frame)
        self.on_every_look: list[Callable[[torch.Tensor, FrameType | None], None]] = []  # of those who count
        self._sites: dict[tuple[str, int], LossSite] = {}
        self._sums: dict[str, tuple[float, int]] = {}  # site -> sum of its losses in this step, count
        self._looks: dict[str, int] = {}  # by site, in this step
        self._graph_reports: dict[str, int] = {}
        self._graph_seen: dict[str, int] = {}
        self._typical_loss: float | None = None
        self._accumulates = False  # the last step had several backwards of one loss
        self._last_site = Place()
        self.count = 0  # of all backwards
        self.met_nonfinite = False  # a loss that was NaN or Inf has come this far
        self.saved_hooks = False  # saved-tensor hooks (checkpointing, offloading) have been in use

    def install(self, patches: Patches) -> None:
        patches.replace(torch.autograd, "backward", self._around_backward)
        patches.replace(torch.autograd.graph.saved_tensors_hooks, "__enter__", self._around_saved_hooks)

    def _around_backward(self, original: Any) -> Any:
        @functools.wraps(original)
        def backward(tensors: Any, *arguments: Any, **keywords: Any) -> Any:
            self.watch.trains()
            self.watch.probe("backward", self._before, tensors)
            if self.hunt.policy.waits:
                self.hunt.policy.act()
            self.watch.mark(self.watch.phases.enter, BACKWARD)
            with hidden_in_tracebacks:
                original(tensors, *arguments, **keywords)
            self.watch.mark(self.watch.phases.end_backward)
            self.watch.keep_to_limit()
            if self.roots.states_kept:
                self.watch.probe("models", self.roots.backward_done)
            if self._accumulates:  # at the step itself, the batch that did it would be long gone
                self.watch.probe("backward", self.optimizers.glance_at_all, self._last_site)
            if self.watch.active and self.watch.probe("backward", self.watch.clock.backward_done):
                self.watch.end_step()

        return backward

    def _around_saved_hooks(self, original: Any) -> Any:
        @functools.wraps(original)
        def enter(hooks: Any) -> Any:
            self.saved_hooks = True
            return original(hooks)

        return enter

    def _before(self, tensors: Any) -> None:
        loss = tensors[0] if isinstance(tensors, (tuple, list)) and len(tensors) == 1 else tensors
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1 or leave_classes_of((loss,)):
            return
        self.count += 1
        self.watch.governor.begin()
        frame = user_frame(2)
        site = self._site(frame)
        self._last_site = site.place
        self.optimizers.find_made_before(frame)
        self.roots.name_compiled(frame) if frame is not None else None
        if self.watch.depth:
            self.optimizers.look_before_backward(site.place)
        unscaled = loss
        if self.watch.depth == DEEP or self.scaler.losses.scaler is not None:
            unscaled = self.watch.probe(self.scaler.name, self.scaler.see_backward, loss, site.place)
            self.hunt.scaled = self.hunt.scaled or (unscaled is not None and unscaled is not loss)
        if self.watch.transfer.lags(loss):
            self.hunt.lagging.backward_called(unscaled if unscaled is not None else loss, frame)
        self._take_value(loss, loss if unscaled is None else unscaled, site)
        if loss.grad_fn is not None and (self.watch.depth == DEEP or self.watch.is_looked_at):
            self._look(loss, site, frame)

    def _look(self, loss: torch.Tensor, site: LossSite, frame: FrameType | None) -> None:
        looks = self._looks[site.name] = self._looks.get(site.name, 0) + 1
        listeners = self.on_every_look
        if looks <= self.LOOKS_A_STEP:
            listeners = [*listeners, *self.on_look]
            if self.watch.depth == DEEP:
                self.roots.notice_random_numbers()
                self.watch.hear("loss graph", self._read_graph, loss, site, frame)
        for listen in listeners:
            self.watch.hear("loss listeners", listen, loss, frame)

    def loss_names(self) -> list[str]:
        return [site.name for site in self._sites.values()]

    def _site(self, frame: FrameType | None) -> LossSite:
        key = (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("", 0)
        if key not in self._sites:
            place = place_of(frame)
            loop = innermost_loop(place)
            name, taken = loss_name(place), {site.name for site in self._sites.values()}
            free = name if name not in taken else f"{name}_{len(taken) + 1}"
            site = LossSite(free, place, self.watch.step, loop)
            self._sites[key] = site
            self.watch.emit(site)
        return self._sites[key]

    def _take_value(self, loss: torch.Tensor, unscaled: torch.Tensor, site: LossSite) -> None:
        if self.watch.transfer.lags(loss) and not self.hunt.policy.waits:
            step = self.watch.step

            def deliver(found: Numbers) -> None:  # some steps late
                value = float(found[0])
                self.watch.say(step, {"loss": value} if len(self._sites) == 1 else {f"loss/{site.name}": value})
                self.hunt.loss_arrived(value, site.place, step)

            self.watch.transfer.send(unscaled.detach().float().reshape(1), deliver)
            return
        value = item_of(unscaled)
        total, count = self._sums.get(site.name, (0.0, 0))
        self._sums[site.name] = (total + value, count + 1)
        if not math.isfinite(value):
            self.met_nonfinite = True
            self.hunt.loss_is_not_finite(value, loss, site.place, self.saved_hooks)

    def end_step(self) -> None:
        scalars = self.watch.scalars
        for name, (total, count) in self._sums.items():
            value = total / count  # the mean over accumulated batches
            self._accumulates = count > 1
            scalars |= {f"loss/{name}": value} if len(self._sites) > 1 else {}
            scalars["loss"] = value  # of several, the last one of the step
        self._sums, self._looks = {}, {}
        if "loss" in scalars:
            loss, typical = scalars["loss"], self._typical_loss
            if typical is not None and (not math.isfinite(loss) or abs(loss) > 5.0 * abs(typical) + 1e-6):
                self.watch.governor.request(2)
            if math.isfinite(loss):
                self._typical_loss = loss if typical is None else 0.9 * typical + 0.1 * loss

    def _read_graph(self, loss: torch.Tensor, site: LossSite, frame: FrameType | None) -> None:
        names = self.roots.path_of_parameter() | self.optimizers.strays.parameters
        if not self.saved_hooks:
            for look in read_rectifiers(loss.grad_fn, names):
                self.watch.transfer.send(look.counts, functools.partial(self._tell_rectifier, look, self.watch.step))
            self.watch.probe("loss terms", self._read_terms, loss, site, names)
        nodes, truncated = read_nodes(loss.grad_fn, names, factors=not self.saved_hooks)
        signature = hash(tuple((node.op, node.shape) for node in nodes))
        reports = self._graph_reports.get(site.name, 0)
        if reports >= self.GRAPHS and self._graph_seen.get(site.name) == signature:
            return
        if reports >= 4 * self.GRAPHS:
            return  # a graph that never repeats is told often enough
        self._graph_reports[site.name] = reports + 1
        self._graph_seen[site.name] = signature
        nodes = tuple(self._with_place(node, site.place) for node in nodes)
        value = math.nan if self.watch.transfer.lags(loss) else item_of(loss)
        made = assignment_before(site.place, loss_name(site.place)) or Place()
        computed = computed_at(site.place, loss_name(site.place)) or made
        known = (value, nodes, local_tensors(frame), self.watch.step, truncated)
        gain = lowered_gain(site.place, loss_name(site.place))
        self.watch.emit(LossGraph(site.name, site.place, *known, made, computed, *gain))

    def _read_terms(self, loss: torch.Tensor, site: LossSite, names: dict[int, str]) -> None:
        nodes, _, _ = walk_nodes(loss.grad_fn, 64)
        made = assignment_before(site.place, loss_name(site.place)) or site.place
        known = (site.name, self.watch.step, made)
        looks = read_terms(nodes, *known)
        if self._graph_reports.get(site.name, 0) < self.GRAPHS:
            rows = read_token_targets(nodes, names, *known)
            looks += [rows] if rows is not None else []
        for look in looks:
            self.watch.transfer.send(look.numbers, functools.partial(self._tell_term, look))

    def _tell_term(self, look: TermLook, numbers: Any) -> None:
        self.watch.emit(look.record(numbers.tolist()))

    def _tell_rectifier(self, look: RectifierLook, step: int, counts: Any) -> None:
        self.watch.emit(look.record(float(counts[0]), float(counts[1]), step))

    def _with_place(self, node: AutogradNode, site: Place) -> AutogradNode:
        """Activations and losses get the line of their call: in the models' classes, else above backward()."""
        modules = [module for _, module in self.roots.alive()]
        names = NODE_CALLS.get(node.op)
        if node.op == "Relu" or "dropped" in node.saved:  # of many, the one that forward returns can be told
            kind = torch.nn.ReLU if node.op == "Relu" else torch.nn.modules.dropout._DropoutNd
            function = "relu" if node.op == "Relu" else "dropout"
            place = next(filter(None, (returned_activation(each, kind, function) for each in modules)), None)
        elif node.op in TERM_CALLS:  # of a loss written by hand; a model has functions of the same name
            place = last_call_before(site, TERM_CALLS[node.op])
        elif names is None:
            return node
        else:
            found = [call for each in modules if (call := only_call(each, names)) is not None]
            place = found[0] if len(found) == 1 else None if found else last_call_before(site, names)
        return dataclasses.replace(node, place=place)


# Losses that the script itself throws away because they are not finite: no backward() ever sees them.
#
# Looked for where a model is called once more with no backward() since its last call: then the loss of that call, if
# it was NaN, still lies in the caller's variables. Listening costs 0.1 us a call.
_GUARDS = ("isnan", "isfinite", "isinf")


class SkippedSteps:
    MOST_LOOKS = 256  # in vain; a script that calls its model several times a step has no more to tell
    FRAMES = 4  # the user's own, outwards from the call

    def __init__(self, watch: Watch, roots: RootModules, backward: Backward) -> None:
        self.watch = watch
        self.backward = backward
        roots.on_call.append(self.called)
        self._called_at = -1  # how many backwards there had been when a model was last called
        self._root: RootModule | None = None
        self._looks = 0
        self._last: weakref.ref[torch.Tensor] | None = None  # the loss that was looked at last
        self._count = 0

    def called(self, root: RootModule, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        before, self._called_at = self._called_at, self.backward.count
        again, self._root = self._root is root, root
        # A NaN that went through backward() is told of there, and may lie about in a variable for long.
        if again and before == self._called_at and self._looks < self.MOST_LOOKS and not self.backward.met_nonfinite:
            self._looks += 1
            self._look()

    def _look(self) -> None:
        own = [frame for frame in frames(2) if is_user_file(frame.f_code.co_filename)][: self.FRAMES]
        for frame in own:
            variables = locals_of(frame)
            for name in self.backward.loss_names() or ("loss",):
                loss = variables.get(name)
                if not is_a(loss, torch.Tensor) or loss.numel() != 1 or loss.grad_fn is None:
                    continue
                if self._last is None or self._last() is not loss:
                    self._last = weakref.ref(loss)
                    at = frame.f_code.co_filename, frame.f_lineno
                    judge = functools.partial(self._judge, name, self.watch.step, at)
                    self.watch.transfer.send(loss.reshape(1), judge)
                    return

    def _judge(self, name: str, step: int, at: tuple[str, int], loss: Numbers) -> None:
        if math.isfinite(loss.item()):
            return
        self._looks = 0
        self._count += 1
        if self._count & (self._count - 1) == 0 or self._count % 64 == 0:
            file, line = at
            around = function_at(file, line)
            first, last = (around.lineno, around.end_lineno or line) if around else (line, 10**9)
            # The line that asks whether the loss is finite, else the one that calls the model.
            place = find_call(file, first, last, _GUARDS) or place_at(file, line)
            self.watch.emit(SkippedLosses(name, self._count, step, place))
