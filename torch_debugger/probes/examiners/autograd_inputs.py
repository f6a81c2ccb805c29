"""Which input of autograd.grad has no gradient, and why: it asked for none, or the outputs never saw it."""

from __future__ import annotations

import ast

import torch

from torch_debugger.probes.crash_frames import is_tensor
from torch_debugger.probes.examiners.autograd_scene import (
    backward_roots,
    graph_of,
    leaves_of,
    name_of,
    named_parameters,
    scopes,
)
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.source_cuts import cuts_in
from torch_debugger.probes.examiners.user_scope import Scope, calls_in, names_read
from torch_debugger.records import Place
from torch_debugger.records.evidence.autograd import Differentiated

_DEPTH = 6
_CUTS = ("detach", "data", "tensor", "numpy", "item")


def examine_differentiated(scene: Scene) -> Differentiated | None:
    roots, around = backward_roots(scene), scopes(scene)
    odd = next((item for item in _inputs(scene) if _has_no_gradient(item, roots)), None)
    if odd is None or not roots or not around:
        return None
    frozen = next((name for name, item in named_parameters(scene) if item is odd), "")
    name, output = frozen or name_of(scene, odd), name_of(scene, roots[0])
    if frozen and not odd.requires_grad:
        return Differentiated("frozen", frozen, output, Place())
    return _Search(around[0], name, output).cause(odd) if name else None


def _inputs(scene: Scene) -> list[torch.Tensor]:
    """What autograd.grad was asked for; empty for other calls."""
    for seen in reversed(scene.frames):
        if seen.file.endswith("autograd/__init__.py") and seen.function in ("grad", "backward"):
            held = seen.frame.f_locals.get("inputs")
            parts = held if isinstance(held, tuple | list) else (held,)
            return [part for part in parts if is_tensor(part)]
    return []


def _has_no_gradient(item: torch.Tensor, roots: list[torch.Tensor]) -> bool:
    if not item.requires_grad or any(item is root for root in roots):
        return not item.requires_grad
    if item.grad_fn is not None:
        return not any(item.grad_fn in graph_of(root) for root in roots)
    return not any(leaf is item for root in roots for leaf in leaves_of(root))


class _Search:
    """The user's lines between an input and the output it is asked for."""

    def __init__(self, scope: Scope, name: str, output: str) -> None:
        self.scope, self.name = scope, name
        call = self._call()
        written = _outputs(call)
        self.output = output or (ast.unparse(written) if written is not None else "the outputs")
        self.made = scope.assignment_before(output, scope.line) if output else None
        self.start: ast.AST | None = self.made if self.made is not None else written

    def _call(self) -> ast.Call | None:
        around = [node for node in calls_in(self.scope.function) if node.lineno <= self.scope.line]
        named = [node for node in around if ast.unparse(node.func).rpartition(".")[2] in ("grad", "backward")]
        return named[-1] if named else None

    def cause(self, odd: torch.Tensor) -> Differentiated | None:
        reads = self._readers(self.start, _DEPTH)
        line = self.made.lineno if self.made is not None else self.scope.line
        if not odd.requires_grad:
            return self._plain(odd, bool(reads), line)
        return (
            self._late(line)
            or self._remade(line)
            or self._cut(reads)
            or self._told("unused", self._maker(line))
        )

    def _plain(self, odd: torch.Tensor, reads: bool, line: int) -> Differentiated | None:
        maker = self._maker(line)
        if not reads or (maker is not None and maker.lineno > line):
            return None
        return self._told("plain" if odd.is_floating_point() or odd.is_complex() else "integer", maker)

    def _maker(self, line: int) -> ast.stmt | None:
        return self.scope.assignment_before(self.name, line)

    def _readers(self, node: ast.AST | None, depth: int) -> list[ast.AST]:
        """The statements on the way to the output that read the input."""
        if node is None or not depth:
            return []
        value = getattr(node, "value", None) if isinstance(node, ast.stmt) else node
        names = list(dict.fromkeys(names_read(value))) if isinstance(value, ast.AST) else []
        found: list[ast.AST] = [node] if self.name in names else []
        for name in names:
            made = self.scope.assignment_before(name, getattr(node, "lineno", 0)) if name != self.name else None
            if made is not None and made.lineno < getattr(node, "lineno", 0):
                found += self._readers(made, depth - 1)
        return found

    def _late(self, line: int) -> Differentiated | None:
        """x.requires_grad_(True) below the line that used x"""
        asked = (f"{self.name}.requires_grad_(", f"{self.name}.requires_grad = True")
        late = [node for node in self._between(line) if ast.unparse(node).startswith(asked)]
        return self._told("late", late[-1]) if late else None

    def _remade(self, line: int) -> Differentiated | None:
        """x = x.clone() below the line that used x"""
        again = [node for node in self._between(line) if node in self.scope.assignments(self.name)]
        return self._told("remade", again[-1]) if again else None

    def _between(self, line: int) -> list[ast.stmt]:
        return [node for node in self.scope.statements() if line < node.lineno < self.scope.line]

    def _cut(self, readers: list[ast.AST]) -> Differentiated | None:
        for reader in readers:
            for cut in cuts_in(reader):
                if cut.reason in _CUTS and self.name in names_read(cut.inner):
                    return self._told("cut", reader, ast.unparse(cut.node))
        return None

    def _told(self, reason: str, node: ast.AST | None, text: str = "") -> Differentiated:
        place, made = self.scope.place_of(node), self.scope.place_of(self.made)
        return Differentiated(reason, self.name, self.output, place, made, text)


def _outputs(call: ast.Call | None) -> ast.expr | None:
    """The expression that is differentiated."""
    named = [word.value for word in call.keywords if word.arg == "outputs"] if call is not None else []
    return next(iter(named or (call.args if call is not None else ())), None)
