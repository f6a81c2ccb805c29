"""Integer tensors that were used as indices, against the sizes they index."""

from __future__ import annotations

import ast
import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn

from torch_debugger.crashes.expressions import (
    UnknownValueError,
    calls_on_line,
    computed_or_none,
    computed_value,
    expressions_in,
    is_plain_tensor,
)
from torch_debugger.crashes.frames import LiveCrash, LiveFrame, describe, is_tensor
from torch_debugger.crashes.layers import describe_layer
from torch_debugger.model.autograd_graph import walk_nodes
from torch_debugger.records import LayerFact, Place
from torch_debugger.records.crash import IndexEvidence
from torch_debugger.source.constructors import constructor_places
from torch_debugger.source.objects import is_a
from torch_debugger.source.syntax import called_name
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
        # the values and the size that the message names, if it does, must be those of this lookup
        size = re.search(r"with size (\d+)", message)
        value = re.search(r"(?:[Ii]ndex|Target|takes value) (-?\d+) (?:is|out|which)", message)
        if not outside.any() or (size is not None and int(size[1]) != lookup.size):
            return None
        if value is not None and not bool((values[outside] == int(value[1])).any()):
            return None
        return _evidence(crash, lookup, values, counted, outside)


def _evidence(
    crash: LiveCrash, lookup: Lookup, values: torch.Tensor, counted: torch.Tensor, outside: torch.Tensor
) -> IndexEvidence | None:
    places, seen = outside.nonzero().flatten(), values[counted]
    indices = describe(lookup.index_name, lookup.indices)
    if indices is None:
        return None
    shape = lookup.indices.shape
    last = shape[-1] if len(shape) else 0
    # of labels; and of what picks from a model's outputs, which a graph must tell from plain data
    table, scores_from = lookup.table, None
    if table is not None and lookup.dimension == 1 and (lookup.operation in LABELS or table.grad_fn is not None):
        scores_from = find_score_layer(crash, table, lookup.size)
    positions = (torch.unravel_index(place, shape) for place in places[:_SHOWN])
    return IndexEvidence(
        operation=lookup.operation,
        indices=indices,
        size=lookup.size,
        allowed=lookup.allowed,
        count=len(places),
        total=len(seen),
        values=tuple(int(value) for value in values[places[:_SHOWN]]),
        positions=tuple(tuple(int(part) for part in position) for position in positions),
        lowest=int(seen.min()),
        highest=int(seen.max()),
        distinct=len(torch.unique(seen[:_DISTINCT])),
        counts_up=last > 1 and bool((lookup.indices == torch.arange(last)).all()),
        table=describe(lookup.table_name, lookup.table) if lookup.table is not None else None,
        dimension=lookup.dimension,
        ignored=lookup.ignored,
        expression=lookup.expression,
        scores_from=scores_from,
    )


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
        yield from _lookups_of_function(crash, innermost)


def _lookups_of_function(crash: LiveCrash, seen: LiveFrame) -> Iterator[Lookup]:
    variables = seen.locals
    scores, weight, target = variables.get("input"), variables.get("weight"), variables.get("target")
    if seen.function in _TABLES and torch.is_tensor(weight):
        outer = crash.frame_of("forward", os.path.join("modules", "sparse.py"))
        indices = outer.locals.get("input") if outer is not None else scores
        if is_plain_tensor(indices):
            # the first argument of the user's call, if that is what arrived
            user = crash.user_frame
            calls = [node for node in calls_on_line(user) if node.args] if user is not None else []
            values = [(node.args[0], computed_or_none(node.args[0], user)) for node in calls if user is not None]
            same = [node for node, value in values if is_plain_tensor(value) and torch.equal(value, indices)]
            name = ast.unparse(same[0]) if same else ""
            yield Lookup(seen.function, indices, weight.shape[0], 0, weight, 0, index_name=name)
    if seen.function in LABELS and torch.is_tensor(scores) and is_plain_tensor(target):
        classes = scores.shape[1 if scores.dim() > 1 else 0]
        yield Lookup(seen.function, target, classes, 0, scores, 1, variables.get("ignore_index"))


