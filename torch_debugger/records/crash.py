"""An exception of the user's script, with everything its frames can tell."""

from __future__ import annotations

from torch_debugger.records.base import BaseRecord, field
from torch_debugger.records.crash_autograd import AutogradEvidence
from torch_debugger.records.crash_loading import LoadingEvidence, ProcessEvidence, Subscripted
from torch_debugger.records.crash_modules import BuildingEvidence, CheckpointEvidence, LayerSetting, SwappedArguments
from torch_debugger.records.findings import Place
from torch_debugger.records.layers import LayerFact, Operand
from torch_debugger.records.performance import MemoryLook
from torch_debugger.records.training import LocalTensor


# What is known about a crash beyond its frames: one part for each kind of trouble, most of them absent.
class CrashEvidence(BaseRecord, frozen=True):
    """Each part is made by the examiner of its name, and only where it concerns the crash."""

    indices: IndexEvidence | None = None
    autograd: AutogradEvidence | None = None
    devices: DeviceEvidence | None = None
    memory: MemoryEvidence | None = None
    cuda: CudaEvidence | None = None
    loading: LoadingEvidence | None = None
    checkpoints: CheckpointEvidence | None = None
    names: NameEvidence | None = None
    building: BuildingEvidence | None = None
    processes: ProcessEvidence | None = None
    view: ViewEvidence | None = None
    packing: PackingEvidence | None = None
    numbers: NumberEvidence | None = None
    entry: Subscripted | None = None
    swaps: SwappedArguments | None = None
    setting: LayerSetting | None = None
    assertion: AssertionEvidence | None = None
    absent: AbsentValue | None = None
    profiler: ProfilerRefusal | None = None
    faults: tuple[str, ...] = ()  # examiners that failed, and how: "autograd: KeyError: 'x'"


__all__ = [
    "AbsentValue",
    "AssertionEvidence",
    "AutogradEvidence",
    "BuildingEvidence",
    "CheckpointEvidence",
    "CrashEvidence",
    "CudaEvidence",
    "DeviceEvidence",
    "IndexEvidence",
    "LayerSetting",
    "LoadingEvidence",
    "MemoryEvidence",
    "NameEvidence",
    "NumberEvidence",
    "PackingEvidence",
    "ProcessEvidence",
    "ProfilerRefusal",
    "SwappedArguments",
    "ViewEvidence",
]  # fmt: skip


class LocalValue(BaseRecord, frozen=True):
    """A local variable of a user's frame that is no tensor."""

    name: str
    kind: str  # int, list, numpy.ndarray, mypackage.Config
    text: str = ""  # plain numbers, and what the failing statement mentions; never a whole object
    size: int | None = None  # of a container


class CrashFrame(BaseRecord, frozen=True):
    """One frame of the traceback, outermost first."""

    file: str
    line: int
    function: str
    code: str
    user: bool  # the user's own code: not torch, not the standard library, not site-packages
    module: str | None  # the path of the nn.Module whose method this is
    kind: str | None  # its class
    tensors: tuple[LocalTensor, ...]
    code_line: int = 0  # where `code`, the whole statement, starts; 0 where that is not known
    failing: str = ""  # the very expression that raised, as ast.unparse writes it; Python 3.11 on
    values: tuple[LocalValue, ...] = ()  # other locals of a user's frame


class FlowStep(BaseRecord, frozen=True):
    """A module that ran, with the shapes that went in and came out."""

    path: str
    kind: str
    given: tuple[tuple[int, ...], ...]
    made: tuple[tuple[int, ...], ...]
    time_s: float = 0.0
    depth: int = 0  # nesting: 0 is the root
    made_bytes: int = 0
    parameters: int = 0  # elements, children included
    failed: bool = False  # it raised


class FlowFact(BaseRecord, frozen=True):
    """Everything one forward pass ran, callers before what they call."""

    root: str
    steps: tuple[FlowStep, ...]
    step: int
    left_out: int = 0  # modules that ran too, beyond those kept


