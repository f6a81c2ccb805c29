"""An exception in the user's dataset, seen from its frames: the line, the values in it, what was not there."""

from __future__ import annotations

import ast
import binascii
import difflib
import faulthandler
import inspect
import os
import pickle
import re
import select
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, NoReturn

import numpy
import torch
from torch.utils.data import DataLoader, IterableDataset, default_collate

from torch_debugger.crashes.expressions import UNKNOWN, UnknownValueError, computed_value
from torch_debugger.crashes.frames import LiveCrash, LiveFrame, kind_name, walk_traceback
from torch_debugger.crashes.loading_dataloader import FailedLoading, ValueForm, form_of
from torch_debugger.model.forks import ForkedTask
from torch_debugger.records import Place
from torch_debugger.records.crash_loading import LoaderCall, LoaderUse, MissingFile, Raised, Subscripted
from torch_debugger.source.files import covers, is_user_file, nodes_of, place_at, tree_of
from torch_debugger.source.objects import is_a, is_one_of
from torch_debugger.source.statements import attribute_place
from torch_debugger.system.clocks import time

_TEXT, _KEYS, _ENTRIES = 80, 5, 2000
_PLAIN = (int, float, bool, str, bytes, type(None))


def describe_raised(error: BaseException, frames: Sequence[LiveFrame]) -> Raised:
    """What the innermost frame of the user's tells about the exception."""
    users = [seen for seen in frames if seen.user]
    if not users:
        return Raised(type(error).__name__, first_line(error))
    seen = users[-1]
    failing = seen.failing
    statement = _parse(failing) or _parse(seen.code)
    return Raised(
        kind=type(error).__name__,
        message=first_line(error),
        place=seen.place,
        function=seen.function,
        failing=failing,
        index=_requested_index(users),
        reach=dict(_reach(statement, seen)) if statement else {},
        subscripted=_subscripted(error, statement, seen) if statement else None,
        missing=_missing(error),
    )


def examine_entry(crash: LiveCrash) -> Subscripted | None:
    """Where the user's own line asked a container for what it does not hold."""
    is_users = crash.innermost is not None and crash.innermost.user
    return describe_raised(crash.error, crash.frames).subscripted if is_users else None


def first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else ""


def _requested_index(users: Sequence[LiveFrame]) -> int | None:
    """What the innermost __getitem__ of the user's was asked for."""
    for seen in reversed(users):
        code = seen.frame.f_code
        if code.co_name == "__getitem__" and code.co_argcount == 2:
            index = seen.locals.get(code.co_varnames[1])
            return index if type(index) is int else None
    return None


def _parse(text: str) -> ast.AST | None:
    for form in (text, f"{text}\n pass"):
        try:
            return ast.parse(form)
        except (SyntaxError, ValueError):
            continue
    return None


def _computed(node: ast.AST, seen: LiveFrame) -> Any:
    """UNKNOWN where it cannot be told."""
    try:
        return computed_value(node, seen.frame) if isinstance(node, ast.expr) else UNKNOWN
    except UnknownValueError:
        return UNKNOWN


def _reach(tree: ast.AST, seen: LiveFrame) -> Iterator[tuple[str, str]]:
    """The largest parts of the expression that are plain values: path = 'a.png'."""
    for node in ast.iter_child_nodes(tree):
        value = _computed(node, seen) if not isinstance(node, ast.Constant) else UNKNOWN
        if is_one_of(value, _PLAIN):
            yield ast.unparse(node), repr(value)[:_TEXT]
        elif is_a(value, PurePath):
            yield ast.unparse(node), repr(os.fspath(value))[:_TEXT]
        elif not isinstance(node, ast.stmt) or not hasattr(node, "body"):
            yield from _reach(node, seen)


