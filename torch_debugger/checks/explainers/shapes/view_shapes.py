"""view and reshape to a form with another number of elements."""

from __future__ import annotations

import ast
import math
import re

from torch_debugger.checks.explainers.blame import Blame, place_text, product_text, shape_text, tensor_evidence
from torch_debugger.checks.explainers.calls import rewritten
from torch_debugger.checks.explainers.expressions import Line, called, explain_nodes
from torch_debugger.checks.explainers.statements import statement_at
from torch_debugger.records import CrashFact, LocalTensor


def explain_view(crash: CrashFact) -> Blame | None:
    # The sizes asked for may be variables, which no frame fact holds: the message has their values,
    # and the tensor's own number of elements must confirm it.
    match = re.search(r"shape '\[([-\d, ]+)\]' is invalid for input of size (\d+)", crash.message)
    if match is None:
        return None
    sizes, total = [int(size) for size in match[1].split(",")], int(match[2])
    return explain_nodes(crash, lambda line, node: _judge(crash, line, node, sizes, total))


def _judge(crash: CrashFact, line: Line, node: ast.expr, sizes: list[int], total: int) -> Blame | None:
    name, operands = called(node)
    tensor = line.tensor(operands[0]) if name in ("view", "reshape") and operands else None
    if tensor is None or math.prod(tensor.shape) != total:
        return None
    expression, fixed = line.source(node), math.prod(size for size in sizes if size != -1)
    rule = f"is not a multiple of {fixed}" if -1 in sizes else f"is not {product_text(sizes)} = {fixed}"
    fix, changed = _repair(tensor, sizes)
    return Blame(
        message=f"`{expression}` at {place_text(crash.place)} asks for {shape_text(sizes)}, but "
        f"`{tensor.name}` is {shape_text(tensor.shape)}: {product_text(tensor.shape)} = {total} {rule}.",
        why="view and reshape only regroup elements, so both forms must have the same number of them.",
        fix=fix,
        where=crash.place,
        evidence=tensor_evidence(crash, tensor) | {"asked": shape_text(sizes)},
        confidence=0.97,
        edit=rewritten(statement_at(crash, crash.place).whole, expression, changed) if changed else None,
    )


def _repair(tensor: LocalTensor, sizes: list[int]) -> tuple[str, str | None]:
    if len(sizes) == 2 and len(tensor.shape) > 1:
        features, changed = math.prod(tensor.shape[1:]), f"{tensor.name}.flatten(1)"
        keep = f"To keep the batch of {tensor.shape[0]} and flatten the rest"
        built = "" if features == sizes[1] else ", and the layer after it must be built for that many"
        return f"{keep}, write `{changed}`; it gives {features} features per sample{built}.", changed
    kept = next((i for i, pair in enumerate(zip(sizes, tensor.shape, strict=False)) if pair[0] != pair[1]), 0)
    if not kept or -1 in sizes or kept == len(tensor.shape):
        return f"Choose sizes whose product is {math.prod(tensor.shape)}.", None
    left, asked = math.prod(tensor.shape[kept:]), sizes[kept:]
    return (
        f"After {shape_text(sizes[:kept])} the other sizes must multiply to {left}, and {product_text(asked)} "
        f"= {math.prod(asked)}: choose sizes that divide {left}.",
        None,
    )
