"""Models that are called before anything is trained: in a script for inference, that is all there is.

How often each was called, and whether there is NaN in what it gave. The first calls are looked at, later ones
as far as the budget reaches; a look is one sum of the output, read when it has come. Where it is NaN, the
model's forward runs once more on the same inputs, op by op. With the first backward this ends: losses tell
more. A script that goes on calling models has the hooks of the first step taken off until one is called with
gradients: from then on the models known so far are heard at a gate of their class.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy
import torch
from torch import nn

from torch_debugger.model.hooks import WeakKeysById, in_backward, in_transform
from torch_debugger.model.layers import TwoModes, two_modes
from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.probes.model.forward import Forward
from torch_debugger.probes.model.root_modules import Gate, without_graph
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.watch import Watch
from torch_debugger.records import NonFinite, NonFiniteOutput, Origin, Place, QuietModel, UntrainedModel
from torch_debugger.source.calls import calls_of
from torch_debugger.source.frames import place_of, user_frame
from torch_debugger.source.statements import has_unwritten_values
from torch_debugger.source.variables import module_paths, name_root
from torch_debugger.stats.dispatch_modes import no_grad
from torch_debugger.stats.summary import measurable, sampled
from torch_debugger.system.clocks import time
from torch_debugger.system.tracebacks import hidden_in_tracebacks


class CallReplay(Protocol):
    def of_call(
        self, module: nn.Module, paths: dict[int, str], inputs: tuple[tuple[Any, ...], dict[str, Any]]
    ) -> tuple[Origin | None, str]:
        """One call of a model, run again: the origin of what is not finite, and how it was found."""


@dataclass
class _InferenceModel:
    name: str
    kind: str
    place: Place  # the first call
    calls: int = 0
    looks: int = 0
    at_gate: bool = False  # its calls are heard at the gate that models called with gradients have
    found: bool = False
    suspected: bool = False  # NaN has come from a device too late to be traced: the next ones are kept for that
    first: NonFiniteOutput | None = None


class UntrainedCalls(Probe):
    name = "untrained models"
    deep_only = True
    MODELS = 16
    FIRST = 8  # calls that are looked at in any case
    HOOKED = 32  # calls without gradients, after which hooks on all modules are no use
    LEAVES = 8  # tensors of an output

    def __init__(self, watch: Watch, forward: Forward, replay: CallReplay) -> None:
        super().__init__(watch)
        self._replay = replay
        self._forward = forward
        self._known: MutableMapping[nn.Module, _InferenceModel] = WeakKeysById()
        self._spent_s, self._began_s = 0.0, time.perf_counter()
        self._gate = Gate(self._around, behind=forward.roots.gate)
        self._hooked = 0  # calls without gradients since the hooks were on
        self._rests = self._inside = False
        forward.on_quiet.append(self._see_quiet)
        forward.on_output.append(self._see_first)
        forward.roots.on_made.append(self._see_call)

    @property
    def _is_over(self) -> bool:
        clock = self.watch.clock
        return bool(clock.backwards or clock.optimizer_steps or clock.step)

    def _see_quiet(self, module: nn.Module, inputs: Any, made: Any) -> None:
        """Without gradients."""
        known = self._known.get(module)
        if known is None or not known.at_gate:
            self._see(module, inputs, made)
        self._hooked += 1
        if self._hooked >= self.HOOKED and not self._rests and not self._is_over:
            self._rests = True
            for model in self._known:
                self._gate.put_on(type(model))
            self._forward.cut_short()

    def _around(self, module: nn.Module) -> Callable[..., Any] | None:
        known = self._rests and not self._inside and module in self._known
        if not known or in_transform() or not self.watch.is_training_thread():
            return None
        return functools.partial(self._call, module)

    def _call(self, module: nn.Module, /, *arguments: Any, **keywords: Any) -> Any:
        if torch.is_grad_enabled():
            self.watch.probe(self.name, self._wake)
        self._inside = True
        try:
            with hidden_in_tracebacks:
                output = module._call_impl(*arguments, **keywords)  # type: ignore[no-untyped-call]
        finally:
            self._inside = False
        if self._rests:
            self.watch.probe(self.name, self._see, module, (arguments, keywords), output)
        return output

    def _wake(self) -> None:
        """What is called with gradients may be the first step of a training, which is looked at closely."""
        self._rests, self._hooked = False, 0
        self._gate.take_off()
        self._forward.begin_step(self.watch.depth)

    def remove(self) -> None:
        self._gate.take_off()

    give_up = remove

    def _see_first(self, path: str, module: nn.Module, inputs: Any, made: Any) -> None:
        """The gate of a model is put on in its first call with gradients."""
        known = self._known.get(module)
        if "." not in path and (known is None or not known.at_gate):
            self._see(module, inputs, made)
            if module in self._known:
                self._known[module].at_gate = True

    def _see_call(self, module: nn.Module, inputs: Any, made: Any) -> None:
        if self._is_over:
            self._forward.roots.on_made.remove(self._see_call)  # a list that is walked once a call
        elif module in self._known and self._known[module].at_gate:
            self._see(module, inputs, made)

    def _see(self, module: nn.Module, inputs: Any, made: Any) -> None:
        if self._is_over or in_transform() or in_backward() or torch._C._get_tracing_state():
            return
        known = self._known.get(module)
        if known is None:
            if len(self._known) >= self.MODELS or next(module.parameters(), None) is None:
                return
            frame = user_frame(2)
            known = self._known[module] = _InferenceModel(
                name_root(module, frame), type(module).__name__, place_of(frame)
            )
        known.calls += 1
        now_s = time.perf_counter()
        afforded_s = self.watch.governor.ALLOWANCE_S + self.watch.governor.budget * (now_s - self._began_s)
        if not known.found and (known.calls <= self.FIRST or self._spent_s < afforded_s):
            known.looks += 1
            self._look(module, known, inputs, made)
            self._spent_s += time.perf_counter() - now_s

    @no_grad()
    def _look(self, module: nn.Module, known: _InferenceModel, inputs: Any, made: Any) -> None:
        outputs = [each for each in tensors_in(made) if measurable(each)][: self.LEAVES]
        if not outputs:
            return
        total = torch.stack([each.detach().sum(dtype=torch.float32).to(outputs[0].device) for each in outputs])
        kept: tuple[Any, ...] | None = (module, inputs, outputs)
        if self.watch.transfer.lags(total) and not known.suspected:
            kept = None  # what comes later must not keep a batch alive
        self.watch.transfer.send(total.sum(), functools.partial(self._arrived, known, known.calls, kept))
        self.watch.transfer.poll()

    def _arrived(self, known: _InferenceModel, call: int, kept: tuple[Any, ...] | None, total: Any) -> None:
        if known.found or not math.isnan(float(total)):
            return
        if kept is None:
            known.suspected = True
            known.first = known.first or self._fact(known, call, (0, 0, False), None, "late", training=False)
            return
        module, inputs, outputs = kept
        bad, rows, everywhere = _rows_with_nan(outputs)
        if not bad:  # Inf of both signs, as masks leave it
            return
        known.found, known.first = True, None
        arguments, keywords = inputs[0], inputs[1][0] if isinstance(inputs[1], tuple) else inputs[1]
        call_again = without_graph(arguments, keywords)
        paths = module_paths(module, known.name)
        origin, how = self.watch.traced(self._replay.of_call, module, paths, call_again) or (None, "")
        if origin is not None and origin.phase == "input" and has_unwritten_values(place_of(user_frame())):
            return  # a try of shapes
        self.watch.emit(self._fact(known, call, (bad, rows, everywhere), origin, how, module.training))

    def _fact(
        self,
        known: _InferenceModel,
        call: int,
        counted: tuple[int, int, bool],
        origin: Origin | None,
        how: str,
        training: bool,
    ) -> NonFiniteOutput:
        names = (origin.given,) if origin is not None and origin.phase == "weights" else ()
        fact = NonFinite(0, f"output of `{known.name}`", "nan", known.place, origin, names, how)
        return NonFiniteOutput(known.name, known.kind, call, *counted, training, fact)

    def end_step(self) -> None:
        """Asked at the end of the script, too."""
        known, self._known = self._known, WeakKeysById()
        for each in () if self._is_over else known.values():
            if each.first is not None:
                self.watch.emit(each.first)
            self.watch.emit(UntrainedModel(each.name, each.kind, each.calls, each.looks, each.place))


def _rows_with_nan(outputs: list[torch.Tensor]) -> tuple[int, int, bool]:
    """Of the first output that has NaN: samples with it, how many there are, and whether it is everywhere."""
    for each in outputs:
        bad = torch.isnan(each.detach())
        if not bool(bad.any()):
            continue
        if not each.dim():
            return 1, 1, True
        places = bad if each.dim() == 1 else bad.any(-1)
        rows = places.flatten(1).any(1) if places.dim() > 1 else places
        return int(rows.sum()), len(rows), bool(places.all())
    return 0, 0, False


# Models that take part in a training without being trained: teachers, references, frozen encoders.
#
# On deep steps: those called where no gradient is wanted, or that give nothing with a graph. Are their dropout and
# batch norm on, and do their weights stay what they are?
@dataclass
class _QuietModel:
    """What is known of one such model."""

    name: str
    modes: TwoModes
    weights: Any = None  # a sample of them at the last look
    steps: int = 0  # of the optimizers that hold some of it, at the last look


@dataclass
class _Called:
    calls: int
    place: Place
    feeds: bool = False


class QuietModels(Probe):
    name = "quiet models"
    deep_only = True
    MODELS = 8

    def __init__(self, watch: Watch, forward: Forward, optimizers: Optimizers) -> None:
        super().__init__(watch)
        self.optimizers = optimizers
        self._known: MutableMapping[nn.Module, _QuietModel] = WeakKeysById()
        # In this step:
        self._called: MutableMapping[nn.Module, _Called] = WeakKeysById()
        self._made: dict[int, _Called] = {}  # by the address of what they made
        forward.on_quiet.append(self._see)
        forward.on_output.append(self._see_output)

    def _see(self, module: nn.Module, inputs: Any, made: Any) -> None:
        if in_transform():
            return
        known = self._known.get(module)
        if known is None and len(self._known) < self.MODELS and next(module.parameters(), None) is not None:
            known = self._known[module] = _QuietModel(name_root(module, user_frame(2)), two_modes(module))
        if known is not None and known.modes:
            called = self._called.setdefault(module, _Called(0, place_of(user_frame(2))))
            called.calls += 1
            self._made |= dict.fromkeys(_addresses(made), called)

    def _see_output(self, path: str, module: nn.Module, inputs: Any, made: Any) -> None:
        """Also a whole model that is frozen, and given data: nothing it makes has a graph."""
        for address in _addresses(inputs) if self._made and not in_transform() else ():
            if address in self._made:
                self._made[address].feeds = True
        if "." not in path and not any(tensor.requires_grad for tensor in tensors_in(made)):
            self._see(module, inputs, made)

    @no_grad()
    def end_step(self) -> None:
        called, self._called, self._made = self._called, WeakKeysById(), {}
        for module, call in called.items():
            known, parameters = self._known[module], list(module.parameters())
            ends = [sampled(p).flatten().float() for p in (parameters[0], parameters[-1])]
            tell = functools.partial(self._tell, known, self._look(module, parameters, known, call))
            self.watch.transfer.send(torch.cat([end.to(ends[0].device) for end in ends]), tell)

    def _look(
        self, module: nn.Module, parameters: list[nn.Parameter], known: _QuietModel, called: _Called
    ) -> QuietModel:
        own = {id(parameter) for parameter in parameters}
        before, known.steps = known.steps, 0
        for tracked, optimizer in self.optimizers.live():
            if any(id(parameter) in own for group in optimizer.param_groups for parameter in group["params"]):
                known.steps += tracked.steps
        trains = [place for owner, place in calls_of(called.place.file, "train") if owner == known.name]
        return QuietModel(
            self.watch.step,
            known.name,
            type(module).__name__,
            any(part.training for part in module.modules() if part is not module and two_modes(part)),
            called.calls,
            known.modes.dropouts,
            known.modes.norms,
            known.steps != before,
            called.feeds,
            self._counterpart(parameters),
            called.place,
            tuple(trains),
        )

    def _tell(self, known: _QuietModel, look: QuietModel, found: Any) -> None:
        before, known.weights = known.weights, numpy.array(found)
        if before is not None:
            moved = look.moves or not numpy.array_equal(before, known.weights)
            self.watch.emit(dataclasses.replace(look, moves=moved))

    def _counterpart(self, parameters: list[nn.Parameter]) -> str:
        shapes = [parameter.shape for parameter in parameters]
        for root, module in self.optimizers.looks.roots.alive():
            others = list(module.parameters())
            if not any(p is parameters[0] for p in others) and [p.shape for p in others] == shapes:
                return root.name
        return ""


def _addresses(value: Any) -> list[int]:
    """Of the tensors in it; a view has the address of what it shows."""
    plain = [each for each in tensors_in(value) if each.layout is torch.strided and not each.is_nested]
    return [tensor.untyped_storage().data_ptr() for tensor in plain]
