"""The optimizers: what they hold, what their gradients are made of, what a step changes."""

from __future__ import annotations

import cmath
import functools
import gc
import math
import weakref
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import numpy
import torch
from torch import isfinite
from torch._C._autograd import _profiler_enabled
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils.hooks import RemovableHandle

from torch_debugger.probes.model.root_modules import RootModules, UnregisteredModules
from torch_debugger.probes.nonfinite import NonFiniteHunt
from torch_debugger.probes.optimizers_known import KnownOptimizers, TrackedOptimizer
from torch_debugger.probes.probe import Patches, Probe, around_init
from torch_debugger.probes.schedule import DEEP
from torch_debugger.probes.watch import Watch
from torch_debugger.records import OptimizerFact, Place, Table, TensorRows
from torch_debugger.source.assignments import filling_of_argument
from torch_debugger.source.frames import place_of, user_frame
from torch_debugger.source.statements import assignment_before, statement_at
from torch_debugger.source.variables import name_of
from torch_debugger.stats.dispatch_modes import item_of, no_grad, own_part, shards_expected
from torch_debugger.stats.summary import norms, sampled

_NUMBERS = ("lr", "initial_lr", "momentum", "weight_decay", "eps", "alpha", "rho", "max_iter")
_SCHEDULED = frozenset({"lr", "initial_lr"})  # what a schedule sets: the second is the rate it starts from


