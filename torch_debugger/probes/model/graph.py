"""The way of tensors through each model, notes once: in an early deep step, when hooks are on anyway.

Never in the first step, where caches fill and lazy layers get their shapes. A model under torch.compile has no
hooks and is left alone. Parts that run without gradients are heard as well: a frozen backbone has a way too.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils.weak import TensorWeakRef, WeakTensorKeyDictionary

from torch_debugger.model.autograd_graph import is_leaf_node, made_forms, operation_macs, operation_name
from torch_debugger.model.graph_recorder import UniqueNames, class_of, described, form_of, is_of_torch, scoped
from torch_debugger.model.hooks import in_backward, in_transform
from torch_debugger.model.inputs import Call, argument_names
from torch_debugger.model.macs import Shape, layer_macs
from torch_debugger.model.nested_tensors import named_leaves, tensors_in
from torch_debugger.model.tensor_memory import memory_id
from torch_debugger.probes.model.forward import Forward
from torch_debugger.probes.model.root_modules import RootModule
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.schedule import DEEP
from torch_debugger.probes.watch import Watch
from torch_debugger.records import CallFact, ModelFlow
from torch_debugger.records.model import (
    INPUT,
    MODULE,
    OPERATION,
    OUTPUT,
    PARAMETER,
    GraphEdge,
    GraphModule,
    GraphNode,
    GraphScope,
    ModelGraph,
    TensorForm,
)


class DataFlow(Probe):
    name = "data flow"
    TRIES = 3  # calls that did not end well

    def __init__(self, watch: Watch, forward: Forward) -> None:
        super().__init__(watch)
        self.forward = forward
        self._tries: dict[int, int] = {}  # id of a root -> calls traced so far, or TRIES when it is notes
        self._tracer: FlowTracer | None = None
        self._root: RootModule | None = None
        self._thread = 0
        forward.roots.on_call.append(self._begin)

    def begin_step(self, depth: int) -> None:
        self.remove()

    def remove(self) -> None:
        if self._tracer is not None:
            self._tracer = self._root = None
            self.forward.on_every_enter = [each for each in self.forward.on_every_enter if each != self._enter]
            self.forward.on_every_output = [each for each in self.forward.on_every_output if each != self._leave]

    give_up = remove

    def _begin(self, root: RootModule, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        if self._tracer is not None or self.watch.depth != DEEP or self.watch.step < 2 or self.forward.paused:
            return
        calls = sum(times for (_, gradients), times in root.phases.items() if gradients)
        if calls > 1 and self._tries.get(id(root), 0) < self.TRIES:
            self.watch.probe(self.name, self._start, root, arguments, keywords)

    def _start(self, root: RootModule, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        module = root.module()
        if module is None or in_backward() or in_transform():
            return
        self._tries[id(root)] = self._tries.get(id(root), 0) + 1
        tracer = FlowTracer(module, root.name)
        with torch._C.DisableTorchFunctionSubclass():  # no code of a tensor subclass runs for us
            tracer.begin(argument_names(module, Call(arguments, keywords)))
        self._tracer, self._root, self._thread = tracer, root, threading.get_ident()
        # Lists are made anew, never changed: a call of their members may be under way.
        self.forward.on_every_enter = [*self.forward.on_every_enter, self._enter]
        self.forward.on_every_output = [*self.forward.on_every_output, self._leave]

    def _enter(self, module: nn.Module, arguments: Any) -> None:
        if self._tracer is not None and threading.get_ident() == self._thread:
            with torch._C.DisableTorchFunctionSubclass():
                self.watch.probe(self.name, self._tracer.enter, module, arguments)

    def _leave(self, path: str, module: nn.Module, inputs: Any, made: Any) -> None:
        if self._tracer is not None and threading.get_ident() == self._thread:
            self.watch.probe(self.name, self._hear_leave, self._tracer, module, inputs, made)

    def _hear_leave(self, tracer: FlowTracer, module: nn.Module, inputs: Any, made: Any) -> None:
        root = self._root
        with torch._C.DisableTorchFunctionSubclass():
            tracer.leave(module, inputs, made)
            if root is not None and module is root.module():
                self.remove()
                if made is not None:  # else it raised, and the next call may not
                    self._tries[id(root)] = self.TRIES
                    self.watch.emit(tracer.finish(made, self.watch.step))


# One forward of a model traced by hooks on its module calls: whose outputs went into whose inputs.
class FlowTracer:
    """Holds nodes of the autograd graph, so it must not outlive the forward."""

    MOST_CALLS = 600

    def __init__(self, model: nn.Module, name: str) -> None:
        self._model, self._name = model, name
        self._walks = FlowWalks(name, model)
        self._paths = {id(module): path for path, module in model.named_modules()}
        self._deepest = deepest_level(self._paths.values(), self.MOST_CALLS)
        self._is_cut = self._deepest < max(map(depth_of, self._paths.values()))
        self._scopes: dict[str, GraphScope] = {}
        self._numbers: list[CallFact] = []
        self._times: Counter[int] = Counter()
        self._stack: list[TracedCall] = []
        self._left_out = 0  # calls beyond the limit
        self._lost = 0  # tensors whose origin is not known

    def begin(self, inputs: dict[str, Any]) -> None:
        """What the model is called with, by the names of its arguments."""
        for name, tensor in _named(inputs):
            place = self._walks.add(f"{INPUT}/{name}", INPUT, INPUT, "", (form_of(tensor),))
            self._walks.origins.put(tensor, TensorOrigin(place, 0))

    def enter(self, module: nn.Module, arguments: Any) -> None:
        above = self._stack[-1] if self._stack else None
        self._times[id(module)] += 1
        if above is not None:
            above.inner += 1
            if above.closed or len(self._scopes) >= self.MOST_CALLS:
                self._left_out += not above.closed
                self._stack.append(TracedCall(module, above.scope, closed=True))
                return
        call = self._opened(module, above.scope if above is not None else "")
        self._read(call, tensors_in(arguments), above or call)  # of a model that is one layer, its inputs
        self._stack.append(call)

    def leave(self, module: nn.Module, inputs: Any, made: Any) -> None:
        while self._stack and self._stack[-1].module is not module:
            self._stack.pop()  # calls that ended by an exception which the model caught
        call = self._stack.pop() if self._stack else None
        if call is None or not call.number:
            return
        if self._stack:
            late = [each for each in tensors_in(inputs) if id(each) not in call.given]  # given by keyword
            self._read(call, late, self._stack[-1])
        results = list(tensors_in(made))
        forms = tuple(form_of(each) for each in results)
        self._close(call, results, forms)
        self._count(call, tuple(form_of(each).shape for each in tensors_in(inputs)), results, forms)

    def finish(self, made: Any, step: int) -> ModelFlow:
        walks = self._walks
        within = TracedCall(self._model, next(iter(self._scopes), self._name))
        for name, tensor in _named(made):
            origin = walks.origin(tensor, within)
            place = walks.add(f"{OUTPUT}/{name}" if name else OUTPUT, OUTPUT, OUTPUT, "", ())
            walks.link(origin, place, form_of(tensor))
        scopes = tuple(self._scopes.values())
        graph = ModelGraph(tuple(walks.nodes), tuple(walks.edges), scopes, self._note(), self._modules())
        return ModelFlow(self._name, graph, tuple(self._numbers), step)

    def _opened(self, module: nn.Module, caller: str) -> TracedCall:
        path, number = self._paths.get(id(module), type(module).__name__), self._times[id(module)]
        scope = self._walks.names.unique(scoped(self._name, path))
        detail = described(module)
        self._scopes[scope] = GraphScope(scope, path, class_of(module), number, detail, caller)
        closed = bool(caller) and depth_of(path) >= self._deepest and self._is_cut and bool(module._modules)
        return TracedCall(module, scope, caller, number, closed)

    def _read(self, call: TracedCall, tensors: Iterable[torch.Tensor], within: TracedCall) -> None:
        for tensor in tensors:
            call.given.add(id(tensor))
            origin = self._walks.origin(tensor, within)
            if origin is not None:
                call.read.append((origin, form_of(tensor)))
            else:
                self._lost += 1

    def _close(self, call: TracedCall, made: list[torch.Tensor], forms: tuple[TensorForm, ...]) -> None:
        """A layer of torch's own is one node; of other calls the operations are, where autograd saw any."""
        if not call.closed and (call.inner or not is_of_torch(call.module)):
            for tensor in made:
                self._walks.origin(tensor, call)
        if call.closed or not (call.inner or call.operations):
            op = class_of(call.module)
            place = self._walks.add(f"{call.scope}/{op}", MODULE, op, call.scope, forms)
            for origin, form in call.read:
                self._walks.link(origin, place, form)
            for output, tensor in enumerate(made):
                self._walks.origins.put(tensor, TensorOrigin(place, output))

    def _count(
        self, call: TracedCall, input_shapes: tuple[Shape, ...], made: list[torch.Tensor], forms: tuple[TensorForm, ...]
    ) -> None:
        shapes = tuple(form.shape for form in forms)
        of_torch = is_of_torch(call.module)
        macs: int | None = call.macs
        why = call.uncounted
        if call.closed:
            why = "Its inside was not recorded: the model has too many modules."
        elif not of_torch and not any(each.grad_fn is not None for each in made):
            why = "It ran without gradients, so what it computes was not seen."
        elif of_torch and not call.inner and not call.operations:
            macs = layer_macs(call.module, input_shapes, shapes)
            why = "" if macs is not None else f"No formula is known for {class_of(call.module)}."
        self._numbers.append(CallFact(call.scope, input_shapes, shapes, None if why else macs, why))

    def _modules(self) -> tuple[GraphModule, ...]:
        sizes: Counter[str] = Counter()  # the values that each module holds, with all below it
        for path, value in self._model.named_parameters():
            size = 0 if nn.parameter.is_lazy(value) else value.numel()
            names = path.split(".")[:-1]
            for end in range(len(names) + 1):
                sizes[".".join(names[:end])] += size
        return tuple(
            GraphModule(path, class_of(module), sizes[path], is_of_torch(module), described(module))
            for path, module in self._model.named_modules()
            if depth_of(path) <= self._deepest
        )

    def _note(self) -> str:
        notes = []
        if self._left_out:
            notes.append(f"{self._left_out:,} module calls after the first {self.MOST_CALLS:,} are not drawn.")
        if self._is_cut:
            notes.append(f"Of {len(self._paths):,} modules those below level {self._deepest} are not drawn one by one.")
        if len(self._walks.nodes) >= self._walks.MOST_NODES:
            notes.append(f"The graph ends after {self._walks.MOST_NODES:,} nodes: the model has more.")
        if self._lost:
            notes.append("Where tensors are computed without gradients, their way could not be followed.")
        return " ".join(notes)


