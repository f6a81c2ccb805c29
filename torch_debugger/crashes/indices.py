"""Integer tensors that were used as indices, against the sizes they index."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import nn

from torch_debugger.crashes.expressions import UnknownValueError, computed_value, is_plain_tensor
from torch_debugger.crashes.frames import LiveCrash, Seen, describe, is_tensor
from torch_debugger.crashes.layers import describe_layer
from torch_debugger.records import LayerFact, Place
from torch_debugger.records.crash import IndexEvidence
from torch_debugger.source.constructors import constructor_places
from torch_debugger.source.files import covers
from torch_debugger.source.syntax import called_name, nodes_in
from torch_debugger.source.variables import name_root
from torch_debugger.stats.dispatch_modes import no_grad

_WORDS = ("out of range", "out of bounds", "Class values must", "valid range", "index_size", "num_embeddings")
_SHOWN = 5
_DISTINCT = 1_000_000  # values sorted to count the different ones


def examine_indices(crash: LiveCrash) -> IndexEvidence | None:
    """The lookup whose values are out of range, where the exception speaks of one."""
    message = str(crash.error)
    if not isinstance(crash.error, IndexError | RuntimeError) or not any(word in message for word in _WORDS):
        return None
    for lookup in lookups_of(crash):
        evidence = examine_lookup(crash, lookup, message)
        if evidence is not None:
            return evidence
    return None


def examine_lookup(crash: LiveCrash, lookup: Lookup, message: str = "") -> IndexEvidence | None:
    """The values of one lookup that are out of range, if the message is about them."""
    if lookup.indices.is_floating_point() or not lookup.indices.numel():
        return None
    with no_grad(), torch.utils._python_dispatch._disable_current_modes():
        values = lookup.indices.reshape(-1).long()
        counted = values != lookup.ignored if lookup.ignored is not None else torch.ones_like(values).bool()
        outside = ((values < lookup.allowed) | (values >= lookup.size)) & counted
        if not outside.any() or not _is_told(message, lookup, values[outside]):
            return None
        return _evidence(crash, lookup, values, counted, outside)


def _is_told(message: str, lookup: Lookup, wrong: torch.Tensor) -> bool:
    """Whether the values and the size that the message names, if it does, are those of this lookup."""
    size = re.search(r"with size (\d+)", message)
    value = re.search(r"(?:[Ii]ndex|Target|takes value) (-?\d+) (?:is|out|which)", message)
    fits = size is None or int(size[1]) == lookup.size
    return fits and (value is None or bool((wrong == int(value[1])).any()))


def _evidence(
    crash: LiveCrash, lookup: Lookup, values: torch.Tensor, counted: torch.Tensor, outside: torch.Tensor
) -> IndexEvidence | None:
    places, seen = outside.nonzero().flatten(), values[counted]
    indices = describe(lookup.index_name, lookup.indices)
    if indices is None:
        return None
    return IndexEvidence(
        operation=lookup.operation,
        indices=indices,
        size=lookup.size,
        allowed=lookup.allowed,
        count=len(places),
        total=len(seen),
        values=tuple(int(value) for value in values[places[:_SHOWN]]),
        positions=tuple(_position(int(place), lookup.indices.shape) for place in places[:_SHOWN]),
        lowest=int(seen.min()),
        highest=int(seen.max()),
        distinct=len(torch.unique(seen[:_DISTINCT])),
        counts_up=_counts_up(lookup.indices),
        table=describe(lookup.table_name, lookup.table) if lookup.table is not None else None,
        dimension=lookup.dimension,
        ignored=lookup.ignored,
        expression=lookup.expression,
        scores_from=_scores_from(crash, lookup),
    )


def _scores_from(crash: LiveCrash, lookup: Lookup) -> LayerFact | None:
    """Of labels; and of what picks from a model's outputs, which a graph must tell from plain data."""
    if lookup.table is None or lookup.dimension != 1:
        return None
    is_output = lookup.operation in LABELS or lookup.table.grad_fn is not None
    return find_score_layer(crash, lookup.table, lookup.size) if is_output else None


def _position(place: int, shape: torch.Size) -> tuple[int, ...]:
    position: list[int] = []
    for size in reversed(shape):
        position.append(place % size)
        place //= size
    return tuple(reversed(position))


def _counts_up(indices: torch.Tensor) -> bool:
    if not indices.dim() or indices.shape[-1] < 2:
        return False
    return bool((indices == torch.arange(indices.shape[-1])).all())


