"""How a module, optimizer or scheduler was built and called."""

from __future__ import annotations

from torch_debugger.records.base import BaseRecord, field
from torch_debugger.records.findings import Place
from torch_debugger.records.layers import LayerFact


class MethodFact(BaseRecord, frozen=True):
    """A function that belongs to a class, or was meant to."""

    name: str
    place: Place  # its `def` line
    inside: str = ""  # the method it is nested in by mistake, or "<module>" where it stands outside of the class
    fills: tuple[str, ...] = ()  # the attributes of self that it assigns


class InitFact(BaseRecord, frozen=True):
    """An object of the user's class whose base class was never, or not rightly, initialised."""

    cls: str  # the class whose __init__ is at fault
    base: str  # as the class statement writes it: nn.Module
    fault: str  # missing | late | not called | wrong super | misspelt | arguments | dataclass
    place: Place  # the line to edit: the first of __init__, the wrong super call, the misspelt def
    # What stands there instead: super().__init__, __int__, super(Encoder, self); where nothing does, the
    # arguments that the call must have.
    written: str = ""
    needed: str = ""  # the attribute that is missing therefore
    first: Place = Place()  # the first statement of __init__


class ForwardFact(BaseRecord, frozen=True):
    """A module that was called and has no forward."""

    path: str
    cls: str
    place: Place  # the class statement
    near: MethodFact | None = None  # what was probably meant to be its forward
    keys: tuple[str, ...] = ()  # of a ModuleList or ModuleDict: its entries


class ArgumentsFact(BaseRecord, frozen=True):
    """A module whose forward cannot be called with what it was given."""

    path: str
    cls: str
    place: Place  # the `def forward` line of a class of the user's
    takes: tuple[str, ...]  # names of positional parameters, without self
    required: tuple[str, ...]  # those without a default
    given: tuple[str, ...]  # what came by position, in words: a tensor [8, 4]
    keywords: tuple[str, ...] = ()  # names of what came by keyword
    caller: str = ""  # the path of the container that called it
    without_self: bool = False  # `def forward(x)`


class ClassUseFact(BaseRecord, frozen=True):
    """A module class used where an object of it is meant."""

    written: str  # nn.ReLU, Net, model: as the line has it
    cls: str
    call: str  # the call that raised or made the odd object
    place: Place  # the line of that call
    tensors: tuple[str, ...] = ()  # what was given to the constructor, in words
    is_loss: bool = False
    weights: bool = False  # objects of this class have parameters: they are built once
    torchs: bool = True  # a class of torch's own
    needs: tuple[str, ...] = ()  # arguments of the constructor without a default
    objects: tuple[str, ...] = ()  # names that hold an object of this class
    assigned: Place = Place()  # where a name was given the class: model = Net


class ValueFact(BaseRecord, frozen=True):
    """Something that is no tensor and was used like one."""

    written: str  # the expression that stands for it: out, batch, self.lstm(x)
    kind: str  # tuple, NoneType, numpy.ndarray
    holds: tuple[str, ...]  # its entries or attributes, in words: [0] a tensor [8, 4]
    receiver: str  # what was given it: `net.fc`, cross_entropy, or the attribute that was asked of it
    argument: str = ""  # input, target
    origin: Place = Place()  # the line that made it
    maker: str = ""  # the call on that line: self.lstm(x)
    maker_path: str = ""  # net.lstm
    maker_kind: str = ""  # LSTM
    maker_returns: str = ""  # nothing | several, as the source of its forward says
    returns: Place = Place()  # the return statement, or the last line where there is none


class StrayFact(BaseRecord, frozen=True):
    """Layers that a model keeps where it does not look for them."""

    attribute: str
    container: str  # list, dict, tuple, or tensor for a plain tensor that requires grad
    kinds: tuple[str, ...]
    place: Place


class OptimizerRefusal(BaseRecord, frozen=True):
    """What an optimizer was given when it refused."""

    kind: str  # Adam
    fault: str
    argument: str  # the text of the argument at fault
    given: str = ""  # its kind or value, in words
    model: str = ""  # the model the argument names
    parameters: int = 0
    trainable: int = 0
    names: tuple[str, ...] = ()  # parameters concerned
    strays: tuple[StrayFact, ...] = ()
    origin: Place = Place()  # where the argument was made, frozen or used up
    groups: tuple[int, ...] = ()  # numbers of the parameter groups concerned


class SchedulerRefusal(BaseRecord, frozen=True):
    """What a learning rate scheduler was given or asked when it refused."""

    kind: str  # OneCycleLR
    fault: str
    given: str = ""
    optimizer: str = ""  # a name that holds an optimizer in reach
    numbers: dict[str, int] = field(default_factory=dict)
    place: Place = Place()  # the statement that builds the scheduler
    counted: Place = Place()  # the line that works out the steps it is built for


class ScalerRefusal(BaseRecord, frozen=True):
    """What a GradScaler was asked when it refused."""

    fault: str
    method: str  # step, unscale_, update: as the user called it
    scaler: str  # the user's variable
    optimizer: str = ""
    updated: bool = False  # the user's files call its update() somewhere
    place: Place = Place()  # the other line that matters: backward(), optimizer.step()


class RegistrationRefusal(BaseRecord, frozen=True):
    """Something that a module could not take under a name."""

    owner: str  # net.block or the class name
    role: str  # module | parameter | buffer
    name: str
    given: str  # its kind, or the function's or class's name
    fault: str  # kind | taken | dot | not a name | no module
    function: str  # __setattr__, add_module, register_buffer, Sequential, ModuleList
    size: int | None = None  # of a list or tuple
    held: str = ""  # the kind of what has the name already
    place: Place = Place()  # where that was assigned, or the class statement


