"""Recurrent layers that autograd saw step by step: the sequence taken apart, a cell a place, and put together.

So run GRU and RNN on every CPU, LSTM where torch was built without oneDNN (as for a Mac), cells in loops.
"""

from __future__ import annotations

from typing import Any

from torch_debugger.anatomy.graph_nodes import op_name, saved, signed

_MOST_NODES = 256  # of one step: an LSTM cell has about 20


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
    while layer and len(seen) < _MOST_NODES:
        found: list[tuple[int, tuple[Any, int]]] = []
        below: dict[Any, None] = {}
        for node in layer:
            for operand, output in node.next_functions:
                piece = _piece(operand, output) if operand is not None else None
                found += [piece] if piece is not None else []
                if operand is not None and operand not in seen:
                    seen.add(operand)
                    below[operand] = None
        if found:
            return found
        layer = below
    return []


def _piece(node: Any, output: int) -> tuple[int, tuple[Any, int]] | None:
    """A place taken out of a sequence: its number and the sequence."""
    op = op_name(node)
    if op not in ("Unbind", "Select") or node.next_functions[0][0] is None:
        return None
    return output if op == "Unbind" else int(signed(saved(node, "_saved_index"))), node.next_functions[0]
