"""What the model is: modules, parameters, and everything that goes with training it."""

from __future__ import annotations

from torch_debugger.records.base import BaseRecord, field
from torch_debugger.records.findings import Place


class ModuleFact(BaseRecord, frozen=True):
    """One module of a model. The path starts with the user's own name for the root: net.encoder.0"""

    path: str
    kind: str  # class name: Linear, ReLU, MyBlock
    place: Place = Place()  # the line that constructs it, if found
    parameters: int = 0  # its own elements, children excluded
    settings: dict[str, float] = field(default_factory=dict)  # p of dropout, devices of DataParallel


class ParameterFact(BaseRecord, frozen=True):
    path: str  # net.fc1.weight
    shape: tuple[int, ...]
    dtype: str
    device: str
    trainable: bool


class ModelFact(BaseRecord, frozen=True):
    """A root module the script called: its tree in definition order."""

    root: str  # the user's name for it: model, netG, self.policy
    kind: str
    place: Place  # the class statement
    modules: tuple[ModuleFact, ...]
    parameters: tuple[ParameterFact, ...]
    step: int
    forward: Place = Place()  # the root's forward method
    filled: Place = Place()  # the first call in its file that sets random weights


class StrayModuleFact(BaseRecord, frozen=True):
    """Modules that forward calls but that their owner never registered."""

    owner: str  # net
    attribute: str  # layers
    container: str  # list | tuple | dict | none (a module made or found elsewhere)
    kinds: tuple[str, ...]
    parameters: int  # elements that need a gradient
    in_optimizer: int  # of those, how many an optimizer holds
    place: Place  # the line that fills the container
    step: int


class OptimizerFact(BaseRecord, frozen=True):
    """An optimizer and the hyperparameters of its groups, as they are at `step`."""

    name: str  # the user's variable, or optimizer, optimizer_2
    kind: str  # Adam
    place: Place  # the line that makes it
    groups: tuple[dict[str, float], ...]  # numbers only: lr, initial_lr, momentum, beta1, weight_decay, eps
    parameters: tuple[str, ...]  # names where known, else "unnamed[0]"
    step: int
    source: str = ""  # the text of the call: Adam(model.encoder.parameters(), lr=1e-3)
    sizes: tuple[int, ...] = ()  # how many of the parameters each group holds
    form: str = ""  # of its update: fused | in lists | one by one; empty where there is no choice
    filled: Place | None = None  # the line that fills the variable it is given: params = [...]

    @property
    def settings(self) -> list[dict[str, float]]:
        """The groups as the script wrote them: a warm-up has changed the rate before it is seen."""
        plain = [{key: value for key, value in group.items() if key != "initial_lr"} for group in self.groups]
        starts = [{"lr": group["initial_lr"]} if "initial_lr" in group else {} for group in self.groups]
        return [group | start for group, start in zip(plain, starts, strict=True)]


class SchedulerFact(BaseRecord, frozen=True):
    kind: str
    optimizer: str
    place: Place
    step: int
    number: int = 0  # counted as they are made, from 1
    settings: dict[str, float] = field(default_factory=dict)  # T_max, total_steps, step_size, gamma
    source: str = ""  # the statement that makes it


class LedgerRow(BaseRecord, frozen=True):
    """All that is known of one parameter. None means: not known yet."""

    name: str
    elements: int
    trainable: bool
    registered: bool  # reachable from its root by named_parameters()
    in_optimizer: bool
    used: bool | None  # its module ran in the last deep step
    gradient: str  # none | zero | nonzero | notfinite
    changed: bool | None  # by the last watched optimizer step, by value


class LedgerFact(BaseRecord, frozen=True):
    """The parameter ledger of one root at one step."""

    root: str
    step: int
    optimizers: tuple[str, ...]  # optimizers that stepped so far
    rows: tuple[LedgerRow, ...]


# A model's operations as plain data: no tensor and no module is held.

# The kinds of a node. A module is one where its operations could not be seen: scripted, or never run.
INPUT, OUTPUT, OPERATION, MODULE = "input", "output", "operation", "module"
PARAMETER, BUFFER, CONSTANT = "parameter", "buffer", "constant"


class TensorForm(BaseRecord, frozen=True):
    shape: tuple[int, ...]  # -1 where it is ragged
    dtype: str  # float32
    device: str  # cpu, cuda:0


UNKNOWN_FORM = TensorForm((), "unknown", "")  # of a graph from elsewhere that does not tell its shapes


