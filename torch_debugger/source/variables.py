"""The user's own name for a module: the variable, attribute or container entry that holds it.

Only dictionaries are read (frames, `__dict__`): no code of the user's runs.
"""

from __future__ import annotations

import ast
import gc
import itertools
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import CellType, FrameType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

import torch
from torch import nn

from torch_debugger.source.files import class_source, is_user_file
from torch_debugger.source.frames import locals_of
from torch_debugger.source.objects import class_dict, is_a, is_one_of, name_of_class, own_attributes
from torch_debugger.source.syntax import nodes_in

WRAPPED = ("_orig_mod", "module")  # where torch.compile, DataParallel and DDP keep the model
_FRAMES, _NAMES = 60, 4000
_ITEMS = 64  # entries of a container, attributes of an object that are looked into

Names = list[tuple[str, Any]]


def name_root(module: nn.Module, frame: FrameType | None) -> str:
    """`model`, `netG`, `policy` for self.policy, `models['a']`; else the class name in lower case."""
    reach = list(scopes(frame))
    for search in (_variable, _wrapper, _attribute, _entry):
        for names in reach:
            if (found := search(module, names)) is not None:
                return found
    return type(module).__name__.lower()


def module_paths(module: nn.Module, root: str) -> dict[int, str]:
    """id of a submodule -> net.encoder.0"""
    return {id(child): f"{root}.{path}" if path else root for path, child in module.named_modules()}


def name_of(value: object, frame: FrameType | None) -> str | None:
    """The variable or attribute that holds any object (an optimizer), if one does."""
    for search in (_variable, _attribute):
        for names in scopes(frame):
            if (found := search(value, names)) is not None:
                return found
    return None


def scopes(frame: FrameType | None) -> Iterator[Names]:
    """The locals of the user's frames from the inside out, then their globals."""
    users: list[FrameType] = []
    while frame is not None and len(users) < _FRAMES:
        if is_user_file(frame.f_code.co_filename):
            users.append(frame)
        frame = frame.f_back
    yield from (_readable(locals_of(user)) for user in users)
    different = {id(user.f_globals): user.f_globals for user in users}
    yield from (_readable(names) for names in different.values())


def _readable(names: Mapping[str, Any]) -> Names:
    kept = itertools.islice(names.items(), _NAMES)
    return [(name, value) for name, value in kept if isinstance(name, str) and not name.startswith("__")]


def _first(names: Names, fits: Callable[[Any], bool]) -> str | None:
    """A fitting name; one that starts with an underscore only if there is no other."""
    fitting = [name for name, value in names if name != "self" and name.isidentifier() and fits(value)]
    return min(fitting, key=lambda name: name.startswith("_"), default=None)


def _variable(module: object, names: Names) -> str | None:
    return _first(names, lambda value: value is module)


def _wrapper(module: object, names: Names) -> str | None:
    return _first(names, lambda value: any(part is module for part in _wrapped(value)))


def _wrapped(value: Any) -> list[Any]:
    if not issubclass(type(value), nn.Module):
        return []
    children = own_attributes(value).get("_modules")  # a scripted module keeps its children in no dictionary
    return [children.get(name) for name in WRAPPED] if is_a(children, dict) else []


def _attribute(module: object, names: Names) -> str | None:
    """self.policy before agent.policy; both are named `policy`."""
    for _, value in sorted(names, key=lambda item: item[0] != "self"):
        attributes = own_attributes(value)
        places = [attributes, children] if is_a(children := attributes.get("_modules"), dict) else [attributes]
        for place in places:
            found = _variable(module, _readable(place)) or _wrapper(module, _readable(place))
            if found is not None:
                return found
    return None


def _entry(module: nn.Module, names: Names) -> str | None:
    for name, value in names:
        for key, item in _items(value):
            if item is module or any(part is module for part in _wrapped(item)):
                return f"{name}[{key!r}]"
    return None


def _items(value: Any) -> list[tuple[int | str, Any]]:
    if is_one_of(value, (list, tuple)):
        return list(enumerate(value[:_ITEMS]))
    if type(value) is dict:
        return [(key, item) for key, item in itertools.islice(value.items(), _ITEMS) if is_one_of(key, (int, str))]
    return []


# All names that the user has for one object: `loader` in a function, `val_loader` where it is called.
def aliases(value: object, frame: FrameType | None) -> tuple[str, ...]:
    """Variables and attributes that hold it, the innermost first."""
    found: list[str] = []
    for names in scopes(frame):
        found += [name for name, item in names if item is value]
        for _, owner in names:
            found += [name for name, item in own_attributes(owner).items() if item is value]
    return tuple(dict.fromkeys(found))


