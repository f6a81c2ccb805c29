"""TD901: two shapes met that do not fit."""

from __future__ import annotations

import ast
import dataclasses
import math
import re
from collections.abc import Iterator, Sequence

from torch_debugger.checks.crash_check import CrashCheck, Explainer
from torch_debugger.checks.crashes.explanation import (
    Blame,
    layer_evidence,
    line_text,
    place_text,
    product_text,
    shape_text,
    tensor_evidence,
    user_frame,
)
from torch_debugger.checks.crashes.loading_datasets import explain_collate
from torch_debugger.checks.crashes.shapes_layers import (
    explain_conv,
    explain_kernel,
    explain_linear,
    explain_norm,
    explain_pool,
    explain_unflatten,
)
from torch_debugger.checks.crashes.shapes_operators import (
    explain_elementwise,
    explain_join,
    explain_loss_shapes,
    explain_lost_rows,
    explain_product,
)
from torch_debugger.checks.crashes.shapes_sequences import (
    explain_attention,
    explain_ctc,
    explain_packing,
    explain_sequence,
    explain_state,
)
from torch_debugger.checks.crashes.user_code import (
    Line,
    called,
    change_operand,
    explain_nodes,
    first_statement,
    number,
    one_line,
    parse_expression,
    rewritten,
    statement_at,
    written_call,
)
from torch_debugger.records import CrashFact, Edit, FlowStep, LocalTensor, Place
from torch_debugger.records.crash import ViewEvidence

# The shapes that flowed through the model up to the crash, as one line of evidence.
_SHOWN = 5


def showing_flow(explain: Explainer) -> Explainer:
    """The explainer, its evidence with the shape flow where there is one."""

    def explain_and_show(crash: CrashFact) -> Blame | None:
        blame, flow = explain(crash), flow_text(crash)
        if blame is None or not flow:
            return blame
        return dataclasses.replace(blame, evidence=blame.evidence | {"shape flow": flow})

    return explain_and_show


def flow_text(crash: CrashFact) -> str:
    """net.conv [4, 1, 28, 28] -> [4, 6, 24, 24]; net.pool -> [4, 6, 12, 12]; then net.fc1 got [4, 864]"""
    steps = [step for step in _without_containers(crash.flow) if step.made]
    told = list(_told(steps[-_SHOWN:]))
    layer = crash.layer
    if told and layer is not None and layer.path and layer.inputs and not _is_loss(crash):
        told.append(f"then {layer.path} got {shape_text(layer.inputs[0].shape)}")
    return "; ".join(told)


def _is_loss(crash: CrashFact) -> bool:
    """A crash in a loss comes after the whole model; what it was given is told anyway."""
    return crash.layer is not None and crash.layer.kind.endswith("Loss")


def _without_containers(steps: Sequence[FlowStep]) -> Iterator[FlowStep]:
    """Modules that compute something: a container ends where the last module inside it ended."""
    before: FlowStep | None = None
    for step in steps:
        holds = before is not None and before.path.startswith(f"{step.path}.") and before.made == step.made
        if step.kind != "view" and not holds:
            yield step
            before = step


def _told(steps: Sequence[FlowStep]) -> Iterator[str]:
    last: tuple[int, ...] = ()
    for step in steps:
        given = step.given[0] if step.given else ()
        came = "" if given == last else f" {shape_text(given)}"
        last = step.made[0]
        yield f"{step.path}{came} -> {shape_text(last)}"


# One setting of one layer that decides how large its result is.
def naming_the_layer(explain: Explainer) -> Explainer:
    """The explainer; where it has no edit, with the layer whose setting was tried otherwise and then fitted."""

    def explain_and_name(crash: CrashFact) -> Blame | None:
        blame, setting = explain(crash), crash.evidence.setting
        if blame is None or blame.edit is not None or setting is None:
            return blame
        place, text = setting.place, f"{setting.name}={setting.value}"
        assert place.file is not None and place.line is not None
        return dataclasses.replace(
            blame,
            message=f"{blame.message} `{setting.path}` at {place_text(place)} makes it another size.",
            why=f"The model was run once more with `{text}` in `{setting.path}`: then the sizes fit.",
            fix=f"Make `{setting.path}` with `{text}` at {place_text(place)}.",
            where=place,
            evidence=blame.evidence | {"tried": f"fits with {text}"},
            confidence=0.9,
            edit=Edit(place.file, place.line, place.code or "", setting.after) if setting.after else None,
        )

    return explain_and_name


