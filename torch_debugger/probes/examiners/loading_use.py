"""How the user's line makes or uses a DataLoader, for errors that arise right there."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any

from torch.utils.data import DataLoader, IterableDataset, default_collate

from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.anatomy.sources import place_at, tree_of
from torch_debugger.probes.crash_frames import Seen
from torch_debugger.probes.crash_operands import UnknownValueError, value_of
from torch_debugger.probes.crash_source import failing_expression, statement_at
from torch_debugger.probes.crash_values import kind_name
from torch_debugger.probes.examiners.loading_refetch import fetch_again
from torch_debugger.probes.examiners.loading_scene import Loading
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence.loading import LoaderCall, LoaderUse

_PLAIN = (int, float, bool, str, type(None))
_TAKEN_APART = ("tuple", "list", "dict", "tensor", "ndarray")
_FETCHED = 64  # samples for one batch at most: enough to see its form
_USES = (TypeError, ValueError, AttributeError, KeyError, IndexError)


def loader_call(scene: Scene) -> tuple[LoaderCall, Loading] | None:
    """The arguments of the DataLoader(...) that is in the traceback."""
    seen = scene.frame_of("__init__", "dataloader.py")
    made = seen.frame.f_locals.get("self") if seen is not None else None
    if seen is None or not is_a(made, DataLoader):
        return None
    held, parameters = seen.frame.f_locals, inspect.signature(DataLoader.__init__).parameters
    given = {
        name: _text(held[name])
        for name, parameter in parameters.items()
        if name not in ("self", "dataset")
        and name in held
        and not _is_default(name, held[name], parameter.default)
    }
    dataset = held.get("dataset")
    return LoaderCall(given, is_a(dataset, IterableDataset)), Loading(None, dataset, made)


def _is_default(name: str, value: Any, default: Any) -> bool:
    return (
        value is default or (is_one_of(value, _PLAIN) and value == default) or (name == "shuffle" and not value)
    )


def _text(value: Any) -> str:
    return repr(value)[:80] if is_one_of(value, _PLAIN) else type(value).__name__


def loader_use(scene: Scene) -> tuple[LoaderUse, Loading] | None:
    """When the innermost line is the user's own and reads a loader or what came out of it."""
    seen = scene.innermost
    if seen is None or not seen.user or not is_a(scene.error, _USES):
        return None
    failing = failing_expression(seen.frame.f_code, seen.instruction)
    found = next(_loops(seen, failing), None) or next(_mentions(seen, failing), None)
    if found is None:
        return None
    use, loader = found
    return use, Loading(None, loader.dataset, loader)


def _loops(seen: Seen, failing: str) -> Iterator[tuple[LoaderUse, Any]]:
    """The loop that failed to unpack a batch, or whose variable the failing expression uses."""
    for loop in for_statements(seen):
        named = next(loader_in(loop.iter, seen), None)
        header = seen.line in range(loop.lineno, loop.body[0].lineno)
        variable = "" if header else _used_variable(loop, seen, failing)
        if named is not None and (header or variable):
            name, loader = named
            around = ast.unparse(loop.iter.func) if isinstance(loop.iter, ast.Call) else ""
            kind = kind_name(type(seen.frame.f_locals.get(variable))) if variable else ""
            target, place = ast.unparse(loop.target), place_at(seen.file, loop.lineno)
            yield LoaderUse(name, around, place, target, variable, kind, *_sample(loader)), loader


def for_statements(seen: Seen) -> list[ast.For]:
    """Those around the line, the innermost first."""
    tree = tree_of(seen.file)
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For)] if tree else []
    return sorted(
        (loop for loop in loops if loop.lineno <= seen.line <= (loop.end_lineno or 0)),
        key=lambda loop: -loop.lineno,
    )


def _used_variable(loop: ast.For, seen: Seen, failing: str) -> str:
    names = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    for used in _candidates(seen, failing):
        owner = used.value if isinstance(used, ast.Attribute | ast.Subscript) else None
        if isinstance(owner, ast.Name) and owner.id in names:
            return owner.id
    return ""


def _candidates(seen: Seen, failing: str) -> list[ast.AST]:
    """The expression that raised; before Python 3.11 all of the statement."""
    try:
        tree = ast.parse(failing or statement_at(seen.file, seen.line)[1])
    except SyntaxError:
        return []
    return [tree.body[0].value] if failing and isinstance(tree.body[0], ast.Expr) else list(ast.walk(tree))


def loader_in(node: ast.AST, seen: Seen) -> Iterator[tuple[str, Any]]:
    """A loader, or one inside enumerate(...), tqdm(...), iter(...)."""
    for part in (node, *(node.args if isinstance(node, ast.Call) else ())):
        try:
            value = value_of(part, seen.frame) if isinstance(part, ast.expr) else None
        except UnknownValueError:
            continue
        if issubclass(type(value), DataLoader):
            yield ast.unparse(part), value


def _mentions(seen: Seen, failing: str) -> Iterator[tuple[LoaderUse, Any]]:
    """next(loader), loader[0]"""
    for node in _candidates(seen, failing):
        owner = node.value if isinstance(node, ast.Subscript) else node if isinstance(node, ast.Call) else None
        for name, loader in loader_in(owner, seen) if owner is not None else ():
            yield LoaderUse(name, ast.unparse(node.func) if isinstance(node, ast.Call) else ""), loader


def _sample(loader: Any) -> tuple[str, int | None, tuple[str, ...], str]:
    """The form of the first sample, or of a batch where a function of the user's makes those."""
    if is_a(loader.dataset, IterableDataset):
        return "", None, (), ""
    own = loader.collate_fn is not default_collate
    again = fetch_again(_Batches(loader) if own else loader.dataset, [0])
    if not again.forms or (own and again.forms[0][1].kind not in _TAKEN_APART):
        return "", None, (), ""
    form = again.forms[0][1]
    parts = int(form.detail) if form.kind in ("tuple", "list", "dict") else 1
    keys = tuple(key[1:-1] for key, _ in form.parts) if form.kind == "dict" else ()
    if own and parts == _FETCHED:  # a list of the samples themselves, cut short by us
        return "", None, (), ""
    return form.words, parts, keys, _collate_name(loader.collate_fn) if own else ""


def _collate_name(function: Any) -> str:
    name = str(getattr(function, "__name__", type(function).__name__))
    return name if name.isidentifier() else "collate_fn"


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
