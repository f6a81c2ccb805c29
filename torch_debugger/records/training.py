"""Facts of a training step: numbers, the loss and its graph, gradients carried over."""

from __future__ import annotations

import math

from torch_debugger.records.base import BaseRecord, field
from torch_debugger.records.data import HeldData
from torch_debugger.records.findings import Place


class Scalars(BaseRecord, frozen=True):
    """Numbers of one step, by tag. Standard tags: loss, loss/<name>, lr/<group>, grad_norm,
    weight_norm, time/step_s, time/data_wait_s, eval/<name>, user/<tag>, scaler/scale, scaler/skipped
    (1 on steps that a GradScaler left out). NaN and Inf are kept.
    """

    step: int
    time: float  # seconds since the epoch
    values: dict[str, float]


class LossSite(BaseRecord, frozen=True):
    """A line that calls backward(), met for the first time."""

    name: str  # the variable: loss, loss_g
    place: Place
    step: int
    loop: Place = Place()  # the innermost one around it, in its function


class AutogradNode(BaseRecord, frozen=True):
    """One node of the autograd graph between the loss and the model's parameters.

    `inputs` holds one entry per operand: the index of the node that made it, or None where
    the operand needs no gradient (a target, a constant). Nodes are in order from the loss.
    """

    op: str  # NllLoss, LogSoftmax, Sub (without "Backward0")
    shape: tuple[int, ...]  # of the op's output
    inputs: tuple[int | None, ...]
    parameter: str | None = None  # the parameter an AccumulateGrad leaf stands for
    saved: dict[str, float | str] = field(default_factory=dict)  # dim, reduction, shape:target
    place: Place | None = None  # the user's call that made it, for softmax and the like, if it can be told


class LocalTensor(BaseRecord, frozen=True):
    """A tensor seen in a frame's local variables."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    device: str
    requires_grad: bool
    is_leaf: bool = True
    grad_fn: str = ""  # MulBackward0; empty for a leaf
    lowest: int | None = None  # of integers on the CPU, where counting them is cheap
    highest: int | None = None


class LossGraph(BaseRecord, frozen=True):
    """What lies between a loss and the model, nearest the loss first."""

    site: str  # LossSite.name
    place: Place  # the backward() call
    loss: float
    nodes: tuple[AutogradNode, ...]
    locals: tuple[LocalTensor, ...]  # of the frame that called backward()
    step: int
    truncated: bool = False
    made: Place = Place()  # the line that computes the loss, if it can be told
    computed: Place = Place()  # the same, behind a mean() and functions that return it
    lowered: str = ""  # likelihood | reward: what enters the loss with a plus and should be raised
    lowered_at: Place = Place()


class CarriedGradient(BaseRecord, frozen=True):
    """What an optimizer's gradients were made of when it stepped (sampled steps only)."""

    step: int
    optimizer: str
    place: Place  # the backward() call of this cycle
    cleared: bool  # the gradients were none or zero before some backward since its last step
    carried_norm: float  # their norm before the cycle's first backward
    norm: float  # and when the optimizer used them
    parameter: str  # the sampled parameter
    written: str = ""  # the optimizer at that line: self.optimizer


class ScalerMisuse(BaseRecord, frozen=True):
    """Gradients used while a GradScaler's scale was still in them, or divided by one that never was."""

    step: int
    fault: str  # clipped (before unscale_) | stepped (without the scaler) | not scaled (but divided)
    optimizer: str
    place: Place  # the call of clip_grad_norm_, of optimizer.step() or of backward()
    scale: float
    limit: float = math.nan  # of a clip: max_norm or clip_value; NaN where it is no plain number
    norm: float = math.nan  # of the gradients as clip_grad_norm_ found them
    scaler: str = "scaler"  # the user's variable


class Rectifier(BaseRecord, frozen=True):
    """How alive the units of one ReLU-like activation were on one deep step."""

    name: str  # the module path, or "relu after net.fc1"
    source: str  # the layer that feeds it: net.fc1
    units: int
    dead_units: int  # zero for every sample of the batch
    zeros: float  # share of zeros
    batch: int
    step: int
    place: Place = Place()


