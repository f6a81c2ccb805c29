"""What the crash of an autograd crash holds: the graph's roots, its nodes, models, optimizers, scopes."""

from __future__ import annotations

import ast
import contextlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from torch_debugger.crashes.frames import LiveCrash, LiveFrame, is_tensor, statement_place
from torch_debugger.crashes.functions import Scope
from torch_debugger.crashes.replay import TIME_LIMIT_S, TooLong, copied, is_small
from torch_debugger.model.hooks import without_global_hooks
from torch_debugger.model.reruns import leaving_no_trace
from torch_debugger.records.crash_autograd import GraphCut
from torch_debugger.source.files import covers, is_user_file, tree_of
from torch_debugger.source.frames import frames
from torch_debugger.source.objects import is_a, own_attributes
from torch_debugger.source.statements import function_around
from torch_debugger.source.syntax import calls_in
from torch_debugger.system.clocks import time

_NODES, _NAMES = 20_000, 2000
Node = Any  # torch.autograd.graph.Node; custom functions have classes of their own


def backward_roots(crash: LiveCrash) -> list[torch.Tensor]:
    """The tensors that backward() or autograd.grad() was called on."""
    return autograd_argument(crash, {"backward": "tensors", "grad": "outputs"})


def autograd_argument(crash: LiveCrash, arguments: Mapping[str, str]) -> list[torch.Tensor]:
    """The tensors of one argument of backward() or autograd.grad(), by the function's name."""
    for seen in reversed(crash.frames):
        if seen.file.endswith("autograd/__init__.py") and seen.function in arguments:
            value = seen.locals.get(arguments[seen.function])
            return [part for part in (value if isinstance(value, tuple | list) else (value,)) if is_tensor(part)]
    return []


def name_of(crash: LiveCrash, value: Any) -> str:
    """The variable of a user's frame that holds this very object; empty where none does."""
    items = (pair for seen in crash.user_frames for pair in list(seen.locals.items()))
    return next((name for name, item in items if item is value), "")


def graph_of(tensor: Any) -> dict[Node, None]:
    """The nodes behind a tensor, the nearest first; leaves of the user's are left out."""
    found: dict[Node, None] = {}
    waiting = [tensor.grad_fn] if is_tensor(tensor) and tensor.grad_fn is not None else []
    for node in waiting:
        if node not in found and len(found) < _NODES:
            found[node] = None
            after = (other for other, _ in node.next_functions)
            waiting += [other for other in after if other is not None and "AccumulateGrad" not in other.name()]
    return found


def graph_of_loss(crash: LiveCrash) -> dict[Node, None]:
    """The nodes behind all that backward was called on."""
    return {node: None for root in backward_roots(crash) for node in graph_of(root)}


def leaves_of(tensor: Any) -> list[torch.Tensor]:
    """The leaves that a backward from here would give gradients to."""
    after = [node for inner in graph_of(tensor) for node, _ in inner.next_functions if node is not None]
    return [node.variable for node in dict.fromkeys(after) if "AccumulateGrad" in node.name()]


def op_name(name: str) -> str:
    """Sigmoid for SigmoidBackward0: torch's messages have used either."""
    return name.rpartition("::")[2].partition("Backward")[0]


def models_of(crash: LiveCrash) -> dict[str, nn.Module]:
    """The watched root modules; where nobody watched, those the user's frames can name."""
    return dict(crash.running.models) or _in_frames(crash, nn.Module)


def optimizers_of(crash: LiveCrash) -> dict[str, torch.optim.Optimizer]:
    return dict(crash.running.optimizers) or _in_frames(crash, torch.optim.Optimizer)


def _in_frames(crash: LiveCrash, kind: type) -> dict[str, Any]:
    """By name, from the locals, the attributes of `self`, and the globals of the user's frames."""
    found: dict[str, Any] = {}
    for seen in crash.user_frames:
        own = own_attributes(seen.locals.get("self"))
        children = own.get("_modules")
        attributes = {**own, **children} if isinstance(children, dict) else dict(own)
        for names in (seen.locals, attributes, seen.frame.f_globals):
            for name, value in itertools.islice(list(names.items()), _NAMES):
                if is_a(value, kind) and not any(value is other for other in found.values()):
                    found.setdefault(name, value)
    return found


