"""Everything that the user's variables reach: attributes, entries, closures, class attributes, under its name.

Only dictionaries and cells are read: no code of the user's runs.
"""

from __future__ import annotations

import ast
import gc
import itertools
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable
from types import CellType, FrameType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

import torch

from torch_debugger.anatomy.frames import locals_of
from torch_debugger.anatomy.kinds import class_dict, is_a, is_one_of, name_of_class, own_attributes
from torch_debugger.anatomy.naming import scopes
from torch_debugger.anatomy.sources import class_source, is_user_file, nodes_of, tree_of

_ITEMS = 64  # entries of a dictionary, attributes of an object that are looked into
_OBJECTS = 16  # entries of a list, where they are objects: callbacks, meters
_MOST = 4000  # values in all
_DEEPEST = 3
_FILLED = (list, tuple, deque)
DICTIONARIES = (dict, defaultdict, OrderedDict)  # a kind of the user's own may run code of theirs
_OPENED = frozenset({FunctionType, MethodType, GeneratorType, *DICTIONARIES, *_FILLED})
# With nothing inside; most of what is reached.
_PLAIN = frozenset({type(None), bool, int, float, str, bytes, torch.Tensor, torch.nn.Parameter})
_EMPTY = CellType()  # equal to a cell of a name that has no value yet


def variables_in_reach(frame: FrameType | None, besides: Iterable[Any] = ()) -> list[tuple[str, Any]]:
    """The names in reach and what is inside of them, from the inside out; each object once. `besides` are
    generators that no variable holds."""
    reach = _Reach()
    for names in (*scopes(frame), *(_of_generator(each) for each in besides if each is not None)):
        for name, value in names:
            reach.add(name, value)
    return reach.found


def waiting_generators() -> list[weakref.ref[Any]]:
    """The user's: a `for` loop holds the one it goes through in no variable. Takes some 20 ms."""
    found = [each for each in gc.get_objects() if type(each) is GeneratorType]
    return [weakref.ref(each) for each in found if is_user_file(each.gi_code.co_filename)]


def yields(file: str) -> bool:
    tree = tree_of(file)
    return tree is not None and any(isinstance(node, ast.Yield) for node in nodes_of(tree))


class _Reach:
    """trainer.meters['loss'].total: entries, and the attributes of objects of the user's own kinds."""

    def __init__(self) -> None:
        self.found: list[tuple[str, Any]] = []  # and kept alive until it is done: told by identity
        self._told: set[int] = set()
        self._opened: dict[int, int] = {}  # how deep it was when it was looked into
        self._own_kinds: dict[int, bool] = {}  # whether a class is the user's

    def add(self, name: str, value: Any, depth: int = 0) -> None:
        if len(self.found) >= _MOST:
            return
        if id(value) not in self._told:
            self._told.add(id(value))
            self.found.append((name, value))
        if is_one_of(value, _PLAIN) or depth >= _DEEPEST or self._opened.get(id(value), _DEEPEST) <= depth:
            return
        if depth == 0 or self._is_opened(value):
            self._opened[id(value)] = depth
            for key, item in _parts(name, value):
                self.add(key, item, depth + 1)

    def _is_opened(self, value: Any) -> bool:
        if is_one_of(value, _OPENED):
            return True
        if issubclass(type(value), type):
            return self._is_own(value)
        return bool(own_attributes(value)) and self._is_own(type(value))

    def _is_own(self, kind: type) -> bool:
        known = self._own_kinds.get(id(kind))
        if known is None:
            known = self._own_kinds[id(kind)] = class_source(kind) is not None
        return known


def _parts(name: str, value: Any) -> list[tuple[str, Any]]:
    if is_a(value, torch.Tensor):
        return []
    if is_one_of(value, DICTIONARIES):
        items = list(itertools.islice(value.items(), _ITEMS))
        # By a text or a number: the text of any other key is made by code that is not ours, and may take long.
        return [(f"{name}[{key!r}]", item) for key, item in items if is_one_of(key, (str, int))]
    if is_one_of(value, _FILLED):
        first = list(itertools.islice(value, _OBJECTS))
        return [(f"{name}[{place}]", item) for place, item in enumerate(first) if _is_object(item)]
    if type(value) is MethodType:
        return [(name_of_class(type(value.__self__)), value.__self__)]
    if type(value) is FunctionType:
        return _of_function(value)
    if type(value) is GeneratorType:
        return _of_generator(value)
    held = _of_class(value) if is_a(value, type) else _of_module(value) or own_attributes(value)
    plain = [(key, item) for key, item in list(held.items()) if not key.startswith("_")]
    return [(f"{name}.{key}", item) for key, item in plain[:_ITEMS]]


def _is_object(item: Any) -> bool:
    return is_one_of(item, DICTIONARIES) or (bool(own_attributes(item)) and not is_a(item, torch.Tensor))


def _of_function(function: FunctionType) -> list[tuple[str, Any]]:
    """What it closes over, what was put on it, and defaults that it shares between its calls."""
    if not is_user_file(function.__code__.co_filename):
        return []
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    closed = [(name, cell.cell_contents) for name, cell in cells if cell != _EMPTY]
    put_on = [(f"{function.__name__}.{key}", item) for key, item in list(vars(function).items())[:_ITEMS]]
    arguments = function.__code__.co_varnames[: function.__code__.co_argcount]
    defaults = function.__defaults__ or ()
    named = list(zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True))
    return [*closed, *put_on, *named]


def _of_generator(generator: GeneratorType[Any, Any, Any]) -> list[tuple[str, Any]]:
    """The variables of one that waits; one that runs is among the frames."""
    frame = generator.gi_frame
    if frame is None or generator.gi_running or not is_user_file(frame.f_code.co_filename):
        return []
    return list(locals_of(frame).items())[:_ITEMS]


def _of_class(kind: type) -> dict[str, Any]:
    return dict(class_dict(kind)) if class_source(kind) is not None else {}


def _of_module(value: Any) -> dict[str, Any]:
    # Not by an attribute: a module that is loaded when it is first asked for would be loaded here.
    file = object.__getattribute__(value, "__dict__").get("__file__") if type(value) is ModuleType else None
    return dict(vars(value)) if isinstance(file, str) and is_user_file(file) else {}