def _subscripted(error: BaseException, tree: ast.AST, seen: LiveFrame) -> Subscripted | None:
    """The one entry the statement asks for that its container does not have."""
    if not isinstance(error, (KeyError, IndexError)):
        return None
    subscripts = [node for node in ast.walk(tree) if isinstance(node, ast.Subscript)]
    pairs = [(node, _computed(node.value, seen), _computed(node.slice, seen)) for node in subscripts]
    lacking = [(node, container, key) for node, container, key in pairs if _lacks(container, key)]
    if len(lacking) != 1:
        return None
    node, container, key = lacking[0]
    keys = [repr(name)[:_TEXT] for name in list(container)[:_KEYS]] if type(container) is dict else []
    owner = _computed(node.value.value, seen) if isinstance(node.value, ast.Attribute) else UNKNOWN
    return Subscripted(
        container=ast.unparse(node.value),
        kind=kind_name(type(container)),
        size=len(container),
        key=repr(key)[:_TEXT],
        keys=", ".join(keys) + (", ..." if keys and len(container) > _KEYS else ""),
        place=attribute_place(type(owner), node.value.attr) or Place()  # type: ignore[attr-defined]
        if owner is not UNKNOWN
        else place_at("", 0),
        near=_near(key, container) if type(container) is dict else "",
    )


def _near(key: Any, container: dict[Any, Any]) -> str:
    """'bird' for 'Bird '"""
    if type(key) is not str:
        return ""
    plain = {name.strip().casefold(): name for name in list(container)[:_ENTRIES] if type(name) is str}
    found = difflib.get_close_matches(key.strip().casefold(), list(plain), n=1, cutoff=0.75)
    return repr(plain[found[0]])[:_TEXT] if found else ""


def _lacks(container: Any, key: Any) -> bool:
    if type(container) is dict:
        return is_one_of(key, (int, str, tuple)) and key not in container
    sized = is_one_of(container, (list, tuple, str, torch.Tensor, numpy.ndarray)) and type(key) is int
    return sized and getattr(container, "ndim", 1) > 0 and not -len(container) <= key < len(container)


def _missing(error: BaseException) -> MissingFile | None:
    path = error.filename if isinstance(error, FileNotFoundError) else None
    text = str.__str__(path) if is_a(path, str) else str(path) if is_a(path, PurePath) else ""
    if not text:
        return None
    folder, name = os.path.split(text)
    exists = os.path.isdir(folder or ".")
    names = [entry.name for _, entry in zip(range(_ENTRIES), os.scandir(folder or "."), strict=False)] if exists else []
    digits = re.findall(r"\d", name)
    numbered = sorted(entry for entry in names if re.findall(r"\d", entry) == digits)  # 007 is not meant by 008
    near = difflib.get_close_matches(name, numbered, n=1, cutoff=0.75)
    return MissingFile(text, exists, len(names), near[0] if near else "", not os.path.isabs(text))


# Samples fetched once more in a fork: which of them raise, end the process or take too long, and where.
#
# A fork is what a worker is too: whatever the dataset does there, this process never sees it.
_LIMIT_S = 0.6
_STACK = re.compile(r'^  File "(.+)", line (\d+) in ', re.MULTILINE)


@dataclass
class Refetched:
    """What became of the samples, in the order they were asked for."""

    forms: list[tuple[int, ValueForm]] = field(default_factory=list)
    raised: list[tuple[int, Raised]] = field(default_factory=list)
    stuck: int | None = None  # asked for and never answered
    died: bool = False  # the fork ended by itself at that sample
    place: Place = field(default_factory=Place)  # where it was then

    @property
    def looked_at(self) -> int:
        return len(self.forms) + len(self.raised)


def fetch_again(dataset: Any, indices: Iterable[int], limit_s: float = _LIMIT_S) -> Refetched:
    if not hasattr(os, "fork"):
        return Refetched()
    reading, writing = os.pipe()
    task = ForkedTask(lambda: _fetch_all(dataset, indices, writing, limit_s), limit_s + 1.0, urgent=True)
    os.close(writing)
    text, ended = _read_until(reading, time.monotonic() + limit_s)
    os.close(reading)
    task.kill()
    return _read_refetched(text.decode(errors="replace"), ended)


