"""Facts of how a training loop is written: passes over the data, schedules, modes, clips."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class SchedulerLook:
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


@dataclass(frozen=True, slots=True)
class PassCalls:
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
    uncalled: Place = field(default_factory=Place)  # the line that names its `eval` and does not call it


@dataclass(frozen=True, slots=True)
class PassFact:
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
    seed: Place = field(default_factory=Place)  # the line of the loop's file that seeds again and again
    asks_gradients: bool = False  # the file or a model calls grad(), or an input wants a gradient


@dataclass(frozen=True, slots=True)
class Reseeding:
    """torch was given the seed of the last time at a line again, with updates in between; a step followed."""

    step: int
    seed: int
    place: Place  # the line, outside of functions that only seed
    updates: int  # since the last time
    draws: bool  # random numbers were drawn until the end of that step
    repeats: bool  # and left the random state that they left the last time
    age: int  # updates of the youngest optimizer


@dataclass(frozen=True, slots=True)
class ModeLook:
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


@dataclass(frozen=True, slots=True)
class ClipFact:
    """Gradients that were clipped (on deep steps, and about fifty times a thousand steps)."""

    step: int
    optimizer: str  # the one that holds the parameters
    place: Place  # the call
    limit: float  # max_norm or clip_value; NaN where it is no plain number
    norm: float  # as it was found; NaN where the call does not tell
    late: bool  # no backward() since the optimizer's last step: what is clipped has been used already
    left: float = math.nan  # the norm after clip_grad_value_


@dataclass(frozen=True, slots=True)
class CopyLook:
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
    idle: Place = field(default_factory=Place)  # a line inside such a walk that changes neither of the two
    sometimes: bool = False  # a walk that writes stands under a condition
    uncalled: Place = field(default_factory=Place)  # a function that leads to a walk and that no line calls


@dataclass(frozen=True, slots=True)
class QuietModel:
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
