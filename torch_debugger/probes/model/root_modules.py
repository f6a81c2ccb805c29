"""The models: every module the script calls from outside, under the user's own name.

A root is met on a deep step, where global hooks see its first call. From then on a gate on its
class hears its calls: about 1 us a call of the root, 0.1 us of others of its class, nothing for
all else. It keeps the step's inputs by reference and tells train from eval.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch._C._autograd import _profiler_enabled

from torch_debugger.model.hooks import in_transform
from torch_debugger.model.nested_tensors import first_tensor
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.step_times import EVALUATION, FORWARD
from torch_debugger.probes.watch import Watch
from torch_debugger.records import ModelFact, ModuleFact, ParameterFact, PhaseFact, Place, StrayModuleFact
from torch_debugger.source.constructors import class_place, constructor_places, forward_place
from torch_debugger.source.objects import is_a
from torch_debugger.source.parameters import random_fill
from torch_debugger.source.statements import attribute_place
from torch_debugger.source.variables import module_paths, name_root
from torch_debugger.stats.dispatch_modes import expect_shards, leave_classes_of, same_state
from torch_debugger.system.tracebacks import hidden_in_tracebacks


@dataclass
class RootModule:
    """A model under its user's name, and what was last put into it."""

    name: str
    module: weakref.ref[nn.Module]
    paths: dict[int, str] = field(default_factory=dict)  # id of a submodule -> its path
    call: tuple[tuple[Any, ...], dict[str, Any]] | None = None  # the step's training inputs, by reference
    rng_state: torch.Tensor | None = None  # torch's, before that call
    first_rng: torch.Tensor | None = None  # the same before the first call since the last backward
    device_rng: torch.Tensor | None = None  # the accelerator's, where the inputs are on one
    first_device_rng: torch.Tensor | None = None
    lags: bool = False  # its numbers come later than its calls
    draws: bool = True  # takes random numbers in its forward, as far as we know
    calm_looks: int = 0  # deep steps in which it took none
    phases: dict[tuple[bool, bool], int] = field(default_factory=dict)  # (training, grad) -> calls
    trained: bool = False  # called with gradients on in this step
    rehearsed: bool = False
    parameters: int = 0  # how many it had when last counted
    compiled: bool = False  # its calls are not heard


