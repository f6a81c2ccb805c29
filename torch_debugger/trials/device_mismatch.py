"""A device mismatch of the rehearsal as a record: the line, its tensors, the line that made the odd one."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Collection, Iterator, Sequence
from types import FrameType
from typing import Any

import torch
from torch import nn

from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.records import LocalTensor, Place, Rehearsal
from torch_debugger.source.device_placement import assignments, targets
from torch_debugger.source.files import is_user_file, nodes_of, place_at, tree_of
from torch_debugger.source.objects import is_a
from torch_debugger.source.syntax import FunctionNode, function_in, parameters
from torch_debugger.trials.cpu_tensors import FrameLine, is_proven, plain_layers, statements_at
from torch_debugger.trials.pretended_gpu import DeviceMismatchError, ScriptPretence
from torch_debugger.trials.step_lines import ONCE_MORE
from torch_debugger.trials.unmoved_tensors import loop_at, may_be_moved

_MOST_TENSORS = 12


def describe_mismatch(
    mismatch: DeviceMismatchError,
    model: nn.Module,
    left_behind: dict[int, FrameLine],
    accelerated: Callable[[torch.Tensor], bool],
    draft: Rehearsal,
) -> Rehearsal:
    """The draft filled in; its outcome stays `failed` where the mismatch is not proven."""
    frame, used_at, made_at = mismatch.frame, mismatch.used_at, mismatch.made_at
    if frame is None or used_at is None or made_at is None:
        return dataclasses.replace(draft, error="two devices met, but not by a line that can be named")
    if made_at not in left_behind.values() and not is_proven(made_at, used_at):
        return dataclasses.replace(draft, error="two devices met, but the script may move that tensor")
    # the module whose method this frame is, or is called by
    paths = {id(module): f"{draft.root}.{name}".rstrip(".") for name, module in model.named_modules()}
    around: FrameType | None = frame
    while around is not None and id(_first_argument(around)) not in paths:
        around = around.f_back
    module = paths[id(_first_argument(around))] if around is not None else None
    return dataclasses.replace(
        draft,
        outcome="mismatch",
        place=place_at(*used_at, module),
        module=module,
        error=f"{mismatch.__cause__ or mismatch}".replace("lazy", draft.device),
        devices=(f"{draft.device}:0", "cpu"),
        tensors=tuple(tensors_of(frame, mismatch.odd, accelerated, draft.device)),
        origin=place_at(*made_at, module),
    )


def _first_argument(frame: FrameType) -> Any:
    names = frame.f_code.co_varnames
    return frame.f_locals.get(names[0]) if names and frame.f_code.co_argcount else None


def tensors_of(
    frame: FrameType, mismatched: torch.Tensor | None, accelerated: Callable[[torch.Tensor], bool], device: str
) -> Iterator[LocalTensor]:
    """The tensors this frame can name, the odd one first where it is among them."""
    owner = _first_argument(frame)
    named: list[tuple[str, Any]] = [*frame.f_locals.items()]
    if isinstance(owner, nn.Module):
        first = frame.f_code.co_varnames[0]
        named += [(f"{first}.{name}", value) for name, value in vars(owner).items()]
        for name, layers in plain_layers(owner):
            for key, layer in layers.items():
                named += [(f"{first}.{name}[{key!r}].{path}", weight) for path, weight in layer.named_parameters()]
    tensors = [(name, value) for name, value in named if isinstance(value, torch.Tensor)]
    tensors.sort(key=lambda item: item[1] is not mismatched)
    for name, tensor in tensors[:_MOST_TENSORS]:
        place = f"{device}:0" if accelerated(tensor) else "cpu"
        dtype = str(tensor.dtype).removeprefix("torch.")
        yield LocalTensor(name, tuple(tensor.shape), dtype, place, tensor.requires_grad)


def describe_script_mismatch(
    mismatch: DeviceMismatchError, pretence: ScriptPretence, draft: Rehearsal
) -> Rehearsal | None:
    """The draft filled in; None where it is not certain that the tensor would be on the CPU.

    To be asked while the frames of the mismatch stand."""
    if mismatch.frame is None or mismatch.used_at is None or mismatch.made_at is None:
        return None
    frame, name = _bringer(mismatch.frame, mismatch.made_at, pretence)
    file, line = frame.f_code.co_filename, frame.f_lineno
    made_file, made_line = mismatch.made_at
    made_tree = tree_of(made_file)
    loop = loop_at(made_tree, made_line) if made_tree is not None else None
    if loop is not None:
        names = [each for each in _left(loop) if _holds_cpu(frame.f_locals.get(each), mismatch.made_at, pretence)]
        if may_be_moved(list(_bound(loop)), made_file, made_line):
            return None
        first, text = loop.body[0], ast.unparse(_inner(loop.iter))
        moved_at = place_at(made_file, first.lineno)
    else:
        if not is_proven(mismatch.made_at, mismatch.used_at, _modules(mismatch.frame)):
            return None
        names, moved_at, text = *_assigned(frame, name, pretence), ""
    if _may_be_moved_on_the_way(mismatch.frame, mismatch.made_at, pretence):
        return None
    value = frame.f_locals.get(names[0]) if len(names) == 1 else None
    kind = "dict" if isinstance(value, dict) else "list" if isinstance(value, (list, tuple)) else "tensor"
    place = place_at(file, line) if name or loop is not None else place_at(*mismatch.used_at)
    if loop is not None and any(isinstance(part, ast.Attribute) and part.attr == "cpu" for part in ast.walk(loop)):
        # a turn also computes on the CPU: then the variable itself may be meant to stay there
        names, moved_at, kind = [name], place, "argument"
    tensors = tuple(tensors_of(frame if name else mismatch.frame, mismatch.odd, pretence.accelerated, draft.device))
    known = {*frame.f_locals, *frame.f_globals}
    device = draft.device_text if _root_is_known(draft.device_text, known) else ""
    if loop is None:
        met = [each.name for each in tensors if each.device != "cpu" and each.name.isidentifier()]
        met.sort(key=lambda each: each not in _names_at(mismatch))
        edited = (file, moved_at.line or 0) if moved_at else mismatch.made_at
        device = device_at(edited, draft.device_text, met)
        attribute = attribute_at(*mismatch.made_at)
        if not name and not device and attribute and met:
            names, moved_at, kind, device = [attribute], place, "argument", f"{met[0]}.device"
    return dataclasses.replace(
        draft,
        outcome="mismatch",
        place=place,
        error=f"{mismatch.__cause__ or mismatch}".replace("lazy", draft.device),
        devices=(f"{draft.device}:0", "cpu"),
        tensors=tensors,
        origin=place_at(*mismatch.made_at),
        brought=name,
        taken_from=text,
        moved_at=moved_at,
        moved=tuple(names),
        moved_kind=kind,
        device_text=device,
    )


def _may_be_moved_on_the_way(frame: FrameType | None, made_at: FrameLine, pretence: ScriptPretence) -> bool:
    """Whether a function that it comes through moves it under a condition, which another machine may meet."""
    attribute = attribute_at(*made_at).rpartition(".")[2]
    while frame is not None and frame.f_code.co_name != ONCE_MORE:
        file = frame.f_code.co_filename
        names = [name for name, value in frame.f_locals.items() if _holds_cpu(value, made_at, pretence)]
        if is_user_file(file) and may_be_moved([*names, attribute], file, frame.f_lineno):
            return True
        frame = frame.f_back
    return False


def _names_at(mismatch: DeviceMismatchError) -> set[str]:
    file, line = mismatch.used_at or ("", 0)
    tree = tree_of(file)
    statements = statements_at(tree, line) if tree is not None else ()
    return {node.id for each in statements for node in ast.walk(each) if isinstance(node, ast.Name)}


def _modules(frame: FrameType) -> list[str]:
    variables = {**frame.f_globals, **frame.f_locals}
    return [name for name, value in variables.items() if is_a(value, nn.Module)]


def _inner(iterated: ast.expr) -> ast.expr:
    """enumerate(tqdm(loader)) -> loader"""
    while isinstance(iterated, ast.Call) and len(iterated.args) == 1:
        iterated = iterated.args[0]
    return iterated


def _bringer(frame: FrameType, made_at: FrameLine, pretence: ScriptPretence) -> tuple[FrameType, str]:
    """The outermost frame with a variable of that origin in the statement it is at, and the variable."""
    found, name, current = frame, "", frame
    while current is not None:
        tree, values = tree_of(current.f_code.co_filename), current.f_locals
        for statement in statements_at(tree, current.f_lineno) if tree is not None else ():
            nodes = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
            added_to = statement.target if isinstance(statement, ast.AugAssign) else None
            read = (node.id for node in nodes if isinstance(node.ctx, ast.Load) or node is added_to)
            known = next((each for each in read if _holds_cpu(values.get(each), made_at, pretence)), "")
            if known:
                found, name = current, known
                break
        current = current.f_back if current.f_code.co_name != ONCE_MORE else None  # type: ignore[assignment]
    return found, name


def _holds_cpu(value: Any, made_at: FrameLine, pretence: ScriptPretence) -> bool:
    if isinstance(value, nn.Module):
        return False
    return any(pretence.line_of(each) == made_at for each in tensors_in(value))


def _bound(loop: ast.For) -> Iterator[str]:
    yield from (node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name))


def _left(loop: ast.For) -> Iterator[str]:
    """The variables that a turn begins with, that it uses, and that it moves nowhere."""
    parts = [part for each in loop.body for part in ast.walk(each)]
    used = {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}
    calls = [part.func for part in parts if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)]
    moved = {ast.unparse(each.value) for each in calls if each.attr in ("to", "cuda")}
    yield from (name for name in _bound(loop) if name in used and name not in moved)


def _assigned(frame: FrameType, name: str, pretence: ScriptPretence) -> tuple[list[str], Place]:
    """The last statement before the frame's line that assigns the variable, and all that it leaves there."""
    tree = tree_of(frame.f_code.co_filename)
    if tree is None or not name:
        return [], Place()
    scope = function_in(tree, frame.f_lineno) or tree
    before = [
        each
        for each in assignments(scope)
        if each.lineno < frame.f_lineno
        and name in {target.id for target in targets(each) if isinstance(target, ast.Name)}
    ]
    last = max(before, key=lambda each: each.lineno, default=None)
    if last is None or not isinstance(last, ast.Assign):
        return [], Place()
    names = [target.id for target in targets(last) if isinstance(target, ast.Name)]
    values = {each: frame.f_locals.get(each) for each in names}
    left = [each for each, value in values.items() if isinstance(value, torch.Tensor) and pretence.line_of(value)]
    return [each for each in names if each == name or each in left], place_at(frame.f_code.co_filename, last.lineno)


