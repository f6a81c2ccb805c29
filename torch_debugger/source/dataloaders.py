"""What a sampler says about the order of a loader's samples, and about who gets which."""

from __future__ import annotations

import ast
import os
import pathlib
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch.overrides import _get_current_function_mode_stack
from torch.utils._device import DeviceContext
from torch.utils.data import DistributedSampler, RandomSampler, SequentialSampler
from torch.utils.data._utils.fetch import _IterableDatasetFetcher, _MapDatasetFetcher
from torch.utils.data._utils.worker import _worker_loop
from torch.utils.data.dataloader import _SingleProcessDataLoaderIter

from torch_debugger.records import Place
from torch_debugger.source.assignments import assignment_of
from torch_debugger.source.files import covers, is_user_file, parsed
from torch_debugger.source.frames import locals_elsewhere
from torch_debugger.source.objects import is_a
from torch_debugger.source.syntax import nodes_in


def is_shuffled(sampler: Any) -> bool | None:
    """None where it is a class of the user's, of which nobody knows."""
    if is_a(sampler, DistributedSampler):
        return bool(sampler.shuffle)
    return True if is_a(sampler, RandomSampler) else False if is_a(sampler, SequentialSampler) else None


def share_of(sampler: Any) -> tuple[int, int]:
    """Of a DistributedSampler: whose share of the data it takes, of how many; else (-1, 0)."""
    if is_a(sampler, DistributedSampler):
        return int(sampler.rank), int(sampler.num_replicas)
    return -1, 0


# Which random numbers an iteration over a DataLoader draws.
def random_state(loader: Any) -> torch.Tensor:
    """Of the generator that an iteration over this loader draws from."""
    return (loader.generator or _default_generator()).get_state()


def _default_generator() -> torch.Generator:
    """Of the device that new tensors are made on: a loader draws its seeds there."""
    device = _default_device()
    if device.type != "cuda":
        return torch.default_generator
    return torch.cuda.default_generators[torch.cuda.current_device() if device.index is None else device.index]


def _default_device() -> torch.device:
    """As torch.get_default_device() has it, which makes a tensor to find out: out of sight, that is another."""
    stack = _get_current_function_mode_stack()  # type: ignore[no-untyped-call]
    modes = [mode for mode in stack if isinstance(mode, DeviceContext)]
    whole = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    chosen = modes[-1] if modes else whole
    return chosen.device if chosen is not None else torch.device("cpu")


# Where a loader's data comes from: the statements that made what its dataset is built of.
_MOST = 12  # statements


def statements_behind(made: Place, names: tuple[str, ...]) -> tuple[Place, ...]:
    """From the line that makes the loader back, the nearest first; `names` are variables of its dataset.

    Where the dataset has no name, the variables in the call of DataLoader are followed, if it is the only one.
    """
    if made.file is None or made.line is None:
        return ()
    waiting = [(name, made.line) for name in names or _dataset_names(made.file, made.line)]
    found: dict[int, Place] = {}
    while waiting and len(found) < _MOST:
        name, line = waiting.pop(0)
        assigned = assignment_of(made.file, line, name)
        place = assigned.place if assigned is not None else Place()
        if place.line is not None and place.line < line and place.line not in found:
            found[place.line] = place
            waiting += [(each, place.line) for each in _names_assigned_from(place.code or "")]
    return tuple(found.values())


def _dataset_names(file: str, line: int) -> list[str]:
    calls = [call for call in nodes_in(file, ast.Call) if covers(call, line)]
    makers = [call for call in calls if ast.unparse(call.func).endswith("DataLoader") and call.args]
    return _names(makers[0].args[0]) if len(makers) == 1 else []


def _names_assigned_from(code: str) -> list[str]:
    """The names on the right side of an assignment."""
    match parsed(code):
        case ast.Module(body=[ast.Assign(value=value), *_]) if not isinstance(value, ast.Lambda):
            return _names(value)
    return []


def _names(value: ast.expr) -> list[str]:
    return list(dict.fromkeys(node.id for node in ast.walk(value) if isinstance(node, ast.Name)))


