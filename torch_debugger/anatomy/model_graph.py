"""`model_graph(model, inputs)`: what a model does with an input, from one run that leaves no trace."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.compiling import uncompiled
from torch_debugger.anatomy.global_hooks import without_global_hooks
from torch_debugger.anatomy.graph_calls import Call, argument_names, calls_for, own_call
from torch_debugger.anatomy.graph_modes import operations_told
from torch_debugger.anatomy.graph_recorder import MOST_NODES, Recorder
from torch_debugger.anatomy.graph_scopes import Scopes, class_of, scoped
from torch_debugger.anatomy.graph_tree import tree_graph
from torch_debugger.anatomy.kinds import own_attributes
from torch_debugger.anatomy.layers import inner_model
from torch_debugger.anatomy.nested import first_tensor, named_leaves
from torch_debugger.anatomy.rerun import leaving_no_trace, own_autocast_cache
from torch_debugger.anatomy.unseen_runs import evaluating
from torch_debugger.errors import DebuggerError
from torch_debugger.records.op_graph import INPUT, OUTPUT, ModelGraph
from torch_debugger.signals import is_the_scripts

_LONGEST_REASON = 300
_SHARDED = {"FullyShardedDataParallel", "FSDPModule"}


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
    if (hindrance := _hindrance(model)) is not None:
        return tree_graph(model, root, hindrance)
    reasons: list[str] = []
    for (training, gradients), call in itertools.product(_circumstances(model), calls_for(model, inputs)):
        try:
            with torch.set_grad_enabled(gradients):
                return _recorded(model, root, call, training)
        except Exception as error:  # the user's own, from forward: the graph of modules is still worth having
            if is_the_scripts(error):
                raise
            reasons.append(_why("forward raised", error))
    return tree_graph(model, root, reasons[0])


def _circumstances(model: nn.Module) -> list[tuple[bool, bool]]:
    """Whether to run in the modes that the modules have, and with gradients: some take those of their input."""
    tried = [(False, False), (False, True)]
    alone = not (torch.distributed.is_available() and torch.distributed.is_initialized())
    if alone and any(module.training for module in model.modules()):  # else SyncBatchNorm would wait for ever
        tried.append((True, True))
    return tried


def _hindrance(model: nn.Module) -> str | None:
    """Why the model must not even be tried."""
    lazy = [name for name, value in model.named_parameters() if nn.parameter.is_lazy(value)]
    if lazy:
        return f"`{lazy[0]}` has no shape yet: run the model once before drawing it."
    classes = {cls.__name__ for module in model.modules() for cls in type(module).__mro__}
    if classes & _SHARDED:
        return "the model is spread over several processes, and only this one is asked."
    return None


def _recorded(model: nn.Module, root: str, call: Call, training: bool) -> ModelGraph:
    modes = contextlib.nullcontext() if training else evaluating(model)
    with leaving_no_trace(model), modes, uncompiled(), own_autocast_cache():
        recorder = Recorder()
        scopes = Scopes(model, root, recorder)
        scopes.own_tensors()
        call = own_call(model, call)
        given = {name: _opened(value) for name, value in argument_names(model, call).items()}
        for name, tensor in _leaves(given):
            recorder.source(scoped(INPUT, name), INPUT, tensor)
        with without_global_hooks(), scopes.listening(), operations_told(recorder, scopes.current):
            output = model(*call.arguments, **call.keywords)
        for name, tensor in _leaves(_opened(output)):
            recorder.operation(OUTPUT, "", [tensor], (), kind=OUTPUT, name=scoped(OUTPUT, name))
        note = (
            "" if recorder.complete else f"the graph ends after {MOST_NODES:,} operations: the model does more."
        )
        return ModelGraph(recorder.nodes, tuple(recorder.edges), tuple(scopes.found), note, scopes.modules())


def _opened(value: Any) -> Any:
    """An object of the user's own class by its attributes: Batch(x, edges)"""
    return value if first_tensor(value) is not None else own_attributes(value)


def _leaves(value: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """x, batch.image, hidden.0"""
    for way, tensor in named_leaves(value):
        yield ".".join(part.strip("'\"") for part in way.strip("[]").split("][") if part), tensor


def _why(what: str, error: Exception) -> str:
    if isinstance(error, DebuggerError):
        return str(error)
    lines = str(error).strip().splitlines() or ["(no message)"]
    return f"{what}: {type(error).__name__}: {lines[0][:_LONGEST_REASON]}"
