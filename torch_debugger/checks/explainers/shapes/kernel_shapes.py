"""F.conv1d, F.conv2d, F.conv3d with a kernel of the user's own."""

from __future__ import annotations

import ast

from torch_debugger.checks.explainers.blame import Blame, place_text, shape_text, tensor_evidence
from torch_debugger.checks.explainers.expressions import Line, called, explain_nodes, number
from torch_debugger.records import CrashFact


def explain_kernel(crash: CrashFact) -> Blame | None:
    return explain_nodes(crash, lambda line, node: _judge(crash, line, node))


def _judge(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    name, operands = called(node)
    if name not in ("conv1d", "conv2d", "conv3d") or len(operands) < 2 or not isinstance(node, ast.Call):
        return None
    given, kernel = line.tensor(operands[0]), line.tensor(operands[1])
    written = [number(word.value) for word in node.keywords if word.arg == "groups"]
    groups = written[0] if written else 1
    if given is None or kernel is None or groups is None or len(given.shape) != len(kernel.shape):
        return None
    wanted = kernel.shape[1] * groups
    if given.shape[1] == wanted:
        return None
    return Blame(
        message=f"`{line.source(node)}` at {place_text(crash.place)} got an input {shape_text(given.shape)} "
        f"with {given.shape[1]} channels and a kernel {shape_text(kernel.shape)} for {wanted}.",
        why="A kernel is [out, in / groups, sizes...]; `in` must be the channels in dimension 1 of the input.",
        fix=f"Make dimension 1 of `{kernel.name}` {given.shape[1]}; or, to filter each channel by itself, "
        f"repeat it {given.shape[1]} times in dimension 0 and pass groups={given.shape[1]}.",
        where=crash.place,
        evidence=tensor_evidence(crash, given, kernel),
        confidence=0.95,
    )
