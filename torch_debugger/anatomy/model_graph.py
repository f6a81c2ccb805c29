"""`model_graph(model, inputs)`: what a model does with an input, from one run that leaves no trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.compiling import uncompiled
from torch_debugger.anatomy.graph_calls import Call, argument_names, calls_for, own_call
from torch_debugger.anatomy.graph_modes import operations_told
from torch_debugger.anatomy.graph_recorder import MOST_NODES, Recorder
from torch_debugger.anatomy.graph_scopes import Scopes, scoped
from torch_debugger.anatomy.graph_tree import tree_graph
from torch_debugger.anatomy.naming import own_attributes
from torch_debugger.anatomy.nested import named_leaves, tensors_in
from torch_debugger.anatomy.op_graph import INPUT, OUTPUT, ModelGraph
from torch_debugger.anatomy.rerun import leaving_no_trace, own_autocast_cache

_WRAPPERS = {"OptimizedModule": "_orig_mod", "DataParallel": "module", "DistributedDataParallel": "module"}
_SHARDED = ("FullyShardedDataParallel", "FSDPModule")


def model_graph(model: nn.Module, inputs: Any = None) -> ModelGraph:
    """The operations of one forward, and the tensors between them.

    A tuple or list of inputs is the arguments of forward, a dictionary with the names of its arguments
    the keywords. The model runs in evaluation mode, on copies; a model that cannot be run gives the
    graph of its modules alone, with a note that says why. Never raises.
    """
    try:
        return _graph(unwrapped(model), inputs)
    except Exception as error:  # whatever a model of a kind we have never met does: the training goes on
        return ModelGraph((), (), (), _why("the model could not be looked into", error))


def _graph(model: nn.Module, inputs: Any) -> ModelGraph:
    root = type(model).__name__
    if any(is_sharded(module) for module in model.modules()):
        return tree_graph(
            model, root, "the model is spread over several processes, and only one of them is asked."
        )
    failed: list[Exception] = []
    for call in calls_for(model, inputs):
        try:
            return _recorded(model, root, call)
        except Exception as error:  # the user's own, from forward: the graph of modules is still worth having
            failed.append(error)
    return tree_graph(model, root, _why("forward raised", failed[0]))


def unwrapped(model: nn.Module) -> nn.Module:
    """The module as it was written, below torch.compile, DataParallel and DDP."""
    while (held := _WRAPPERS.get(type(model).__name__)) is not None:
        model = model.get_submodule(held)
    return model


def is_sharded(module: nn.Module) -> bool:
    return any(cls.__name__ in _SHARDED for cls in type(module).__mro__)


def _recorded(model: nn.Module, root: str, call: Call) -> ModelGraph:
    with leaving_no_trace(model), uncompiled(), own_autocast_cache(), torch.no_grad():
        for module in model.modules():
            module.training = False  # not eval(), which may be the user's own
        recorder = Recorder()
        scopes = Scopes(model, root, recorder)
        scopes.own_tensors()
        call = own_call(model, call)
        for name, tensor in _leaves(argument_names(model, call)):
            recorder.source(scoped(INPUT, name), INPUT, tensor)
        with scopes.listening(), operations_told(recorder, scopes.current):
            output = model(*call.arguments, **call.keywords)
        for name, tensor in _leaves(output if tensors_in(output) else own_attributes(output)):
            recorder.operation(OUTPUT, "", [tensor], (), kind=OUTPUT, name=scoped(OUTPUT, name))
        note = (
            "" if recorder.complete else f"the graph ends after {MOST_NODES:,} operations: the model does more."
        )
        return ModelGraph(recorder.nodes, tuple(recorder.edges), tuple(scopes.found), note)


def _leaves(value: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """x, batch.image, hidden.0"""
    for way, tensor in named_leaves(value):
        yield ".".join(part.strip("'\"") for part in way.strip("[]").split("][") if part), tensor


def _why(what: str, error: Exception) -> str:
    lines = str(error).strip().splitlines() or ["(no message)"]
    return f"{what} {type(error).__name__}: {lines[0]}"
