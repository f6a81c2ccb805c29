"""Optimizers that were made, whose parameters get gradients, and that do not step."""

from __future__ import annotations

import functools
import weakref
from dataclasses import dataclass, field

import torch
from torch.optim import Optimizer

from torch_debugger.anatomy.method_calls import calls_of, written_as
from torch_debugger.anatomy.repetition import condition_around
from torch_debugger.anatomy.uncalled import uncalled
from torch_debugger.probes.held import Held
from torch_debugger.probes.watch import Watch
from torch_debugger.records import IdleOptimizer, Place
from torch_debugger.stats.summary import sampled
from torch_debugger.stats.transfer import Numbers
from torch_debugger.stats.unseen import no_grad


@dataclass
class Suspect:
    held: Held
    kind: str
    samples: list[tuple[weakref.ref[torch.Tensor], torch.Tensor]] = field(default_factory=list)
    name: str = ""
    backwards: int = 0
    zero_grads: int = 0
    reached: bool = False  # some parameter has had a gradient that is not zero
    told: bool = False
    stepped: bool = False


class Idleness:
    TELL_AT = frozenset({4, 8, 16, 32, 64})  # backward passes
    SAMPLED = 4  # parameters compared with what they were at first

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.suspects: dict[int, Suspect] = {}

    def see_clearing(self, key: int, name: str) -> None:
        suspect = self.suspects.get(key)
        if suspect is not None:
            suspect.name, suspect.zero_grads = name or suspect.name, suspect.zero_grads + 1
            self._ask_whether_reached(suspect)

    def see_backward(self, held: Held, optimizer: Optimizer, place: Place) -> None:
        suspect = self.suspects.get(id(optimizer))
        if suspect is None or suspect.held is not held:
            suspect = Suspect(held, type(optimizer).__name__, _samples(optimizer, self.SAMPLED))
            self.suspects[id(optimizer)] = suspect
        suspect.backwards += 1
        self.watch.transfer.poll()  # which the end of a step does, where there are steps
        self._ask_whether_reached(suspect)
        if suspect.backwards in self.TELL_AT and suspect.reached and not self.watch.clock.skipped:
            self.watch.transfer.send(_moved(suspect), functools.partial(self._tell_moved, suspect, place))

    def _ask_whether_reached(self, suspect: Suspect) -> None:
        gradients = [p.grad for reference, _ in suspect.samples if (p := reference()) is not None]
        flags = [gradient.any() for gradient in gradients if gradient is not None]
        if flags and not suspect.reached:
            self.watch.transfer.send(torch.stack(flags), functools.partial(_note_reached, suspect))

    def _tell_moved(self, suspect: Suspect, place: Place, moved: Numbers) -> None:
        if not suspect.stepped:
            suspect.told = not moved.any()
            self._tell(suspect, place, stepped=not suspect.told)

    def see_step(self, key: int) -> None:
        suspect = self.suspects.pop(key, None)
        if suspect is not None:
            suspect.stepped = True
            if suspect.told:
                self._tell(suspect, Place(), stepped=True)

    def _tell(self, suspect: Suspect, backward: Place, stepped: bool) -> None:
        held = suspect.held
        name = held.name or suspect.name
        self.watch.emit(
            IdleOptimizer(
                name or "optimizer",
                suspect.kind,
                held.place,
                suspect.backwards,
                suspect.zero_grads,
                backward,
                uncalled(backward.file, "step", name),
                stepped,
                self.watch.step,
                _condition(backward.file, name),
                written_as(backward, name),
            )
        )


def _condition(file: str | None, name: str) -> Place:
    calls = [place for owner, place in calls_of(file, "step") if owner == name]
    line = calls[0].line if len(calls) == 1 else None
    return (condition_around(file, line) if file and line else None) or Place()


@no_grad()
def _samples(optimizer: Optimizer, count: int) -> list[tuple[weakref.ref[torch.Tensor], torch.Tensor]]:
    trained = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
    smallest = sorted(trained, key=torch.numel)[:count]
    return [(weakref.ref(p), sampled(p).clone()) for p in smallest]


def _note_reached(suspect: Suspect, flags: Numbers) -> None:
    suspect.reached = suspect.reached or bool(flags.any())


@no_grad()
def _moved(suspect: Suspect) -> torch.Tensor:
    """Whether some parameter is no more what it was, on its own device."""
    now = [(p, sample) for reference, sample in suspect.samples if (p := reference()) is not None]
    flags = [(sampled(p) != sample).any() for p, sample in now if sampled(p).shape == sample.shape]
    return torch.stack(flags) if len(flags) == len(now) and flags else torch.ones(1)
