"""Norms and distances of vectors that are 0."""

from __future__ import annotations

import ast

from torch_debugger.checks.explainers.nonfinite.case import Case, Story
from torch_debugger.checks.explainers.nonfinite.wording import small_number, zeros_of
from torch_debugger.checks.explainers.nonfinite.written import op_of

_EPS = {"normalize": "1e-12", "cosine_similarity": "1e-8", "pairwise_distance": "1e-6"}


def explain_norm(case: Case) -> Story | None:
    """Only zeros are counted, not which rows they fill: no more than that is said."""
    operand = case.operand()
    if not case.backward or (operand.zeros < 2 and operand.elements != 1):
        return None
    proof = f"because {zeros_of(operand, case.name())}"
    why = "The slope of a norm is x / |x|, which is 0 / 0 for a vector of zeros."
    node = case.written.node
    if case.op != "norm" or not isinstance(node, ast.Call) or not _is_euclidean(case, node):
        added = small_number(operand)
        return Story(
            proof, why, f"Take the root of a sum that cannot be 0: `(x.pow(2).sum(dim) + {added}).sqrt()`."
        )
    text = f"({_squares(case)}.sum({_dims(case, node)}) + {small_number(operand)}).sqrt()"
    told, edit = case.told([(case.written.span(node), text)])
    return Story(proof, why, f"{told}.", edit)


def _is_euclidean(case: Case, node: ast.Call) -> bool:
    return len(op_of(node)[1]) == 1 and all(word.arg in ("dim", "keepdim") for word in node.keywords)


def _squares(case: Case) -> str:
    node = case.node()
    return case.written.with_method(node, ".pow(2)")[1] if node is not None else f"{case.bare_name()}.pow(2)"


def _dims(case: Case, node: ast.Call) -> str:
    return ", ".join(f"{word.arg}={case.written.source(word.value)}" for word in node.keywords)


def explain_hypot(case: Case) -> Story | None:
    first, second = case.operand(0), case.operand(1)
    if not case.backward or not (first.zeros and second.zeros):
        return None
    proof = f"because {zeros_of(first, case.name(0))} and {zeros_of(second, case.name(1))}"
    why = "The slope of hypot(a, b) by a is a / hypot(a, b), which is 0 / 0 where both are 0."
    nodes = [case.node(0), case.node(1)]
    if case.written.node is None or None in nodes:
        return Story(proof, why, "Write `torch.sqrt(a.pow(2) + b.pow(2) + 1e-8)`.")
    squares = " + ".join(case.written.with_method(node, ".pow(2)")[1] for node in nodes if node is not None)
    text = f"({squares} + {small_number(first)}).sqrt()"
    told, edit = case.told([(case.written.span(case.written.node), text)])
    return Story(proof, why, f"{told}.", edit)


def explain_unit_vector(case: Case) -> Story | None:
    """normalize and cosine_similarity guard their divisor by an eps that float16 rounds to 0."""
    operand, eps = case.operand(), case.number("eps")
    if not operand.zeros or not (operand.dtype == "float16" or eps == 0):
        return explain_norm(case)
    zero = "its eps is 0" if eps == 0 else f"its eps of {_EPS[case.op]} is 0 in float16"
    why = f"{case.op} divides by max(|x|, eps), and {zero}: for a vector of zeros that is 0 / 0."
    told, edit = case.with_keyword(f"eps={small_number(operand)}", 3)
    return Story(f"because {zeros_of(operand, case.name())}", why, f"{told}.", edit)