def named_modules(crash: LiveCrash) -> Iterator[tuple[str, nn.Module]]:
    """Every module of the models, under its path: net.fc1"""
    for name, model in models_of(crash).items():
        yield from model.named_modules(prefix=name)


def named_parameters(crash: LiveCrash) -> Iterator[tuple[str, torch.Tensor]]:
    for name, model in models_of(crash).items():
        yield from model.named_parameters(prefix=name)


# A forward run once more while every save for backward and every write in place is noted.
@dataclass(frozen=True)
class ReplayMoment:
    """Where the replay was: the user's line, and the torch layer inside it, if one was running."""

    file: str
    line: int
    module: nn.Module | None  # whose method the user's line is in
    layer: nn.Module | None


@dataclass(frozen=True)
class Write:
    operation: str
    moment: ReplayMoment


@dataclass
class Conflict:
    """A tensor saved for backward and written into after that."""

    shape: tuple[int, ...]
    saved: ReplayMoment
    writes: list[Write] = field(default_factory=list)


class _Notes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Who saved which memory, and who wrote into it later; a parameter is never written."""

    def __init__(self, parameters: set[int]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.parameters = parameters
        self.deadline = time.monotonic() + TIME_LIMIT_S
        self.saved: dict[int, list[Conflict]] = {}
        self.held: list[torch.Tensor] = []  # memory that is let go would be given out again

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # what keeps dynamo away imports it first, for a second and more

    def save(self, tensor: torch.Tensor) -> torch.Tensor:
        self.held.append(tensor)
        conflict = Conflict(tuple(int(size) for size in tensor.shape), moment())
        self.saved.setdefault(_memory(tensor), []).append(conflict)
        return tensor

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if time.monotonic() > self.deadline:
            raise TooLong
        for index, argument in enumerate(func._schema.arguments if func._schema.is_mutable else ()):
            if argument.alias_info is not None and argument.alias_info.is_write:
                value: Any = args[index] if index < len(args) else (kwargs or {}).get(argument.name)
                for tensor in value if type(value) is list else [value]:
                    if is_tensor(tensor):
                        self._write(tensor, func._schema.name.rpartition("::")[2])
        return func(*args, **(kwargs or {}))

    def _write(self, tensor: torch.Tensor, operation: str) -> None:
        for conflict in self.saved.get(_memory(tensor), ()):
            conflict.writes.append(Write(operation, moment()))
        if _memory(tensor) in self.parameters:
            raise TooLong


def replay_writes(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Conflict]:
    """The conflicts of one forward pass; what was seen so far where it could not be run to its end."""
    if not is_small(model, args, kwargs):
        return []
    parameters = {_memory(parameter) for parameter in model.parameters()}
    notes = _Notes(parameters - {0})
    hooks: Any = torch.autograd.graph.saved_tensors_hooks(notes.save, lambda tensor: tensor)
    with contextlib.suppress(Exception, TooLong), unseen(model), hooks, notes:
        model(*copied(args), **copied(kwargs))
    return [conflict for conflicts in notes.saved.values() for conflict in conflicts if conflict.writes]


@contextlib.contextmanager
def unseen(model: nn.Module) -> Iterator[None]:
    functions = torch._C._EnableTorchFunction()  # probes run with them off
    with functions, leaving_no_trace(model), without_global_hooks(), torch.enable_grad():
        yield


def _memory(tensor: torch.Tensor) -> int:
    try:
        return int(tensor.untyped_storage().data_ptr())
    except (RuntimeError, NotImplementedError):  # sparse, nested, fake
        return 0


def moment() -> ReplayMoment:
    layer: nn.Module | None = None
    for frame in frames(2):
        module = LiveFrame(frame, frame.f_lineno).module()
        if is_user_file(frame.f_code.co_filename):
            return ReplayMoment(frame.f_code.co_filename, frame.f_lineno, module, layer)
        layer = layer or module
    return ReplayMoment("", 0, None, layer)


# A forward run once more to see which of its operations gave a result without a graph.
_REASONS = {"detach": "detach", "data": "data", "item": "item", "tolist": "item", "numpy": "numpy"}
_LOOKS = ("__get__", "size", "dim", "numel", "is_floating_point", "__len__", "__repr__", "__format__", "stride")


class _Cuts(TorchFunctionMode):
    """Follows each result without a graph back to the operation that took a graph in and gave none."""

    def __init__(self) -> None:
        super().__init__()
        self.deadline = time.monotonic() + TIME_LIMIT_S
        self.cuts: dict[int, tuple[str, ReplayMoment]] = {}  # id of a result -> its cut
        self.numbers: tuple[str, ReplayMoment] | None = None  # the last cut that gave no tensor
        self.held: list[Any] = []  # an id is an object's only while it lives

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if time.monotonic() > self.deadline:
            raise TooLong
        made = func(*args, **(kwargs or {}))
        inputs = list(_tensors((args, kwargs or {})))
        name = getattr(func, "__name__", "")
        if name == "__get__" and getattr(getattr(func, "__self__", None), "__name__", "") == "data":
            name = "data"
        if inputs and name not in _LOOKS:
            self._follow(name, inputs, made)
        return made

    def _follow(self, name: str, inputs: list[torch.Tensor], made: Any) -> None:
        results = list(_tensors(made))
        if any(result.requires_grad for result in results):
            return
        cut = next((self.cuts[id(item)] for item in inputs if id(item) in self.cuts), None)
        if any(item.requires_grad for item in inputs):
            reason = _REASONS.get(name, "")
            if not reason and not torch.is_grad_enabled():
                reason = "no_grad"
            elif not reason:
                integers = results and not any(each.is_floating_point() for each in results)
                reason = "integer" if integers else "tensor"
            cut = (reason, moment())
        if cut is None:
            return
        if not results:
            self.numbers = cut
        for result in results:
            self.cuts[id(result)] = cut
            self.held.append(result)


def replay_cut(model: nn.Module, args: tuple[Any, ...], paths: Mapping[int, str]) -> GraphCut | None:
    """The cut behind a model's output, where the replay's output has no graph either."""
    if not is_small(model, args, {}):
        return None
    cuts = _Cuts()
    made: Any = None
    with contextlib.suppress(Exception, TooLong), unseen(model), cuts:
        made = model(*copied(args))
    results = list(_tensors(made))
    if not results or any(result.requires_grad for result in results):
        return None
    found = next((cuts.cuts[id(result)] for result in results if id(result) in cuts.cuts), cuts.numbers)
    if found is None:
        return None
    reason, at = found
    switch = switch_around(at.file, at.line) if reason == "no_grad" else None
    path = paths.get(id(at.module), "")
    place = statement_place(at.file, at.line, path or None)
    return switch or GraphCut(reason, place, module=path or "the model", proven=True)


def switch_around(file: str, line: int) -> GraphCut | None:
    """A decorator of the function around a line, or a `with` block there, that turns recording off."""
    tree = tree_of(file)
    function = function_around(tree, line) if tree is not None else None
    for decorator in getattr(function, "decorator_list", ()):
        if switched_off(decorator):
            place, name = statement_place(file, decorator.lineno), getattr(function, "name", "")
            return GraphCut("decorator", place, ast.unparse(decorator), name, proven=True)
    for node in ast.walk(function) if function is not None else ():
        contexts = [item.context_expr for item in node.items] if isinstance(node, ast.With) else []
        off = [context for context in contexts if switched_off(context)]
        if off and covers(node, line):
            place = statement_place(file, off[0].lineno)
            return GraphCut("no_grad", place, ast.unparse(off[0]), proven=True)
    return None


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if is_tensor(value):
        yield value
    elif is_a(value, (tuple, list, dict)):
        for item in value.values() if is_a(value, dict) else value:
            yield from _tensors(item)


# Expressions of the user's that give a tensor without its graph: `out.detach()`, `loss.item()`, `x > 0`.
_METHODS = {
    "detach": "detach", "item": "item", "tolist": "item", "numpy": "numpy", "long": "integer", "int": "integer",
    "bool": "integer", "argmax": "integer", "argmin": "integer", "argsort": "integer", "nonzero": "integer",
    "multinomial": "integer", "bernoulli": "integer", "bincount": "integer", "gt": "integer", "lt": "integer",
    "ge": "integer", "le": "integer", "eq": "integer", "ne": "integer",
}  # fmt: skip
_FUNCTIONS = {
    "torch.tensor": "tensor", "torch.FloatTensor": "tensor", "torch.Tensor": "tensor", "Tensor": "tensor",
    "torch.from_numpy": "numpy", "float": "item",
}  # fmt: skip
_NUMPY = ("np.", "numpy.")


@dataclass(frozen=True)
class SourceCut:
    node: ast.expr
    reason: str
    inner: ast.expr  # what it was taken of


def cut_of(node: ast.AST) -> SourceCut | None:
    """The cut that this very expression makes, if it makes one."""
    if isinstance(node, ast.Attribute) and node.attr == "data":
        return SourceCut(node, "data", node.value)
    if isinstance(node, ast.Compare):
        return SourceCut(node, "integer", node.left)
    if not isinstance(node, ast.Call):
        return None
    function = ast.unparse(node.func)
    keeps_graph = any(word.arg in ("create_graph", None) for word in node.keywords)
    if function.endswith("autograd.grad") and node.args and not keeps_graph:
        return SourceCut(node, "grad", node.args[0])
    if function in _FUNCTIONS and node.args:
        return SourceCut(node, _FUNCTIONS[function], node.args[0])
    if function.startswith(_NUMPY) and node.args:
        return SourceCut(node, "numpy", node.args[0])
    reason = _METHODS.get(function.rpartition(".")[2], "") if isinstance(node.func, ast.Attribute) else ""
    if not reason or not isinstance(node.func, ast.Attribute):
        return None
    inner = node.args[0] if ast.unparse(node.func.value) == "torch" and node.args else node.func.value
    return SourceCut(node, reason, inner)


def cuts_in(node: ast.AST) -> list[SourceCut]:
    """The cuts of an expression, the outermost first."""
    return [cut for part in ast.walk(node) if (cut := cut_of(part)) is not None]


def core_of(node: ast.expr) -> ast.expr:
    """What is left when all cuts around it are taken off: `loss` of torch.tensor(loss.detach().item())"""
    cut = cut_of(node)
    return core_of(cut.inner) if cut is not None and cut.reason not in ("integer", "grad") else node


def is_conversion(node: ast.expr) -> bool:
    """Whether a cut only changes the form of its core: numpy's own functions compute something."""
    cut = cut_of(node)
    if cut is None or cut.reason in ("integer", "grad"):
        return cut is None
    computes = isinstance(node, ast.Call) and ast.unparse(node.func).startswith(_NUMPY)
    return not computes and is_conversion(cut.inner)