class GraphNode(BaseRecord, frozen=True):
    name: str  # unique: ResNet/layer1/0/conv1/conv2d
    kind: str
    op: str  # conv2d; for a module its class
    scope: str  # name of the scope that ran it; empty outside of the model
    outputs: tuple[TensorForm, ...]
    detail: str = ""  # what it was given besides tensors: dim=1


class GraphEdge(BaseRecord, frozen=True):
    """One tensor from the node that made it, or last wrote into it, to one that reads it."""

    source: int  # places in the list of nodes; the source stands before the target
    output: int  # which of the source's outputs
    target: int
    form: TensorForm


class GraphScope(BaseRecord, frozen=True):
    """One call of a module; a second call of the same one has a scope of its own."""

    name: str  # unique: ResNet/layer1/0, and ResNet/act_2 for the second call of `act`
    path: str  # layer1.0; empty for the model itself
    module: str  # its class
    call: int  # 1 for the first
    detail: str = ""  # 64, 128, kernel_size=(3, 3)
    caller: str = ""  # name of the scope that called it; empty for the model itself


class GraphModule(BaseRecord, frozen=True):
    """One module of the model, called or not."""

    path: str  # layer1.0; empty for the model itself
    module: str  # its class
    parameters: int  # numbers it holds, with all below it; what is shared counts once
    of_torch: bool  # whether its class is one of torch's own
    detail: str = ""


class ModelGraph(BaseRecord, frozen=True):
    nodes: tuple[GraphNode, ...]  # in the order in which they ran
    edges: tuple[GraphEdge, ...]
    scopes: tuple[GraphScope, ...]  # a scope stands behind the one that called it
    note: str = ""  # one sentence on what is missing and why; empty for a whole graph
    modules: tuple[GraphModule, ...] = ()  # as named_modules() has them


# How tensors went through a model in one forward: the calls of its modules, and what lies between.
class CallFact(BaseRecord, frozen=True):
    """One call of a module: the numbers of a scope of the graph."""

    scope: str  # its name in the graph
    given: tuple[tuple[int, ...], ...]  # shapes
    made: tuple[tuple[int, ...], ...]
    macs: int | None  # multiply-accumulates of its own, without those of the calls inside it; None: not known
    uncounted: str = ""  # why not, or what is left out


class ModelFlow(BaseRecord, frozen=True):
    """The graph's nodes are calls of layers, and the operations that autograd saw between them."""

    root: str  # the user's name for the model
    graph: ModelGraph
    calls: tuple[CallFact, ...]
    step: int


# Facts of how the parts of a training hang together: who steps, who is reached, who was loaded.
class StepCycle(BaseRecord, frozen=True):
    """What an optimizer found when it stepped (deep steps only)."""

    step: int
    optimizer: str
    place: Place  # the call of step()
    gradients: str  # nonzero | zero | none | stale (the very ones of its last step)
    backwards: int  # seen since its last step
    backward: Place  # the last of them
    cleared: Place = Place()  # a zero_grad() after that backward and before the step
    losses: tuple[str, ...] = ()  # scalars with a graph near the step, where no backward came
    trained: bool = True  # some model was called with gradients on in this step
    uncalled: Place = Place()  # a line that names `backward` and does not call it
    twin: str = ""  # a trained model that no optimizer holds, with parameters of these very shapes
    twin_place: Place = Place()  # the line that makes that model
    unspent: str = ""  # a loss near the step that leads to its parameters, where the backward was another's


class IdleOptimizer(BaseRecord, frozen=True):
    """An optimizer whose parameters get gradients and stay as they are, because it has not stepped yet."""

    optimizer: str
    kind: str
    place: Place  # the line that makes it
    backwards: int
    zero_grads: int  # calls of its zero_grad()
    backward: Place
    uncalled: Place  # a line that names its `step` and does not call it
    stepped: bool  # it has now, so all is well
    step: int
    condition: Place = Place()  # the if around the one line that calls its step()
    written: str = ""  # the optimizer at the line of backward(): self.optimizer


class UnreachedPart(BaseRecord, frozen=True):
    """A part of a model that an optimizer holds and no gradient reaches, and what the source says about it."""

    root: str
    part: str  # net.encoder, or a single parameter: net.scale
    kind: str  # its class
    place: Place  # the line that makes it
    parameters: int
    elements: int
    reason: str  # never read | dropped (its result is) | cut | no grad | unknown
    cut: Place  # the line that does it
    following: str  # the next module that ran, if one did: net.head
    instead: str  # a layer of the same kind that is called twice: conv1
    training: bool  # the part is in training mode
    step: int
    at_end: bool = False  # told once more when the run is over: its values are still the same


