"""The expressions of a crashing line, read together with the tensors its frame holds."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterator, Sequence

from torch_debugger.checks.explainers.blame import Blame, ended_in_torch, first_of, user_frame
from torch_debugger.checks.explainers.calls import parse_statement
from torch_debugger.checks.explainers.dtypes.casts import is_floating
from torch_debugger.checks.explainers.shapes.inference import broadcast, method_shape, same_shape
from torch_debugger.records import CrashFact, CrashFrame, FlowStep, LocalTensor

_CASTS = {
    "float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "long": "int64",
    "int": "int32", "bool": "bool",
}  # fmt: skip
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div)


class Line:
    """One statement of the user's, with the tensors its names stand for."""

    def __init__(self, frame: CrashFrame, flow: Sequence[FlowStep] = ()) -> None:
        self.text = frame.code
        self.failing = frame.failing
        self._flow = flow
        self._tensors = {_plain(tensor.name): tensor for tensor in frame.tensors}
        self._tree = parse_statement(frame.code)

    def all_nodes(self) -> list[ast.expr]:
        """The expressions of the statement, operands before what uses them."""
        return list(_inside_out(self._tree)) if self._tree else []

    def nodes(self) -> list[ast.expr]:
        """The expressions to judge: the one that raised, or all where Python does not tell which."""
        failing = _as_operator(self.failing)
        return [node for node in self.all_nodes() if ast.unparse(node) == failing or not failing]

    def written(self, node: ast.expr) -> str:
        """The expression as written, over several lines if it is."""
        return ast.get_source_segment(self.text, node) or ast.unparse(node)

    def source(self, node: ast.expr) -> str:
        """The expression as written; one that spans several lines is put on one."""
        text = self.written(node)
        return text if "\n" not in text else ast.unparse(node)

    def tensor(self, node: ast.expr) -> LocalTensor | None:
        """What is known of an expression's tensor: a name, an entry, or something made of known ones."""
        held = self._tensors.get(_plain(ast.unparse(node)))
        if held is None and isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
            held = self._changed(node.value, "transpose", [-2, -1])
        elif held is None and isinstance(node, ast.Call):
            held = self._called(node)
        elif held is None and isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC):
            held = self._combined(node.left, node.right)
        elif held is None and isinstance(node, ast.Compare) and len(node.comparators) == 1:
            compared = self._combined(node.left, node.comparators[0])
            held = dataclasses.replace(compared, dtype="bool") if compared is not None else None
        return dataclasses.replace(held, name=self.source(node)) if held is not None else None

    def entries(self, name: str) -> list[LocalTensor]:
        """The tensors of a list or tuple held under a name: outs[0], outs[1], ..."""
        found = [self._tensors.get(f"{name}[{index}]") for index in range(len(self._tensors))]
        return [tensor for tensor in found if tensor is not None]

    def _called(self, node: ast.Call) -> LocalTensor | None:
        name, operands = called(node)
        numbers = [number(operand) for operand in operands[1:]]
        if name in _CASTS and len(operands) == 1 and (held := self.tensor(operands[0])) is not None:
            return dataclasses.replace(held, dtype=_CASTS[name])
        if operands and same_shape(name) and (held := self.tensor(operands[0])) is not None:
            return _floating(held)
        if operands and None not in numbers and not node.keywords:
            changed = self._changed(operands[0], name, [value for value in numbers if value is not None])
            if changed is not None:
                return changed
        return self._layer_output(node)

    def _changed(self, inner: ast.expr, method: str, numbers: list[int]) -> LocalTensor | None:
        held = self.tensor(inner)
        shape = method_shape(held.shape, method, numbers) if held is not None else None
        return dataclasses.replace(held, shape=shape) if held is not None and shape is not None else None

    def _combined(self, first: ast.expr, second: ast.expr) -> LocalTensor | None:
        left, right = self.tensor(first), self.tensor(second)
        if left is None or right is None:
            return _floating(left or right) if _is_number(first) or _is_number(second) else None
        shape, dtype = broadcast(left.shape, right.shape), left.dtype if left.dtype == right.dtype else ""
        return _floating(dataclasses.replace(left, shape=shape, dtype=dtype)) if shape is not None else None

    def _layer_output(self, node: ast.Call) -> LocalTensor | None:
        """What self.up(x) gave, where the shape flow knows the layer's one run."""
        name = ast.unparse(node.func).removeprefix("self.")
        made = [step.made for step in self._flow if step.path.endswith(f".{name}")]
        if len(made) != 1 or len(made[0]) != 1:
            return None
        return LocalTensor(name, made[0][0], "", "", False)


def _floating(tensor: LocalTensor | None) -> LocalTensor | None:
    """A floating dtype survives most operations; what becomes of another one is not known."""
    if tensor is None or is_floating(tensor.dtype):
        return tensor
    return dataclasses.replace(tensor, dtype="")


def number(node: ast.expr) -> int | None:
    """A whole number written out, with its sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = number(node.operand)
        return None if value is None else -value
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def _is_number(node: ast.expr) -> bool:
    return number(node) is not None or (isinstance(node, ast.Constant) and isinstance(node.value, float))


def _plain(text: str) -> str:
    return text.replace('"', "'").replace(" ", "")


def _as_operator(text: str) -> str:
    """`out += x` as the expression `out + x` that it evaluates."""
    tree = parse_statement(text)
    statement = tree.body[0] if isinstance(tree, ast.Module) and tree.body else None
    return ast.unparse(_operation(statement)) if isinstance(statement, ast.AugAssign) else text


def _operation(node: ast.AugAssign) -> ast.BinOp:
    left = ast.parse(ast.unparse(node.target), mode="eval").body
    return ast.copy_location(ast.BinOp(ast.copy_location(left, node.target), node.op, node.value), node)


def _inside_out(node: ast.AST) -> Iterator[ast.expr]:
    for child in ast.iter_child_nodes(node):
        yield from _inside_out(child)
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, ast.AugAssign):
            yield _operation(child)


def explain_nodes(
    crash: CrashFact,
    judge: Callable[[Line, ast.expr], Blame | None],
    kinds: tuple[str, ...] = ("RuntimeError",),
) -> Blame | None:
    """The first expression of the user's line that a judge blames, when torch itself raised there."""
    frame = user_frame(crash)
    if frame is None or crash.kind not in kinds or crash.layer is not None or not ended_in_torch(crash):
        return None
    line = Line(frame, crash.flow)
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
