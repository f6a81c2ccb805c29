"""The calls of backward() and grad() in a function of the user's, and the losses they are called on."""

from __future__ import annotations

import ast

from torch_debugger.anatomy.sources import covers
from torch_debugger.probes.examiners.user_scope import Scope, calls_in


def backward_call(scope: Scope) -> ast.Call | None:
    """The call of backward() or grad() on the frame's line."""
    lines = [node for node in scope.statements() if covers(node, scope.line) and not hasattr(node, "body")]
    calls = [call for node in lines for call in calls_in(node) if _is_backward(call)]
    return calls[-1] if calls else None


def _is_backward(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in ("backward", "grad", "manual_backward")


def loss_of(call: ast.Call) -> ast.expr:
    """`loss` of loss.backward(), torch.autograd.grad(loss, w), accelerator.backward(loss)"""
    assert isinstance(call.func, ast.Attribute)
    owner = call.func.value
    given = call.args[0] if call.args and (call.func.attr != "backward" or _is_wrapped(owner)) else owner
    while isinstance(given, ast.Call) and given.args and isinstance(given.func, ast.Attribute):
        if given.func.attr != "scale":  # scaler.scale(loss).backward()
            break
        given = given.args[0]
    return given


def _is_wrapped(owner: ast.expr) -> bool:
    return ast.unparse(owner) in (
        "accelerator",
        "self.accelerator",
        "fabric",
        "self",
        "torch.autograd",
        "autograd",
    )


def earlier_calls(scope: Scope, call: ast.Call) -> list[ast.Call]:
    """Other backward calls of the function above this one, and further down in a loop around it."""
    loops = scope.loops()
    found = [other for node in scope.statements() if not hasattr(node, "body") for other in calls_in(node)]
    others = [other for other in found if _is_backward(other) and other is not call]
    above = [other for other in others if other.lineno <= call.lineno]
    below = [
        other for other in others if other.lineno > call.lineno and any(covers(x, other.lineno) for x in loops)
    ]
    return above[::-1] + below[::-1]
