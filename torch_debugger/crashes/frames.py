"""A traceback taken apart: its frames without ours, and the tensors each of them holds."""

from __future__ import annotations

import ast
import functools
import itertools
import linecache
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType, FrameType, FunctionType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from torch_debugger.records import Construction, LocalTensor, LocalValue, MemoryLook, Place, WrittenNumber
from torch_debugger.source.files import is_user_file, nodes_of, package_folder, place_at, tree_of
from torch_debugger.source.frames import running_expression
from torch_debugger.source.objects import (
    is_a,
    is_one_of,
    kept_attribute,
    long_name_of_class,
    module_of_class,
    own_attributes,
)
from torch_debugger.source.syntax import called_name, calls_in
from torch_debugger.system.redaction import redact_value

if TYPE_CHECKING:
    from torch_debugger.crashes.replay import EagerAnswer
    from torch_debugger.probes.data.loaders import AskedBatches


_FRAMES_KEPT = 80  # of a deep recursion: half from each end
_TENSORS, _ITEMS, _NAMES = 40, 8, 2000
_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
_RANGE_LIMIT = 10_000_000
_LAUNCHERS = ("<frozen runpy>", "<frozen importlib", "runpy.py")


@dataclass(frozen=True)
class LiveFrame:
    """One frame of the traceback, still alive."""

    frame: FrameType
    line: int
    instruction: int = -1

    @property
    def file(self) -> str:
        return self.frame.f_code.co_filename

    @property
    def function(self) -> str:
        return self.frame.f_code.co_name

    @property
    def user(self) -> bool:
        return is_user_file(self.file)

    @property
    def locals(self) -> dict[str, Any]:
        return self.frame.f_locals

    @property
    def names(self) -> dict[str, Any]:
        """Its globals and locals."""
        return {**self.frame.f_globals, **self.frame.f_locals}

    def named(self, name: str) -> Any:
        """A local variable, else a global one; None where there is neither."""
        return self.frame.f_locals.get(name, self.frame.f_globals.get(name))

    @property
    def place(self) -> Place:
        return place_at(self.file, self.line)

    @property
    def statement(self) -> Place:
        """The line, with the code of the whole statement it belongs to."""
        return statement_place(self.file, self.line)

    @property
    def code(self) -> str:
        """The whole statement."""
        return statement_at(self.file, self.line)[1]

    @property
    def failing(self) -> str:
        """The very expression that raised, as ast.unparse writes it; empty where Python cannot tell."""
        return failing_expression(self.frame.f_code, self.instruction)

    def module(self) -> nn.Module | None:
        """The module whose method this is: the first argument, under whatever name it goes."""
        code = self.frame.f_code
        owner: Any = self.frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
        # type() and not isinstance: a proxy of the user's may run code when asked for its class
        if not issubclass(type(owner), nn.Module):
            return None
        return owner if code.co_varnames[0] == "self" or _is_method(code, owner) else None


def _is_method(code: CodeType, module: nn.Module) -> bool:
    """A function that merely takes a module first, as in train(model, loader), is none of its methods."""
    for names in (vars(module), *(vars(cls) for cls in type(module).__mro__)):
        function = names.get(code.co_name)
        while function is not None:
            if getattr(function, "__code__", None) is code:
                return True
            function = vars(function).get("__wrapped__") if is_a(function, FunctionType) else None
    return False


def is_ours(file: str) -> bool:
    return file.startswith(package_folder()) and not is_user_file(file)


def every_frame(traceback: TracebackType | None) -> Iterator[LiveFrame]:
    while traceback is not None:
        yield LiveFrame(traceback.tb_frame, traceback.tb_lineno, traceback.tb_lasti)
        traceback = traceback.tb_next


