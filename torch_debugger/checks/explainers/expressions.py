"""The expressions of a crashing line, read together with the tensors its frame holds."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterator

from torch_debugger.checks.explainers.blame import Blame, ended_in_torch, first_of, user_frame
from torch_debugger.checks.explainers.calls import parse_expression
from torch_debugger.records import CrashFact, CrashFrame, LocalTensor

_CASTS = {
    "float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "long": "int64",
    "int": "int32", "bool": "bool",
}  # fmt: skip
_SAME = {"detach", "cpu", "cuda", "contiguous", "clone", "relu", "sigmoid", "tanh", "exp", "log", "abs"}


class Line:
    """One statement of the user's, with the tensors its names stand for."""

    def __init__(self, frame: CrashFrame) -> None:
        self.text = frame.code
        self._tensors = {_plain(tensor.name): tensor for tensor in frame.tensors}
        self._tree = _parse(frame.code)

    def nodes(self) -> Iterator[ast.expr]:
        """The expressions of the statement, operands before what uses them."""
        yield from _inside_out(self._tree) if self._tree else ()

    def source(self, node: ast.expr) -> str:
        """The expression as written; one that spans several lines is put on one."""
        text = ast.get_source_segment(self.text, node)
        return text if text is not None and "\n" not in text else ast.unparse(node)

    def tensor(self, node: ast.expr) -> LocalTensor | None:
        """What is known of an expression's tensor: a name, an entry, or a plain method of one."""
        held = self._tensors.get(_plain(ast.unparse(node)))
        if held is not None:
            return dataclasses.replace(held, name=self.source(node))
        if isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
            return self._turned(node, node.value, -2, -1)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return self._method(node, node.func)
        return None

    def entries(self, name: str) -> list[LocalTensor]:
        """The tensors of a list or tuple held under a name: outs[0], outs[1], ..."""
        found = [self._tensors.get(f"{name}[{index}]") for index in range(len(self._tensors))]
        return [tensor for tensor in found if tensor is not None]

    def _method(self, node: ast.Call, function: ast.Attribute) -> LocalTensor | None:
        name, held = function.attr, self.tensor(function.value)
        numbers = [number(argument) for argument in node.args]
        if held is None or None in numbers or node.keywords:
            return None
        sizes, whole = held.shape, [value for value in numbers if value is not None]
        if name in _CASTS and not whole:
            return dataclasses.replace(held, name=self.source(node), dtype=_CASTS[name])
        if name == "t" or (name == "transpose" and len(whole) == 2):
            return self._turned(node, function.value, *(whole or [-2, -1]))
        if name == "unsqueeze" and len(whole) == 1:
            place = whole[0] if whole[0] >= 0 else len(sizes) + 1 + whole[0]
            return self._shaped(node, held, (*sizes[:place], 1, *sizes[place:]))
        if name == "permute" and sorted(whole) == list(range(len(sizes))):
            return self._shaped(node, held, tuple(sizes[index] for index in whole))
        return self._shaped(node, held, sizes) if name in _SAME else None

    def _turned(self, node: ast.expr, inner: ast.expr, first: int, second: int) -> LocalTensor | None:
        held = self.tensor(inner)
        if held is None or max(first, second, -1 - first, -1 - second) >= len(held.shape):
            return None
        sizes = list(held.shape)
        sizes[first], sizes[second] = sizes[second], sizes[first]
        return self._shaped(node, held, tuple(sizes))

    def _shaped(self, node: ast.expr, held: LocalTensor, shape: tuple[int, ...]) -> LocalTensor:
        return dataclasses.replace(held, name=self.source(node), shape=shape)


def number(node: ast.expr) -> int | None:
    """A whole number written out, with its sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = number(node.operand)
        return None if value is None else -value
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def _plain(text: str) -> str:
    return text.replace('"', "'").replace(" ", "")


def _parse(code: str) -> ast.AST | None:
    """The statement; of a compound one, of which only the first line is there, its expression."""
    for text in (code, f"{code} pass", f"if True: pass\n{code} pass"):
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError):
            continue
    return parse_expression(code.removeprefix("return ").rstrip(",").strip())


def _inside_out(node: ast.AST) -> Iterator[ast.expr]:
    for child in ast.iter_child_nodes(node):
        yield from _inside_out(child)
        if isinstance(child, ast.expr):
            yield child


def explain_nodes(
    crash: CrashFact,
    judge: Callable[[Line, ast.expr], Blame | None],
    kinds: tuple[str, ...] = ("RuntimeError",),
) -> Blame | None:
    """The first expression of the user's line that a judge blames, when torch itself raised there."""
    frame = user_frame(crash)
    if frame is None or crash.kind not in kinds or crash.layer is not None or not ended_in_torch(crash):
        return None
    line = Line(frame)
    return first_of(judge(line, node) for node in line.nodes())


def two_tensors(line: Line, operands: list[ast.expr]) -> tuple[LocalTensor, LocalTensor] | None:
    """The operands of a binary operator, where both are known tensors."""
    tensors = [tensor for operand in operands if (tensor := line.tensor(operand)) is not None]
    return (tensors[0], tensors[1]) if len(operands) == len(tensors) == 2 else None


def called(node: ast.expr) -> tuple[str, list[ast.expr]]:
    """The function's name and its operands: `torch.mm(a, b)` and `a.mm(b)` alike give mm, [a, b]."""
    if not isinstance(node, ast.Call):
        return "", []
    if not isinstance(node.func, ast.Attribute):
        return getattr(node.func, "id", ""), list(node.args)
    owner = ast.unparse(node.func.value)
    is_method = owner not in ("torch", "F", "torch.nn.functional", "nn.functional", "functional")
    return node.func.attr, [node.func.value, *node.args] if is_method else list(node.args)
