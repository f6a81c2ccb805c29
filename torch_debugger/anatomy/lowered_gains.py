"""What a loss should raise and lowers: a likelihood, or the probability of rewarded actions, without a minus.

Told by the user's own source. Both have names that torch.distributions and every textbook give them, and only
sums, factors and means stand between them and the loss.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from torch_debugger.anatomy.sources import nodes_of, place_at, tree_of
from torch_debugger.anatomy.statements import last_assignment
from torch_debugger.records import Place

_LIKELIHOODS = ("log_prob", "log_likelihood")
_LOG_PROB = re.compile(r"log_?p(rob)?s?|(log_?prob|logp)s?_\w+|\w+_log_?probs?", re.IGNORECASE)
_REWARD = re.compile(r"(\w+_)?(rewards?|returns?|advantages?|adv|rets)(_\w+)?|G", re.IGNORECASE)
_REDUCTIONS = ("mean", "sum")
_HOPS = 4


@dataclass(frozen=True)
class _Term:
    sign: int
    value: ast.expr
    statement: ast.stmt


def lowered_gain(backward: Place, name: str) -> tuple[str, Place]:
    """("likelihood" or "reward", the line); empty where the loss has nothing of the kind."""
    tree = tree_of(backward.file) if backward.file else None
    if tree is None or backward.file is None or backward.line is None or not _is_plain(backward.code, name):
        return "", Place()
    made = _made(tree, backward.line, name)
    terms = list(_terms(tree, _Term(1, made.value, made), _HOPS)) if made is not None else []
    for term in terms:
        kind = _kind(tree, term, alone=len(terms) == 1) if term.sign > 0 else ""
        if kind:
            return kind, place_at(backward.file, term.statement.lineno)
    return "", Place()


def _terms(tree: ast.Module, term: _Term, hops: int) -> Iterator[_Term]:
    """The parts of a sum, each with its sign, behind means, factors and variables."""
    match term.value:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            second = term.sign if isinstance(op, ast.Add) else -term.sign
            yield from _terms(tree, _Term(term.sign, left, term.statement), hops)
            yield from _terms(tree, _Term(second, right, term.statement), hops)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            yield from _terms(tree, _Term(-term.sign, inner, term.statement), hops)
        case ast.BinOp(left=ast.Constant(), op=ast.Mult(), right=inner):
            yield from _terms(tree, _Term(term.sign, inner, term.statement), hops)
        case ast.BinOp(left=inner, op=ast.Mult(), right=ast.Constant()) | ast.BinOp(left=inner, op=ast.Div()):
            yield from _terms(tree, _Term(term.sign, inner, term.statement), hops)
        case ast.Call(func=ast.Attribute(value=ast.Name("torch"), attr=called), args=[inner, *_]) if (
            called in _REDUCTIONS
        ):
            yield from _terms(tree, _Term(term.sign, inner, term.statement), hops)
        case ast.Call(func=ast.Attribute(value=inner, attr=called)) if called in _REDUCTIONS:
            yield from _terms(tree, _Term(term.sign, inner, term.statement), hops)
        case ast.Name(id=name) if hops and (made := _made(tree, term.statement.lineno, name)):
            yield from _terms(tree, _Term(term.sign, made.value, made), hops - 1)
        case _:
            yield term


def _is_plain(code: str | None, name: str) -> bool:
    """loss.backward() or accelerator.backward(loss), of the variable as it is."""
    return re.search(rf"\b{name}\.backward\(|backward\({name}\s*[,)]", code or "") is not None and "-" not in (
        code or ""
    )


def _made(tree: ast.Module, line: int, name: str) -> ast.Assign | None:
    """Where a variable is made; None where a later line turns its sign, as in loss = -loss."""
    found = last_assignment(tree, line, name)
    if found is None:
        return None
    later = [node for node in nodes_of(tree) if isinstance(node, ast.Assign | ast.AugAssign)]
    later = [node for node in later if found.lineno < node.lineno <= line and _gives(node, name)]
    return None if any("-" in ast.unparse(node) for node in later) else found


def _gives(node: ast.Assign | ast.AugAssign, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _kind(tree: ast.Module, term: _Term, alone: bool) -> str:
    match term.value:
        case ast.Call(func=ast.Attribute(attr=called)) if alone and called in _LIKELIHOODS:
            return "likelihood"
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            pairs = ((left, right), (right, left))
            found = any(_is_log_prob(one) and _is_reward(tree, other, term) for one, other in pairs)
            return "reward" if found else ""
    return ""


def _is_log_prob(node: ast.expr) -> bool:
    return _LOG_PROB.fullmatch(_word(node)) is not None


def _is_reward(tree: ast.Module, node: ast.expr, term: _Term) -> bool:
    """Named as one, and not turned round where it is made: baseline - reward is a cost."""
    if _REWARD.fullmatch(_word(node)) is None:
        return False
    made = last_assignment(tree, term.statement.lineno, node.id) if isinstance(node, ast.Name) else None
    value = made.value if made is not None else None
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub):
        return _REWARD.fullmatch(_word(value.left)) is not None
    return not (value is not None and any(isinstance(part, ast.USub) for part in ast.walk(value)))


def _word(node: ast.expr) -> str:
    """The name that says what a value is: advantage for self.advantage.detach()."""
    while isinstance(node, ast.Call | ast.Subscript):
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node.func, ast.Attribute) and node.func.attr in ("stack", "cat") and node.args:
            node = node.args[0]
        elif isinstance(node.func, ast.Attribute) and node.func.attr in ("detach", "float", "squeeze", "to"):
            node = node.func.value
        else:
            node = node.func
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
