"""Which variable is the loss: read from the line that calls backward()."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_debugger.records import Place
from torch_debugger.source.files import class_source, nodes_of, parsed, place_at, tree_of
from torch_debugger.source.statements import last_assignment
from torch_debugger.source.syntax import called_method, called_name, calls_in, last_name, methods_of, targets_of

if TYPE_CHECKING:
    from torch import nn

_SAME_LOSS = ("mean", "sum", "squeeze", "float", "double")  # loss.mean().backward()


def loss_name(place: Place) -> str:
    """The variable in `loss_d.backward()` or `accelerator.backward(loss_d)`; "loss" where it can't be told."""
    tree = parsed(place.code)
    for call in calls_in(tree, "backward", "manual_backward") if tree is not None else ():
        if isinstance(call.func, ast.Attribute):
            return _variable(call.args[0] if call.args else call.func.value)
    return "loss"


def _variable(value: ast.expr) -> str:
    while isinstance(value, (ast.BinOp, ast.Call)):
        if isinstance(value, ast.BinOp):
            value = value.left
        elif called_method(value) == "scale" and value.args:
            value = value.args[0]
        elif isinstance(value.func, ast.Attribute) and value.func.attr in _SAME_LOSS:
            value = value.func.value
        else:
            return "loss"
    return last_name(value) or "loss"


# The line that computes a loss: behind its mean, variables that only carry it, and calls that return it.
_REDUCTIONS = ("mean", "sum", "squeeze", "float")
_HOPS = 6


def computed_at(backward: Place, name: str) -> Place | None:
    """From the line that calls backward() on a variable back to the statement whose value it is."""
    tree = tree_of(backward.file)
    if tree is None or backward.file is None or backward.line is None:
        return None
    found: ast.stmt | None = last_assignment(tree, backward.line, name)
    for _ in range(_HOPS):
        further = _behind(tree, found) if found is not None else None
        if further is None:
            break
        found = further
    return place_at(backward.file, found.lineno) if found is not None else None


def _behind(tree: ast.Module, statement: ast.stmt) -> ast.stmt | None:
    """The statement that made what this one only hands on."""
    value = _unreduced(getattr(statement, "value", None))
    if isinstance(value, ast.Name):
        return last_assignment(tree, statement.lineno, value.id)
    if not isinstance(value, ast.Call):
        return None
    # The only return of the file's only function of this name.
    functions = [
        node for node in nodes_of(tree) if isinstance(node, ast.FunctionDef) and node.name == called_name(value)
    ]
    returns = [node for function in functions for node in ast.walk(function) if isinstance(node, ast.Return)]
    return returns[0] if len(functions) == 1 and len(returns) == 1 else None


def _unreduced(value: ast.expr | None) -> ast.expr | None:
    """`nll` for nll.mean() and torch.mean(nll)"""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _REDUCTIONS:
        of_torch = isinstance(value.func.value, ast.Name) and value.func.value.id == "torch"
        inner = next(iter(value.args), None) if of_torch else value.func.value
        if inner is None:
            break
        value = inner
    return value


# Which functions and classes a node of the autograd graph may come from, by their names in the source.
TERM_CALLS = {"Exp": ("exp",), "Log": ("kl_divergence",)}
_CHOOSING = ("nll_loss", "NLLLoss", "cross_entropy", "CrossEntropyLoss")
NODE_CALLS = {
    "Softmax": ("softmax",),
    "LogSoftmax": ("log_softmax",),
    "Sigmoid": ("sigmoid",),
    "Tanh": ("tanh",),
    "Round": ("round",),
    "Sign": ("sign",),
    "NllLoss": _CHOOSING,
    "NllLoss2D": _CHOOSING,
    "BinaryCrossEntropy": ("binary_cross_entropy", "BCELoss"),
    "BinaryCrossEntropyWithLogits": ("binary_cross_entropy_with_logits", "BCEWithLogitsLoss"),
    "MseLoss": ("mse_loss", "MSELoss"),
}


# The line of a forward method that returns the output of an activation: the last thing the model does.
_SHAPE_ONLY = (
    "squeeze", "unsqueeze", "view", "reshape", "flatten", "contiguous", "float", "transpose", "permute",
)  # fmt: skip


