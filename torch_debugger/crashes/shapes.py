"""A view that failed: of which tensor, and the part of the source that reordered it."""

from __future__ import annotations

import ast
import os
from typing import Any

import torch
from torch.nn.utils.rnn import PackedSequence

from torch_debugger.crashes.expressions import (
    computed_or_none,
    expressions_in,
    is_plain_tensor,
    parsed,
)
from torch_debugger.crashes.frames import LiveCrash, LiveFrame
from torch_debugger.records import Place
from torch_debugger.records.crash import PackingEvidence, ViewEvidence
from torch_debugger.source.assignments import assignment_of, statement_place
from torch_debugger.source.objects import is_a, is_one_of
from torch_debugger.source.syntax import calls_in, nodes_in

_REORDERING = frozenset({
    "permute", "transpose", "t", "swapaxes", "swapdims", "movedim", "moveaxis", "expand", "expand_as", "unfold",
})  # fmt: skip
_TURNED = ("T", "mT")
_COPIES = ("contiguous", "reshape", "view", "flatten", "reshape_as", "repeat", "matmul", "mm", "bmm")
_HOPS = 4


def examine_view(crash: LiveCrash) -> ViewEvidence | None:
    seen = crash.innermost
    if seen is None or not seen.user or not isinstance(crash.error, RuntimeError):
        return None
    if not str(crash.error).startswith("view size is not compatible with input tensor's size and stride"):
        return None
    found = [fact for node in expressions_in(seen) if (fact := _failed_view(seen, node)) is not None]
    return found[0] if len(found) == 1 else None


def _failed_view(seen: LiveFrame, node: ast.expr) -> ViewEvidence | None:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr not in ("view", "view_as"):
        return None
    source, sizes = node.func.value, _sizes(seen, node)
    tensor = _tensor(seen, source)
    if tensor is not None and not _refuses(tensor, sizes):
        return None
    operation, made = _reordered(seen, source)
    if tensor is None and not operation:
        return None
    names = ast.unparse(node), ast.unparse(source)
    if tensor is None:
        return ViewEvidence(*names, None, sizes, operation, made)
    channels_last = tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last)
    return ViewEvidence(*names, tuple(tensor.shape), sizes, operation, made, channels_last)


def _sizes(seen: LiveFrame, node: ast.Call) -> tuple[int, ...] | None:
    sizes = [computed_or_none(item, seen) for item in node.args]
    if len(sizes) == 1 and (torch.is_tensor(sizes[0]) or is_one_of(sizes[0], (list, tuple, torch.Size))):
        sizes = list(sizes[0].shape if torch.is_tensor(sizes[0]) else sizes[0])
    plain = not node.keywords and all(type(size) is int for size in sizes)
    return tuple(sizes) if plain and sizes else None


def _tensor(seen: LiveFrame, node: ast.expr) -> torch.Tensor | None:
    """The tensor an expression stands for, on whatever device: reordering it again moves nothing."""
    value = computed_or_none(node, seen)
    if value is None and isinstance(node, ast.Call) and _reorders(node) and isinstance(node.func, ast.Attribute):
        inner, numbers = _tensor(seen, node.func.value), [computed_or_none(item, seen) for item in node.args]
        if inner is not None and None not in numbers and not node.keywords:
            value = getattr(inner.detach(), node.func.attr)(*numbers)
    plain = is_one_of(value, (torch.Tensor, torch.nn.Parameter)) and value.layout is torch.strided
    return value if plain else None


def _refuses(tensor: torch.Tensor, sizes: tuple[int, ...] | None) -> bool:
    """Whether it is its order in memory that forbids the view; asking touches no element."""
    if sizes is None:
        return not tensor.is_contiguous()
    try:
        tensor.detach().view(sizes)
    except RuntimeError as error:
        return not tensor.is_contiguous() and "size and stride" in str(error)
    return False


def _reordered(seen: LiveFrame, node: ast.expr, line: int = 0, hops: int = _HOPS) -> tuple[str, Place]:
    """The call that reordered a tensor: in the expression itself, or where its name was given a value."""
    if _reorders(node):
        return ast.unparse(node), Place()
    if isinstance(node, ast.Name) and hops:
        found = assignment_of(seen.file, line or seen.line, node.id)
        made = found.place if found is not None else Place()
        body = getattr(parsed((made.code or "").replace("\n", " ")), "body", [])
        statement = body[0] if len(body) == 1 else None
        plain = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        if not plain or made.line is None or made.line >= (line or seen.line):
            return "", Place()
        operation, earlier = _reordered(seen, statement.value, made.line, hops - 1)  # type: ignore[union-attr]
        return operation, (earlier if earlier.line or not operation else made)
    kept: ast.expr | None = None  # what x.eq(y), x[:k] and x * 2 took over the order in memory from
    if isinstance(node, ast.Subscript):
        kept = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        kept = node.func.value if node.func.attr not in _COPIES else None
    elif isinstance(node, ast.BinOp) and not isinstance(node.op, ast.MatMult):
        kept = node.left
    return _reordered(seen, kept, line, hops) if kept is not None else ("", Place())