def walk_traceback(traceback: TracebackType | None) -> list[LiveFrame]:
    """The frames from the outside in, without those of our package and of what launched the script."""
    found: list[LiveFrame] = []
    launched = False
    for seen in every_frame(traceback):
        launched = launched or is_ours(seen.file)
        if not is_ours(seen.file) and (found or not launched or not is_launcher(seen.file)):
            found.append(seen)
    half = _FRAMES_KEPT // 2
    return found if len(found) <= _FRAMES_KEPT else found[:half] + found[-half:]


def is_launcher(file: str) -> bool:
    return any(name in file for name in _LAUNCHERS)


def tensors_in(seen: LiveFrame) -> tuple[LocalTensor, ...]:
    """The tensors a frame can name: locals, entries of small containers, attributes its line mentions."""
    found = itertools.chain(_locals(seen.frame.f_locals), _mentioned(seen))
    described: dict[str, LocalTensor] = {}
    for name, tensor in found:
        if name not in described and (fact := describe(name, tensor)) is not None:
            described[name] = fact
        if len(described) >= _TENSORS:
            break
    return tuple(described.values())


def _locals(names: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    variables = list(itertools.islice(names.items(), _NAMES))
    yield from ((name, value) for name, value in variables if is_tensor(value))
    for name, value in variables:
        yield from ((f"{name}[{key!r}]", item) for key, item in _entries(value) if is_tensor(item))


def _entries(value: Any) -> list[tuple[Any, Any]]:
    if is_one_of(value, (list, tuple)):
        return list(enumerate(value[:_ITEMS]))
    if type(value) is dict:
        return [(key, item) for key, item in itertools.islice(value.items(), _ITEMS) if is_one_of(key, (str, int))]
    return []


def _mentioned(seen: LiveFrame) -> Iterator[tuple[str, Any]]:
    """Tensors the crashing line reaches through attributes or globals: self.weight, TABLE."""
    if not seen.user:
        return
    for chain in re.findall(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", statement_at(seen.file, seen.line)[1]):
        head, *rest = chain.split(".")
        value = seen.frame.f_locals.get(head, seen.frame.f_globals.get(head))
        for depth, name in enumerate(["", *rest]):
            value = attribute(value, name) if name else value
            if is_tensor(value):
                yield ".".join([head, *rest[:depth]]), value
                break


def attribute(value: Any, name: str) -> Any:
    """An attribute that is kept in a dictionary; properties and __getattr__ are not asked."""
    attributes = own_attributes(value)
    for place in (attributes, attributes.get("_parameters"), attributes.get("_buffers"), attributes.get("_modules")):
        if is_a(place, dict) and name in place:
            return place[name]
    return None


def is_tensor(value: Any) -> bool:
    return issubclass(type(value), torch.Tensor)


def describe(name: str, tensor: torch.Tensor) -> LocalTensor | None:
    """Shape, dtype and device; None for a tensor that cannot even say those."""
    try:
        with torch._C.DisableTorchFunctionSubclass():
            shape = tuple(int(size) for size in tensor.shape)
            dtype = str(tensor.dtype).removeprefix("torch.")
            lowest, highest = _range(tensor)
            return LocalTensor(
                name=name,
                shape=shape,
                dtype=dtype,
                device=str(tensor.device),
                requires_grad=bool(tensor.requires_grad),
                is_leaf=bool(tensor.is_leaf),
                grad_fn=tensor.grad_fn.name() if tensor.grad_fn is not None else "",
                lowest=lowest,
                highest=highest,
            )
    except Exception:  # a nested or symbolic tensor, or a broken subclass of the user's
        return None


def _range(tensor: torch.Tensor) -> tuple[int | None, int | None]:
    """Of plain integers on the CPU; a device may be dead, and a float's range explains no crash."""
    plain = is_one_of(tensor, (torch.Tensor, torch.nn.Parameter)) and tensor.layout is torch.strided
    if not plain or tensor.dtype not in _INTEGERS or tensor.device.type != "cpu":
        return None, None
    if not 0 < tensor.numel() <= _RANGE_LIMIT:
        return None, None
    with torch.utils._python_dispatch._disable_current_modes():
        low, high = tensor.detach().aminmax()
        return int(low), int(high)


# The crash of a crash while it is still there: the exception, its live frames, what was being watched.
@dataclass(frozen=True)
class Running:
    """What the probes know of the run; empty where nobody watched, as in `explain(exception)`."""

    models: Mapping[str, nn.Module] = field(default_factory=dict)  # the user's name -> root module
    optimizers: Mapping[str, torch.optim.Optimizer] = field(default_factory=dict)
    # what each root was last called with for training: positional and keyword arguments, by reference
    calls: Mapping[str, tuple[tuple[Any, ...], dict[str, Any]]] = field(default_factory=dict)
    # integer tensors of the last batches that loaders gave, the newest first; only while CUDA is in use
    batches: Sequence[Mapping[str, torch.Tensor]] = ()
    memory: Mapping[str, MemoryLook] = field(default_factory=dict)  # by device, the last one before a backward
    asked: AskedBatches | None = None  # of the workers of a loader


@dataclass(frozen=True)
class LiveCrash:
    """Examiners look and touch nothing: no op that changes a tensor, no sync of a device that may be dead."""

    error: BaseException
    frames: Sequence[LiveFrame]  # the outermost first, ours left out
    paths: Mapping[int, str]  # id(module) -> net.fc1
    running: Running
    eager: EagerAnswer | None = None  # of a compiled call: how it goes without the compiler

    @property
    def innermost(self) -> LiveFrame | None:
        return self.frames[-1] if self.frames else None

    @property
    def user_frame(self) -> LiveFrame | None:
        """The innermost frame of the user's own code."""
        return next(iter(self.user_frames), None)

    def called_by_user(self, *file_ends: str) -> LiveFrame | None:
        """The frame of the function in such a file that the user's line calls."""
        found: LiveFrame | None = None
        for seen in reversed(self.frames):
            if seen.user:
                return found
            if seen.file.replace("\\", "/").endswith(file_ends):
                found = seen
        return None

    def frame_of(self, function: str, file_end: str = "") -> LiveFrame | None:
        """The innermost frame of this function in a file that ends so."""
        for seen in reversed(self.frames):
            if seen.function == function and seen.file.endswith(file_end):
                return seen
        return None

    @property
    def user_frames(self) -> list[LiveFrame]:
        """The innermost first."""
        return [seen for seen in reversed(self.frames) if seen.user]

    @property
    def user_files(self) -> list[str]:
        """Those the traceback goes through, the innermost first."""
        return list(dict.fromkeys(seen.file for seen in self.user_frames))


# Locals of a user's frame that are no tensors: what they are, and of plain ones how much.
#
# Objects of the user's are never asked to print themselves, and no string is kept that the failing statement does not
# mention or whose name sounds like a secret.
_VALUES, _TEXT, _READ = 60, 80, 2000
_CONTAINERS = (list, tuple, dict, set, frozenset, str, bytes)


def values_in(seen: LiveFrame) -> tuple[LocalValue, ...]:
    """The frame's own locals; at module level only the names the failing statement mentions."""
    if not seen.user:
        return ()
    mentioned = set(re.findall(r"[A-Za-z_]\w*", statement_at(seen.file, seen.line)[1]))
    at_top = seen.function == "<module>"
    variables = [(name, value) for name, value in seen.frame.f_locals.items() if not (at_top and name not in mentioned)]
    shown = [(name, value) for name, value in variables if not name.startswith("__") and not is_tensor(value)]
    shown.sort(key=lambda pair: pair[0] not in mentioned)
    return tuple(_describe(name, value, name in mentioned) for name, value in itertools.islice(shown, _VALUES))


def _describe(name: str, value: Any, mentioned: bool) -> LocalValue:
    size = len(value) if is_one_of(value, _CONTAINERS) else None
    return LocalValue(name, kind_name(type(value)), _text(name, value, mentioned), size)


def kind_name(kind: type) -> str:
    """int, numpy.ndarray, Net: builtins and the user's main file without their module."""
    home, name = module_of_class(kind), long_name_of_class(kind)
    return name if home in ("builtins", "__main__") else f"{home}.{name}"


def _text(name: str, value: Any, mentioned: bool) -> str:
    if value is None or is_one_of(value, (int, float, bool)):
        return repr(redact_value(name, value))[:_TEXT]
    if type(value) is str:
        return repr(redact_value(name, value[:_READ])[:_TEXT]) if mentioned else ""
    if is_a(value, type):
        return f"class {kind_name(value)}"
    if type(value) is ModuleType:
        return f"module {value.__name__}"
    if kind_name(type(value)) == "numpy.ndarray":
        return f"{value.dtype} {list(value.shape)}"
    return ""


_CARRIED = ("errno", "filename", "name", "path", "lineno", "code")


def carried_by(error: BaseException) -> dict[str, str | int]:
    """What the exception itself carries: an errno, the name that was missing, the key."""
    kept: dict[str, str | int] = {}
    for name in _CARRIED:
        value = kept_attribute(error, name)
        if is_one_of(value, (str, int)):
            kept[name] = value if type(value) is int else str(value)[:_TEXT]
    if isinstance(error, KeyError) and error.args and is_one_of(error.args[0], (str, int)):
        kept["key"] = error.args[0] if type(error.args[0]) is int else str(error.args[0])[:_TEXT]
    if isinstance(error, AttributeError):
        kept["object"] = kind_name(type(kept_attribute(error, "obj")))
    return kept


# The user's source around a crash: the statement, the expression that raised, how a layer is built.
_CODE_LENGTH, _SCOPE_LENGTH = 1200, 6000


def statement_at(file: str, line: int) -> tuple[int, str]:
    """The user's whole statement a line belongs to, and its first line: a check can read its expression."""
    tree = tree_of(file) if is_user_file(file) else None  # torch's own files are long: their line will do
    for node in ast.walk(tree) if tree else ():
        spans = isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)
        if spans and isinstance(node, ast.stmt) and not hasattr(node, "body"):
            return node.lineno, _lines(file, node.lineno, node.end_lineno)[:_CODE_LENGTH]
    return line, linecache.getline(file, line).strip()[:_CODE_LENGTH]


def statement_place(file: str, line: int, module: str | None = None) -> Place:
    """A line, with the code of the whole statement it belongs to."""
    start, code = statement_at(file, line)
    return Place(file, start, module, code or None)


def failing_expression(code: CodeType, instruction: int) -> str:
    """The very expression that raised, as ast.unparse writes it; empty where Python cannot tell."""
    node = running_expression(code, instruction)
    return ast.unparse(node) if node is not None else ""


def constructions_of(path: str, kind: str, places: Mapping[str, Place]) -> Iterator[Construction]:
    """How a layer, called `kind`, and then the modules around it are built."""
    while path:
        place = places.get(path)
        tree = tree_of(place.file) if place is not None and place.file else None
        if tree is not None and place is not None and place.file and place.line:
            maker, scope = _maker(tree, place.line)
            code = _call_lines(tree, place.file, place.line, kind)
            lines = linecache.getlines(place.file)[scope.lineno - 1 : scope.end_lineno] if scope is not None else []
            text = textwrap.dedent("".join(lines))
            text = text if len(text) <= _SCOPE_LENGTH else ""
            numbers = written_numbers(place.file, code)
            yield Construction(Place(place.file, place.line, path, code), maker, text, numbers)
        path, kind = path.rpartition(".")[0], ""


def _maker(tree: ast.Module, line: int) -> tuple[str, ast.FunctionDef | None]:
    """The innermost function around a line, under the name that calls it: a class's for its __init__."""
    found: tuple[str, ast.FunctionDef | None] = "", None
    for outer in ast.walk(tree):
        for node in ast.iter_child_nodes(outer):
            if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0):
                name = outer.name if isinstance(outer, ast.ClassDef) and node.name == "__init__" else node.name
                if found[1] is None or node.lineno >= found[1].lineno:
                    found = name, node
    return found