class Optimizers(Probe):
    name = "optimizers"
    # Its hooks end the step, and take gradients away (--on-nan); those of the others look at both before.
    after = ("Cycles", "RankDigests")
    COUNT_EVERY = 8  # steps between counts of a model's parameters: about 1 us a parameter

    def __init__(self, watch: Watch, strays: UnregisteredModules, looks: ParameterLook) -> None:
        super().__init__(watch)
        self.strays = strays
        self.looks = looks
        self.known = KnownOptimizers()
        self.held = self.known.held
        self.live = self.known.live
        self.parameter_ids = strays.held = self.known.parameter_ids
        self.before_update: list[Callable[[TrackedOptimizer, Optimizer], None]] = []  # told on deep steps
        self._handles: list[RemovableHandle] = []
        self._backward = Place()
        self._searched = False

    def install(self, patches: Patches) -> None:
        patches.replace(Optimizer, "__init__", around_init(self.watch, self.name, self._made))
        self._handles = [
            register_optimizer_step_pre_hook(self._before_step),
            register_optimizer_step_post_hook(self._after_step),
        ]

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self.known.clear()

    # Made

    def _made(self, optimizer: Optimizer) -> None:
        self._meet(optimizer, place_of(user_frame(2)))

    def find_made_before(self, frame: FrameType | None) -> None:
        """Optimizers from before the watch; asked at a backward while none is known, and only once."""
        if self.held or self._searched:
            return
        self._searched = True
        watched = self.looks.roots.path_of_parameter()
        for optimizer in [each for each in gc.get_objects() if issubclass(type(each), Optimizer)]:
            groups = getattr(optimizer, "param_groups", ())  # one whose __init__ has raised has none
            if any(id(p) in watched for group in groups for p in group["params"]):
                self.watch.clock.optimizers_exist = True
                if frame is not None and name_of(optimizer, frame):  # else one that a notebook has not let go
                    self._meet(optimizer)

    def _meet(self, optimizer: Optimizer, place: Place | None = None) -> TrackedOptimizer:
        known = self.known.of(optimizer)
        if known is not None:
            return known
        key = id(optimizer)

        def gone(reference: object) -> None:
            self.watch.guard.contain("optimizers", self.known.forget, key)
            self.watch.guard.contain("optimizers", self.watch.clock.gone, key)

        source = statement_at(place) if place else ""
        tracked = TrackedOptimizer("", weakref.ref(optimizer, gone), place or Place(), source)
        self.known.add(optimizer, tracked)
        self.watch.clock.made(key)
        self.looks.several = len(self.held) > 1
        return tracked

    # Stepping

    def _before_step(self, optimizer: Optimizer, arguments: Any, keywords: Any) -> None:
        if torch.compiler.is_compiling():
            return
        self.watch.trains()
        self.watch.probe("optimizers", self._look if self.watch.depth else self._glance, optimizer)
        policy = self.looks.hunt.policy
        if policy.waits:
            policy.act()
            self.watch.probe("skipped updates", policy.before_update, optimizer)
        self.watch.mark(self.watch.phases.begin_update)

    def _after_step(self, optimizer: Optimizer, arguments: Any, keywords: Any) -> None:
        if torch.compiler.is_compiling() or not self.watch.active:
            return
        self.watch.mark(self.watch.phases.end_update)
        self.watch.keep_to_limit()
        if self.looks.hunt.policy.waits:
            self.watch.probe("skipped updates", self.looks.hunt.policy.after_update, optimizer)
        if not self.watch.probe("optimizers", self._stepped, optimizer):
            self.watch.end_step()  # steps are counted without us too

    def _stepped(self, optimizer: Optimizer) -> bool:
        tracked = self._meet(optimizer)
        tracked.steps += 1
        self.known.has_stepped(id(optimizer), tracked)
        tracked.backwards = self.watch.clock.backwards
        # What it holds, at its first step and whenever that changes, on steps that are not looked at as well: 0.2 us.
        count = sum([len(group["params"]) for group in optimizer.param_groups])
        if not tracked.told or tracked.told[0] != count:
            self._tell(tracked, optimizer)
        prefix = f"lr/{tracked.name}" if self.looks.several else "lr"
        for number, group in enumerate(optimizer.param_groups):
            rate = group.get("lr")
            if isinstance(rate, (int, float)):
                self.watch.scalars[f"{prefix}/{number}"] = float(rate)
        if tracked.before:
            self.looks.after_update(tracked, optimizer)
        tracked.carry.restart()
        if self.watch.clock.stepped(id(optimizer)):
            self.watch.end_step()
        return True

    def look_before_backward(self, place: Place) -> None:
        """Are gradients left over from before the last step? Asked at every backward of a watched step."""
        self._backward = place
        for tracked, _ in self.live():
            if tracked.steps:
                tracked.carry.before_backward()

    def _glance(self, optimizer: Optimizer) -> None:
        """On every other step: one small gradient near the input, where any that is not finite ends up."""
        tracked = self.held.get(id(optimizer))
        if tracked is not None and (self.looks.hunt.policy.waits or self.looks.glance(tracked, self._backward)):
            self._look(optimizer)

    def glance_at_all(self, backward: Place) -> None:
        """After one backward of several."""
        for tracked, optimizer in self.live():
            if self.looks.glance(tracked, backward):
                self._backward = backward
                self._look(optimizer)

    def _look(self, optimizer: Optimizer) -> None:
        tracked = self._meet(optimizer)
        parameters = self._tell(tracked, optimizer)
        if self.watch.depth == DEEP:
            for listen in self.before_update:
                self.watch.hear(self.name, listen, tracked, optimizer)
        if tracked.steps - tracked.counted >= self.COUNT_EVERY:
            tracked.counted = tracked.steps
            self.looks.notice_growth()
        ready = [p for p in parameters if p.grad is not None and p.grad.layout is torch.strided]
        ready = [p for p in ready if own_part(p).numel()] if shards_expected() else ready
        if ready:
            # The first, which most models use first; else a smaller one near it, to be summed in no time.
            tracked.sentinel = ready[0] if ready[0].numel() <= 20_000 else min(ready[:8], key=torch.numel)
            self.looks.before_update(tracked, ready, self._backward)
            tracked.looked = tracked.steps

    def _tell(self, tracked: TrackedOptimizer, optimizer: Optimizer) -> list[torch.Tensor]:
        """Where something is new; its parameters in any case."""
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        self.known.holds(tracked, [id(p) for p in parameters])
        if not tracked.name:
            self._name(tracked, optimizer, user_frame(2))
        groups = tuple(group_numbers(group) for group in optimizer.param_groups)
        fixed = tuple({k: v for k, v in group.items() if k not in _SCHEDULED} for group in groups)
        summary = (len(parameters), str(fixed))
        if tracked.told != summary:  # the learning rate has curves of its own; a schedule tells nothing new
            tracked.told = summary
            sizes = tuple(len(group["params"]) for group in optimizer.param_groups)
            self.watch.emit(
                OptimizerFact(
                    tracked.name, type(optimizer).__name__, tracked.place, groups, self.looks.names(parameters),
                    self.watch.step, tracked.source, sizes, update_form(optimizer),
                    filling_of_argument(tracked.place),
                )
            )  # fmt: skip
        return parameters

    def _name(self, tracked: TrackedOptimizer, optimizer: Optimizer, frame: FrameType | None) -> None:
        found = name_of(optimizer, frame) if frame is not None else None
        tracked.name = self.known.free_name(found or "optimizer")
        maker = assignment_before(place_of(frame), found) if found and not tracked.place else None
        if maker is not None and type(optimizer).__name__ in statement_at(maker):
            tracked.place, tracked.source = maker, statement_at(maker)