def _root_is_known(text: str, known: Collection[str]) -> bool:
    """Whether the expression means something where these names are known."""
    root = text.partition(".")[0]
    return not root.isidentifier() or root in known


def device_at(line: FrameLine, requested: str, tensors: Sequence[str] = ()) -> str:
    """What the model is moved to, as far as that is known at this line; else the device of one of the `tensors`
    that are on it; empty where neither is known there."""
    tree = tree_of(line[0])
    if tree is None:
        return ""
    function = function_in(tree, line[1])
    # variables of the file, and what the function has made by then: parameters, variables, its attributes
    known = {
        target.id
        for node in tree.body
        for each in (assignments(node) if not isinstance(node, FunctionNode | ast.ClassDef) else ())
        for target in targets(each)
        if isinstance(target, ast.Name) and (function is not None or each.lineno < line[1])
    }
    imports = [node for node in nodes_of(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    known |= {(alias.asname or alias.name).partition(".")[0] for node in imports for alias in node.names}
    if function is not None:
        before = [each for each in assignments(function) if each.lineno < line[1]]
        known |= {*parameters(function), *(ast.unparse(target) for each in before for target in targets(each))}
    ways = [requested, *(each for each in known if each == "device" or each.endswith(".device"))]
    ways += [f"{name}.device" for name in tensors if name in known and function is not None]
    meant = (text for text in ways if text and _root_is_known(text, known))
    return next((text for text in meant if not text.startswith("self.") or text in known), "")


def attribute_at(file: str, line: int) -> str:
    """self.weights, where this line gives it a value."""
    tree = tree_of(file)
    for node in nodes_of(tree) if tree is not None else ():
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Attribute):
            continue
        if node.lineno <= line <= (node.end_lineno or line):
            return ast.unparse(node.targets[0])
    return ""
