"""From results that are not finite back to the op that made them so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from torch_debugger.anatomy.frames import frames
from torch_debugger.anatomy.naming import module_paths, name_root
from torch_debugger.anatomy.sources import is_user_file, place_at
from torch_debugger.records import Origin, Place
from torch_debugger.trials.hunt.again import Again, line_of
from torch_debugger.trials.hunt.hunter import Hunter
from torch_debugger.trials.hunt.model import parameter_names
from torch_debugger.trials.hunt.sites import names_in
from torch_debugger.trials.hunt.states import FINITE, state_of
from torch_debugger.trials.hunt.tape import Made, Step, leading_to


@dataclass(frozen=True)
class Slope:
    """A backward to run after the steps."""

    gradients: Any  # what it was given
    leaves: Sequence[torch.Tensor | Made]


@dataclass(frozen=True)
class Traced:
    origin: Origin | None
    lines: tuple[Place, ...] = ()  # of the user's, that led to it, the innermost first
    innocent: bool = False  # an Inf that the user has put there
    was_changed: bool = False  # something was written into since the steps ran first
    out_of_sight: bool = False  # what it came in with was computed where nothing is recorded


def trace(targets: Sequence[Made], slope: Slope | None = None) -> Traced:
    """Runs the steps that lead to the targets once more, and maybe a backward from there."""
    again = Again(leading_to(made.step for made in targets))
    hunter = _hunter(again)
    with again.prepared():
        again.run(hunter)
        results = [again.result(made.step, made.index) for made in targets]
        found = hunter.origin_of(results)
        if found is None and slope is not None:
            leaves = [again.of(leaf) for leaf in slope.leaves]
            hunter.backward_apart(results, slope.gradients, [*leaves, *again.starts()])
        if found is None or found.op == "grad":
            found = hunter.slope() or found
    innocent = any(hunter.is_innocent(result) for result in results)
    lines = _lines(found, again.steps) if found is not None else ()
    if found is None or found.phase == "input":
        unseen = again.from_out_of_sight()
        if any(found is None or state_of(tensor) != FINITE for tensor in unseen):
            return Traced(None, out_of_sight=True)
    return Traced(found, lines, innocent, again.was_changed)


def _hunter(again: Again) -> Hunter:
    paths, names, variables = _names(again)
    return Hunter(paths, _of_parameters(again, names), again.names(variables))


def _names(again: Again) -> tuple[dict[int, str], dict[int, str], dict[int, str]]:
    """Of modules, of tensors, and of those tensors that a variable of the user's holds."""
    own = [frame for frame in frames(2) if is_user_file(frame.f_code.co_filename)]
    variables = _variables(own)
    paths: dict[int, str] = {}
    for module in again.modules:
        paths = module_paths(module, name_root(module, own[0] if own else None)) | paths
    names = dict(variables)
    for module in again.modules:
        names |= parameter_names(module, paths)
    return paths, names, variables


def name_tensors(tensors: Iterable[torch.Tensor], targets: Sequence[Made]) -> list[str]:
    """net.fc.weight for those of the modules that lead to the targets; else the variable's name"""
    again = Again(leading_to(made.step for made in targets))
    names = _names(again)[1]
    return [names[id(tensor)] for tensor in tensors if id(tensor) in names]


def _of_parameters(again: Again, names: dict[int, str]) -> dict[int, str]:
    """Names of what the training learns, wherever it is held; the rest are inputs."""
    held = {id(tensor) for module in again.modules for tensor in (*module.parameters(), *module.buffers())}
    held |= {id(tensor) for tensor in again.starts() if isinstance(tensor, torch.nn.Parameter)}
    return {key: name for key, name in names.items() if key in held}


def _variables(own: Sequence[FrameType]) -> dict[int, str]:
    """id of a tensor -> the variable that holds it, the innermost frame first"""
    found: dict[int, str] = {}
    for frame in own:
        found = names_in(frame) | found
    return found


def _lines(origin: Origin, steps: Sequence[Step]) -> tuple[Place, ...]:
    """The op's own line, and those of the step it belongs to."""
    called = [places_of(step) for step in steps]
    own = [places for places in called if places and _same(places[0], origin.place)]
    if own:
        return own[0]
    modules = [step for step in steps if isinstance(step.function, torch.nn.Module)]
    return (origin.place, *(places_of(modules[0]) if len(modules) == 1 else ()))


def places_of(step: Step) -> tuple[Place, ...]:
    return tuple(place_at(code.co_filename, line_of(code, at)) for code, at in step.frames[1:])


def _same(one: Place, other: Place) -> bool:
    return (one.file, one.line) == (other.file, other.line)
