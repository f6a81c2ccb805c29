"""pack_padded_sequence, and the recurrent layer behind it: what was packed, with which lengths."""

from __future__ import annotations

import ast
import dataclasses
import os
from typing import Any

import torch
from torch.nn.utils.rnn import PackedSequence

from torch_debugger.anatomy.assignments import statement_place
from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.anatomy.sources import tree_of
from torch_debugger.probes.crash_frames import Seen
from torch_debugger.probes.crash_operands import UnknownValueError, is_plain_tensor, value_of
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence.layouts import PackingEvidence

_NAME = "pack_padded_sequence"
_PACKING, _RECURRENT = os.path.join("utils", "rnn.py"), os.path.join("modules", "rnn.py")
_MOVES = ("cpu", "to", "tolist", "long", "int", "detach", "numpy", "squeeze")
Written = tuple[ast.stmt, ast.Call]


def examine_packing(scene: Scene) -> PackingEvidence | None:
    seen, user = scene.innermost, scene.user_frame
    if seen is None or user is None or seen.user or not isinstance(scene.error, RuntimeError):
        return None
    found = _written_call(user) if seen.file.endswith((_PACKING, _RECURRENT)) else None
    if found is None:
        return None
    if seen.file.endswith(_RECURRENT):
        return _behind(scene, seen, user, found)
    # pack_sequence calls it too
    is_its_own = seen.function == _NAME and scene.frames[-2] is user and user.line <= (found[1].end_lineno or 0)
    return _while_packing(seen, user, found) if is_its_own else None


def _while_packing(seen: Seen, user: Seen, found: Written) -> PackingEvidence | None:
    """Its own input may be sorted already, and so cut to as many as there are lengths."""
    given, held = _argument(user, found[1], 0, "input"), seen.frame.f_locals
    return _fact(user, found, given if torch.is_tensor(given) else held.get("input"), held.get("lengths"))


def _behind(scene: Scene, seen: Seen, user: Seen, found: Written) -> PackingEvidence | None:
    """A recurrent layer that ran out of elements, where these lengths made its steps."""
    packed, module = seen.frame.f_locals.get("orig_input"), seen.module()
    if not is_a(packed, PackedSequence) or _is_whole(packed):
        return None
    path = scene.paths.get(id(module), type(module).__name__)
    given, lengths = _argument(user, found[1], 0, "input"), _argument(user, found[1], 1, "lengths")
    fact = _fact(user, found, given if torch.is_tensor(given) else _packed_from(packed), lengths, path)
    steps, samples = len(packed.batch_sizes), int(packed.batch_sizes[0])
    is_it = fact is not None and fact.count == samples and fact.highest in (None, steps)
    return fact if is_it else None


def _is_whole(packed: PackedSequence) -> bool:
    """Whether there are as many elements as the sizes of the steps say; these are always on the CPU."""
    return int(packed.batch_sizes.sum()) == packed.data.shape[0]


def _written_call(user: Seen) -> Written | None:
    """The last call of pack_padded_sequence at or above the line, in the function that the frame runs."""
    tree, first = tree_of(user.file), user.frame.f_code.co_firstlineno
    found = [
        (statement, node)
        for statement in (ast.walk(tree) if tree is not None else ())
        if isinstance(statement, ast.stmt) and not hasattr(statement, "body")
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == _NAME
    ]
    above = [pair for pair in found if first <= pair[1].lineno <= user.line]
    return max(above, key=lambda pair: pair[1].lineno) if above else None


def _argument(user: Seen, call: ast.Call, position: int, keyword: str) -> Any:
    """The value of an argument as the frame still holds it; where it lies, and as what, does not matter."""
    named = [word.value for word in call.keywords if word.arg == keyword]
    node = next(iter(named or call.args[position : position + 1]), None)
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MOVES:
        node = node.func.value
    try:
        return value_of(node, user.frame) if node is not None else None
    except UnknownValueError:
        return None


def _packed_from(packed: PackedSequence) -> Any:
    """Where the name now stands for the packed sequences: the shape of the padded ones, from the graph."""
    node: Any = packed.data.grad_fn
    sizes = None
    while node is not None and node.name() in ("PackPaddedSequenceBackward0", "IndexSelectBackward0"):
        before = getattr(node, "_saved_self_sym_sizes", None) or getattr(node, "_saved_input_sym_sizes", None)
        sizes = before or sizes
        node = node.next_functions[0][0] if node.next_functions else None
    return torch.empty([int(size) for size in sizes], device="meta") if sizes else None


def _fact(user: Seen, found: Written, given: Any, lengths: Any, layer: str = "") -> PackingEvidence | None:
    statement, call = found
    counts = torch.tensor(lengths) if is_one_of(lengths, (list, tuple)) else lengths
    if not torch.is_tensor(given) or not torch.is_tensor(counts) or counts.dim() != 1 or given.dim() < 2:
        return None
    batch_first = _argument(user, call, 2, "batch_first")
    enforce_sorted = _argument(user, call, 3, "enforce_sorted")
    fact = PackingEvidence(
        place=statement_place(user.file, statement),
        call=ast.unparse(call),
        shape=tuple(given.shape),
        batch_first=bool(batch_first),
        enforce_sorted=enforce_sorted is not False,
        count=len(counts),
        device=str(counts.device),
        layer=layer,
    )
    return _with_values(fact, counts)


def _with_values(fact: PackingEvidence, counts: torch.Tensor) -> PackingEvidence:
    if not is_plain_tensor(counts) or not len(counts):
        return fact
    values = [int(value) for value in counts.tolist()]
    empty = sum(value <= 0 for value in values)
    descending = values == sorted(values, reverse=True)
    return dataclasses.replace(
        fact, lowest=min(values), highest=max(values), descending=descending, empty=empty
    )
