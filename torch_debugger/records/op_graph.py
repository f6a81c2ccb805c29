"""A model's operations as plain data: no tensor and no module is held."""

from __future__ import annotations

from dataclasses import dataclass

# The kinds of a node. A module is one where its operations could not be seen: scripted, or never run.
INPUT, OUTPUT, OPERATION, MODULE = "input", "output", "operation", "module"
PARAMETER, BUFFER, CONSTANT = "parameter", "buffer", "constant"


@dataclass(frozen=True, slots=True)
class TensorForm:
    shape: tuple[int, ...]  # -1 where it is ragged
    dtype: str  # float32
    device: str  # cpu, cuda:0


UNKNOWN_FORM = TensorForm((), "unknown", "")  # of a graph from elsewhere that does not tell its shapes


@dataclass(frozen=True, slots=True)
class GraphNode:
    name: str  # unique: ResNet/layer1/0/conv1/conv2d
    kind: str
    op: str  # conv2d; for a module its class
    scope: str  # name of the scope that ran it; empty outside of the model
    outputs: tuple[TensorForm, ...]
    detail: str = ""  # what it was given besides tensors: dim=1


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """One tensor from the node that made it, or last wrote into it, to one that reads it."""

    source: int  # places in the list of nodes; the source stands before the target
    output: int  # which of the source's outputs
    target: int
    form: TensorForm


@dataclass(frozen=True, slots=True)
class GraphScope:
    """One call of a module; a second call of the same one has a scope of its own."""

    name: str  # unique: ResNet/layer1/0, and ResNet/act_2 for the second call of `act`
    path: str  # layer1.0; empty for the model itself
    module: str  # its class
    call: int  # 1 for the first
    detail: str = ""  # 64, 128, kernel_size=(3, 3)
    caller: str = ""  # name of the scope that called it; empty for the model itself


@dataclass(frozen=True, slots=True)
class GraphModule:
    """One module of the model, called or not."""

    path: str  # layer1.0; empty for the model itself
    module: str  # its class
    parameters: int  # numbers it holds, with all below it; what is shared counts once
    of_torch: bool  # whether its class is one of torch's own
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ModelGraph:
    nodes: tuple[GraphNode, ...]  # in the order in which they ran
    edges: tuple[GraphEdge, ...]
    scopes: tuple[GraphScope, ...]  # a scope stands behind the one that called it
    note: str = ""  # one sentence on what is missing and why; empty for a whole graph
    modules: tuple[GraphModule, ...] = ()  # as named_modules() has them