# Two sizes given to a constructor in the wrong order.
def explain_swapped_sizes(crash: CrashFact) -> Blame | None:
    """Only where the exchange was tried, and made the forward pass or the loss fit."""
    swap = crash.evidence.swaps
    if swap is None or swap.place.file is None or swap.place.line is None:
        return None
    line, layer = swap.place, crash.layer
    got = f" (the input has shape {shape_text(layer.inputs[0].shape)})" if layer and layer.inputs else ""
    where = "The shapes differ"
    if layer is not None and layer.path is not None:
        where = f"`{layer.path}` got another size than it was built for{got}"
    exchanged, line_text = f"`{swap.first}` and `{swap.second}`", place_text(line)
    named = ", and each then has the name of its parameter" if swap.named else ""
    return Blame(
        message=f"{where}: `{swap.function}(...)` at {line_text} is given {exchanged} the wrong way round.",
        why=f"The model was run once more with {exchanged} exchanged: then everything fits{named}.",
        fix=f"Exchange {exchanged} at {line_text}{f': `{one_line(swap.after)}`' if swap.after else ''}.",
        where=line,
        evidence=(layer_evidence(layer) if layer else {}) | {"line": line.code or "", "tried": "passes exchanged"},
        confidence=0.97 if swap.named else 0.9,
        edit=Edit(swap.place.file, swap.place.line, line.code or "", swap.after) if swap.after else None,
    )


# view and reshape to a form with another number of elements.
def explain_view(crash: CrashFact) -> Blame | None:
    # The sizes asked for may be variables, which no frame fact holds: the message has their values,
    # and the tensor's own number of elements must confirm it.
    match = re.search(r"shape '\[([-\d, ]+)\]' is invalid for input of size (\d+)", crash.message)
    if match is None:
        return None
    sizes, total = [int(size) for size in match[1].split(",")], int(match[2])
    return explain_nodes(crash, lambda line, node: _judge(crash, line, node, sizes, total))


def _judge(crash: CrashFact, line: Line, node: ast.expr, sizes: list[int], total: int) -> Blame | None:
    name, operands = called(node)
    tensor = line.tensor(operands[0]) if name in ("view", "reshape") and operands else None
    if tensor is None or math.prod(tensor.shape) != total:
        return None
    expression, fixed = line.source(node), math.prod(size for size in sizes if size != -1)
    rule = f"is not a multiple of {fixed}" if -1 in sizes else f"is not {product_text(sizes)} = {fixed}"
    fix, changed = _repair(tensor, sizes)
    return Blame(
        message=f"`{expression}` at {place_text(crash.place)} asks for {shape_text(sizes)}, but "
        f"`{tensor.name}` is {shape_text(tensor.shape)}: {product_text(tensor.shape)} = {total} {rule}.",
        why="view and reshape only regroup elements, so both forms must have the same number of them.",
        fix=fix,
        evidence=tensor_evidence(crash, tensor) | {"asked": shape_text(sizes)},
        edit=rewritten(statement_at(crash, crash.place).whole, expression, changed) if changed else None,
    )


def _repair(tensor: LocalTensor, sizes: list[int]) -> tuple[str, str | None]:
    if len(sizes) == 2 and len(tensor.shape) > 1:
        features, changed = math.prod(tensor.shape[1:]), f"{tensor.name}.flatten(1)"
        keep = f"To keep the batch of {tensor.shape[0]} and flatten the rest"
        built = "" if features == sizes[1] else ", and the layer after it must be built for that many"
        return f"{keep}, write `{changed}`; it gives {features} features per sample{built}.", changed
    kept = next((i for i, pair in enumerate(zip(sizes, tensor.shape, strict=False)) if pair[0] != pair[1]), 0)
    if not kept or -1 in sizes or kept == len(tensor.shape):
        return f"Choose sizes whose product is {math.prod(tensor.shape)}.", None
    left, asked = math.prod(tensor.shape[kept:]), sizes[kept:]
    return (
        f"After {shape_text(sizes[:kept])} the other sizes must multiply to {left}, and {product_text(asked)} "
        f"= {math.prod(asked)}: choose sizes that divide {left}.",
        None,
    )


