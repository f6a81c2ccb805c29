"""What the autograd graph, version counters and a replay tell about a crash in backward."""

from __future__ import annotations

from torch_debugger.records.base import BaseRecord
from torch_debugger.records.findings import Place
from torch_debugger.records.training import LocalTensor


class CarriedState(BaseRecord, frozen=True):
    """A tensor that ties one round of a loop to the graph of the round before."""

    name: str  # h, self.hidden, total
    place: Place  # the statement that keeps it
    after: Place  # the statement behind which it can be detached
    parts: int = 0  # of a tuple of tensors, as an LSTM's (h, c); 0 for one tensor
    in_module: bool = False  # kept by a module's own method


class InPlaceWrite(BaseRecord, frozen=True):
    """One write into a tensor that backward still needed."""

    place: Place  # the statement that wrote
    operation: str  # add_, CopySlices, optimizer.step
    target: str = ""  # the variable, where the statement names it
    layer: str = ""  # the torch layer that wrote: ReLU
    constructor: Place = Place()  # of that layer


class Overwritten(BaseRecord, frozen=True):
    """A tensor saved for backward, and who wrote into it after that."""

    shape: tuple[int, ...]
    maker: str  # the operation that made it: Sigmoid; empty for a leaf
    version: int
    expected: int
    by: str  # replay, graph, variable, step, update: what showed the write
    writes: tuple[InPlaceWrite, ...]
    parameter: str = ""  # net.fc2.weight, where the tensor is a parameter
    saved: Place = Place()  # the line whose operation saved it
    loss_made: Place = Place()  # where the loss was computed
    carried: CarriedState | None = None


class FreedGraph(BaseRecord, frozen=True):
    """Why a graph was asked for gradients when an earlier backward had freed it."""

    reason: str  # again, repeated, shared, fed, carried, accumulated, made-before, cached
    name: str  # the variable that reaches into the freed graph
    made: Place  # where that variable is made or kept
    first: Place  # the earlier backward, where it is another line
    other: str = ""  # the loss of that earlier backward; the term that is added up
    carried: CarriedState | None = None
    stepped: bool = False  # an optimizer stepped between the two


class GraphCut(BaseRecord, frozen=True):
    """Where a loss lost its graph."""

    # detach, data, item, tensor, numpy, integer, grad, no_grad, decorator, switched-off, frozen, constant
    reason: str
    place: Place
    text: str = ""  # the very expression: out.detach()
    inner: str = ""  # what it was taken of: out
    module: str = ""  # the model whose forward it lies in
    proven: bool = False  # live tensors on both sides, or a replay, show the cut
    parameters: int = 0  # of the models; for frozen ones
    parts: int = 0  # tensors with a graph in a list that was made into one tensor


class Rebinding(BaseRecord, frozen=True):
    """An update by hand that gave a trained variable a new tensor."""

    name: str  # w, self.w, params[k]
    place: Place
    update: str  # the same update in place, w -= lr * w.grad; empty where it is not plain
    recorded: bool = False  # the new tensor has a graph, so it is no leaf; otherwise it asks for no gradient
    switched_off: bool = False  # the update stands under no_grad
    cleared: bool = False  # some line clears gradients, or none are added up


class Differentiated(BaseRecord, frozen=True):
    """An input of autograd.grad that no gradient can be given for."""

    reason: str  # plain, integer, frozen, late, remade, cut, unused
    name: str
    output: str  # what was differentiated: score
    place: Place  # what made the input; of late, remade and cut, the line that is wrong
    output_made: Place = Place()
    text: str = ""  # the cut: x.detach()


class CustomFunction(BaseRecord, frozen=True):
    """A user's autograd.Function and its two halves."""

    name: str
    forward: Place
    backward: Place
    returned: Place  # the return statement of backward
    inputs: tuple[str, ...]  # of forward, without ctx
    gradients: tuple[str, ...]  # the expressions that backward returns
    takes: tuple[str, ...]  # of backward, without ctx
    saved: Place = Place()  # ctx.save_for_backward(...)
    saves: tuple[str, ...] = ()
    outputs: int = 1
    static: bool = True
    needed: tuple[bool, ...] = ()  # which inputs asked for a gradient, where the graph tells
    object: str = ""  # the variable that holds an object of the class, made instead of calling apply
    object_made: Place = Place()


class RefusedTensor(BaseRecord, frozen=True):
    """A tensor that torch would not write into, turn into an array, copy, or send to another process."""

    tensor: LocalTensor  # under the expression the user's line has for it
    asked: str  # write, numpy, deepcopy, process
    holder: str = ""  # the list or module that holds it: losses, model.cache
    made: Place = Place()  # the statement that made or kept it
    inference: bool = False  # made in inference mode
    view: bool = False


class AutogradEvidence(BaseRecord, frozen=True):
    """What the autograd graph, version counters and a replay tell about a crash in backward."""

    roots: tuple[LocalTensor, ...] = ()  # what backward was called on
    root_made: Place = Place()  # the statement that made the first
    criterion: Place = Place()  # the constructor of a loss with reduction='none'
    overwritten: Overwritten | None = None
    freed: FreedGraph | None = None
    cut: GraphCut | None = None
    rebound: tuple[Rebinding, ...] = ()
    differentiated: Differentiated | None = None
    function: CustomFunction | None = None
    refused: RefusedTensor | None = None
