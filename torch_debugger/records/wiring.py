"""Facts of how the parts of a training hang together: who steps, who is reached, who was loaded."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class StepCycle:
    """What an optimizer found when it stepped (deep steps only)."""

    step: int
    optimizer: str
    place: Place  # the call of step()
    gradients: str  # nonzero | zero | none | stale (the very ones of its last step)
    backwards: int  # seen since its last step
    backward: Place  # the last of them
    cleared: Place = field(default_factory=Place)  # a zero_grad() after that backward and before the step
    losses: tuple[str, ...] = ()  # scalars with a graph near the step, where no backward came
    trained: bool = True  # some model was called with gradients on in this step
    uncalled: Place = field(default_factory=Place)  # a line that names `backward` and does not call it
    twin: str = ""  # a trained model that no optimizer holds, with parameters of these very shapes
    twin_place: Place = field(default_factory=Place)  # the line that makes that model
    unspent: str = ""  # a loss near the step that leads to its parameters, where the backward was another's


@dataclass(frozen=True, slots=True)
class IdleOptimizer:
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
    condition: Place = field(default_factory=Place)  # the if around the one line that calls its step()
    written: str = ""  # the optimizer at the line of backward(): self.optimizer


@dataclass(frozen=True, slots=True)
class UnreachedPart:
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


@dataclass(frozen=True, slots=True)
class SavedTensor:
    """One entry of a state_dict."""

    key: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CheckpointLoad:
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


@dataclass(frozen=True, slots=True)
class GradientFlag:
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


@dataclass(frozen=True, slots=True)
class UnmatchedSwitch:
    """A line that should switch gradients and does not: by a test that no name passes, or by `==`."""

    root: str
    test: str  # name.startswith('encoder'); empty for a comparison that stands alone
    value: bool
    names: tuple[str, ...]  # the first parameters of the model, as named_parameters() has them
    trainable: int  # values of the model that need a gradient
    frozen: int
    place: Place
    step: int


@dataclass(frozen=True, slots=True)
class FreshParameter:
    """A parameter that every forward pass makes anew, so that no optimizer can hold it."""

    root: str
    owner: str  # the class whose forward makes it
    maker: str  # nn.Linear, nn.Parameter
    elements: int  # of all that are made anew
    place: Place  # the line that makes it
    looks: int  # at which it was another object
    step: int


@dataclass(frozen=True, slots=True)
class ReplacedParameter:
    """A parameter that an optimizer held, and in whose place is another object that none holds."""

    root: str
    name: str  # net.head.weight
    elements: int
    in_step: (
        bool  # since the forward of this step, so that backward() reaches the old one; else since the last look
    )
    looks: int  # at which it was another
    place: Place  # the line that puts it there
    step: int


@dataclass(frozen=True, slots=True)
class FrozenAtRandom:
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


@dataclass(frozen=True, slots=True)
class DataWritten:
    """Values that the graph of a loss needs, and that were written through `.data` before its backward."""

    name: str  # net.fc.weight, or a variable
    elements: int
    parameter: bool  # else a result of the forward
    change: float  # of its norm, as a share of it; 0 where that is not known
    place: Place  # the line that writes
    backward: Place
    step: int


@dataclass(frozen=True, slots=True)
class PlainTensor:
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


@dataclass(frozen=True, slots=True)
class UntiedWeights:
    """Two weights that a line of the source makes one or alike, and that train apart."""

    root: str
    first: str  # net.embed.weight
    second: str  # net.head.weight
    elements: int
    how: str  # copied (equal values, two objects) | undone (a line ties them, a later one does not)
    place: Place  # the line that should tie them
    step: int
