"""Facts of a training step: numbers, the loss and its graph, gradients carried over."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from torch_debugger.records.loading import HeldData
from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class Scalars:
    """Numbers of one step, by tag. Standard tags: loss, loss/<name>, lr/<group>, grad_norm,
    weight_norm, time/step_s, time/data_wait_s, eval/<name>, user/<tag>, scaler/scale, scaler/skipped
    (1 on steps that a GradScaler left out). NaN and Inf are kept.
    """

    step: int
    time: float  # seconds since the epoch
    values: dict[str, float]


@dataclass(frozen=True, slots=True)
class LossSite:
    """A line that calls backward(), met for the first time."""

    name: str  # the variable: loss, loss_g
    place: Place
    step: int
    loop: Place = field(default_factory=Place)  # the innermost one around it, in its function


@dataclass(frozen=True, slots=True)
class GraphNode:
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


@dataclass(frozen=True, slots=True)
class LocalTensor:
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


@dataclass(frozen=True, slots=True)
class LossGraph:
    """What lies between a loss and the model, nearest the loss first."""

    site: str  # LossSite.name
    place: Place  # the backward() call
    loss: float
    nodes: tuple[GraphNode, ...]
    locals: tuple[LocalTensor, ...]  # of the frame that called backward()
    step: int
    truncated: bool = False
    made: Place = field(default_factory=Place)  # the line that computes the loss, if it can be told
    computed: Place = field(default_factory=Place)  # the same, behind a mean() and functions that return it
    lowered: str = ""  # likelihood | reward: what enters the loss with a plus and should be raised
    lowered_at: Place = field(default_factory=Place)


@dataclass(frozen=True, slots=True)
class CarriedGradient:
    """What an optimizer's gradients were made of when it stepped (sampled steps only)."""

    step: int
    optimizer: str
    place: Place  # the backward() call of this cycle
    cleared: bool  # the gradients were none or zero before some backward since its last step
    carried_norm: float  # their norm before the cycle's first backward
    norm: float  # and when the optimizer used them
    parameter: str  # the sampled parameter
    written: str = ""  # the optimizer at that line: self.optimizer


@dataclass(frozen=True, slots=True)
class ScalerMisuse:
    """Gradients used while a GradScaler's scale was still in them, or divided by one that never was."""

    step: int
    fault: str  # clipped (before unscale_) | stepped (without the scaler) | not scaled (but divided)
    optimizer: str
    place: Place  # the call of clip_grad_norm_, of optimizer.step() or of backward()
    scale: float
    limit: float = math.nan  # of a clip: max_norm or clip_value; NaN where it is no plain number
    norm: float = math.nan  # of the gradients as clip_grad_norm_ found them
    scaler: str = "scaler"  # the user's variable


@dataclass(frozen=True, slots=True)
class Rectifier:
    """How alive the units of one ReLU-like activation were on one deep step."""

    name: str  # the module path, or "relu after net.fc1"
    source: str  # the layer that feeds it: net.fc1
    units: int
    dead_units: int  # zero for every sample of the batch
    zeros: float  # share of zeros
    batch: int
    step: int
    place: Place = field(default_factory=Place)


@dataclass(frozen=True, slots=True)
class PhaseFact:
    """A root module called in another mode than before (train/eval, grad/no_grad)."""

    root: str
    training: bool
    grad: bool
    step: int


@dataclass(frozen=True, slots=True)
class LoaderFact:
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
    made: Place = field(default_factory=Place)  # the line that makes it
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


@dataclass(frozen=True, slots=True)
class BatchFact:
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


@dataclass(frozen=True, slots=True)
class Rehearsal:
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
    origin: Place = field(default_factory=Place)  # the line that made the odd tensor
    # Of the lines that a script has ahead of it, where it is no model's forward alone:
    of_script: bool = False
    model_stays: bool = False  # `root`, made at `origin`, while `place` moves its batches
    device_text: str = ""  # what the model is moved to, as the script writes it: DEVICE
    brought: str = ""  # the variable that brings the odd tensor to `place`
    taken_from: str = ""  # what the loop takes it from: enumerate(loader); empty where it is made by a line
    moved_at: Place = field(default_factory=Place)  # the first line of that loop, or the line that assigns it
    moved: tuple[str, ...] = ()  # the variables that should be moved there
    moved_kind: str = "tensor"  # or, of a single one, list | dict | argument (there, and nowhere else)