class PhaseFact(BaseRecord, frozen=True):
    """A root module called in another mode than before (train/eval, grad/no_grad)."""

    root: str
    training: bool
    grad: bool
    step: int


class LoaderFact(BaseRecord, frozen=True):
    """A DataLoader met for the first time."""

    dataset: str
    length: int | None  # batches
    batch_size: int | None
    workers: int
    shuffle: bool | None
    place: Place  # the line that goes through it
    step: int
    number: int = 0  # from 1, in the order in which they are met
    names: tuple[str, ...] = ()  # the user's variables for it, the innermost first
    made: Place = Place()  # the line that makes it
    samples: int | None = None  # of its dataset
    drop_last: bool = False
    base: int = 0  # a number for its dataset; for parts of one dataset (random_split) the same
    upstream: tuple[Place, ...] = ()  # the statements that made its data, the nearest first
    classes: tuple[str, ...] = ()  # the names of its classes, where its dataset has them
    iterable: bool = False  # its dataset is a stream, which every worker would read from its beginning
    persistent: bool = False  # workers live on from pass to pass
    prefetch: int = 0  # batches that each worker loads ahead
    collates: bool = True  # with torch's own collate function
    holds: tuple[HeldData, ...] = ()  # what the dataset keeps of its samples
    sampler: str = ""  # the class of its sampler
    replica: int = -1  # of a DistributedSampler: whose share of the data it takes
    replicas: int = 0  # of so many


class BatchFact(BaseRecord, frozen=True):
    """The numbers of one batch tensor on a deep step."""

    name: str  # batch[0], batch["labels"]
    shape: tuple[int, ...]
    dtype: str
    minimum: float
    maximum: float
    mean: float
    std: float
    notfinite: int
    step: int


class Rehearsal(BaseRecord, frozen=True):
    """The forward pass rehearsed on a pretended accelerator, in a process of its own."""

    root: str
    device: str  # cuda
    outcome: str  # passed | mismatch | failed | timeout
    place: Place  # the user's line that failed
    module: str | None
    error: str
    devices: tuple[str, ...]  # the devices that met
    tensors: tuple[LocalTensor, ...]  # tensors of that frame, with the devices they would have
    cost_s: float
    step: int
    origin: Place = Place()  # the line that made the odd tensor
    # Of the lines that a script has ahead of it, where it is no model's forward alone:
    of_script: bool = False
    model_stays: bool = False  # `root`, made at `origin`, while `place` moves its batches
    device_text: str = ""  # what the model is moved to, as the script writes it: DEVICE
    brought: str = ""  # the variable that brings the odd tensor to `place`
    taken_from: str = ""  # what the loop takes it from: enumerate(loader); empty where it is made by a line
    moved_at: Place = Place()  # the first line of that loop, or the line that assigns it
    moved: tuple[str, ...] = ()  # the variables that should be moved there
    moved_kind: str = "tensor"  # or, of a single one, list | dict | argument (there, and nowhere else)


# Facts of how a training loop is written: passes over the data, schedules, modes, clips.
class SchedulerLook(BaseRecord, frozen=True):
    """A scheduler as it was when its optimizer was about to step (deep steps, and once at the end)."""

    step: int
    number: int  # SchedulerFact.number
    name: str  # the user's variable; empty where it is not known
    optimizer: str
    count: int  # calls of its step() so far
    updates: int  # and of the optimizer's
    rate: float  # of the first group
    calls: tuple[Place, ...]  # lines that call its step(), as the source has them
    update: Place  # the call of optimizer.step()
    others_called: bool = False  # the source calls step() of something that no optimizer or scheduler is named
    last: bool = False  # the script is over
    backwards: int = 0  # of the whole run so far


class PassCalls(BaseRecord, frozen=True):
    """Calls of a model during one pass over a DataLoader, by its mode and by whether autograd was on."""

    root: str
    train_grad: int
    train_only: int
    eval_grad: int
    eval_only: int
    dropouts: int  # modules that act differently in the two modes
    norms: int
    trained: bool  # an optimizer holds some of its parameters
    evals: tuple[Place, ...] = ()  # lines of the loop's file that call its eval()
    uncalled: Place = Place()  # the line that names its `eval` and does not call it