def group_numbers(group: dict[str, Any]) -> dict[str, float]:
    numbers = {key: float(group[key]) for key in _NUMBERS if isinstance(group.get(key), (int, float))}
    numbers |= {"maximize": 1.0} if group.get("maximize") else {}
    betas = group.get("betas")
    if isinstance(betas, (tuple, list)) and all(isinstance(beta, (int, float)) for beta in betas):
        numbers |= {f"beta{index + 1}": float(beta) for index, beta in enumerate(betas)}
    return numbers


# Looks at an optimizer's parameters: norms before the update, and how far the update moved them.
COLUMNS = ("grad_norm", "weight_norm", "elements")
UPDATE_COLUMNS = ("ratio", "change")
# numpy's warnings of an overflow would be printed among the user's, or raised where the user asks for that
_silently = functools.partial(numpy.errstate, all="ignore")


class ParameterLook:
    def __init__(self, watch: Watch, roots: RootModules, strays: UnregisteredModules, hunt: NonFiniteHunt) -> None:
        self.watch = watch
        self.roots = roots
        self.strays = strays
        self.hunt = hunt
        self.several = False  # more than one optimizer: their numbers need names
        self.on_count: list[Callable[[], None]] = []  # told now and then, also between deep steps

    def names(self, parameters: list[torch.Tensor]) -> tuple[str, ...]:
        known = self.strays.parameters | self.roots.path_of_parameter()
        return tuple(known.get(id(p), f"unnamed[{number}]") for number, p in enumerate(parameters))

    def notice_growth(self) -> None:
        """A model that has other parameters than before (a new head, a grown layer) gets a closer look."""
        for root, module in self.roots.alive():
            count = sum(1 for _ in module.parameters())
            if root.parameters not in (0, count):
                self.watch.governor.request(2)
            root.parameters = count
        for listen in self.on_count:
            listen()

    @no_grad()
    def before_update(self, tracked: TrackedOptimizer, ready: list[torch.Tensor], backward: Place) -> None:
        """`ready` are the parameters that have a dense gradient."""
        both = norms([p.grad for p in ready if p.grad is not None] + ready)
        scale = getattr(tracked.optimizer(), "grad_scale", None)
        if scale is not None:  # a fused optimizer unscales its gradients only while it uses them
            both[: len(ready)] /= scale
        table, elements = self._heading(tracked, ready)
        step = self.watch.step
        deliver = functools.partial(self._deliver, tracked.name, table, elements, ready, backward, step)
        if self.hunt.policy.waits:
            deliver(both.cpu().float().numpy())
        else:
            self.watch.transfer.send(both, deliver)
        tracked.carry.at_step(step, tracked.name, backward, self.watch.transfer, self.watch.emit)
        tracked.carry.choose(ready, table.names)
        self.hunt.lagging.before_update(ready, None if self.hunt.scaled else both)
        if self.watch.depth == DEEP and not self.watch.guard.is_over():
            tracked.before = {id(p): sampled(p).clone() for p in ready}

    def glance(self, tracked: TrackedOptimizer, backward: Place) -> bool:
        """Is that one gradient not finite? From a device, the news of it comes some steps late."""
        gradient = tracked.sentinel.grad if tracked.sentinel is not None else None
        if gradient is None or _profiler_enabled():  # what the script's profiler shows is the script's
            return False
        if not self.watch.transfer.lags(gradient):
            return not cmath.isfinite(item_of(gradient.sum()))
        scaled = self.hunt.scaled  # what a GradScaler makes infinite is its own affair
        tell = functools.partial(self._tell_late, tracked, backward)
        self.hunt.lagging.see_gradient(None if scaled else gradient, tell)
        return False

    def _tell_late(self, tracked: TrackedOptimizer, backward: Place, step: int) -> None:
        names = self.names([tracked.sentinel]) if tracked.sentinel is not None else ()
        self.hunt.gradient_is_not_finite(names, backward, step)

    def _heading(self, tracked: TrackedOptimizer, ready: list[torch.Tensor]) -> tuple[Table, Any]:
        """Names are looked up again only when other parameters have gradients than before."""
        keys = [id(p) for p in ready]
        if tracked.table is None or tracked.keys != keys:
            if tracked.table is not None:
                self.watch.governor.request(2)  # other parameters than before get gradients
            tracked.keys, tracked.table = keys, Table("parameter", tracked.name, self.names(ready), COLUMNS)
            tracked.elements = numpy.array([own_part(p).numel() for p in ready], dtype=numpy.float32)
        return tracked.table, tracked.elements

    def _deliver(
        self,
        optimizer: str,
        table: Table,
        elements: Any,
        ready: list[torch.Tensor],
        backward: Place,
        step: int,
        found: Any,
    ) -> None:
        count = len(table.names)
        gradient, weight = found[:count], found[count:]
        with _silently():
            total, weight_norm = math.sqrt(float(gradient @ gradient)), math.sqrt(float(weight @ weight))
        suffix = f"/{optimizer}" if self.several else ""
        self.watch.say(step, {f"grad_norm{suffix}": total, f"weight_norm{suffix}": weight_norm})
        self.watch.emit(TensorRows(step, table, numpy.stack((gradient, weight, elements), axis=1)))
        if not math.isfinite(total):
            wrong = _not_finite(table.names, gradient, [p.grad for p in ready])
            if wrong:  # else only the sum of large squares overflowed
                self.hunt.gradient_is_not_finite(wrong, backward, step)
        if not math.isfinite(weight_norm):
            wrong = _not_finite(table.names, weight, ready)
            if wrong:
                self.hunt.weights_are_not_finite(wrong, backward, step)

    @no_grad()
    def after_update(self, tracked: TrackedOptimizer, optimizer: Optimizer) -> None:
        before, tracked.before = tracked.before, {}
        present = {id(p): p for group in optimizer.param_groups for p in group["params"]}
        kept = [(present[key], sample) for key, sample in before.items() if key in present]
        changes = norms([sampled(p) - sample for p, sample in kept])
        sizes = norms([sample for _, sample in kept])
        names, step = self.names([p for p, _ in kept]), self.watch.step
        keys = [id(p) for p, _ in kept]

        def deliver(found: Any) -> None:
            change, size = found[: len(keys)], found[len(keys) :]
            tracked.changed = {key: bool(value != 0) for key, value in zip(keys, change, strict=True)}
            with _silently():
                ratio = change / numpy.maximum(size, 1e-12)
            table = Table("update", tracked.name, names, UPDATE_COLUMNS)
            self.watch.emit(TensorRows(step, table, numpy.stack((ratio, change), axis=1)))

        self.watch.transfer.send(torch.cat((changes, sizes)), deliver)