# A process that makes a batch for a DataLoader, seen by another of its threads: at which sample and line.
_MAP, _STREAM = _MapDatasetFetcher.fetch.__code__, _IterableDatasetFetcher.fetch.__code__
_LOOP = _worker_loop.__code__
_NEXT = _SingleProcessDataLoaderIter._next_data.__code__
_DEEPEST = 200
_VALUES = 40  # of a frame, that may name a file
_LONGEST_NAME = 1000

Line = tuple[str, int, str]  # file, line, function


@dataclass(frozen=True)
class Fetching:
    task: int  # the number of the batch in its pass
    position: int  # tells one sample of the batch from the others: its index, or how many came before
    index: int | None  # that the user's dataset was asked for
    dataset: str  # the class of it
    line: Line | None  # the innermost of the user's
    frames: tuple[FrameType, ...]  # from fetch() inwards; not to be kept


def fetching_now(frame: FrameType | None) -> Fetching | None:
    """None for a process that waits to be asked, hands a batch over, or does something else altogether."""
    inner: list[FrameType] = []
    while frame is not None and frame.f_code not in (_MAP, _STREAM) and len(inner) < _DEEPEST:
        inner.append(frame)
        frame = frame.f_back
    if frame is None or frame.f_back is None or frame.f_code not in (_MAP, _STREAM):
        return None
    frames = (frame, *reversed(inner))
    position = _position(frames)
    index, dataset = _requested_index(frames)
    if index is None and frame.f_code is _MAP:
        index = position
    if position is None:
        position = index if index is not None else -1
    return Fetching(_task(frame.f_back), position, index, dataset, _users_line(frames), frames)


def _task(asking: FrameType) -> int:
    variables = locals_elsewhere(asking)
    number: Any = None
    if asking.f_code is _LOOP:
        number = variables.get("idx")
    elif asking.f_code is _NEXT:
        number = getattr(variables.get("self"), "_num_yielded", None)
    return number if type(number) is int else -1


def _position(frames: tuple[FrameType, ...]) -> int | None:
    """Of a stream, how many came before; else what the dataset is asked for."""
    fetch = frames[0]
    if fetch.f_code is _STREAM:
        got = locals_elsewhere(fetch).get("data")
        return len(got) if type(got) is list else None
    # The loop over the samples has a frame of its own before Python 3.12.
    loop = frames[1] if len(frames) > 1 and frames[1].f_code.co_name == "<listcomp>" else fetch
    index = locals_elsewhere(loop).get("idx")
    return index if type(index) is int else None


def _requested_index(frames: tuple[FrameType, ...]) -> tuple[int | None, str]:
    """What the outermost __getitem__ of the user's was called with, and whose that is."""
    for frame in frames:
        code = frame.f_code
        if code.co_name == "__getitem__" and code.co_argcount >= 2 and is_user_file(code.co_filename):
            variables = locals_elsewhere(frame)
            index, owner = variables.get(code.co_varnames[1]), variables.get(code.co_varnames[0])
            return (index if type(index) is int else None), type(owner).__name__
    fetcher = locals_elsewhere(frames[0]).get("self")
    return None, type(getattr(fetcher, "dataset", None)).__name__


def _users_line(frames: tuple[FrameType, ...]) -> Line | None:
    for frame in reversed(frames):
        if is_user_file(frame.f_code.co_filename):
            name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
            line: int | None = frame.f_lineno  # None in between two lines
            return (frame.f_code.co_filename, line, str(name)) if line else None
    return None


def file_named_in(frames: tuple[FrameType, ...]) -> tuple[str, int]:
    """A file that a variable of the user's names, and its size; the innermost function first."""
    for frame in reversed(frames):
        if is_user_file(frame.f_code.co_filename):
            for path in _paths(locals_elsewhere(frame)):
                if os.path.isfile(path):
                    return path, os.path.getsize(path)
    return "", 0


def _paths(variables: dict[str, Any]) -> Iterator[str]:
    for value in list(variables.values())[:_VALUES]:
        if is_a(value, pathlib.PurePath):
            value = os.fspath(value)
        if type(value) is str and 0 < len(value) <= _LONGEST_NAME and "\0" not in value:
            yield value