class PassFact(BaseRecord, frozen=True):
    """One complete pass over a DataLoader."""

    step: int  # when it ended
    loader: int  # LoaderFact.number
    place: Place  # the loop over it
    batches: int
    updates: int  # of all optimizers meanwhile
    backwards: int  # the one right after it counts, where no model was called in between
    calls: tuple[PassCalls, ...]  # of the models that were called
    shuffled: bool
    age: int  # updates of the youngest optimizer when it began
    repeats: bool  # torch's random state at its beginning was that at the beginning of the pass before
    seed: Place = Place()  # the line of the loop's file that seeds again and again
    asks_gradients: bool = False  # the file or a model calls grad(), or an input wants a gradient


class Reseeding(BaseRecord, frozen=True):
    """torch was given the seed of the last time at a line again, with updates in between; a step followed."""

    step: int
    seed: int
    place: Place  # the line, outside of functions that only seed
    updates: int  # since the last time
    draws: bool  # random numbers were drawn until the end of that step
    repeats: bool  # and left the random state that they left the last time
    age: int  # updates of the youngest optimizer


class ModeLook(BaseRecord, frozen=True):
    """In which mode a model with dropout or batch norm was trained since the last look."""

    step: int
    root: str
    updates: int  # steps since then
    train_calls: int  # with autograd on
    eval_calls: int
    dropouts: int
    norms: int
    untouched: bool  # no batch norm of it has ever seen a batch in training mode
    share: float  # of its parameters: trainable and held by an optimizer
    evals: tuple[Place, ...]  # lines that call its eval()
    trains: tuple[Place, ...]  # and its train()
    update: Place  # the call of optimizer.step()


class ClipFact(BaseRecord, frozen=True):
    """Gradients that were clipped (on deep steps, and about fifty times a thousand steps)."""

    step: int
    optimizer: str  # the one that holds the parameters
    place: Place  # the call
    limit: float  # max_norm or clip_value; NaN where it is no plain number
    norm: float  # as it was found; NaN where the call does not tell
    late: bool  # no backward() since the optimizer's last step: what is clipped has been used already
    left: float = math.nan  # the norm after clip_grad_value_


class CopyLook(BaseRecord, frozen=True):
    """A copy of a trained model that the script keeps: an average of it, a target network, a reference."""

    step: int
    name: str  # the user's variable
    of: str  # the trained model
    kind: str  # the class of the copy: AveragedModel, Net
    updates: int  # of the trained model, since the first look
    began_equal: bool  # at the first look, which comes before the first update
    moved: bool  # the trained model is not what it was at the first look
    changed: bool  # nor is the copy
    gradient: bool  # its parameters have gradients that are not zero
    held: bool  # by an optimizer
    made: Place  # the line that makes it
    loads: tuple[Place, ...]  # lines that call its load_state_dict() and may run again and again
    walks: tuple[Place, ...]  # lines that go through its parameters() and those of something else
    update: Place  # the call of optimizer.step()
    calls: tuple[Place, ...] = ()  # lines that call it, as far as the update's file has them
    idle: Place = Place()  # a line inside such a walk that changes neither of the two
    sometimes: bool = False  # a walk that writes stands under a condition
    uncalled: Place = Place()  # a function that leads to a walk and that no line calls


class QuietModel(BaseRecord, frozen=True):
    """A model that was called without a graph in a step that trained another one (deep steps)."""

    step: int
    name: str  # the user's variable or attribute
    kind: str  # its class
    training: bool  # some of its dropout or batch norm is on
    calls: int  # in this step
    dropouts: int
    norms: int
    moves: bool  # its weights are not those of the look before, or an optimizer that holds some has stepped
    feeds: bool  # what it makes goes into layers that are trained; else it is only compared with
    twin: str  # a trained model with parameters of the very same shapes, if there is one
    call: Place  # the line that calls it
    trains: tuple[Place, ...]  # lines of that file that call its train()