def _written(seen: LiveFrame) -> Iterator[Lookup]:
    for node in expressions_in(seen):
        with contextlib.suppress(UnknownValueError):
            if isinstance(node, ast.Subscript):
                yield from _brackets(seen, node)
            elif isinstance(node, ast.Call):
                yield from _called(seen, node)


def _brackets(seen: LiveFrame, node: ast.Subscript) -> Iterator[Lookup]:
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
        size, indices = table.shape[place], None
        if type(value) is int or (type(value) is list and value and all(type(item) is int for item in value)):
            indices = torch.tensor(value)
        elif is_plain_tensor(value) and not value.is_floating_point() and value.dtype is not torch.bool:
            indices = value
        names = ast.unparse(node), ast.unparse(part), ast.unparse(node.value)
        if indices is not None:
            yield Lookup("[]", indices, size, -size, table, place, None, *names)
        place += value.dim() if torch.is_tensor(value) and value.dtype is torch.bool else 1


def _called(seen: LiveFrame, node: ast.Call) -> Iterator[Lookup]:
    if not isinstance(node.func, ast.Attribute | ast.Name):
        return
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    name = called_name(node)
    operands = list(node.args)
    if owner is not None and ast.unparse(owner) not in _LIBRARIES:
        operands.insert(0, owner)
    named = {word.arg: word.value for word in node.keywords}
    if name == "one_hot" and operands:
        indices = computed_value(operands[0], seen.frame)
        classes = named.get("num_classes") or (operands[1] if operands[1:] else None)
        size = computed_value(classes, seen.frame) if classes is not None else -1
        if is_plain_tensor(indices) and type(size) is int and indices.numel():
            size = size if size > 0 else int(indices.max()) + 1
            yield Lookup("one_hot", indices, size, expression=ast.unparse(node), index_name=ast.unparse(operands[0]))
    elif name in _ALONG and operands:
        along = named.get("dim") or (operands[1] if len(operands) > 1 else None)
        index = named.get("index") or (operands[2] if len(operands) > 2 else None)
        if along is None or index is None:
            return
        table, place, indices = (computed_value(part, seen.frame) for part in (operands[0], along, index))
        if torch.is_tensor(table) and is_plain_tensor(indices) and type(place) is int and table.dim():
            place %= table.dim()
            names = ast.unparse(node), ast.unparse(index), ast.unparse(operands[0])
            yield Lookup(name, indices, table.shape[place], 0, table, place, None, *names)


# The layer that made the scores a loss was given: by the autograd graph, else by its size.
_NODES, _NAMES = 200, 2000


def find_score_layer(crash: LiveCrash, scores: torch.Tensor, size: int) -> LayerFact | None:
    """The only layer in reach that gives `size` scores and, where there is a graph, is the last one in it."""
    nodes = walk_nodes(scores.grad_fn, _NODES)[0] if scores.grad_fn is not None else []
    made = next((node.variable for node in nodes if is_tensor(getattr(node, "variable", None))), None)
    found = [
        (name, root, path, layer)
        for name, root in _models_in_reach(crash)
        for path, layer in root.named_modules(prefix=name)
        if size in (vars(layer).get("out_features"), vars(layer).get("out_channels"))
        and (made is None or any(part is made for part in layer.parameters(recurse=False)))
    ]
    if not found or any(item[3] is not found[0][3] for item in found):
        return None
    return layer_in(crash, *found[0])


def layer_in(crash: LiveCrash, name: str, root: nn.Module, path: str, layer: nn.Module) -> LayerFact:
    return describe_layer(layer, path, constructor_places(root, name, crash.user_files), Place(module=path))


def _models_in_reach(crash: LiveCrash) -> Iterator[tuple[str, nn.Module]]:
    """Those watched, then those in the user's variables, and those that `self` keeps in attributes."""
    known = set(map(id, crash.running.models.values()))
    yield from crash.running.models.items()
    for seen in crash.user_frames:
        owner = getattr(seen.locals.get("self"), "__dict__", {})
        for names in (seen.locals, owner, seen.frame.f_globals):
            for value in list(names.values())[:_NAMES]:
                if is_a(value, nn.Module) and id(value) not in known:
                    known.add(id(value))
                    yield name_root(value, seen.frame), value