def _call_lines(tree: ast.Module, file: str, line: int, kind: str) -> str:
    """A line, and as many after it as the calls of `kind` (or else all calls) that start on it take."""
    calls = [call for call in calls_in(tree) if call.lineno == line]
    named = [call for call in calls if kind and called_name(call) == kind]
    last = max((node.end_lineno or line for node in named or calls), default=line)
    return _lines(file, line, last) if last > line else place_at(file, line).code or ""


def _lines(file: str, first: int, last: int | None) -> str:
    return "\n".join(text.strip() for text in linecache.getlines(file)[first - 1 : last]).strip()


# Where a size that a constructor takes by name is written as a number: HIDDEN = 32, "hidden": 32.
def written_numbers(file: str, code: str) -> tuple[WrittenNumber, ...]:
    """For the names in a line of code, the one place of its file that gives each its number."""
    tree = tree_of(file)
    names = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", code)) if tree is not None else {}
    found = (_number(file, tree, name) for name in names if tree is not None)
    return tuple(number for number in found if number is not None)


def _number(file: str, tree: ast.Module, name: str) -> WrittenNumber | None:
    assigned = _assigned_numbers(tree).get(name, [])
    if len(assigned) != 1:
        return None  # never, or in several places: no one of them can be blamed
    first, value = assigned[0]
    place, source = place_at(file, value.lineno), ast.unparse(value)
    # from the name to the number, where both stand in one line
    if getattr(first, "lineno", 0) != value.lineno or place.code is None or not place.code.isascii():
        return None
    text = linecache.getline(file, value.lineno)[getattr(first, "col_offset", 0) : value.end_col_offset]
    if not text.endswith(source) or not isinstance(value.value, int):
        return None
    return WrittenNumber(name, value.value, place, text, _uses(tree).get(name, 0))