class BatchSource(BaseRecord, frozen=True):
    """The loop that hands out the batches, and how many samples its last one holds."""

    name: str  # as the loop writes it: loader, self.train_loader, range(0, len(x), 16)
    samples: int
    batch_size: int
    loop: Place  # the `for` line
    place: Place = Place()  # the whole statement that makes the DataLoader
    is_range: bool = False  # a range over the first indices of the batches

    @property
    def last(self) -> int:
        return self.samples % self.batch_size or self.batch_size


class SingleValueFact(BaseRecord, frozen=True):
    """A normalization that was to work out the spread of one single value."""

    function: str  # batch_norm | group_norm | instance_norm
    shape: tuple[int, ...]  # of its input
    groups: int = 0  # of group_norm
    tracks: bool = True  # running statistics are there, which model.eval() would use
    without_gradients: bool = False  # a torch.no_grad() is around the call
    trains: bool = False  # backward() is called in the function that calls the model
    source: BatchSource | None = None  # where it gives a batch of one


class SwappedArguments(BaseRecord, frozen=True):
    """Two sizes of one constructor: exchanged, what has failed goes through."""

    function: str  # Decoder
    first: str  # hidden_dim
    second: str  # latent_dim
    place: Place  # their line
    after: str = ""  # the line with the two exchanged; empty where they stand on several lines
    named: bool = False  # then they would bear the names of their parameters


class LayerSetting(BaseRecord, frozen=True):
    """One setting of one layer: with this value, what has failed goes through."""

    path: str  # model.decoder.up3
    name: str  # output_padding
    value: int
    place: Place  # the line that makes the layer
    after: str = ""  # that line with it; empty where it makes several layers, or has several lines


class BuildingEvidence(BaseRecord, frozen=True):
    """How a module, optimizer or scheduler was built and called."""

    init: InitFact | None = None
    forward: ForwardFact | None = None
    arguments: ArgumentsFact | None = None
    class_use: ClassUseFact | None = None
    value: ValueFact | None = None
    optimizer: OptimizerRefusal | None = None
    scheduler: SchedulerRefusal | None = None
    registration: RegistrationRefusal | None = None
    single_value: SingleValueFact | None = None
    scaler: ScalerRefusal | None = None


# A checkpoint against the model or optimizer it was loaded into, and the file it was read from.
class StateEntry(BaseRecord, frozen=True):
    """One tensor of a state dict."""

    name: str  # layer1.0.weight
    shape: tuple[int, ...]


class InnerState(BaseRecord, frozen=True):
    """An entry of a checkpoint that is a state dict itself: checkpoint["model"]"""

    key: str
    entries: tuple[StateEntry, ...]
    of_optimizer: bool = False


class ModelLoad(BaseRecord, frozen=True):
    """What a module's load_state_dict was given, and what it wanted."""

    name: str  # as the user calls it: model
    kind: str  # its class: Net, DataParallel
    given: str  # the class of what was given: dict, str, NoneType
    strict: bool = True
    wrapped: str = ""  # the attribute under which a wrapper keeps the model: module, _orig_mod
    wanted: tuple[StateEntry, ...] = ()
    saved: tuple[StateEntry, ...] = ()
    others: tuple[str, ...] = ()  # keys that hold no tensor
    inside: tuple[InnerState, ...] = ()
    of_optimizer: bool = False  # what was given is an optimizer's state
    layers: tuple[LayerFact, ...] = ()  # those whose shapes differ


class OptimizerLoad(BaseRecord, frozen=True):
    """What an optimizer's load_state_dict was given, and what it has."""

    name: str
    kind: str  # Adam
    given: str
    keys: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()  # keys that hold an optimizer's state
    of_model: bool = False  # it holds tensors under dotted names: a model's state
    groups: tuple[int, ...] = ()  # parameters in each group of the optimizer
    saved_groups: tuple[int, ...] = ()


class RefusedGlobal(BaseRecord, frozen=True):
    """A class or function that a file names and torch.load will not import by itself."""

    name: str  # argparse.Namespace
    user_class: bool = False  # defined in the user's own files
    function: bool = False
    module_class: bool = False  # an nn.Module: a whole model was saved
    written: str = ""  # how the user's line can name it; empty where it needs an import


class StorageLocation(BaseRecord, frozen=True):
    """Where a stored tensor was to be put."""

    location: str  # cuda:0
    available: int  # devices of that kind here
    asked: str = ""  # the map_location that the user gave; empty for none
    asked_itself: bool = False  # the location is that map_location and not the file's


class FileFact(BaseRecord, frozen=True):
    """A file that was to be read or written, by its size and its first bytes."""

    path: str
    writing: bool = False
    exists: bool = True
    folder: bool = False
    parent_exists: bool = True
    size_bytes: int = 0
    form: str = ""  # empty, cut-zip, html, lfs-pointer, ...; see crashes/checkpoints.py
    start: str = ""  # the first characters of a text
    near: tuple[str, ...] = ()  # files of that folder with a similar name
    expected_bytes: int = 0  # of the tensors to write, or as a pointer tells
    free_bytes: int = -1  # of the disk
    buffer: bool = False  # no file: an io.BytesIO of the user's
    os_name: str = ""  # what the user's line calls the os module


class CheckpointEvidence(BaseRecord, frozen=True):
    """Each part only where the crash is of its kind."""

    model: ModelLoad | None = None
    optimizer: OptimizerLoad | None = None
    refused: tuple[RefusedGlobal, ...] = ()
    refused_all: bool = False  # these are all in the file; else only the first is known
    location: StorageLocation | None = None
    file: FileFact | None = None