# The lookup that raised: what was indexed, with what, and which values it takes.
_FUNCTIONAL = os.path.join("torch", "nn", "functional.py")
LABELS = ("cross_entropy", "nll_loss", "multi_margin_loss")
_TABLES = ("embedding", "embedding_bag")
_ALONG = (
    "gather", "scatter", "scatter_", "scatter_add", "scatter_add_", "scatter_reduce", "scatter_reduce_",
    "index_select", "index_add", "index_add_", "index_copy", "index_copy_",
)  # fmt: skip
_LIBRARIES = ("torch", "F", "torch.nn.functional", "nn.functional", "functional")


@dataclass(frozen=True)
class Lookup:
    """Integers that choose from `size` things, numbered from 0."""

    operation: str
    indices: torch.Tensor
    size: int
    allowed: int = 0
    table: torch.Tensor | None = None
    dimension: int | None = None
    ignored: int | None = None
    expression: str = ""
    index_name: str = ""
    table_name: str = ""


def lookups_of(crash: LiveCrash) -> Iterator[Lookup]:
    """What the crash may have looked up: in a function of torch's, else in the user's own expression."""
    innermost = crash.innermost
    if innermost is None:
        return
    if innermost.user:
        yield from _written(innermost)
    elif innermost.file.endswith(_FUNCTIONAL):
        yield from _given(crash, innermost)


def _given(crash: LiveCrash, seen: Seen) -> Iterator[Lookup]:
    held = seen.locals
    given, weight, target = held.get("input"), held.get("weight"), held.get("target")
    if seen.function in _TABLES and torch.is_tensor(weight):
        outer = crash.frame_of("forward", os.path.join("modules", "sparse.py"))
        indices = outer.locals.get("input") if outer is not None else given
        if is_plain_tensor(indices):
            name = _name_of(crash, indices)
            yield Lookup(seen.function, indices, weight.shape[0], 0, weight, 0, index_name=name)
    if seen.function in LABELS and torch.is_tensor(given) and is_plain_tensor(target):
        classes = given.shape[1 if given.dim() > 1 else 0]
        yield Lookup(seen.function, target, classes, 0, given, 1, held.get("ignore_index"))


def _name_of(crash: LiveCrash, indices: torch.Tensor) -> str:
    """The first argument of the user's call, if that is what arrived."""
    user = crash.user_frame
    if user is None:
        return ""
    for node in raising_expressions(user):
        given = node.args[0] if isinstance(node, ast.Call) and node.args else None
        if given is not None and _is_value(given, user, indices):
            return ast.unparse(given)
    return ""


def _is_value(node: ast.expr, seen: Seen, tensor: torch.Tensor) -> bool:
    try:
        value = computed_value(node, seen.frame)
    except UnknownValueError:
        return False
    return is_plain_tensor(value) and torch.equal(value, tensor)


def raising_expressions(seen: Seen) -> list[ast.expr]:
    """The expressions that may have raised: the one that did, or all of the line where Python cannot tell."""
    tree = tree_of(seen.file)
    failing = seen.failing
    on_line = [
        node
        for node in (ast.walk(tree) if tree is not None else ())
        if isinstance(node, ast.expr) and node.lineno <= seen.line <= (node.end_lineno or 0)
    ]
    return [node for node in on_line if not failing or ast.unparse(node) == failing]


def _written(seen: Seen) -> Iterator[Lookup]:
    for node in raising_expressions(seen):
        try:
            if isinstance(node, ast.Subscript):
                yield from _brackets(seen, node)
            elif isinstance(node, ast.Call):
                yield from _called(seen, node)
        except UnknownValueError:
            continue


def _brackets(seen: Seen, node: ast.Subscript) -> Iterator[Lookup]:
    table, place = computed_value(node.value, seen.frame), 0
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if not torch.is_tensor(table):
        return
    for part in parts:
        if isinstance(part, ast.Slice):
            place += 1
            continue
        value = computed_value(part, seen.frame)
        if value is None or value is Ellipsis or place >= table.dim():
            place = place if value is None else table.dim() - (len(parts) - parts.index(part) - 1)
            continue
        size, indices = table.shape[place], _as_indices(value)
        names = ast.unparse(node), ast.unparse(part), ast.unparse(node.value)
        if indices is not None:
            yield Lookup("[]", indices, size, -size, table, place, None, *names)
        place += value.dim() if torch.is_tensor(value) and value.dtype is torch.bool else 1


def _as_indices(value: Any) -> torch.Tensor | None:
    if type(value) is int or (type(value) is list and value and all(type(item) is int for item in value)):
        return torch.tensor(value)
    whole = is_plain_tensor(value) and not value.is_floating_point() and value.dtype is not torch.bool
    return value if whole else None


