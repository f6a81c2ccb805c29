"""`model_graph(model, inputs)`: what a model does with an input, from one run that leaves no trace."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from torch_debugger.model.forks import is_sharded
from torch_debugger.model.graph_recorder import MOST_NODES, GraphRecorder, Scopes, class_of, scoped
from torch_debugger.model.hooks import uncompiled, without_global_hooks
from torch_debugger.model.inputs import Call, argument_names, calls_for, own_call
from torch_debugger.model.layers import inner_model
from torch_debugger.model.nested_tensors import named_leaves, opened, tensors_in
from torch_debugger.model.reruns import evaluating, first_line, leaving_no_trace, own_autocast_cache
from torch_debugger.model.tensor_memory import memory_id, memory_of
from torch_debugger.records.model import INPUT, MODULE, OUTPUT, ModelGraph
from torch_debugger.source.objects import is_one_of
from torch_debugger.system.errors import DebuggerError
from torch_debugger.system.signals import is_the_scripts

_LONGEST_REASON = 300


def model_graph(model: nn.Module, inputs: Any = None) -> ModelGraph:
    """The operations of one forward, and the tensors between them.

    A tuple or list of inputs is the arguments of forward, a dictionary with the names of its arguments
    the keywords. The model runs in evaluation mode, on copies; where that fails, with gradients and in
    its own mode. A model that cannot be run gives the graph of its modules alone, with a note that says
    why. Never raises.
    """
    try:
        if not isinstance(model, nn.Module):
            return ModelGraph((), (), (), f"expected a torch.nn.Module, but got {type(model).__name__}.")
        return _graph(inner_model(model), inputs)
    except Exception as error:  # whatever a model of a kind we have never met does: the training goes on
        if is_the_scripts(error):
            raise
        return ModelGraph((), (), (), _why("the model could not be looked into", error))


def _graph(model: nn.Module, inputs: Any) -> ModelGraph:
    root = class_of(model)
    # Why the model must not even be tried.
    lazy = [name for name, value in model.named_parameters() if nn.parameter.is_lazy(value)]
    if lazy:
        return tree_graph(model, root, f"`{lazy[0]}` has no shape yet: run the model once before drawing it.")
    if any(is_sharded(module) for module in model.modules()):
        return tree_graph(model, root, "the model is spread over several processes, and only this one is asked.")
    # Whether to run in the modes that the modules have, and with gradients: some take those of their input.
    tried = [(False, False), (False, True)]
    alone = not (torch.distributed.is_available() and torch.distributed.is_initialized())
    if alone and any(module.training for module in model.modules()):  # else SyncBatchNorm would wait for ever
        tried.append((True, True))
    reasons: list[str] = []
    for (training, gradients), call in itertools.product(tried, calls_for(model, inputs)):
        try:
            with torch.set_grad_enabled(gradients):
                return _recorded(model, root, call, training)
        except Exception as error:  # the user's own, from forward: the graph of modules is still worth having
            if is_the_scripts(error):
                raise
            reasons.append(_why("forward raised", error))
    return tree_graph(model, root, reasons[0])


def _recorded(model: nn.Module, root: str, call: Call, training: bool) -> ModelGraph:
    modes = contextlib.nullcontext() if training else evaluating(model)
    with leaving_no_trace(model), modes, uncompiled(), own_autocast_cache():
        recorder = GraphRecorder()
        scopes = Scopes(model, root, recorder)
        scopes.own_tensors()
        call = own_call(model, call)
        inputs = {name: opened(value) for name, value in argument_names(model, call).items()}
        for name, tensor in _leaves(inputs):
            recorder.source(scoped(INPUT, name), INPUT, tensor)
        undoing = Undoing()
        functions = _Functions(recorder, scopes.current, undoing)
        try:
            with without_global_hooks(), scopes.listening(), _Operations(functions, undoing), functions:
                output = model(*call.arguments, **call.keywords)
        finally:
            undoing.undo()
        for name, tensor in _leaves(opened(output)):
            recorder.operation(OUTPUT, "", [tensor], (), kind=OUTPUT, name=scoped(OUTPUT, name))
        note = "" if recorder.complete else f"the graph ends after {MOST_NODES:,} operations: the model does more."
        return ModelGraph(recorder.nodes, tuple(recorder.edges), tuple(scopes.found), note, scopes.modules())


def _leaves(value: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """x, batch.image, hidden.0"""
    for way, tensor in named_leaves(value):
        yield ".".join(part.strip("'\"") for part in way.strip("[]").split("][") if part), tensor


def _why(what: str, error: Exception) -> str:
    if isinstance(error, DebuggerError):
        return str(error)
    return f"{what}: {type(error).__name__}: {first_line(error)[:_LONGEST_REASON]}"


# Every operation of a running model, for a recorder, in the user's own words: relu, cat, getitem.

# Where numbers leave the graph for Python: an `if`, a print, a loop that runs so many times.
_LEAVING = frozenset({"item", "tolist", "numpy", "bool", "int", "float", "index", "complex"})
_LONGEST_DETAIL = 120
_BETWEEN_PROCESSES = ("c10d", "_c10d_functional")
_SET_DATA = vars(torch._C.TensorBase)["data"].__set__


class _Functions(TorchFunctionMode):
    """Functions as they are called. What they call in turn is not recorded."""

    def __init__(self, recorder: GraphRecorder, scope: Callable[[], str], undoing: Undoing) -> None:
        super().__init__()
        self._recorder = recorder
        self._scope = scope
        self._undoing = undoing

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func != _SET_DATA:
            return self.call(func, args, kwargs or {})
        tensor, data = args
        with self._recorder.deaf():
            self._undoing.before_replacing(tensor)
            tensor.data = data
            self._recorder.replace(tensor, data, self._scope())
        return None

    def call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with self._recorder.deaf() as already:
            if already:
                return func(*args, **kwargs)
            inputs = list(tensors_in((args, kwargs)))
            versions = [_version(tensor) for tensor in inputs]
            result = func(*args, **kwargs)
            written = [tensor for tensor, version in zip(inputs, versions, strict=True) if _version(tensor) != version]
            if not written and any(result is tensor for tensor in inputs):
                is_method = getattr(torch.Tensor, getattr(func, "__name__", ""), None) is func
                if type(result) is not torch.Tensor or is_method:
                    return result  # x.float() of floats: nothing happened
                result = result.view_as(result)  # dropout in evaluation: what it gave and was given stay apart
            name, made = _name(func), list(tensors_in(result))
            if made or written or name in _LEAVING:
                self._recorder.operation(name, self._scope(), inputs, made, written, detail=_detail(args, kwargs))
            return result


class _Operations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Those that no function call showed: of scripted functions and of extensions."""

    supports_higher_order_operators = True  # torch.cond, flex_attention: recorded as one operation each

    def __init__(self, functions: _Functions, undoing: Undoing) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._functions = functions
        self._undoing = undoing

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled in here, and importing torch._dynamo takes two seconds

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "namespace", "") in _BETWEEN_PROCESSES:
            raise DebuggerError("forward waits for other processes, and only this one is asked.")
        self._undoing.before_write(func, args, kwargs)
        result = self._functions.call(func, args, kwargs)
        self._undoing.after((args, kwargs), result)
        return result