class RootModules(Probe):
    name = "models"
    after = ("AsyncSteps", "Backward", "Flags", "Ledger", "PlainTensors")  # they read what is let go here
    CALM_LOOKS = 3  # deep steps without random numbers, after which none are expected
    LIMIT = 64  # scripts that make modules on the fly must not fill the memory

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.roots: dict[int, RootModule] = {}
        self.on_call: list[Callable[[RootModule, tuple[Any, ...], dict[str, Any]], None]] = []
        self.on_output: list[Callable[[RootModule, Any], None]] = []  # of calls with gradients, also on light steps
        self.on_made: list[Callable[[nn.Module, Any, Any], None]] = []  # of every call at a gate
        self.on_evaluation: list[Callable[[RootModule, tuple[Any, ...], dict[str, Any]], None]] = []
        self.step_rng: torch.Tensor | None = None  # torch's random state when the step began
        self.any_lags = False
        self.states_kept = False  # some root has a first_rng
        self._calm_steps = 0  # deep steps in which the script drew no random number
        self.gate = Gate(self._around)
        self.compiled: list[weakref.ref[nn.Module]] = []  # their calls must not be hooked; named at backward

    def meet(self, module: nn.Module, frame: FrameType) -> RootModule | None:
        """A module was called from outside any other; the frame is its caller's."""
        known = self.roots.get(id(module))
        if known is not None and known.module() is module:
            return known
        if len(self.roots) >= self.LIMIT:
            self.roots = {id(alive): root for root, alive in self.alive()}
        if isinstance(module, nn.modules.loss._Loss) or len(self.roots) >= self.LIMIT:
            return None
        expect_shards(module)
        leave_classes_of(value for each in module.modules() for value in each._parameters.values())
        has_parts = next(module.children(), None) is not None or next(module.parameters(), None) is not None
        root = self._add(module, frame, is_described=has_parts)
        if has_parts or class_place(type(module)):
            self.gate.put_on(type(module))
        return root

    def name_compiled(self, frame: FrameType) -> None:
        """Compiled models are met at backward, from the frame that calls it."""
        waiting, self.compiled = self.compiled, []
        for reference in waiting:
            module = reference()
            if module is not None and self.of(module) is None:
                self._add(module, frame).compiled = True

    def of(self, module: nn.Module) -> RootModule | None:
        root = self.roots.get(id(module))
        return root if root is not None and root.module() is module else None

    def holder(self, module: nn.Module) -> RootModule | None:
        """The root that this is, or is a part of."""
        for root, whole in self.alive():
            if id(module) in root.paths and any(part is module for part in whole.modules()):
                return root
        return None

    def alive(self) -> list[tuple[RootModule, nn.Module]]:
        pairs = ((root, root.module()) for root in self.roots.values())
        return [(root, module) for root, module in pairs if module is not None]

    def path_of_parameter(self) -> dict[int, str]:
        """id of a parameter -> net.fc1.weight, over all roots; the first name of a shared one."""
        found: dict[int, str] = {}
        for root, module in self.alive():
            for name, parameter in module.named_parameters():
                found.setdefault(id(parameter), f"{root.name}.{name}")
        return found

    def notice_random_numbers(self) -> None:
        """At the backward of a deep step: has a forward drawn any? A state costs 1 to 3 us to keep."""
        state = torch.get_rng_state()
        if self.step_rng is not None:
            self._calm_steps = 0 if not same_state(state, self.step_rng) else self._calm_steps + 1
        for root in self.roots.values():
            if root.rng_state is not None:
                drawn = not same_state(state, root.rng_state)
                root.calm_looks = 0 if drawn else root.calm_looks + 1
                root.draws = root.calm_looks < self.CALM_LOOKS

    def end_step(self) -> None:
        for root in self.roots.values():
            root.call = root.rng_state = root.device_rng = None  # a batch must not outlive its step
            root.trained = False
            root.first_rng = root.first_device_rng = None
        self.states_kept = False
        self.step_rng = torch.get_rng_state() if self._calm_steps < self.CALM_LOOKS else None

    def backward_done(self) -> None:
        """What is called from now on belongs to the next backward."""
        self.states_kept = False
        for root in self.roots.values():
            root.first_rng = root.first_device_rng = None

    def give_up(self) -> None:
        self.open_gates()
        self.end_step()

    def remove(self) -> None:
        self.open_gates()
        self.roots.clear()

    def open_gates(self) -> None:
        """Calls are no longer heard: the watch ends, or dynamo would trace what we do in them."""
        self.gate.take_off()

    def _add(self, module: nn.Module, frame: FrameType, is_described: bool = True) -> RootModule:
        name, taken = name_root(module, frame), {root.name for root, _ in self.alive()}
        names = [name, *(f"{name}_{number}" for number in range(2, self.LIMIT + 2))]
        root = RootModule(next(each for each in names if each not in taken), weakref.ref(module))
        root.paths = module_paths(module, root.name)
        self.roots[id(module)] = root
        if is_described:
            self.watch.emit(describe_model(module, root.name, self.watch.step))
        return root

    def _around(self, module: nn.Module) -> Callable[..., Any] | None:
        root = self.of(module)
        if root is None or in_transform() or not self.watch.is_training_thread():
            return None
        return functools.partial(self._call, root, module)

    def _call(self, root: RootModule, module: nn.Module, /, *arguments: Any, **keywords: Any) -> Any:
        self.watch.probe("models", self.enter, root, arguments, keywords)
        with hidden_in_tracebacks:
            output = module._call_impl(*arguments, **keywords)  # type: ignore[no-untyped-call]
        for hear in self.on_output if self.watch.is_looked_at and torch.is_grad_enabled() else ():
            self.watch.probe("models", hear, root, output)
        for made in self.on_made:
            self.watch.probe("untrained models", made, module, (arguments, keywords), output)
        return output

    def enter(self, root: RootModule, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        module = root.module()
        if module is None:
            return
        phase = (module.training, torch.is_grad_enabled())
        self.watch.mark(self.watch.phases.enter, FORWARD if phase[1] else EVALUATION)
        root.phases[phase] = root.phases.get(phase, 0) + 1
        if root.phases[phase] == 1:
            self.watch.emit(PhaseFact(root.name, *phase, self.watch.step))
        if phase[1]:
            self.watch.governor.begin()
            root.call, root.trained = without_graph(arguments, keywords), True
            if root.draws:
                root.rng_state = torch.get_rng_state()
                root.first_rng = root.rng_state if root.first_rng is None else root.first_rng
                self.states_kept = True
            first = arguments[0] if arguments else None
            first = first if is_a(first, torch.Tensor) else first_tensor((arguments, keywords))
            root.lags = first is not None and self.watch.transfer.lags(first)
            if first is not None and root.lags:
                self._keep_device_state(root, first)
        # What a listener computes would go into the user's trace, or be shown by the user's profiler.
        if not torch._C._get_tracing_state() and not _profiler_enabled():
            for listen in self.on_call if phase[1] else self.on_evaluation:
                listen(root, arguments, keywords)

    def _keep_device_state(self, root: RootModule, tensor: torch.Tensor) -> None:
        self.any_lags = True
        self.watch.on_device = tensor.is_cuda
        if tensor.is_cuda and not torch.cuda.is_current_stream_capturing():
            root.device_rng = torch.cuda.get_rng_state(tensor.device)
            first = root.first_device_rng
            root.first_device_rng = root.device_rng if first is None else first
            self.states_kept = True


def without_graph(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same inputs, with no hold on the activations of whatever made them."""
    cut = tuple([_cut(value) for value in arguments])
    return cut, {name: _cut(value) for name, value in keywords.items()} if keywords else {}


def _cut(value: Any) -> Any:
    return value.detach() if is_a(value, torch.Tensor) and value.grad_fn is not None else value


# A model described: its modules in the order of definition, with the lines that make them.
def describe_model(module: nn.Module, name: str, step: int) -> ModelFact:
    places = constructor_places(module, name)
    modules = []
    for path, child in module.named_modules():
        full = f"{name}.{path}" if path else name
        own = sum(
            parameter.numel() for parameter in child.parameters(recurse=False) if not nn.parameter.is_lazy(parameter)
        )
        place = places.get(full) or Place(module=full)
        modules.append(ModuleFact(full, type(child).__name__, place, own, _settings(child)))
    parameters = tuple(
        ParameterFact(
            f"{name}.{path}",
            () if nn.parameter.is_lazy(parameter) else tuple(parameter.shape),
            str(parameter.dtype).removeprefix("torch."),
            str(parameter.device),
            parameter.requires_grad,
        )
        for path, parameter in module.named_parameters()
    )
    return ModelFact(
        name,
        type(module).__name__,
        class_place(type(module)),
        tuple(modules),
        parameters,
        step,
        forward_place(module),
        random_fill(next((each.place.file for each in modules if each.place.file), None)) or Place(),
    )


def _settings(module: nn.Module) -> dict[str, float]:
    """Numbers that decide how a layer behaves, where its class is known to mean them so."""
    if isinstance(module, nn.modules.dropout._DropoutNd):
        return {"p": float(module.p)}
    if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.momentum is not None:
        return {"momentum": float(module.momentum), "eps": float(module.eps)}
    if isinstance(module, (nn.LayerNorm, nn.GroupNorm)):
        return {"eps": float(module.eps)}
    if isinstance(module, nn.DataParallel):
        return {"devices": float(len(module.device_ids))}  # none on the CPU, where it does nothing
    return {}


# Modules that forward calls although nobody registered them: children of a plain list.
_TORCHS_OWN = frozenset(vars(nn.Module()))  # its registries: what is in there is registered


class UnregisteredModules:
    """Finds the attribute that hides a module, and reports each such attribute once."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.parameters: dict[int, str] = {}  # id of a stray parameter -> its would-be path
        self.held: Callable[[], Collection[int]] = tuple  # ids of parameters some optimizer holds; of its probe
        self._reported: dict[tuple[int, str], int] = {}

    def meet(self, module: nn.Module, root: RootModule, callers: list[nn.Module]) -> str:
        """The would-be path of an unregistered module: net.layers[0]"""
        for owner in reversed(callers):
            found = _hiding_place(owner, module)
            if found is not None:
                attribute, container, key = found
                owner_path = root.paths.get(id(owner), root.name)
                path = f"{owner_path}.{attribute}{key}"
                self.parameters |= {id(each): f"{path}.{name}" for name, each in module.named_parameters()}
                self._tell(owner, owner_path, attribute, container)
                return path
        return f"{root.name}.<{type(module).__name__}>"

    def _tell(self, owner: nn.Module, owner_path: str, attribute: str, container: str) -> None:
        modules = _modules_in(vars(owner)[attribute])
        parameters = [p for child in modules for p in child.parameters() if p.requires_grad]
        ids = self.held()
        optimized = sum(1 for parameter in parameters if id(parameter) in ids)
        key = (id(owner), attribute)
        if self._reported.get(key) == optimized:
            return
        self._reported[key] = optimized
        self.watch.emit(
            StrayModuleFact(
                owner=owner_path,
                attribute=attribute,
                container=container,
                kinds=tuple(type(child).__name__ for child in modules[:8]),
                parameters=sum(parameter.numel() for parameter in parameters),
                in_optimizer=optimized,
                place=attribute_place(type(owner), attribute) or Place(module=owner_path),
                step=self.watch.step,
            )
        )


def _hiding_place(owner: nn.Module, module: nn.Module) -> tuple[str, str, str] | None:
    """(attribute, kind of container, "[key]"), also for containers in a container."""
    for attribute, value in vars(owner).items():
        if attribute not in _TORCHS_OWN:
            for key, item in _entries(value):
                if any(hidden is module for hidden in _modules_in(item)):
                    container = "dict" if is_a(value, dict) else type(value).__name__
                    return attribute, container, f"[{key!r}]"
    return None


def _entries(value: Any) -> list[tuple[Any, Any]]:
    if is_a(value, dict):
        return list(value.items())
    return list(enumerate(value)) if is_a(value, (list, tuple)) else []


def _modules_in(value: Any, depth: int = 3) -> list[nn.Module]:
    if isinstance(value, nn.Module):
        return [value]
    inside = [_modules_in(item, depth - 1) for _, item in _entries(value)] if depth else []
    return [module for modules in inside for module in modules]


# Ears on the calls of modules, with nothing hung on the modules themselves.
#
# torch looks up `_compiled_call_impl` at every call of a module. A gate stands in that slot of the class: a module's
# own dictionary, its pickles and its copies stay as they are, and a copy that shares the dictionary (a replica on
# another device) is not mistaken for its original.
_SLOT = "_compiled_call_impl"

Around = Callable[[nn.Module], Callable[..., Any] | None]


class Gate:
    """Asks `around(module)` at each call what to call instead of the module; None leaves it alone.

    A class has one gate. One that stands `behind` another gives its place to that one, and comes off with it.
    """

    def __init__(self, around: Around, behind: Gate | None = None) -> None:
        self._around = around
        self._classes: weakref.WeakSet[type] = weakref.WeakSet()
        self._followers: list[Gate] = []
        if behind is not None:
            behind._followers.append(self)

    def put_on(self, kind: type) -> None:
        standing = vars(kind).get(_SLOT)
        if standing is None or standing in self._followers:
            setattr(kind, _SLOT, self)
            self._classes.add(kind)

    def take_off(self) -> None:
        for follower in self._followers:
            follower.take_off()
        for kind in tuple(self._classes):
            if vars(kind).get(_SLOT) is self:
                delattr(kind, _SLOT)
        self._classes.clear()

    def __get__(self, module: nn.Module | None, kind: type | None = None) -> Callable[..., Any] | None:
        return None if module is None else self._around(module)

    def __reduce__(self) -> tuple[type, tuple[()]]:
        """A class that is pickled by value takes torch's own None along."""
        return type(None), ()