def _fetch_all(dataset: Any, indices: Iterable[int], writing: int, limit_s: float) -> str:
    faulthandler.enable(writing)
    faulthandler.dump_traceback_later(limit_s * 0.7, file=writing)
    leave = os._exit

    def _exit(status: int) -> NoReturn:
        """First says from where it is called; only the fork ever has it."""
        faulthandler.dump_traceback(writing)
        leave(status)

    vars(os)["_exit"] = _exit
    for index in indices:
        os.write(writing, f"?{index}\n".encode())
        try:
            result: ValueForm | Raised = form_of(dataset[index])
        except BaseException as error:  # SystemExit too: it ends a worker
            result = describe_raised(error, walk_traceback(error.__traceback__))
        os.write(writing, b"=" + binascii.hexlify(pickle.dumps(result)) + b"\n")
    vars(os)["_exit"] = leave
    return "done"


def _read_until(reading: int, deadline: float) -> tuple[bytes, bool]:
    """What the fork wrote by then, and whether it closed its end."""
    text = b""
    while (left := deadline - time.monotonic()) > 0:
        if select.select([reading], [], [], left)[0]:
            chunk = os.read(reading, 65536)
            text += chunk
            if not chunk:
                return text, True
    return text, False


def _read_refetched(text: str, ended: bool) -> Refetched:
    found = Refetched()
    for line in text.splitlines():
        if line.startswith("?"):
            found.stuck = int(line[1:])
        elif line.startswith("=") and found.stuck is not None:
            result = pickle.loads(binascii.unhexlify(line[1:]))
            kept: list[Any] = found.raised if is_a(result, Raised) else found.forms
            kept.append((found.stuck, result))
            found.stuck = None
    found.died = found.stuck is not None and ended
    lines = [(file, int(line)) for file, line in _STACK.findall(text) if is_user_file(file)]
    found.place = place_at(*lines[0]) if found.stuck is not None and lines else Place()
    return found


# How the user's line makes or uses a DataLoader, for errors that arise right there.
_SETTINGS = (int, float, bool, str, type(None))
_TAKEN_APART = ("tuple", "list", "dict", "tensor", "ndarray")
_FETCHED = 64  # samples for one batch at most: enough to see its form
_USES = (TypeError, ValueError, AttributeError, KeyError, IndexError)


def loader_call(crash: LiveCrash) -> tuple[LoaderCall, FailedLoading] | None:
    """The arguments of the DataLoader(...) that is in the traceback."""
    seen = crash.frame_of("__init__", "dataloader.py")
    made = seen.locals.get("self") if seen is not None else None
    if seen is None or not is_a(made, DataLoader):
        return None
    variables, parameters = seen.locals, inspect.signature(DataLoader.__init__).parameters
    arguments: dict[str, str] = {}
    for name, parameter in parameters.items():
        value = variables.get(name, parameter.default)
        is_default = value is parameter.default or (is_one_of(value, _SETTINGS) and value == parameter.default)
        if name not in ("self", "dataset") and not is_default and not (name == "shuffle" and not value):
            arguments[name] = repr(value)[:80] if is_one_of(value, _SETTINGS) else type(value).__name__
    dataset = variables.get("dataset")
    return LoaderCall(arguments, is_a(dataset, IterableDataset)), FailedLoading(None, dataset, made)


def loader_use(crash: LiveCrash) -> tuple[LoaderUse, FailedLoading] | None:
    """When the innermost line is the user's own and reads a loader or what came out of it."""
    seen = crash.innermost
    if seen is None or not seen.user or not is_a(crash.error, _USES):
        return None
    failing = seen.failing
    found = next(_loops(seen, failing), None) or next(_mentions(seen, failing), None)
    if found is None:
        return None
    use, loader = found
    return use, FailedLoading(None, loader.dataset, loader)