@functools.lru_cache(maxsize=16)
def _assigned_numbers(tree: ast.Module) -> dict[str, list[tuple[ast.AST, ast.Constant]]]:
    """name -> where something of that name is given a value, and the value where it is a plain number."""
    found: dict[str, list[tuple[ast.AST, ast.Constant]]] = {}
    for node in nodes_of(tree):
        for name, first, value in _assignments(node):
            found.setdefault(name, []).append((first, value if isinstance(value, ast.Constant) else _UNKNOWN))
    return found


_UNKNOWN = ast.Constant(value=None, lineno=0, col_offset=0, end_lineno=0, end_col_offset=0)


def _assignments(node: ast.AST) -> Iterator[tuple[str, ast.AST, ast.expr | None]]:
    if isinstance(node, ast.Assign):
        yield from ((part.id, part, node.value) for part in node.targets if isinstance(part, ast.Name))
    elif isinstance(node, ast.AnnAssign | ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, node.target, node.value
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, key, value
    elif isinstance(node, ast.arguments):
        named = [*node.posonlyargs, *node.args]
        defaults = node.defaults
        yield from (
            (arg.arg, arg, value) for arg, value in zip(named[len(named) - len(defaults) :], defaults, strict=True)
        )


@functools.lru_cache(maxsize=16)
def _uses(tree: ast.Module) -> dict[str, int]:
    """How often a file reads each name, attribute or key."""
    counts: dict[str, int] = {}
    for node in nodes_of(tree):
        read = _read(node)
        counts[read] = counts.get(read, 0) + 1
    return counts


def _read(node: ast.AST) -> str:
    if isinstance(node, ast.Name | ast.Attribute) and not isinstance(node.ctx, ast.Load):
        return ""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    key = node.slice if isinstance(node, ast.Subscript) else None
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