def _name(func: Any) -> str:
    """relu, add_, getitem; T for the property"""
    name = getattr(func, "__name__", type(func).__name__)
    if name in ("__get__", "__set__"):
        return str(getattr(getattr(func, "__self__", None), "__name__", name))
    if isinstance(func, torch._ops.OpOverload):
        return str(func.overloadpacket.__name__)
    return str(name).strip("_") if name.startswith("__") else str(name)


def _version(tensor: torch.Tensor) -> int:
    return -1 if tensor.is_inference() else tensor._version


def _detail(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    plain = [_plain(value) for value in args]
    named = [f"{key}={_plain(value)}" for key, value in kwargs.items() if _plain(value)]
    return ", ".join([value for value in plain if value] + named)[:_LONGEST_DETAIL]


def _plain(value: Any) -> str:
    """Numbers, words and tuples of them; no code of the user's runs for it."""
    if is_one_of(value, (int, float, bool, str)):
        return repr(value)
    if is_one_of(value, (torch.dtype, torch.device)):
        return str(value).removeprefix("torch.")
    if type(value) is slice:
        ends = [_plain(end) for end in (value.start, value.stop, value.step)]
        return ":".join(ends).removesuffix(":") or ":"
    if is_one_of(value, (tuple, list, torch.Size)) and value and len(value) < 9:
        parts = [_plain(item) for item in value]
        return f"[{', '.join(parts)}]" if all(parts) else ""
    return ""


# The modules of a model that could not be run: what it is made of, without what flows through it.
def tree_graph(model: nn.Module, root: str, note: str) -> ModelGraph:
    """Each module that holds tensors, or holds no other module, with its parameters and buffers."""
    recorder = GraphRecorder()
    scopes = Scopes(model, root, recorder)
    scopes.own_tensors()
    for module, scope in scopes.all_modules():
        tensors = [*module.parameters(recurse=False), *module.buffers(recurse=False)]
        if tensors or not any(True for _ in module.children()):
            materialised = [tensor for tensor in tensors if not nn.parameter.is_lazy(tensor)]
            recorder.operation(scope.module, scope.name, materialised, (), kind=MODULE, detail=scope.detail)
    return ModelGraph(recorder.nodes, tuple(recorder.edges), tuple(scopes.found), note, scopes.modules())


# What a forward writes into memory that was there before it, put back: a clamped weight, a global cache.
class Undoing:
    """Hears of every operation below the level of functions, where each says what it writes into."""

    def __init__(self) -> None:
        self._born: set[int] = set()  # memory that the forward made itself
        self._kept: dict[int, tuple[torch.UntypedStorage, torch.UntypedStorage]] = {}
        self._replaced: list[tuple[torch.Tensor, torch.Tensor]] = []

    def before_write(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        schema = getattr(func, "_schema", None)
        if schema is None or not schema.is_mutable:
            return
        for place, argument in enumerate(schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                value = args[place] if place < len(args) else kwargs.get(argument.name)
                for tensor in tensors_in(value):
                    memory = memory_of(tensor)
                    if memory is not None and memory._cdata not in self._born and memory._cdata not in self._kept:
                        self._kept[memory._cdata] = (memory, memory.clone())  # type: ignore[no-untyped-call]

    def before_replacing(self, tensor: torch.Tensor) -> None:
        """weight.data = ..."""
        self._replaced.append((tensor, tensor.data))

    def after(self, inputs: Any, result: Any) -> None:
        old = {memory_id(tensor) for tensor in tensors_in(inputs)}
        made = {memory_id(tensor) for tensor in tensors_in(result)}
        self._born |= made - old

    def undo(self) -> None:
        for tensor, data in reversed(self._replaced):
            tensor.data = data
        for memory, copy in self._kept.values():
            memory.copy_(copy)