def _not_finite(names: Sequence[str], norms: Any, tensors: Sequence[torch.Tensor | None]) -> tuple[str, ...]:
    """By their elements, where that makes no host wait: a norm adds up squares, which overflow at 1e19."""

    def is_finite(tensor: torch.Tensor | None) -> bool:
        return tensor is not None and tensor.device.type == "cpu" and bool(isfinite(tensor).all())

    found = zip(names, norms, tensors, strict=True)
    return tuple(name for name, norm, tensor in found if not math.isfinite(norm) and not is_finite(tensor))


# How an optimizer of torch goes through its parameters: all in one kernel, in lists, or one by one.
FUSED, IN_LISTS, ONE_BY_ONE = "fused", "in lists", "one by one"


def update_form(optimizer: Optimizer) -> str:
    """Empty where there is no choice: an optimizer of the user's own, gradients that no such kernel takes."""
    home = type(optimizer).__module__
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    if not home.startswith("torch.optim.") or "fused" not in optimizer.defaults or not parameters:
        return ""
    if not all(p.is_floating_point() and (p.grad is None or p.grad.layout is torch.strided) for p in parameters):
        return ""
    forms = set()
    for group in optimizer.param_groups:
        # Left to torch, it takes lists on CUDA and a loop on the CPU.
        in_lists = parameters[0].is_cuda if group.get("foreach") is None else group["foreach"]
        form = FUSED if group.get("fused") else IN_LISTS if in_lists else ONE_BY_ONE
        forms.add("" if group.get("differentiable") else form)
    return forms.pop() if len(forms) == 1 else ""