def deepest_level(paths: Iterable[str], most: int) -> int:
    """The level down to which there are no more modules than that; 1 at least."""
    levels = Counter(map(depth_of, paths))
    total, deepest = 0, 1
    for level in sorted(levels):
        total += levels[level]
        if total > most:
            break
        deepest = max(1, level)
    return deepest


def depth_of(path: str) -> int:
    return path.count(".") + 1 if path else 0


def _named(value: Any) -> Iterable[tuple[str, torch.Tensor]]:
    """x, batch/image, 0"""
    for way, tensor in named_leaves(value):
        yield "/".join(part.strip("'\"") for part in way.strip("[]").split("][") if part), tensor


# The nodes and lines of a forward that is being traced, and the walk back through what lies between two calls.
#
# The autograd graph is there anyway: no mode is entered and no operation is patched for it. What runs without
# gradients is followed as far as tensors stay the same or share their memory.
@dataclass
class TracedCall:
    """A call of a module under way."""

    module: nn.Module
    scope: str
    caller: str = ""
    number: int = 0  # 1 for the first call of its module; 0: not recorded
    closed: bool = False  # its inside is not recorded
    given: set[int] = field(default_factory=set)  # ids of tensors, which the caller holds
    read: list[tuple[TensorOrigin, TensorForm]] = field(default_factory=list)
    inner: int = 0  # calls made by it
    operations: int = 0  # of its own that were found
    macs: int = 0  # of these operations
    uncounted: str = ""


