"""Statements and calls that switch gradients off for a parameter or a module, or on again."""

from __future__ import annotations

import ast


def freezes(node: ast.AST) -> bool:
    """p.requires_grad = False, module.requires_grad_(False)"""
    value = _switched_to(node)
    return isinstance(value, ast.Constant) and value.value is False


def may_unfreeze(node: ast.AST) -> bool:
    """p.requires_grad = True, module.requires_grad_(), p.requires_grad = flag"""
    return _switched_to(node) is not None and not freezes(node)


def _switched_to(node: ast.AST) -> ast.expr | None:
    match node:
        case ast.Assign(targets=targets, value=value):
            named = (target.attr for target in targets if isinstance(target, ast.Attribute))
            return value if "requires_grad" in named else None
        case ast.Call(func=ast.Attribute(attr="requires_grad_"), args=arguments, keywords=keywords):
            values = [*arguments, *(keyword.value for keyword in keywords)]
            return values[0] if values else ast.Constant(True)
    return None