# view of a tensor that was reordered: its elements no longer lie in memory in the order of its dimensions.
def explain_memory_order(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.view
    if fact is None:
        return None
    # x.reshape(b, -1) for x.view(b, -1): what copies where it must.
    expression = fact.expression
    node = parse_expression(expression)
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    node.func.attr = node.func.attr.replace("view", "reshape")
    wanted = ast.unparse(node)
    shape = f" of shape {shape_text(fact.shape)}" if fact.shape is not None else ""
    evidence: dict[str, float | str] = {}
    if fact.shape is not None:
        evidence[fact.tensor] = f"{shape_text(fact.shape)}, not contiguous"
    if fact.asked is not None:
        evidence["asked"] = shape_text(fact.asked)
    if fact.made.line:
        evidence["reordered"] = line_text(fact.made)
    return Blame(
        message=f"`{fact.expression}` at {place_text(crash.place)} cannot be a view: `{fact.tensor}`{shape} is "
        f"not contiguous{_origin(fact)}.",
        why="view never copies, so it needs the elements in memory in the order of the dimensions it joins; "
        "permute, transpose, expand and channels_last give the dimensions another order than the memory has.",
        fix=f"Let it copy where it must: write `{wanted}` instead of `{fact.expression}` at {place_text(crash.place)}.",
        evidence=evidence | {"line": line_text(crash.place)},
        confidence=0.98 if fact.shape is not None else 0.9,
        edit=_edit(statement_at(crash, crash.place).whole, fact.expression, wanted),
    )


def _edit(whole: Place, expression: str, wanted: str) -> Edit | None:
    """One of the views in the call as it is written: the one whose change gives what is wanted."""
    call = written_call(whole.code or "", expression) or ""
    for match in re.finditer(r"\bview(?=_as|\()", call):
        changed = f"{call[: match.start()]}reshape{call[match.end() :]}"
        node = parse_expression(f"({changed})")
        if node is not None and ast.unparse(node) == wanted:
            return rewritten(whole, call, changed)
    return None


def _origin(fact: ViewEvidence) -> str:
    if fact.made.line:
        return f" since `{fact.operation}` at {place_text(fact.made)}"
    if fact.operation and fact.operation != fact.tensor:
        return f", because of `{fact.operation}`"
    return ": it is in the channels_last format" if fact.channels_last and not fact.operation else ""


# A dimension that a tensor does not have: mean(dim=2), permute, x[:, :, 0], b, c, h, w = x.shape.
_WHY = "Dimensions are numbered from 0, or from -1 backwards; a tensor has as many as its shape has sizes."


def explain_dimensions(crash: CrashFact) -> Blame | None:
    return explain_nodes(
        crash, lambda line, node: _judge_dimension(crash, line, node), kinds=("IndexError", "RuntimeError")
    ) or _unpacked(crash)


def _judge_dimension(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    if isinstance(node, ast.Subscript):
        tensor = line.tensor(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        counted = [part for part in parts if not (isinstance(part, ast.Constant) and part.value in (None, ...))]
        if tensor is None or "too many indices" not in crash.message or len(counted) <= len(tensor.shape):
            return None
        return _blame(crash, line, node, tensor, f"picks in {len(counted)} dimensions", len(counted))
    name, operands = called(node)
    tensor = line.tensor(operands[0]) if isinstance(node, ast.Call) and operands else None
    if tensor is None or not isinstance(node, ast.Call):
        return None
    if name == "permute" and "number of dimensions" in crash.message:
        given = operands[1:] if len(operands) != 2 else list(getattr(operands[1], "elts", operands[1:]))
        wanted = f"names {len(given)} dimensions"
        return _blame(crash, line, node, tensor, wanted, len(given)) if len(given) != len(tensor.shape) else None
    if not crash.message.startswith("Dimension out of range"):
        return None
    asked = [
        place for place in _dimensions(node, operands) if not (-len(tensor.shape) <= place < max(1, len(tensor.shape)))
    ]
    return _blame(crash, line, node, tensor, f"asks for dimension {asked[0]}", asked[0] + 1) if asked else None


def _dimensions(node: ast.Call, operands: list[ast.expr]) -> list[int]:
    """The numbers a call names dimensions by."""
    words = [word.value for word in node.keywords if word.arg in ("dim", "axis", "dims", "dim0", "dim1")]
    written = words or operands[1:]
    flat = [part for item in written for part in (item.elts if isinstance(item, ast.Tuple | ast.List) else [item])]
    return [value for part in flat if (value := number(part)) is not None]


def _unpacked(crash: CrashFact) -> Blame | None:
    """b, c, h, w = x.shape"""
    frame = user_frame(crash)
    statement = first_statement(frame.code) if frame is not None and frame is crash.frames[-1] else None
    if frame is None or crash.kind != "ValueError" or "to unpack" not in crash.message:
        return None
    if not isinstance(statement, ast.Assign):
        return None
    target, value, line = statement.targets[0], statement.value, Line(frame, crash.flow)
    owner = value.func if isinstance(value, ast.Call) and not value.args else value
    is_shape = isinstance(owner, ast.Attribute) and owner.attr == ("size" if owner is not value else "shape")
    tensor = line.tensor(owner.value) if is_shape and isinstance(owner, ast.Attribute) else None
    names = target.elts if isinstance(target, ast.Tuple | ast.List) else []
    plain = names and not any(isinstance(name, ast.Starred) for name in names)
    if tensor is None or not plain or len(names) == len(tensor.shape):
        return None
    return _blame(crash, line, value, tensor, f"is taken apart into {len(names)} sizes", len(names))


def _blame(crash: CrashFact, line: Line, node: ast.expr, tensor: LocalTensor, what: str, wanted: int) -> Blame:
    rank = len(tensor.shape)
    have = f"{rank} dimension{'s' * (rank != 1)}"
    return Blame(
        message=f"`{line.source(node)}` at {place_text(crash.place)} {what}, but `{tensor.name}` is "
        f"{shape_text(tensor.shape)}, with {have}.",
        why=_WHY,
        fix=f"{_advice(crash, tensor, wanted)}.",
        evidence=tensor_evidence(crash, tensor) | {"expected": f"{wanted} dimensions"},
        confidence=0.96,
    )


def _advice(crash: CrashFact, tensor: LocalTensor, wanted: int) -> str:
    before = next((step for step in reversed(crash.flow) if _was_flattened(step.made, tensor.shape)), None)
    if before is not None:
        return (
            f"`{tensor.name}` was flattened before: `{before.path}` gave {shape_text(before.made[0])}. Leave "
            "the flattening out, or do it after this line"
        )
    if len(tensor.shape) == wanted - 1:
        lacking = f"If `{tensor.name}` lacks its batch, add it with `{tensor.name}.unsqueeze(0)` before this line"
        return f"{lacking}; else use only the {len(tensor.shape)} it has"
    return f"Use only dimensions that `{tensor.name}` has, or bring it to {wanted} dimensions before this line"


def _was_flattened(made: tuple[tuple[int, ...], ...], shape: tuple[int, ...]) -> bool:
    return any(
        len(before) > len(shape) > 1 and before[0] == shape[0] and math.prod(before) == math.prod(shape)
        for before in made[:1]
    )


# gather, assignments to a part of a tensor, einsum: shapes that must match an index or an equation.
def explain_indexed(crash: CrashFact) -> Blame | None:
    return explain_nodes(
        crash,
        lambda line, node: _gather(crash, line, node) or _einsum(crash, line, node) or _assigned(crash, line, node),
    )


def _gather(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    name, operands = called(node)
    is_gather = name in ("gather", "scatter", "scatter_", "scatter_add", "scatter_add_") and len(operands) >= 3
    held, index = (line.tensor(operands[place]) for place in (0, 2)) if is_gather else (None, None)
    if held is None or index is None or len(held.shape) == len(index.shape) or not (held.shape and index.shape):
        return None
    expression, fix, edit = line.source(node), f"Give `{index.name}` {len(held.shape)} dimensions.", None
    if len(index.shape) + 1 == len(held.shape):
        added = f"{index.name}.unsqueeze({ast.unparse(operands[1])})"
        changed, edit = change_operand(crash, line, node, index.name, added)
        fix = f"Add the dimension: write `{changed}`; squeeze the result where one value a row is needed."
    return Blame(
        message=f"`{expression}` at {place_text(crash.place)} picks from {shape_text(held.shape)} "
        f"with an index {shape_text(index.shape)}: both need the same number of dimensions.",
        why=f"{name} gives back the shape of its index, so the index must have all dimensions of the tensor.",
        fix=fix,
        evidence=tensor_evidence(crash, held, index),
        confidence=0.96,
        edit=edit,
    )


def _einsum(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    name, operands = called(node)
    equation = operands[0].value if operands and isinstance(operands[0], ast.Constant) else None
    if name != "einsum" or not isinstance(equation, str) or "." in equation:
        return None
    terms = equation.replace(" ", "").partition("->")[0].split(",")
    tensors = [line.tensor(operand) for operand in operands[1:]]
    known = [(term, tensor) for term, tensor in zip(terms, tensors, strict=False) if tensor is not None]
    what = _unequal(known) if len(known) == len(terms) == len(tensors) else None
    if what is None:
        return None
    given = [tensor for _, tensor in known]
    return Blame(
        message=f"`{line.source(node)}` at {place_text(crash.place)} {what}.",
        why="In an einsum each letter names a dimension of its tensor, and stands for one size everywhere.",
        fix="Bring the tensors to the form the equation says, or write the letters as their dimensions are.",
        evidence=tensor_evidence(crash, *given),
        confidence=0.96,
    )


def _unequal(known: list[tuple[str, LocalTensor]]) -> str | None:
    sizes: dict[str, tuple[int, str]] = {}
    for term, tensor in known:
        if len(term) != len(tensor.shape):
            return f"gives `{term}`, {len(term)} letters, to `{tensor.name}` {shape_text(tensor.shape)}"
        for letter, size in zip(term, tensor.shape, strict=True):
            before, name = sizes.setdefault(letter, (size, tensor.name))
            if before != size and 1 not in (before, size):
                return (
                    f"uses the letter {letter} for {before} in `{name}` and for {size} in `{tensor.name}` "
                    f"{shape_text(tensor.shape)}"
                )
    return None


def _assigned(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    """out[:, i] = y, where y does not fit into the part; the message has the part's shape."""
    statement = first_statement(line.text)
    if not isinstance(statement, ast.Assign) or not isinstance(node, ast.Subscript):
        return None
    told = re.search(r"size=\[([\d, ]*)\]|indexing result of shape \[([\d, ]*)\]", crash.message)
    value = line.tensor(statement.value)
    if ast.unparse(statement.targets[0]) != ast.unparse(node) or told is None or value is None:
        return None
    part = tuple(int(size) for size in (told[1] or told[2] or "").split(",") if size.strip())
    dropped = [place for place in range(len(value.shape)) if value.shape == (*part[:place], 1, *part[place:])]
    changed = f"{value.name}.squeeze({dropped[-1]})" if dropped else None
    before = f"{line.source(node)} = {value.name}"
    return Blame(
        message=f"`{before}` at {place_text(crash.place)} puts {shape_text(value.shape)} into a part of shape "
        f"{shape_text(part)}.",
        why="What is assigned must have the shape of the part, or broadcast to it.",
        fix=f"Drop the extra dimension: write `{line.source(node)} = {changed}`."
        if changed
        else f"Bring `{value.name}` to {shape_text(part)} before this line.",
        evidence=tensor_evidence(crash, value) | {"expected": shape_text(part)},
        confidence=0.95,
        edit=rewritten(statement_at(crash, crash.place).whole, before, f"{line.source(node)} = {changed}")
        if changed
        else None,
    )


class ShapeMismatch(CrashCheck):
    """Two shapes met that do not fit each other.

    Symptom:
        The script stops with an error about sizes: "mat1 and mat2 shapes cannot be multiplied",
        "expected input to have 3 channels", "The size of tensor a must match the size of tensor b";
        or about their order: "view size is not compatible with input tensor's size and stride", or lengths
        that pack_padded_sequence does not take.
    Evidence:
        The expression that raised (Python 3.11 and later tell which it is), the shapes in the frames of
        the traceback, what the layer was built for and the lines that build it, and the shapes that flowed
        through the model up to the crash, from running its forward once more; the last of them are shown.
        Two sizes that may have been given to a constructor in the wrong order are tried in the other, and a
        convolution whose padding may make its result a size too small or too large is tried with another.
        The exception's message alone is not enough.
    Fix:
        Change the constructor's argument, or the form of the tensor, as the finding says; the line to
        edit and the numbers are filled in where they are plain.
    Known limits:
        Operators are read from one statement. Where two ways out are as likely, both are named and no
        edit is offered; so are sizes that serve several layers of a loop. Compiled and very large models
        have no shape flow. An index out of range is not a matter of shape.
    """

    id = "TD901"
    name = "shape-mismatch"
    title = "two shapes met that do not fit each other"
    explainers = tuple(
        showing_flow(naming_the_layer(explain))
        for explain in (
            explain_swapped_sizes,
            explain_linear,
            explain_conv,
            explain_pool,
            explain_unflatten,
            explain_norm,
            explain_packing,
            explain_sequence,
            explain_state,
            explain_attention,
            explain_loss_shapes,
            explain_product,
            explain_elementwise,
            explain_join,
            explain_lost_rows,
            explain_view,
            explain_memory_order,
            explain_kernel,
            explain_indexed,
            explain_dimensions,
            explain_ctc,
            explain_collate,
        )
    )