class FlowWalks:
    MOST_NODES = 3000
    MOST_AT_ONCE = 400  # operations between two calls

    def __init__(self, name: str, model: nn.Module) -> None:
        self._name = name
        self.names = UniqueNames()
        self.nodes: list[GraphNode] = []
        self.edges: dict[GraphEdge, None] = {}
        self.origins = Origins()
        self._parameters = {id(value): path for path, value in model.named_parameters()}

    def add(self, name: str, kind: str, op: str, scope: str, outputs: tuple[TensorForm, ...]) -> int:
        self.nodes.append(GraphNode(self.names.unique(name), kind, op, scope, outputs))
        return len(self.nodes) - 1

    def link(self, origin: TensorOrigin | None, target: int, form: TensorForm) -> None:
        if origin is not None:
            self.edges[GraphEdge(origin.node, origin.output, target, form)] = None

    def origin(self, tensor: torch.Tensor, within: TracedCall) -> TensorOrigin | None:
        """Operations that were not known yet have run in the call `within`: they are walked back to what is known, and
        makers are added before what reads them."""
        if tensor.grad_fn is None:
            return self._origin_of_leaf(tensor, within)
        origins = self.origins
        waiting: list[tuple[Any, int]] = [(tensor.grad_fn, tensor.output_nr)]
        entered: set[Any] = set()
        while waiting:
            here, number = waiting[-1]
            if origins.knows(here, number):
                waiting.pop()
            elif here in entered or len(entered) >= self.MOST_AT_ONCE or len(self.nodes) >= self.MOST_NODES:
                waiting.pop()
                self._add_operation(here, within)
            else:
                entered.add(here)
                pairs = [(node, output) for node, output in here.next_functions if node is not None]
                waiting += [pair for pair in pairs if not is_leaf_node(pair[0]) and not origins.knows(*pair)]
        return origins.of_node(tensor.grad_fn, tensor.output_nr)

    def _origin_of_leaf(self, tensor: torch.Tensor, within: TracedCall) -> TensorOrigin | None:
        found = self.origins.of_leaf(tensor)
        if found is None and id(tensor) in self._parameters and len(self.nodes) < self.MOST_NODES:
            name = scoped(self._name, self._parameters[id(tensor)])
            found = TensorOrigin(self.add(name, PARAMETER, PARAMETER, within.scope, (form_of(tensor),)), 0)
            self.origins.put(tensor, found)
        return found

    def _add_operation(self, node: Any, within: TracedCall) -> None:
        if len(self.nodes) >= self.MOST_NODES:
            return
        sources = [
            self._origin_of_leaf(operand.variable, within)
            if is_leaf_node(operand)
            else self.origins.of_node(operand, number)
            for operand, number in node.next_functions
            if operand is not None
        ]
        op, macs = operation_name(node), operation_macs(node)
        place = self.add(f"{within.scope}/{op}", OPERATION, op, within.scope, made_forms(node))
        self.origins.by_node[node] = place
        for source in sources:
            if source is not None and source.output < len(self.nodes[source.node].outputs):
                self.link(source, place, self.nodes[source.node].outputs[source.output])
        within.operations += 1
        within.macs += macs or 0
        if macs is None:
            within.uncounted = f"The arithmetic of {op} in its forward is not told by the shapes that are known."