def _loops(seen: LiveFrame, failing: str) -> Iterator[tuple[LoaderUse, Any]]:
    """The loop that failed to unpack a batch, or whose variable the failing expression uses."""
    for loop in for_statements(seen):
        named = next(loader_in(loop.iter, seen), None)
        header = seen.line in range(loop.lineno, loop.body[0].lineno)
        targets = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
        owners = [node.value for node in _candidates(seen, failing) if isinstance(node, ast.Attribute | ast.Subscript)]
        used = [owner.id for owner in owners if isinstance(owner, ast.Name) and owner.id in targets]
        variable = used[0] if used and not header else ""
        if named is not None and (header or variable):
            name, loader = named
            around = ast.unparse(loop.iter.func) if isinstance(loop.iter, ast.Call) else ""
            kind = kind_name(type(seen.locals.get(variable))) if variable else ""
            target, place = ast.unparse(loop.target), place_at(seen.file, loop.lineno)
            yield LoaderUse(name, around, place, target, variable, kind, *_sample(loader)), loader


def for_statements(seen: LiveFrame) -> list[ast.For]:
    """Those around the line, the innermost first."""
    nodes = nodes_of(tree_of(seen.file) or ast.Module([], []))
    loops = [node for node in nodes if isinstance(node, ast.For) and covers(node, seen.line)]
    return sorted(loops, key=lambda loop: -loop.lineno)


def _candidates(seen: LiveFrame, failing: str) -> list[ast.AST]:
    """The expression that raised; before Python 3.11 all of the statement."""
    try:
        tree = ast.parse(failing or seen.code)
    except SyntaxError:
        return []
    return [tree.body[0].value] if failing and isinstance(tree.body[0], ast.Expr) else list(ast.walk(tree))


def loader_in(node: ast.AST, seen: LiveFrame) -> Iterator[tuple[str, Any]]:
    """A loader, or one inside enumerate(...), tqdm(...), iter(...)."""
    for part in (node, *(node.args if isinstance(node, ast.Call) else ())):
        value = _computed(part, seen)
        if is_a(value, DataLoader):
            yield ast.unparse(part), value


def _mentions(seen: LiveFrame, failing: str) -> Iterator[tuple[LoaderUse, Any]]:
    """next(loader), loader[0]"""
    for node in _candidates(seen, failing):
        owner = node.value if isinstance(node, ast.Subscript) else node if isinstance(node, ast.Call) else None
        for name, loader in loader_in(owner, seen) if owner is not None else ():
            yield LoaderUse(name, ast.unparse(node.func) if isinstance(node, ast.Call) else ""), loader


def _sample(loader: Any) -> tuple[str, int | None, tuple[str, ...], str]:
    """The form of the first sample, or of a batch where a function of the user's makes those."""
    own = loader.collate_fn is not default_collate
    iterable = is_a(loader.dataset, IterableDataset)
    again = Refetched() if iterable else fetch_again(_Batches(loader) if own else loader.dataset, [0])
    form = again.forms[0][1] if again.forms else ValueForm("")
    parts = int(form.detail) if form.kind in ("tuple", "list", "dict") else 1
    cut_short = parts == _FETCHED  # a list of the samples themselves, cut short by us
    if not again.forms or (own and (form.kind not in _TAKEN_APART or cut_short)):
        return "", None, (), ""
    keys = tuple(key[1:-1] for key, _ in form.parts) if form.kind == "dict" else ()
    name = str(getattr(loader.collate_fn, "__name__", type(loader.collate_fn).__name__))
    return form.words, parts, keys, "" if not own else name if name.isidentifier() else "collate_fn"


class _Batches:
    """What a loader hands out, made from the first samples of its dataset."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __getitem__(self, number: int) -> Any:
        dataset, size = self.loader.dataset, self.loader.batch_size
        if self.loader.batch_sampler is None:
            return self.loader.collate_fn(dataset[number])
        count = min(size or _FETCHED, len(dataset), _FETCHED)
        return self.loader.collate_fn([dataset[index] for index in range(count)])