class CrashFact(BaseRecord, frozen=True):
    kind: str  # RuntimeError
    message: str
    frames: tuple[CrashFrame, ...]
    place: Place  # the innermost user frame
    layer: LayerFact | None
    traceback: str  # complete, without frames of ours
    step: int
    flow: tuple[FlowStep, ...] = ()
    qualified: str = ""  # torch.OutOfMemoryError
    bases: tuple[str, ...] = ()  # the names of its classes, itself first: OutOfMemoryError, RuntimeError, ...
    attributes: dict[str, str | int] = field(default_factory=dict)  # what it carries: errno, name, key
    causes: tuple[CrashFact, ...] = ()  # what it was raised from, or while handling; the nearest first
    raised_from: bool = False  # by an explicit `raise ... from`
    evidence: CrashEvidence = CrashEvidence()
    pasted: bool = False  # read from the text of a traceback: no tensors, no values, no objects


# Integer tensors that were used as indices, against the sizes they index.
class IndexEvidence(BaseRecord, frozen=True):
    """One lookup with values out of range: which values, where they stand, what would have been allowed."""

    operation: str  # embedding, cross_entropy, gather, one_hot, ...; [] for square brackets
    indices: LocalTensor  # under the user's own expression where that is known; a plain number has no shape
    size: int  # how many there are to choose from
    allowed: int  # the lowest value that is allowed: 0, or -size where one may count from the end
    count: int  # values out of range
    total: int  # values looked at, without those that are ignored
    values: tuple[int, ...]  # the first few out of range, in their order
    positions: tuple[tuple[int, ...], ...]  # and where they stand
    lowest: int  # of all values looked at
    highest: int
    distinct: int  # different values looked at
    counts_up: bool  # 0, 1, 2, ... along the last dimension: positions of a sequence
    table: LocalTensor | None = None  # what was indexed
    dimension: int | None = None
    ignored: int | None = None  # the label that does not count
    expression: str = ""  # the user's expression that raised, where it is not a call of a layer
    scores_from: LayerFact | None = None  # for labels: the layer that made the scores


# Which tensors live where, and the lines that made the odd ones.
class MetTensor(BaseRecord, frozen=True):
    """A tensor of the operation that failed, and where the user's code has it from.

    Places hold whole statements. `beside_use` and `beside_made` write the accelerator's device where the
    tensor is used and where it is made: `device`, `x.device`.
    """

    tensor: LocalTensor  # under the user's name for it, else under torch's
    role: str  # variable | entry | attribute | weights | buffer | state | nameless
    module: str | None = None  # the module that holds it
    use: Place = Place()  # in the outermost frame that hands it on
    made: Place = Place()
    maker: str = ""  # the function the making statement stands in: __init__
    beside_use: str = ""
    beside_made: str = ""


class ModelDevices(BaseRecord, frozen=True):
    """The outermost model of the traceback."""

    name: str
    devices: tuple[str, ...]  # of its parameters
    made: Place = Place()
    beside_made: str = ""


class DeviceEvidence(BaseRecord, frozen=True):
    """Which tensors live where, and the lines that made the odd ones."""

    met: tuple[MetTensor, ...] = ()
    accelerator: str = ""  # the device that the others are meant to be on
    model: ModelDevices | None = None
    asked: str = ""  # a device that was asked for and is not there: cuda, cuda:3, gpu
    asked_at: Place = Place()  # the statement that names it
    usable: tuple[str, ...] = ()  # the machine's accelerators: cuda:0, cuda:1


# What a CUDA device, or what is left of it, tells about an error of its own.
class DeviceLookup(BaseRecord, frozen=True):
    """Indices out of range, read on the CPU before they were sent."""

    found: IndexEvidence
    layer: LayerFact | None = None  # the embedding; for labels the layer that made the scores
    age: int = 0  # 0 for the last batch a loader gave, 1 for the one before; -1 for a variable of the user's


class CudaEvidence(BaseRecord, frozen=True):
    """What a CUDA device, or what is left of it, tells about an error of its own."""

    kind: str  # assert | address | launch | library | image | fork
    told: str  # the error's own words: CUBLAS_STATUS_ALLOC_FAILED
    blocking: bool = False  # CUDA_LAUNCH_BLOCKING was set: the line is exact
    alive: bool = False  # the context still answers
    lookups: tuple[DeviceLookup, ...] = ()
    seen: tuple[LocalTensor, ...] = ()  # all integer tensors that could be read
    free_bytes: int = 0
    total_bytes: int = 0
    name: str = ""  # NVIDIA H200
    capability: str = ""  # sm_90
    architectures: tuple[str, ...] = ()  # this torch is built for
    worker: Place = Place()  # of a forked worker: the user's line that touches CUDA


