"""How the values of each layer are spread: its outputs, its weights and their gradients.

A few hundred elements of each tensor, from all over it, travel to the host as all other numbers do and are
sorted there; what is kept is some of their quantiles. Taken on some deep steps, ever more rarely: a look costs
60 to 100 us a tensor, a fourteenth of what a deep step costs anyway.
"""

from __future__ import annotations

import functools
import weakref
from types import FrameType
from typing import Any

import numpy
import torch
from torch import nn
from torch.nn.modules import module as module_hooks
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from torch_debugger.model.hooks import in_backward, in_transform
from torch_debugger.model.nested_tensors import first_tensor
from torch_debugger.probes.loss_backward import Backward
from torch_debugger.probes.model.forward import Forward, MeasuredOutput, send_rows
from torch_debugger.probes.model.root_modules import RootModule
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.optimizers_known import TrackedOptimizer
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.schedule import DEEP, LIGHT, NONE
from torch_debugger.probes.watch import Watch
from torch_debugger.records import SampleSpread, Table, TensorRows
from torch_debugger.records.layers import QUANTILES
from torch_debugger.source.frames import locals_of
from torch_debugger.source.objects import is_a
from torch_debugger.stats.dispatch_modes import no_grad
from torch_debugger.stats.summary import Scattered, measurable

Samples = dict[str, torch.Tensor]


class Spreads(Probe):
    name = "spreads"
    deep_only = True
    SAMPLE = 512  # elements of one tensor
    LIMIT = 256  # tensors of a kind in one step
    GROWTH = 1.5  # of the step number from one look to the next

    def __init__(self, watch: Watch, forward: Forward, optimizers: Optimizers) -> None:
        super().__init__(watch)
        self._looking = False
        self._last = 0
        self._samples: dict[str, Samples] = {}
        self._scattered = Scattered(self.SAMPLE)
        self._optimizers = optimizers
        forward.on_output.append(self._hear_output)
        optimizers.before_update.append(self._hear_update)

    def begin_step(self, depth: int) -> None:
        self._samples = {}
        self._looking = depth == DEEP and self.watch.step >= self._last * self.GROWTH

    def end_step(self) -> None:
        found, self._samples = self._samples, {}
        if found:
            self._last = self.watch.step
        for kind, samples in found.items():
            groups: dict[tuple[torch.device, int], list[str]] = {}  # rows of one length and one device travel as one
            for name, sample in samples.items():
                groups.setdefault((sample.device, len(sample)), []).append(name)
            for names in groups.values():
                table = Table(kind, names[0].split(".")[0], tuple(names), tuple(map(str, QUANTILES)))
                rows = torch.stack([samples[name] for name in names])
                self.watch.transfer.send(rows, functools.partial(self._deliver, table, self.watch.step))

    def give_up(self) -> None:
        self._looking, self._samples = False, {}

    remove = give_up

    # Heard through other probes, so each has a guard of its own: a fault of ours must not take those off

    def _hear_output(self, path: str, module: nn.Module, inputs: Any, output: Any) -> None:
        if self._looking:
            self.watch.probe(self.name, self._take_output, path, module, output)

    def _hear_update(self, tracked: TrackedOptimizer, optimizer: Optimizer) -> None:
        if self._looking:
            self.watch.probe(self.name, self._take_parameters, optimizer)

    def _take_output(self, path: str, module: nn.Module, output: Any) -> None:
        if next(module.children(), None) is None and not in_backward() and not in_transform():
            self._take("activation_spread", path, first_tensor(output))

    def _take_parameters(self, optimizer: Optimizer) -> None:
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        scale = getattr(optimizer, "grad_scale", None)
        for name, parameter in zip(self._optimizers.looks.names(parameters), parameters, strict=True):
            self._take("weight_spread", name, parameter)
            self._take("gradient_spread", name, parameter.grad, scale)

    @no_grad()
    def _take(self, kind: str, name: str, tensor: Any, scale: Any = None) -> None:
        samples = self._samples.setdefault(kind, {})
        if name not in samples and len(samples) < self.LIMIT and measurable(tensor) and tensor.numel() > 1:
            sample = self._scattered.copy(tensor).float()
            samples[name] = sample if scale is None else sample / scale

    def _deliver(self, table: Table, step: int, samples: Any) -> None:
        self.watch.emit(TensorRows(step, table, quantiles_of(samples)))


def quantiles_of(samples: Any) -> Any:
    """Of each row, the values nearest to QUANTILES; NaN counts as larger than all others."""
    last = samples.shape[1] - 1
    places = numpy.rint(numpy.array(QUANTILES) * last).astype(int)
    return numpy.sort(samples, axis=1)[:, places]


# How large float16 outputs are, on light steps: deep ones are too rare to see a trend in time.
#
# Only models that make float16 pay for it: the hooks are on for one light step in three at most, and take nothing but
# the smallest and largest value.
COLUMNS = ("min", "max")