def returned_activation(module: nn.Module, kind: type[nn.Module], function: str) -> Place | None:
    """Where `forward` returns relu(x), x.relu() or self.act(x) with self.act of this kind; None if nowhere."""
    source = class_source(type(module))
    forward = methods_of(source[1]).get("forward") if source is not None else None
    if source is None or forward is None:
        return None
    for node in ast.walk(forward):
        if isinstance(node, ast.Return) and node.value is not None:
            made = _made(node.value, forward)
            if _is_activation(made, module, kind, function):
                return place_at(source[0], made.lineno)
    return None


def _made(value: ast.expr, forward: ast.FunctionDef) -> ast.expr:
    """The expression behind a returned one: changes of shape left out, a variable followed to its last line."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _SHAPE_ONLY:
        value = value.func.value
    if isinstance(value, ast.Name):
        assigned = [node for node in ast.walk(forward) if isinstance(node, ast.Assign)]
        assigned = [node for node in assigned if ast.unparse(node.targets[0]) == value.id]
        if assigned:
            return max(assigned, key=lambda node: node.lineno).value
    return value


def _is_activation(node: ast.expr, module: nn.Module, kind: type[nn.Module], function: str) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = called_name(node)
    return called == function or isinstance(dict(module.named_children()).get(called), kind)


# What a loss should raise and lowers: a likelihood, or the probability of rewarded actions, without a minus.
#
# Told by the user's own source. Both have names that torch.distributions and every textbook give them, and only sums,
# factors and means stand between them and the loss.
_LIKELIHOODS = ("log_prob", "log_likelihood")
_LOG_PROB = re.compile(r"log_?p(rob)?s?|(log_?prob|logp)s?_\w+|\w+_log_?probs?", re.IGNORECASE)
_REWARD = re.compile(r"(\w+_)?(rewards?|returns?|advantages?|adv|rets)(_\w+)?|G", re.IGNORECASE)
_TERM_HOPS = 4


@dataclass(frozen=True)
class _Term:
    sign: int
    value: ast.expr
    statement: ast.stmt


def lowered_gain(backward: Place, name: str) -> tuple[str, Place]:
    """("likelihood" or "reward", the line); empty where the loss has nothing of the kind."""
    tree = tree_of(backward.file)
    if tree is None or backward.file is None or backward.line is None or not _is_plain(backward.code, name):
        return "", Place()
    made = _made_as_it_is(tree, backward.line, name)
    terms = list(_terms(tree, _Term(1, made.value, made), _TERM_HOPS)) if made is not None else []
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
        case (
            ast.BinOp(left=ast.Constant(), op=ast.Mult(), right=inner)
            | ast.BinOp(left=inner, op=ast.Mult(), right=ast.Constant())
            | ast.BinOp(left=inner, op=ast.Div())
            | ast.Call(func=ast.Attribute(value=ast.Name("torch"), attr="mean" | "sum"), args=[inner, *_])
            | ast.Call(func=ast.Attribute(value=inner, attr="mean" | "sum"))
        ):
            yield from _terms(tree, _Term(term.sign, inner, term.statement), hops)
        case ast.Name(id=name) if hops and (made := _made_as_it_is(tree, term.statement.lineno, name)):
            yield from _terms(tree, _Term(term.sign, made.value, made), hops - 1)
        case _:
            yield term


def _is_plain(code: str | None, name: str) -> bool:
    """loss.backward() or accelerator.backward(loss), of the variable as it is."""
    code = code or ""
    return "-" not in code and re.search(rf"\b{name}\.backward\(|backward\({name}\s*[,)]", code) is not None


def _made_as_it_is(tree: ast.Module, line: int, name: str) -> ast.Assign | None:
    """Where a variable is made; None where a later line turns its sign, as in loss = -loss."""
    found = last_assignment(tree, line, name)
    if found is None:
        return None
    later = [node for node in nodes_of(tree) if isinstance(node, ast.Assign | ast.AugAssign)]
    later = [node for node in later if found.lineno < node.lineno <= line and name in _variables(node)]
    return None if any("-" in ast.unparse(node) for node in later) else found


def _variables(node: ast.stmt) -> list[str]:
    return [target.id for target in targets_of(node) if isinstance(target, ast.Name)]


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
        elif called_method(node) in ("stack", "cat") and node.args:
            node = node.args[0]
        elif isinstance(node.func, ast.Attribute) and node.func.attr in ("detach", "float", "squeeze", "to"):
            node = node.func.value
        else:
            node = node.func
    return last_name(node)