def switched_off(node: ast.AST) -> bool:
    """A decorator or a context that turns recording off: torch.no_grad(), torch.inference_mode"""
    text = ast.unparse(node).replace("()", "").replace("(True)", "")
    return text.rpartition(".")[2] in ("no_grad", "inference_mode") or text.endswith("set_grad_enabled(False)")


# The calls of backward() and grad() in a function of the user's, and the losses they are called on.
_BACKWARD_OF_A_LOSS = ("accelerator", "self.accelerator", "fabric", "self", "torch.autograd", "autograd")


def backward_call(scope: Scope) -> ast.Call | None:
    """The call of backward() or grad() on the frame's line."""
    calls = [call for node in scope.on_line() for call in calls_in(node) if _is_backward(call)]
    return calls[-1] if calls else None


def _is_backward(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in ("backward", "grad", "manual_backward")


def loss_of(call: ast.Call) -> ast.expr:
    """`loss` of loss.backward(), torch.autograd.grad(loss, w), accelerator.backward(loss)"""
    assert isinstance(call.func, ast.Attribute)
    owner = call.func.value
    takes_loss = call.func.attr != "backward" or ast.unparse(owner) in _BACKWARD_OF_A_LOSS
    loss = call.args[0] if call.args and takes_loss else owner
    while isinstance(loss, ast.Call) and loss.args and isinstance(loss.func, ast.Attribute):
        if loss.func.attr != "scale":  # scaler.scale(loss).backward()
            break
        loss = loss.args[0]
    return loss


def earlier_calls(scope: Scope, call: ast.Call) -> list[ast.Call]:
    """Other backward calls of the function above this one, and further down in a loop around it."""
    loops = scope.loops()
    found = [other for node in scope.statements() if not hasattr(node, "body") for other in calls_in(node)]
    others = [other for other in found if _is_backward(other) and other is not call]
    above = [other for other in others if other.lineno <= call.lineno]
    below = [other for other in others if other.lineno > call.lineno and any(covers(x, other.lineno) for x in loops)]
    return above[::-1] + below[::-1]