class SavedTensor(BaseRecord, frozen=True):
    """One entry of a state_dict."""

    key: str
    shape: tuple[int, ...]


class CheckpointLoad(BaseRecord, frozen=True):
    """A load_state_dict() that went through: what was asked for, what was given."""

    kind: str  # the module's class
    place: Place  # the call
    wanted: int  # entries the module has
    loaded: int  # of those, found in what was given
    own: int  # of those, the very tensors of the module itself
    missing: tuple[SavedTensor, ...]  # the first of them
    unexpected: tuple[SavedTensor, ...]  # as given, under names the module does not have
    last_layer: str  # the last layer of the module that has parameters: fc
    nested: str  # the key of a dictionary inside, whose entries do fit: model_state
    kept: Place  # the line that took the state without a copy, where all tensors are the module's own
    step: int
    filtered: bool = False  # the script itself took over what fits by name, and nothing did


class GradientFlag(BaseRecord, frozen=True):
    """An attribute that was meant to switch gradients on or off, and is none that torch knows."""

    root: str
    owner: str  # the module or parameter that carries it: net.features
    is_module: bool
    attribute: str  # requires_grad of a module, require_grad of a parameter
    value: bool
    trainable: int  # values of the owner that need a gradient
    frozen: int  # and that do not
    moved: int  # values that an optimizer holds and has gradients for
    toggled: bool  # other lines set it to the contrary
    place: Place  # the line that sets it
    step: int


class UnmatchedSwitch(BaseRecord, frozen=True):
    """A line that should switch gradients and does not: by a test that no name passes, or by `==`."""

    root: str
    test: str  # name.startswith('encoder'); empty for a comparison that stands alone
    value: bool
    names: tuple[str, ...]  # the first parameters of the model, as named_parameters() has them
    trainable: int  # values of the model that need a gradient
    frozen: int
    place: Place
    step: int


class FreshParameter(BaseRecord, frozen=True):
    """A parameter that every forward pass makes anew, so that no optimizer can hold it."""

    root: str
    owner: str  # the class whose forward makes it
    maker: str  # nn.Linear, nn.Parameter
    elements: int  # of all that are made anew
    place: Place  # the line that makes it
    looks: int  # at which it was another object
    step: int


class ReplacedParameter(BaseRecord, frozen=True):
    """A parameter that an optimizer held, and in whose place is another object that none holds."""

    root: str
    name: str  # net.head.weight
    elements: int
    in_step: bool  # since the forward of this step, so that backward() reaches the old one; else since the last look
    looks: int  # at which it was another
    place: Place  # the line that puts it there
    step: int


class FrozenAtRandom(BaseRecord, frozen=True):
    """Frozen layers in front of trained ones, whose weights are still those that their initialization draws."""

    root: str
    parts: tuple[str, ...]  # net.backbone
    elements: int
    of: int  # values of the model
    layers: int
    drawn: str  # uniform(-0.177, 0.177), of the largest layer
    spread: float  # the standard deviation of the largest layer
    expected: float  # that such a draw has
    place: Place  # the line that freezes
    loading: Place  # a line that would load weights, and has not
    step: int


class DataWritten(BaseRecord, frozen=True):
    """Values that the graph of a loss needs, and that were written through `.data` before its backward."""

    name: str  # net.fc.weight, or a variable
    elements: int
    parameter: bool  # else a result of the forward
    change: float  # of its norm, as a share of it; 0 where that is not known
    place: Place  # the line that writes
    backward: Place
    step: int


class PlainTensor(BaseRecord, frozen=True):
    """A tensor that a module keeps as a plain attribute, beside its parameters and buffers."""

    owner: str  # net.norm
    kind: str  # the owner's class
    attribute: str
    elements: int
    trained: bool  # it needs a gradient; else it is a state that the module's own methods write
    is_leaf: bool
    reached: bool  # by backward
    held: bool  # by an optimizer
    changed: bool  # since the first look
    saved: bool  # the script calls state_dict()
    place: Place  # the line that fills it
    update: Place  # the line that writes it again from its own value
    looks: int
    step: int


class UntiedWeights(BaseRecord, frozen=True):
    """Two weights that a line of the source makes one or alike, and that train apart."""

    root: str
    first: str  # net.embed.weight
    second: str  # net.head.weight
    elements: int
    how: str  # copied (equal values, two objects) | undone (a line ties them, a later one does not)
    place: Place  # the line that should tie them
    step: int