def _reorders(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in _REORDERING
    return isinstance(node, ast.Attribute) and node.attr in _TURNED


# pack_padded_sequence, and the recurrent layer behind it: what was packed, with which lengths.
_NAME = "pack_padded_sequence"
_PACKING, _RECURRENT = os.path.join("utils", "rnn.py"), os.path.join("modules", "rnn.py")
_MOVES = ("cpu", "to", "tolist", "long", "int", "detach", "numpy", "squeeze")
Written = tuple[ast.stmt, ast.Call]


def examine_packing(crash: LiveCrash) -> PackingEvidence | None:
    seen, user = crash.innermost, crash.user_frame
    if seen is None or user is None or seen.user or not isinstance(crash.error, RuntimeError):
        return None
    found = _written_call(user) if seen.file.endswith((_PACKING, _RECURRENT)) else None
    if found is None:
        return None
    if seen.file.endswith(_RECURRENT):
        return _behind(crash, seen, user, found)
    # pack_sequence calls it too
    is_its_own = seen.function == _NAME and crash.frames[-2] is user and user.line <= (found[1].end_lineno or 0)
    if not is_its_own:
        return None
    # its own input may be sorted already, and so cut to as many as there are lengths
    padded = _argument(user, found[1], 0, "input")
    return _fact(
        user, found, padded if torch.is_tensor(padded) else seen.locals.get("input"), seen.locals.get("lengths")
    )


def _behind(crash: LiveCrash, seen: LiveFrame, user: LiveFrame, found: Written) -> PackingEvidence | None:
    """A recurrent layer that ran out of elements, where these lengths made its steps."""
    packed, module = seen.locals.get("orig_input"), seen.module()
    # as many elements as the sizes of the steps say; these are always on the CPU
    if not is_a(packed, PackedSequence) or int(packed.batch_sizes.sum()) == packed.data.shape[0]:
        return None
    path = crash.paths.get(id(module), type(module).__name__)
    padded, lengths = _argument(user, found[1], 0, "input"), _argument(user, found[1], 1, "lengths")
    fact = _fact(user, found, padded if torch.is_tensor(padded) else _packed_from(packed), lengths, path)
    steps, samples = len(packed.batch_sizes), int(packed.batch_sizes[0])
    is_it = fact is not None and fact.count == samples and fact.highest in (None, steps)
    return fact if is_it else None


def _written_call(user: LiveFrame) -> Written | None:
    """The last call of pack_padded_sequence at or above the line, in the function that the frame runs."""
    first = user.frame.f_code.co_firstlineno
    simple = [node for node in nodes_in(user.file, ast.stmt) if not hasattr(node, "body")]
    found = [(statement, call) for statement in simple for call in calls_in(statement, _NAME)]
    above = [pair for pair in found if first <= pair[1].lineno <= user.line]
    return max(above, key=lambda pair: pair[1].lineno) if above else None


def _argument(user: LiveFrame, call: ast.Call, position: int, keyword: str) -> Any:
    """The value of an argument as the frame still holds it; where it lies, and as what, does not matter."""
    named = [word.value for word in call.keywords if word.arg == keyword]
    node = next(iter(named or call.args[position : position + 1]), None)
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MOVES:
        node = node.func.value
    return computed_or_none(node, user) if node is not None else None


def _packed_from(packed: PackedSequence) -> Any:
    """Where the name now stands for the packed sequences: the shape of the padded ones, from the graph."""
    node: Any = packed.data.grad_fn
    sizes = None
    while node is not None and node.name() in ("PackPaddedSequenceBackward0", "IndexSelectBackward0"):
        before = getattr(node, "_saved_self_sym_sizes", None) or getattr(node, "_saved_input_sym_sizes", None)
        sizes = before or sizes
        node = node.next_functions[0][0] if node.next_functions else None
    return torch.empty([int(size) for size in sizes], device="meta") if sizes else None


def _fact(user: LiveFrame, found: Written, padded: Any, lengths: Any, layer: str = "") -> PackingEvidence | None:
    statement, call = found
    counts = torch.tensor(lengths) if is_one_of(lengths, (list, tuple)) else lengths
    if not torch.is_tensor(padded) or not torch.is_tensor(counts) or counts.dim() != 1 or padded.dim() < 2:
        return None
    batch_first = _argument(user, call, 2, "batch_first")
    enforce_sorted = _argument(user, call, 3, "enforce_sorted")
    values = [int(value) for value in counts.tolist()] if is_plain_tensor(counts) and len(counts) else []
    return PackingEvidence(
        place=statement_place(user.file, statement),
        call=ast.unparse(call),
        shape=tuple(padded.shape),
        batch_first=bool(batch_first),
        enforce_sorted=enforce_sorted is not False,
        count=len(counts),
        device=str(counts.device),
        layer=layer,
        **_of_lengths(values),
    )


def _of_lengths(values: list[int]) -> dict[str, Any]:
    if not values:
        return {}
    descending, empty = values == sorted(values, reverse=True), sum(value <= 0 for value in values)
    return {"lowest": min(values), "highest": max(values), "descending": descending, "empty": empty}