# Where the bytes of a device went, and what would fit.
class KeptTensors(BaseRecord, frozen=True):
    """Tensors that a variable of the user's keeps alive, with what their autograd graphs hold."""

    name: str  # losses, self.history, data
    count: int  # of tensors; 1 for a single one
    size_bytes: int  # of the tensors themselves
    graph_bytes: int = 0  # saved for a backward pass that has not come
    place: Place = Place()  # the statement that adds to it
    added: str = ""  # what that statement adds: loss, model(x)
    shape: tuple[int, ...] = ()  # of the largest


class ModuleBytes(BaseRecord, frozen=True):
    path: str
    kind: str
    size_bytes: int  # saved for backward by the module and everything in it


class Forecast(BaseRecord, frozen=True):
    """One training step of the model measured on tensors without memory, and what follows from it."""

    model: str
    batch: int
    peak_bytes: int  # activations, gradients and temporaries at their highest
    saved_bytes: int  # of which kept for backward after forward
    sample_bytes: int  # by which one sample more raises the peak
    largest_batch: int  # that fits beside everything else; 0 for none
    modules: tuple[ModuleBytes, ...] = ()  # the largest first
    autocast_bytes: int = 0  # the peak under bfloat16 autocast; 0 where it was not measured
    repeated: str = ""  # the path of the blocks that could be checkpointed: model.blocks
    checkpointed_bytes: int = 0  # what checkpointing each of them would save


class MemoryEvidence(BaseRecord, frozen=True):
    """Where the bytes of a device went, and what would fit."""

    device: str  # cuda:0, cpu
    asked_bytes: int
    total_bytes: int = 0
    free_bytes: int = 0
    allocated_bytes: int = 0  # by torch, in use
    reserved_bytes: int = 0  # by torch, in use or cached
    parameter_bytes: int = 0
    gradient_bytes: int = 0
    optimizer_bytes: int = 0
    kept: tuple[KeptTensors, ...] = ()  # the largest first
    forecast: Forecast | None = None
    look: MemoryLook | None = None  # the last one at this device, before the backward of an earlier step
    sizes: tuple[int, ...] = ()  # on the CPU: of the tensor that was to be made, where they are known
    sized_by: str = ""  # and the call they were given to: nn.Linear(786432, 786432)


# How tensors were laid out where that, and not their sizes, ended the script.
class ViewEvidence(BaseRecord, frozen=True):
    """A view of a tensor whose elements do not lie in memory in the order of its dimensions."""

    expression: str  # x.view(b, -1), as ast.unparse writes it
    tensor: str  # what it is a view of: x, out.transpose(1, 2)
    shape: tuple[int, ...] | None  # None where the tensor is gone, as that of (a @ b).transpose(1, 2)
    asked: tuple[int, ...] | None  # the sizes of the view, where they can be worked out
    operation: str = ""  # the part of the source that reordered it: x.permute(0, 2, 1)
    made: Place = Place()  # the statement of that part, where it is another one
    channels_last: bool = False


class PackingEvidence(BaseRecord, frozen=True):
    """Padded sequences and their lengths, as pack_padded_sequence was given them."""

    place: Place  # the user's whole statement
    call: str  # the call in it, as ast.unparse writes it
    shape: tuple[int, ...]  # of the padded sequences
    batch_first: bool
    enforce_sorted: bool
    count: int  # of lengths
    device: str  # of the lengths
    lowest: int | None = None  # of the lengths, where they are on the CPU
    highest: int | None = None
    descending: bool | None = None
    empty: int = 0  # how many lengths are 0 or less
    layer: str = ""  # the recurrent layer that crashed; empty for a crash while packing