# Under which of the user's names a tensor is held: a variable, a list of them, an attribute of an object.
_DEEPEST = 4
_MOST = 200_000  # objects that are looked at
_ROWS = (list, tuple, set, deque)


def holders(frame: FrameType | None) -> dict[int, str]:
    """id of a tensor -> losses, cache['keys'], trainer.history. What a list holds has the name of the list."""
    found: dict[int, str] = {}
    met: set[int] = set()
    for names in scopes(frame):
        for name, value in names:
            for each, holder in itertools.islice(_tensors(name, value, 0, met), _MOST):
                found.setdefault(id(each), holder)
    return found


def _tensors(name: str, value: Any, depth: int, met: set[int]) -> Iterator[tuple[Any, str]]:
    """Modules are left to those who know their parameters; their plain attributes are looked at."""
    if issubclass(type(value), torch.Tensor):
        yield value, name
        return
    if depth > _DEEPEST or id(value) in met or len(met) > _MOST:
        return
    inside = list(_inside(name, value))
    if inside:
        met.add(id(value))
    for holder, each in inside:
        yield from _tensors(holder, each, depth + 1, met)


def _inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if is_one_of(value, _ROWS):
        yield from ((name, each) for each in list(value))
    elif type(value) is dict:
        yield from ((f"{name}[{key!r}]" if is_one_of(key, (str, int)) else name, value[key]) for key in list(value))
    elif issubclass(type(value), nn.Module) or class_source(type(value)) is not None:
        attributes = list(own_attributes(value).items())
        yield from ((f"{name}.{key}", each) for key, each in attributes if key not in ("_parameters", "_buffers"))


# A frame of the user's at one moment: its line and its variables, which the frame itself goes on to change.
@dataclass(frozen=True)
class VariablesAt:
    file: str
    line: int
    function: str  # <module> outside of any
    own: Mapping[str, Any]  # the frame's variables
    around: Mapping[str, Any]  # those of its file

    @property
    def variables(self) -> dict[str, Any]:
        return {**self.around, **self.own}


def moment_of(frame: FrameType) -> VariablesAt:
    code = frame.f_code
    return VariablesAt(code.co_filename, frame.f_lineno, code.co_name, locals_of(frame), frame.f_globals)


def moment_without_graphs(frame: FrameType) -> VariablesAt:
    """Without the tensors that hold on to a graph: a step's activations must not outlive it."""
    code = frame.f_code
    kept = {
        name: value
        for name, value in locals_of(frame).items()
        if not is_a(value, torch.Tensor) or value.grad_fn is None
    }
    return VariablesAt(code.co_filename, frame.f_lineno, code.co_name, kept, frame.f_globals)


# Everything that the user's variables reach: attributes, entries, closures, class attributes, under its name.
#
# Only dictionaries and cells are read: no code of the user's runs.
_OBJECTS = 16  # entries of a list, where they are objects: callbacks, meters
_MOST_VALUES = 4000  # values in all
_DEEPEST_VALUE = 3
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
    return bool(nodes_in(file, ast.Yield))


class _Reach:
    """trainer.meters['loss'].total: entries, and the attributes of objects of the user's own kinds."""

    def __init__(self) -> None:
        self.found: list[tuple[str, Any]] = []  # and kept alive until it is done: told by identity
        self._known_ids: set[int] = set()
        self._opened: dict[int, int] = {}  # how deep it was when it was looked into
        self._own_kinds: dict[int, bool] = {}  # whether a class is the user's

    def add(self, name: str, value: Any, depth: int = 0) -> None:
        if len(self.found) >= _MOST_VALUES:
            return
        if id(value) not in self._known_ids:
            self._known_ids.add(id(value))
            self.found.append((name, value))
        if is_one_of(value, _PLAIN) or depth >= _DEEPEST_VALUE or self._opened.get(id(value), _DEEPEST_VALUE) <= depth:
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
    if is_a(value, type):
        attributes = dict(class_dict(value)) if class_source(value) is not None else {}
    else:
        attributes = _of_module(value) or own_attributes(value)
    plain = [(key, item) for key, item in list(attributes.items()) if not key.startswith("_")]
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


def _of_module(value: Any) -> dict[str, Any]:
    # Not by an attribute: a module that is loaded when it is first asked for would be loaded here.
    file = object.__getattribute__(value, "__dict__").get("__file__") if type(value) is ModuleType else None
    return dict(vars(value)) if isinstance(file, str) and is_user_file(file) else {}