# Where a tensor comes from: known by the autograd node that made it, by itself, or by the memory it shares.
class TensorOrigin(NamedTuple):
    node: int  # place in the list of nodes
    output: int


class Origins:
    """Holds no tensor. It holds nodes of the autograd graph, so it must not outlive the forward."""

    def __init__(self) -> None:
        self._by_output: dict[tuple[Any, int], TensorOrigin] = {}
        self.by_node: dict[Any, int] = {}
        self._by_tensor: MutableMapping[torch.Tensor, TensorOrigin] = WeakTensorKeyDictionary()
        self._by_memory: defaultdict[int, list[tuple[TensorWeakRef, TensorOrigin]]] = defaultdict(list)

    def put(self, tensor: torch.Tensor, origin: TensorOrigin) -> None:
        """The latest counts: a layer that gives back what it was given is passed through too."""
        if tensor.grad_fn is not None:
            self._by_output[tensor.grad_fn, tensor.output_nr] = origin
        self._by_tensor[tensor] = origin
        self._by_memory[memory_id(tensor)].append((TensorWeakRef(tensor), origin))

    def knows(self, node: Any, output: int) -> bool:
        return (node, output) in self._by_output or node in self.by_node

    def of_node(self, node: Any, output: int) -> TensorOrigin | None:
        found = self._by_output.get((node, output))
        return TensorOrigin(self.by_node[node], output) if found is None and node in self.by_node else found

    def of_leaf(self, tensor: torch.Tensor) -> TensorOrigin | None:
        """A tensor that no recorded operation made: an input, a view of one, something detached."""
        if tensor in self._by_tensor:
            return self._by_tensor[tensor]
        memory = memory_id(tensor)
        for reference, origin in reversed(self._by_memory.get(memory, ())):
            other = reference()
            if other is not None and memory_id(other) == memory:  # memory of a dead tensor is given to others
                return origin
        return None