# A name that was asked of a module or object, and the names that exist.
class NameEvidence(BaseRecord, frozen=True):
    """A name that does not exist where it was looked for."""

    asked: str  # Watchdog, fc_1, learning_rate, torch.utils.ffi
    # attribute, import, package, keyword, missing-argument, removed, called, indexed, number, variable, syntax
    form: str
    owner: str = ""  # what was asked, under its public name: torch.distributed, torch.Tensor, Net
    kind: str = ""  # module, class, tensor, layer, object, function
    lineage: tuple[str, ...] = ()  # the public names of the owner's classes, itself first
    near: tuple[str, ...] = ()  # names that exist there, the nearest first
    elsewhere: tuple[str, ...] = ()  # where in torch that very name exists: torch.nn.CrossEntropyLoss
    keywords: tuple[str, ...] = ()  # what a function takes
    refused: tuple[str, ...] = ()  # all keywords of the call that it does not take
    inner: str = ""  # the part or object that has the name: module for a wrapped model, self for a layer
    place: Place = Place()  # the user's line that would set it
    place_form: str = ""  # local: it lacks `self.`; later: it comes after its use; method: in a method not called
    # variable: the lines that bind it, and how: below (all of them), branch (not taken), loop (made no pass),
    # augmented (+= before any value), global (of that name, and the function assigns its own), deleted, module
    # (that can be imported)
    bound: tuple[Place, ...] = ()
    binding: str = ""
    loop_name: str = ""  # variable: what the loop around the line calls its counter or its element
    ours: tuple[str, ...] = ()  # what torch_debugger itself offers
    version: str = ""  # of torch


# None where a tensor was meant, and where it came from.
class AbsentValue(BaseRecord, frozen=True):
    expression: str  # what is None, as the line has it: param.grad
    place: Place  # the user's line that has it
    # grad (of a tensor) | hook (of the gradients a hook was given) | attribute | call
    # | argument (of the function, in arithmetic)
    form: str
    # argument: backward (of a Function that has one of its own), else empty
    # grad: before (no backward yet) | cleared | frozen | unused | not-a-leaf | not-recorded; else empty
    reason: str = ""
    parameter: str = ""  # grad: the path of the parameter, net.fc.weight; empty for another tensor
    tensor: str = ""  # grad: the tensor, as the line has it: param; argument: what it meets
    others: tuple[str, ...] = ()  # more parameters of that model that have none
    count: int = 0  # of the model's trainable parameters
    mentioned: bool = True  # unused: some forward of the model names the module that owns the parameter
    cause: Place = Place()  # the zero_grad, the line that froze it, the call that gave None
    cause_text: str = ""  # call: what was called; argument: the operation
    setters: tuple[Place, ...] = ()  # attribute: the lines that would give it a value


# A condition of the user's own that ended the script, and the values that met in it.
class AssertionEvidence(BaseRecord, frozen=True):
    test: str  # the part that failed, as the line has it: x.shape[1:] == (1, 28, 28)
    asserted: bool  # by an assert; else the `if` around a raise was true
    left: str = ""  # of a comparison: the expression and its value; empty where it is none
    left_value: str = ""
    operation: str = ""  # ==, <, is
    right: str = ""
    right_value: str = ""
    sizes: tuple[int, ...] = ()  # of two shapes that were compared: the one that is
    wanted: tuple[int, ...] = ()  # and the one that was asked for
    first: int = 0  # the dimension at which those begin
    tensor: str = ""  # the name of the tensor that the condition is about
    shape: tuple[int, ...] = ()
    numbers: Operand | None = None  # of that tensor, where it is on the CPU
    made: Place = Place()  # the line that gave it its value


# Numbers that are not finite, met by something that takes only real ones.
class NumberEvidence(BaseRecord, frozen=True):
    taker: str  # who refused them: Categorical, multinomial, linalg_eigh, int()
    tensors: tuple[Operand, ...]  # those not finite in reach, the nearest to the refusal first
    weights: tuple[str, ...] = ()  # parameters of the models watched that are not finite: net.fc.weight
    weights_known: bool = False  # there are such models


# A profiler that refused what it was asked, and what it knew of itself then.
class ProfilerRefusal(BaseRecord, frozen=True):
    # saved | running | waiting (its schedule has not come to a recording) | not started | entered twice
    # | directory | schedule | activities | options
    fault: str
    method: str  # as the user's line calls it: export_chrome_trace
    name: str = "prof"  # the user's variable
    schedule: dict[str, int] = field(default_factory=dict)  # wait=1, warmup=1, active=3 ...
    steps: int = 0  # calls of its step()
    stepped: bool = False  # the user's files call step() of it
    missing: tuple[str, ...] = ()  # options: with_stack ...; activities: the kinds that were passed
    folder: str = ""  # where its handler writes
    in_the_way: str = ""  # directory: the file that stands where a folder should be made
    place: Place = Place()  # the other line that matters: where it was built, or saved
