"""What one rank has at a step, so small that the ranks can be compared without asking each other."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class CalledModel:
    """A model that was called to train on, and what it was given."""

    root: str  # the user's name for it
    role: str  # wrapper: it averages gradients | inner: a part of one that does | other
    call: Place  # the line that calls it
    inputs: tuple[int, ...]  # a checksum for each tensor, of all calls of the step


@dataclass(frozen=True, slots=True)
class GradientAverage:
    """What makes the gradients of the ranks one: a DistributedDataParallel, FSDP, or lines of the user's."""

    kind: str  # DistributedDataParallel | FSDP | by hand
    name: str = ""  # the user's name for the wrapper
    made: Place = field(default_factory=Place)  # the line that makes it
    ranks: int = 0  # among which it averages
    hooked: bool = False  # with a communication hook of the user's
    paused: bool = False  # the last backward was under no_sync()
    joins: bool = False  # within `with model.join()`: ranks may have different numbers of batches


@dataclass(frozen=True, slots=True)
class RankDigest:
    """At the optimizer's step, before it changes anything; on steps that all ranks choose by their number."""

    step: int
    optimizer: int  # a number for it, in the order in which they were made
    average: GradientAverage | None  # None: nothing is known that should make these ranks equal
    names: tuple[str, ...]  # of some parameters; the same ones on all ranks that have the same model
    shapes: tuple[str, ...]
    weights: tuple[int, ...]  # a checksum each; none where a rank holds only its shard
    gradients: tuple[int, ...]  # -1: there is none
    norms: tuple[float, ...]  # of the weights
    rates: tuple[float, ...]  # the learning rates
    calls: tuple[CalledModel, ...]
    updates: int  # that this optimizer has made before
    backwards: int  # of the whole script, so far