class Ranges(Probe):
    name = "ranges"
    deep_only = True
    SPACING = 3  # steps between looks at the start of a run

    def __init__(self, watch: Watch, forward: Forward) -> None:
        super().__init__(watch)
        self.forward = forward
        self._handle: RemovableHandle | None = None
        self._found: dict[str, MeasuredOutput] = {}
        self._last = 0
        self._listens = False

    def begin_step(self, depth: int) -> None:
        self._hook_off()
        if self.forward.makes_half and not self._listens:
            self._listens = True
            self.watch.tell_of_light_steps(self)
        step = self.watch.step
        due = step - self._last >= max(self.SPACING, step // 20)
        if self._listens and depth == LIGHT and not self.forward.paused and due:
            self._last = step
            self._handle = module_hooks.register_module_forward_hook(self._after)

    def end_step(self) -> None:
        self._hook_off()
        found, self._found = self._found, {}
        send_rows(self.watch, "range", found, COLUMNS)

    def remove(self) -> None:
        self.begin_step(NONE)

    def _hook_off(self) -> None:
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    give_up = _hook_off

    def _after(self, module: nn.Module, arguments: Any, output: Any) -> None:
        if torch.is_grad_enabled() and not torch._C._get_tracing_state():
            self.watch.probe(self.name, self._measure, module, output)

    @no_grad()
    def _measure(self, module: nn.Module, output: Any) -> None:
        tensor = first_tensor(output)
        if tensor is None or tensor.dtype is not torch.float16 or not measurable(tensor):
            return
        path = self.forward.known_path(module)
        if path is not None and path not in self._found and not in_backward() and not in_transform():
            low, high = torch.aminmax(tensor.detach())
            self._found[path] = MeasuredOutput(torch.stack((low, high)).float(), tensor.dtype)


# How far samples differ in what a model makes of them: read from the variables around a backward().
_SAMPLES, _FEATURES, _TENSORS = 8, 2, 8  # fewest samples and features, most tensors


class SampleSpreads:
    def __init__(self, watch: Watch, backward: Backward) -> None:
        self.watch = watch
        backward.on_look.append(self.look)

    def look(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        self.measure(self.variables(frame))

    def variables(self, frame: FrameType | None) -> dict[str, torch.Tensor]:
        return embeddings(locals_of(frame) if frame is not None else {})

    @no_grad()
    def measure(self, found: dict[str, torch.Tensor]) -> None:
        if len(found) < 2:  # two views of the same samples, or there is nothing to compare
            return
        names = tuple(found)[:_TENSORS]
        device, spreads = found[names[0]].device, []
        for name in names:  # deviation between the directions of samples, between the samples themselves
            data = found[name].detach().float()
            for each in (torch.nn.functional.normalize(data, dim=1), data):
                spreads.append((each - each.mean(0)).square().mean().sqrt().to(device))
        self.watch.transfer.send(torch.stack(spreads), functools.partial(self._tell, names, self.watch.step))

    def _tell(self, names: tuple[str, ...], step: int, found: Any) -> None:
        relative, absolute = found.reshape(-1, 2).T.tolist()
        self.watch.emit(SampleSpread(names, tuple(relative), tuple(absolute), step))


def embeddings(known: dict[str, Any]) -> dict[str, torch.Tensor]:
    """What a model has made of samples: [samples, features]."""
    tensors = {name: value for name, value in known.items() if is_a(value, torch.Tensor) and value.dim() == 2}
    return {
        name: value
        for name, value in tensors.items()
        if value.grad_fn is not None and value.is_floating_point() and value.layout is torch.strided
        if value.shape[0] >= _SAMPLES and value.shape[1] >= _FEATURES
    }


# How far samples differ in what a model returned, where the training loop keeps it in no variable.
class OutputSpreads(SampleSpreads):
    """Nothing is kept alive: what is gone by backward() is not measured."""

    MOST = 4

    def __init__(self, watch: Watch, forward: Forward, backward: Backward) -> None:
        super().__init__(watch, backward)
        self._outputs: list[tuple[int, str, weakref.ref[torch.Tensor]]] = []
        forward.on_output.append(self._see_deep)
        forward.roots.on_output.append(self._see_light)

    def _see_deep(self, path: str, module: nn.Module, inputs: Any, made: Any) -> None:
        if "." not in path:
            self._keep(path, made)

    def _see_light(self, root: RootModule, made: Any) -> None:
        if self.watch.depth != DEEP:
            self._keep(root.name, made)

    def _keep(self, path: str, made: Any) -> None:
        output = first_tensor(made)
        self._outputs = [each for each in self._outputs if each[0] == self.watch.step]
        if output is not None and len(self._outputs) < self.MOST:
            count = sum(known == path for _, known, _ in self._outputs)
            name = path if not count else f"{path}, call {count + 1}"
            self._outputs.append((self.watch.step, name, weakref.ref(output)))

    def look(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        outputs, self._outputs = self._outputs, []
        here = [(name, output()) for step, name, output in outputs if step == self.watch.step]
        known = {name: output for name, output in here if output is not None}
        if len(self.variables(frame)) < 2:
            self.measure(embeddings(known))
