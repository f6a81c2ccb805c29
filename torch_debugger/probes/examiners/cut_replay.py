"""A forward run once more to see which of its operations gave a result without a graph."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.sources import covers, tree_of
from torch_debugger.anatomy.statements import function_around
from torch_debugger.clocks import time
from torch_debugger.probes.crash_frames import is_tensor
from torch_debugger.probes.examiners.autograd_replay import Moment, moment, unseen
from torch_debugger.probes.examiners.source_cuts import switched_off
from torch_debugger.probes.examiners.user_scope import statement_place
from torch_debugger.probes.replays import TIME_LIMIT_S, TooLong, copied, is_small
from torch_debugger.records.evidence.autograd import GraphCut

_REASONS = {"detach": "detach", "data": "data", "item": "item", "tolist": "item", "numpy": "numpy"}
_LOOKS = ("__get__", "size", "dim", "numel", "is_floating_point", "__len__", "__repr__", "__format__", "stride")


class _Cuts(TorchFunctionMode):
    """Follows each result without a graph back to the operation that took a graph in and gave none."""

    def __init__(self) -> None:
        super().__init__()
        self.deadline = time.monotonic() + TIME_LIMIT_S
        self.cuts: dict[int, tuple[str, Moment]] = {}  # id of a result -> its cut
        self.numbers: tuple[str, Moment] | None = None  # the last cut that gave no tensor
        self.held: list[Any] = []  # an id is an object's only while it lives

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if time.monotonic() > self.deadline:
            raise TooLong
        made = func(*args, **(kwargs or {}))
        given = list(_tensors((args, kwargs or {})))
        name = _name(func)
        if given and name not in _LOOKS:
            self._follow(name, given, made)
        return made

    def _follow(self, name: str, given: list[torch.Tensor], made: Any) -> None:
        results = list(_tensors(made))
        if any(result.requires_grad for result in results):
            return
        cut = next((self.cuts[id(item)] for item in given if id(item) in self.cuts), None)
        if any(item.requires_grad for item in given):
            cut = (_reason(name, results), moment())
        if cut is None:
            return
        if not results:
            self.numbers = cut
        for result in results:
            self.cuts[id(result)] = cut
            self.held.append(result)


def replay_cut(model: nn.Module, args: tuple[Any, ...], paths: Mapping[int, str]) -> GraphCut | None:
    """The cut behind a model's output, where the replay's output has no graph either."""
    if not is_small(model, args, {}):
        return None
    cuts = _Cuts()
    made: Any = None
    with contextlib.suppress(Exception, TooLong), unseen(model), cuts:
        made = model(*copied(args))
    results = list(_tensors(made))
    if not results or any(result.requires_grad for result in results):
        return None
    found = next((cuts.cuts[id(result)] for result in results if id(result) in cuts.cuts), cuts.numbers)
    return _told(*found, paths) if found is not None else None


def switch_around(file: str, line: int) -> GraphCut | None:
    """A decorator of the function around a line, or a `with` block there, that turns recording off."""
    tree = tree_of(file)
    function = function_around(tree, line) if tree is not None else None
    for decorator in getattr(function, "decorator_list", ()):
        if switched_off(decorator):
            place, name = statement_place(file, decorator.lineno), getattr(function, "name", "")
            return GraphCut("decorator", place, ast.unparse(decorator), name, proven=True)
    for node in ast.walk(function) if function is not None else ():
        contexts = [item.context_expr for item in node.items] if isinstance(node, ast.With) else []
        off = [context for context in contexts if switched_off(context)]
        if off and covers(node, line):
            place = statement_place(file, off[0].lineno)
            return GraphCut("no_grad", place, ast.unparse(off[0]), proven=True)
    return None


def _told(reason: str, at: Moment, paths: Mapping[int, str]) -> GraphCut:
    switch = switch_around(at.file, at.line) if reason == "no_grad" else None
    if switch is not None:
        return switch
    path = paths.get(id(at.module), "")
    place = statement_place(at.file, at.line, path or None)
    return GraphCut(reason, place, module=path or "the model", proven=True)


def _reason(name: str, results: list[torch.Tensor]) -> str:
    if name in _REASONS:
        return _REASONS[name]
    if not torch.is_grad_enabled():
        return "no_grad"
    return "integer" if results and not any(one.is_floating_point() for one in results) else "tensor"


def _name(func: Any) -> str:
    """detach; `data` for the getter of a property"""
    name = getattr(func, "__name__", "")
    owner = getattr(getattr(func, "__self__", None), "__name__", "")
    return "data" if name == "__get__" and owner == "data" else name


def _tensors(value: Any) -> Iterable[torch.Tensor]:
    if is_tensor(value):
        yield value
    elif is_a(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)
    elif is_a(value, dict):
        for item in value.values():
            yield from _tensors(item)
