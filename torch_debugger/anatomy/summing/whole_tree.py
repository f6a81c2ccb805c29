"""The tree of calls made whole: equal calls in a row drawn together, modules that were not called added."""

from __future__ import annotations

from typing import Any

from torch import nn

from torch_debugger.anatomy.summing.call_tree import Node, nodes
from torch_debugger.anatomy.summing.parts import Parts

_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)


def whole_tree(root: Node | None, parts: Parts) -> Node:
    """Without a run: the modules as they are registered."""
    if root is None:
        root = Node("", parts.modules[""], called=False)
    else:
        draw_together(root)
        absorb_unused_inside(root, parts)
    add_uncalled(root, parts)
    return root


def draw_together(node: Node) -> None:
    """One layer called five times one after the other, with the same sizes, is one node of five calls."""
    kept: list[Node] = []
    for child in node.children:
        draw_together(child)
        if kept and child.called and _form(kept[-1]) == _form(child):
            _merge(kept[-1], child)
        else:
            kept.append(child)
    node.children = kept


def _form(node: Node) -> tuple[Any, ...]:
    return node.path, node.inputs, node.outputs, *(_form(child) for child in node.children)


def _merge(kept: Node, more: Node) -> None:
    kept.calls += more.calls
    kept.output_bytes += more.output_bytes
    kept.spent = {name: value + more.spent[name] for name, value in kept.spent.items()}
    for child, twin in zip(kept.children, more.children, strict=True):
        _merge(child, twin)


def absorb_unused_inside(root: Node, parts: Parts) -> None:
    """torch's own layers use the weights of modules that they do not call (MultiheadAttention its out_proj)."""
    called = {node.path: node for node in nodes(root)}
    for path in list(parts.modules):
        above = called.get(parts.parent(path))
        if path in called or path not in parts.modules or above is None or not above.called:
            continue
        kind = type(above.module)
        if kind.__module__.startswith("torch.") and kind not in _CONTAINERS:
            parts.absorb(path)


def add_uncalled(root: Node, parts: Parts) -> None:
    """Below the first row of the module that holds them."""
    first: dict[str, Node] = {}
    for node in nodes(root):
        first.setdefault(node.path, node)
    for path, module in parts.modules.items():
        if path not in first:
            first[path] = Node(path, module, called=False)
            first[parts.parent(path)].children.append(first[path])