def _called(seen: Seen, node: ast.Call) -> Iterator[Lookup]:
    if not isinstance(node.func, ast.Attribute | ast.Name):
        return
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    name = called_name(node)
    operands = list(node.args)
    if owner is not None and ast.unparse(owner) not in _LIBRARIES:
        operands.insert(0, owner)
    named = {word.arg: word.value for word in node.keywords}
    if name == "one_hot" and operands:
        yield from _one_hot(seen, node, operands, named.get("num_classes"))
    elif name in _ALONG and operands:
        dimension = named.get("dim") or (operands[1] if len(operands) > 1 else None)
        index = named.get("index") or (operands[2] if len(operands) > 2 else None)
        if dimension is not None and index is not None:
            yield from _along(seen, node, name, operands[0], dimension, index)


def _one_hot(seen: Seen, node: ast.Call, operands: list[ast.expr], named: ast.expr | None) -> Iterator[Lookup]:
    indices, classes = computed_value(operands[0], seen.frame), named or (operands[1] if operands[1:] else None)
    size = computed_value(classes, seen.frame) if classes is not None else -1
    if not is_plain_tensor(indices) or type(size) is not int or not indices.numel():
        return
    size = size if size > 0 else int(indices.max()) + 1
    yield Lookup("one_hot", indices, size, expression=ast.unparse(node), index_name=ast.unparse(operands[0]))


def _along(
    seen: Seen, node: ast.Call, name: str, owner: ast.expr, along: ast.expr, index: ast.expr
) -> Iterator[Lookup]:
    table, place, indices = (computed_value(part, seen.frame) for part in (owner, along, index))
    if not torch.is_tensor(table) or not is_plain_tensor(indices) or type(place) is not int or not table.dim():
        return
    place %= table.dim()
    names = ast.unparse(node), ast.unparse(index), ast.unparse(owner)
    yield Lookup(name, indices, table.shape[place], 0, table, place, None, *names)


# The layer that made the scores a loss was given: by the autograd graph, else by its size.
_NODES, _NAMES = 200, 2000


def find_score_layer(crash: LiveCrash, scores: torch.Tensor, size: int) -> LayerFact | None:
    """The only layer in reach that gives `size` scores and, where there is a graph, is the last one in it."""
    roots = list(_roots(crash))
    made = next(_parameters_behind(scores), None)
    found = [(name, root, path, layer) for name, root in roots for path, layer in _fitting(name, root, size)]
    if made is not None:
        found = [item for item in found if any(part is made for part in item[3].parameters(recurse=False))]
    if not found or any(item[3] is not found[0][3] for item in found):
        return None
    name, root, path, layer = found[0]
    files = crash.user_files
    return describe_layer(layer, path, constructor_places(root, name, files), Place(module=path))


def _roots(crash: LiveCrash) -> Iterator[tuple[str, nn.Module]]:
    """The models in reach: those watched, then those the user's frames hold."""
    known: set[int] = set()
    for name, root in crash.running.models.items():
        known.add(id(root))
        yield name, root
    for seen in reversed(crash.frames):
        for module in _held(seen.frame) if seen.user else ():
            if id(module) not in known:
                known.add(id(module))
                yield name_root(module, seen.frame), module


def _held(frame: FrameType) -> Iterator[nn.Module]:
    """Modules in variables, and those that `self` keeps in attributes."""
    owner = getattr(frame.f_locals.get("self"), "__dict__", {})
    for names in (frame.f_locals, owner, frame.f_globals):
        for value in list(names.values())[:_NAMES]:
            if issubclass(type(value), nn.Module):
                yield value


def _fitting(name: str, root: nn.Module, size: int) -> Iterator[tuple[str, nn.Module]]:
    """The layers of a model that give this many scores."""
    for path, layer in root.named_modules(prefix=name):
        if size in (vars(layer).get("out_features"), vars(layer).get("out_channels")):
            yield path, layer


def _parameters_behind(scores: torch.Tensor) -> Iterator[torch.Tensor]:
    """The parameters in the graph behind a tensor, the nearest first."""
    waiting: list[Any] = [scores.grad_fn]
    seen: set[Any] = set()
    for node in waiting:
        if node is None or node in seen or len(seen) > _NODES:
            continue
        seen.add(node)
        if is_tensor(getattr(node, "variable", None)):
            yield node.variable
        waiting += [following for following, _ in node.next_functions]
