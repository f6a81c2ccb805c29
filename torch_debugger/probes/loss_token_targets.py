"""The targets of a sequence model: where its rows end, and how they lie to the tokens that the model read.

Read on a few deep steps from what autograd saved: the targets in the loss, the tokens in the embedding.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from torch_debugger.model.autograd_graph import made_shape, op_name, saved, signed
from torch_debugger.probes.loss_terms import TermLook, sides
from torch_debugger.records import Place, Record, TokenTargets
from torch_debugger.source.objects import is_a
from torch_debugger.stats.dispatch_modes import no_grad
from torch_debugger.stats.summary import measure_ends

_OFFSETS = (-1, 0, 1, 2)  # of the input token that a target may be equal to
_MOST_TOKENS = 2**18
_MOST_NODES = 1000
_MOST_EMBEDDINGS = 4


@dataclass(frozen=True)
class _Embedding:
    tokens: torch.Tensor
    name: str
    padding: int | None


@dataclass(frozen=True)
class NextTokens:
    """The targets of a loss are the tokens that this embedding read, one place on."""

    embedding: Any  # its node
    name: str
    counted: torch.Tensor  # [rows, places]: which targets count
    apart: set[Any]  # nodes that lead to the loss with all places kept apart


def next_tokens(nodes: Sequence[Any], names: dict[int, str]) -> NextTokens | None:
    """None also where several embeddings read these tokens: what one must not see the other may be for."""
    losses = [node for node in nodes[:64] if op_name(node) in ("NllLoss", "NllLoss2D")]
    rows = _rows_of(losses[0]) if len(losses) == 1 else None
    if rows is None or rows.is_cuda:
        return None
    ignored = int(signed(saved(losses[0], "_saved_ignore_index")))
    found = []
    for node in nodes:
        tokens = saved(node, "_saved_indices") if op_name(node) == "Embedding" else None
        if is_a(tokens, torch.Tensor) and tokens.dim() == 2:
            pairs = [pair for pair in ((rows, tokens), (rows.T, tokens.T)) if pair[0].shape[0] == pair[1].shape[0]]
            found += [(node, way) for way, read in pairs if bool(_match(way, read, 1, ignored) == 1.0)]
    if len(found) != 1:
        return None
    node, way = found[0]
    return NextTokens(node, _weight_name(node, names), way != ignored, set(_leading_to(losses[0], rows, apart=True)))


@no_grad()
def read_token_targets(
    nodes: Sequence[Any], names: dict[int, str], site: str, step: int, made: Place
) -> TermLook | None:
    """A look at the first negative log-likelihood over sequences among the nodes; None where there is none."""
    for node in nodes:
        rows = _rows_of(node) if op_name(node) in ("NllLoss", "NllLoss2D") else None
        if rows is not None:
            return _look(node, rows, names, (site, step, made))
    return None


def _rows_of(loss: Any) -> torch.Tensor | None:
    """The targets as (rows, length), by the shape that the scores had before they were flattened."""
    pair = sides(loss)
    if pair is None or pair[1].numel() > _MOST_TOKENS:
        return None
    scores, target = pair
    if target.dim() == 3 and target.shape[1] == 1:  # cross-entropy gives sequences a third dimension
        return target[:, 0]
    node = loss if target.dim() == 1 else None
    for _ in range(8):
        operands = node.next_functions if node is not None else ()
        node = next((below for below, _ in operands if below is not None), None)
        shape = made_shape(node) if node is not None else ()
        if len(shape) == 3:
            fits = shape[2] == scores.shape[-1] and shape[0] * shape[1] == target.numel()
            return target.view(shape[:2]) if fits and min(shape[:2]) > 1 else None
    return None


def _look(loss: Any, rows: torch.Tensor, names: dict[int, str], known: tuple[str, int, Place]) -> TermLook:
    ignored, weight = int(signed(saved(loss, "_saved_ignore_index"))), saved(loss, "_saved_weight")
    ends = [measure_ends(way, weight) for way in (rows, rows.T)]
    embeddings = _embeddings_behind(loss, rows, names, apart=True)
    padded = embeddings or _embeddings_behind(loss, rows, names, apart=False)
    padding = next((read.padding for read in padded), None)
    matches = []  # for each offset the share of targets equal to the token at that distance; 0 where none can be told
    for read in embeddings:
        same = rows.shape[0] == read.tokens.shape[0]
        ways = (rows, read.tokens) if same else (rows.T, read.tokens.T)
        matches.append(torch.stack([_match(*ways, offset, ignored) for offset in _OFFSETS]))
    count, length = rows.shape

    def record(found: Sequence[float]) -> Record:
        along, across = found[:7], found[7:14]
        turned = across[2] > 2 * along[2] + 0.1  # sequences run down the columns, by their ends
        last, ended, in_tails, elsewhere, shortest, longest, token_weight = across if turned else along
        # The next token, if any embedding read that; else the one distance that fits.
        fitting: list[tuple[str, int]] = []
        for number, read in enumerate(embeddings):
            shares = found[14 + number * len(_OFFSETS) : 14 + (number + 1) * len(_OFFSETS)]
            offsets = [offset for offset, share in zip(_OFFSETS, shares, strict=True) if share == 1.0]
            fitting += [(read.name, offset) for offset in offsets] if len(offsets) == 1 else []
        usual = [pair for pair in fitting if pair[1] == 1] or fitting
        name, offset = usual[0] if usual else ("", None)
        return TokenTargets(
            *known, *((length, count) if turned else (count, length)), ignored, int(last), ended, in_tails,
            elsewhere, int(shortest), int(longest), token_weight, offset, name, padding,
        )  # fmt: skip

    return TermLook(torch.cat([*ends, *matches]), record)


def _match(rows: torch.Tensor, tokens: torch.Tensor, offset: int, ignored: int) -> torch.Tensor:
    begin, end = max(0, -offset), min(rows.shape[1], tokens.shape[1] - offset)
    if end - begin < 4:
        return torch.zeros((), device=rows.device)
    target, token = rows[:, begin:end], tokens[:, begin + offset : end + offset]
    counted = target != ignored
    varied = (token[:, 1:] != token[:, :-1]).float().mean() > 0.3  # else every offset fits
    equal = ((target == token) | ~counted).all() & counted.any() & varied
    return equal.float()


def _embeddings_behind(loss: Any, rows: torch.Tensor, names: dict[int, str], apart: bool) -> list[_Embedding]:
    """The embeddings of such rows that the loss goes back to."""
    found: list[_Embedding] = []
    for node in _leading_to(loss, rows, apart):
        tokens = saved(node, "_saved_indices") if op_name(node) == "Embedding" else None
        if not is_a(tokens, torch.Tensor) or tokens.dim() != 2:
            continue
        if tokens.shape[0] == rows.shape[0] or tokens.shape[1] == rows.shape[1]:
            padding = int(signed(saved(node, "_saved_padding_idx")))
            found.append(_Embedding(tokens, _weight_name(node, names), padding if padding >= 0 else None))
    return found[:_MOST_EMBEDDINGS]


def _leading_to(loss: Any, rows: torch.Tensor, apart: bool) -> list[Any]:
    """The nodes that a loss goes back to, the nearest first; `apart`: along nodes that keep all places apart,
    so that a path through a code of the whole sequence, as autoencoders have, does not count."""
    count, length = rows.shape  # targets are cut from the inputs often: a row may be up to two places longer there
    sizes = [(count, length + extra) for extra in range(3)] + [(count + extra, length) for extra in (1, 2)]
    found, queue, seen = [], deque([loss]), {loss}
    while queue and len(seen) < _MOST_NODES:
        node = queue.popleft()
        found.append(node)
        if op_name(node) == "Embedding":
            continue
        # What it was made from; of a recurrent layer that ran step by step, the sequence that it read.
        before = sequence_before(node) if apart else None
        for operand, output in node.next_functions if before is None else [before]:
            new = operand is not None and operand not in seen
            if new and (not apart or any(_has_both(made_shape(operand, output), *size) for size in sizes)):
                seen.add(operand)
                queue.append(operand)
    return found


def _has_both(shape: tuple[int, ...], count: int, length: int) -> bool:
    """Places flattened to one dimension, or rows and places, with features besides; a code has neither."""
    if count * length in shape:
        return True
    several = sum(size > 1 for size in shape) > 2
    return several and (shape.count(count) > 1 if count == length else count in shape and length in shape)


def _weight_name(node: Any, names: dict[int, str]) -> str:
    for operand, _ in node.next_functions:
        variable = getattr(operand, "variable", None)
        if variable is not None and id(variable) in names:
            return names[id(variable)].rsplit(".", 1)[0]
    return ""


# Recurrent layers that autograd saw step by step: the sequence taken apart, a cell a place, and put together.
#
# So run GRU and RNN on every CPU, LSTM where torch was built without oneDNN (as for a Mac), cells in loops.
_STEPS_APART_MOST_NODES = 256  # of one step: an LSTM cell has about 20


def sequence_before(joined: Any) -> tuple[Any, int] | None:
    """What a sequence that was put together from its places was made from, place by place: a node, and which
    of its outputs.

    One place in the middle stands for all: the piece of the input that is nearest to it must be the one of
    the same number. The state that a decoder begins with leads to pieces of the encoder's input as well, but
    to its last or first, and says nothing of places.
    """
    pieces = joined.next_functions if op_name(joined) in ("Stack", "Cat") else ()
    middle = len(pieces) // 2
    nearest = _nearest_pieces(pieces[middle][0]) if middle > 1 else []
    found = {sequence for number, sequence in nearest if number == middle}
    return found.pop() if len(found) == 1 and all(number == middle for number, _ in nearest) else None


def _nearest_pieces(root: Any) -> list[tuple[int, tuple[Any, int]]]:
    """The places that the fewest ops lead back to, each with the sequence it is a place of."""
    layer: dict[Any, None] = {root: None} if root is not None else {}
    seen = {root}
    while layer and len(seen) < _STEPS_APART_MOST_NODES:
        found: list[tuple[int, tuple[Any, int]]] = []
        below: dict[Any, None] = {}
        for node in layer:
            for operand, output in node.next_functions:
                if operand is None:
                    continue
                op, sequence = op_name(operand), operand.next_functions[:1]
                if op in ("Unbind", "Select") and sequence[0][0] is not None:  # a place taken out of a sequence
                    number = output if op == "Unbind" else int(signed(saved(operand, "_saved_index")))
                    found.append((number, sequence[0]))
                if operand not in seen:
                    seen.add(operand)
                    below[operand] = None
        if found:
            return found
        layer = below
    return []
