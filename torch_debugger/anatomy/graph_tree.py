"""The modules of a model that could not be run: what it is made of, without what flows through it."""

from __future__ import annotations

from torch import nn

from torch_debugger.anatomy.graph_recorder import Recorder
from torch_debugger.anatomy.graph_scopes import Scopes
from torch_debugger.records.op_graph import MODULE, ModelGraph


def tree_graph(model: nn.Module, root: str, note: str) -> ModelGraph:
    """Each module that holds tensors, or holds no other module, with its parameters and buffers."""
    recorder = Recorder()
    scopes = Scopes(model, root, recorder)
    scopes.own_tensors()
    for module, scope in scopes.all_modules():
        tensors = [*module.parameters(recurse=False), *module.buffers(recurse=False)]
        if tensors or not any(True for _ in module.children()):
            materialised = [tensor for tensor in tensors if not nn.parameter.is_lazy(tensor)]
            recorder.operation(scope.module, scope.name, materialised, (), kind=MODULE, detail=scope.detail)
    return ModelGraph(recorder.nodes, tuple(recorder.edges), tuple(scopes.found), note, scopes.modules())
