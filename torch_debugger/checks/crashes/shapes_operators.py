"""Matrix products between the user's own tensors: @, matmul, mm, bmm, F.linear."""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch_debugger.checks.crashes.explanation import Blame, line_text, place_text, shape_text, tensor_evidence
from torch_debugger.checks.crashes.layers_and_losses import CLASS_LOSSES, STRICT, LossCall, loss_call, swapped
from torch_debugger.checks.crashes.user_code import (
    Line,
    broadcast,
    called,
    cast_to,
    change_operand,
    clash,
    explain_nodes,
    number,
    rewritten,
    statement_at,
    two_tensors,
)
from torch_debugger.records import CrashFact, Edit, FlowStep, LocalTensor

_RANKS = {"mm": 2, "bmm": 3}


def explain_product(crash: CrashFact) -> Blame | None:
    return explain_nodes(crash, lambda line, node: _judge(crash, line, node))


def product_of(node: ast.expr) -> tuple[str, list[ast.expr]]:
    """The name and the two operands of a matrix product."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return "@", [node.left, node.right]
    name, operands = called(node)
    return (name, operands[:2]) if name in ("matmul", "mm", "bmm", "linear") else ("", [])


def _judge(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    name, operands = product_of(node)
    tensors = _tensors(crash, line, operands) if len(operands) == 2 else None
    if tensors is None:
        return None
    rank = _RANKS.get(name)
    if rank is not None and any(len(tensor.shape) != rank for tensor in tensors):
        return _wrong_rank(crash, line, node, rank, *tensors)
    left, right = tensors
    if not left.shape or not right.shape:
        return None
    expression, edit, inner = line.source(node), None, right.shape[-2] if len(right.shape) > 1 else right.shape[0]
    at, last = f"`{expression}` at {place_text(crash.place)}", left.shape[-1]
    if name == "linear":
        if len(right.shape) != 2 or last == right.shape[1]:
            return None
        message = (
            f"{at} got an input {shape_text(left.shape)} and a weight {shape_text(right.shape)}: the input's last "
            "dimension must equal the weight's second."
        )
        why = "F.linear takes its weight as [out, in] and multiplies by the transpose of it."
        fix = f"Bring the last dimension of `{left.name}` to {right.shape[1]}, or build another weight."
        if last == right.shape[0]:
            changed, edit = change_operand(crash, line, node, right.name, f"{right.name}.T")
            fix = f"Transpose it: write `{changed}` instead of `{expression}`; or build it as [out, in]."
    else:
        if last == inner:
            return None
        which = "first" if len(right.shape) <= 2 else "second to last"
        message = (
            f"{at} multiplies {shape_text(left.shape)} by {shape_text(right.shape)}: the last dimension of "
            f"`{left.name}` ({last}) must equal the {which} of `{right.name}` ({inner})."
        )
        why = "A matrix product sums over the last dimension of the left and the rows of the right operand."
        fix = f"Bring the last dimension of `{left.name}` to {inner}, or build `{right.name}` for {last}."
        if (odd := _to_transpose(left, right)) is not None:
            turned = f"{odd.name}.T" if len(odd.shape) == 2 else f"{odd.name}.transpose(-2, -1)"
            changed, edit = change_operand(crash, line, node, odd.name, turned)
            fix = f"Transpose `{odd.name}`: write `{changed}` instead of `{expression}`."
    evidence = tensor_evidence(crash, left, right)
    return Blame(message, why, fix, evidence=evidence, confidence=0.95, edit=edit)


def _tensors(crash: CrashFact, line: Line, operands: list[ast.expr]) -> tuple[LocalTensor, LocalTensor] | None:
    """Both operands; one that is a longer expression by the message, if the other one confirms it."""
    left, right = (line.tensor(operand) for operand in operands)
    match = re.search(r"cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)", crash.message)
    if left is not None and right is not None:
        return left, right
    if match is None or not line.failing:
        return None
    told = [int(size) for size in match.groups()]
    if left is not None and left.shape == (told[0], told[1]):
        return left, LocalTensor(line.source(operands[1]), (told[2], told[3]), "", "", False)
    if right is not None and right.shape == (told[2], told[3]):
        return LocalTensor(line.source(operands[0]), (told[0], told[1]), "", "", False), right
    return None


def _to_transpose(left: LocalTensor, right: LocalTensor) -> LocalTensor | None:
    """The operand whose last two dimensions, swapped, make the product fit; the right one where both do."""
    if len(left.shape) > 1 and len(right.shape) > 1 and broadcast(left.shape[:-2], right.shape[:-2]) is not None:
        if left.shape[-1] == right.shape[-1]:
            return right
        if left.shape[-2] == right.shape[-2]:
            return left
    return None


def _wrong_rank(
    crash: CrashFact, line: Line, node: ast.expr, rank: int, left: LocalTensor, right: LocalTensor
) -> Blame:
    # torch.bmm(w.unsqueeze(1), x): a row or column for each sample is a batch of matrices of one row.
    changed, inner = f"torch.matmul({left.name}, {right.name})", right.shape[-2:-1] or right.shape
    fits = left.shape[-1:] == inner[:1] != () and rank == 2
    if rank == 3 and len(left.shape) == 2 and len(right.shape) == 3 and left.shape == right.shape[:2]:
        changed, fits = f"torch.bmm({left.name}.unsqueeze(1), {right.name})", True
    elif rank == 3 and len(left.shape) == 3 and right.shape == (left.shape[0], left.shape[2]):
        changed, fits = f"torch.bmm({left.name}, {right.name}.unsqueeze(2))", True
    whole = statement_at(crash, crash.place).whole
    return Blame(
        message=f"`{line.source(node)}` at {place_text(crash.place)} wants two tensors of {rank} dimensions "
        f"but got {shape_text(left.shape)} and {shape_text(right.shape)}.",
        why="mm multiplies two matrices and bmm two batches of matrices; matmul (@) takes any mixture of them.",
        fix=f"Use `{changed}`, or bring both to {rank} dimensions.",
        evidence=tensor_evidence(crash, left, right),
        confidence=0.95,
        edit=rewritten(whole, line.written(node), changed) if fits else None,
    )


# Element-wise operators whose operands do not broadcast.
_OPERATORS = ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow
_COMPARISONS = ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE
_FUNCTIONS = (
    "add", "sub", "mul", "div", "maximum", "minimum", "add_", "sub_", "mul_", "div_", "masked_fill",
    "masked_fill_",
)  # fmt: skip
_MESSAGE = r"tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)"
_WHY = "Element-wise operators compare sizes from the last dimension on: equal, or one of them 1."


def explain_elementwise(crash: CrashFact) -> Blame | None:
    return explain_nodes(
        crash, lambda line, node: _judge_elementwise(crash, line, node) or _half_known(crash, line, node)
    )


def _operands(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
        return [node.left, node.right]
    if isinstance(node, ast.Compare) and len(node.comparators) == 1 and isinstance(node.ops[0], _COMPARISONS):
        return [node.left, *node.comparators]
    name, operands = called(node)
    return operands[:2] if name in _FUNCTIONS else []


def _judge_elementwise(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    tensors = two_tensors(line, _operands(node))
    sizes = clash(tensors[0].shape, tensors[1].shape) if tensors else None
    if tensors is None or sizes is None:
        return None
    left, right = tensors
    expression = line.source(node)
    fix, edit = _repair(crash, line, node, left, right)
    return Blame(
        message=f"`{expression}` at {place_text(crash.place)} combines {shape_text(left.shape)} with "
        f"{shape_text(right.shape)}: counted from the right, {sizes[0]} meets {sizes[1]}, and neither is 1.",
        why=_WHY,
        fix=fix,
        evidence=tensor_evidence(crash, left, right),
        confidence=0.95,
        edit=edit,
    )


def _repair(
    crash: CrashFact, line: Line, node: ast.expr, left: LocalTensor, right: LocalTensor
) -> tuple[str, Edit | None]:
    """The one form of an operand that fits, where there is just one."""
    for odd, other in ((right, left), (left, right)):
        forms = _forms(odd.shape, other.shape)
        if len(forms) == 1:
            changed, edit = change_operand(crash, line, node, odd.name, f"{odd.name}{forms[0]}")
            told = f"write `{changed}` instead of `{line.source(node)}`"
            return f"Bring `{odd.name}` to a form that fits: {told}.", edit
    for own, other in ((right, left), (left, right)):
        if own.name.startswith("self.") and len(own.shape) == len(other.shape):
            place = next(i for i, pair in enumerate(zip(own.shape, other.shape, strict=True)) if _clashes(*pair))
            sizes = f"{other.shape[place]} instead of {own.shape[place]}"
            return f"Build `{own.name}` with {sizes} in dimension {place}, or change `{other.name}`.", None
    fix = f"Bring `{left.name}` and `{right.name}` to the same shape before this line"
    return f"{fix}{_sources(crash, left, right)}.", None


def _sources(crash: CrashFact, *tensors: LocalTensor) -> str:
    """: `y` comes out of `net.block.conv2`; said only where one module alone made that shape."""
    made = [(step.path, step.made[0]) for step in crash.flow if step.made]
    makers = {tensor.name: [path for path, shape in made if shape == tensor.shape] for tensor in tensors}
    told = [f"`{name}` comes out of `{paths[0]}`" for name, paths in makers.items() if len(paths) == 1]
    return f": {', '.join(told)}" if told else ""


def _clashes(first: int, second: int) -> bool:
    return first != second and 1 not in (first, second)


def _forms(odd: tuple[int, ...], other: tuple[int, ...]) -> list[str]:
    """.flatten() for the same elements in another form, .unsqueeze(1) for one value a row, and so on."""
    if len(other) == 1 and len(odd) > 1 and math.prod(odd) == other[0]:
        return [".flatten()"]
    if not odd or len(odd) >= len(other):
        return []
    if len(odd) > 1 and len(other) > len(odd) + 1 and odd == other[: len(odd)]:
        return [f"[{', '.join([':'] * len(odd) + ['None'] * (len(other) - len(odd)))}]"]
    widened = [(*odd[:place], 1, *odd[place:]) for place in range(len(odd) + 1)]
    fitting = [place for place, shape in enumerate(widened) if broadcast(shape, other) == other]
    return [f".unsqueeze({place})" for place in fitting]


def _half_known(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    """One operand is a longer expression: the message has its size, and the known one must confirm it."""
    operands = _operands(node)
    match = re.search(_MESSAGE, crash.message)
    known = [line.tensor(operand) for operand in operands]
    if not line.failing or match is None or len(known) != 2 or sum(tensor is None for tensor in known) != 1:
        return None
    side = 0 if known[0] is not None else 1
    held, sizes = known[side], (int(match[1]), int(match[2]))
    if held is None or sizes[side] not in held.shape:
        return None
    other, expression = line.source(operands[1 - side]), line.source(node)
    return Blame(
        message=f"`{expression}` at {place_text(crash.place)} combines `{held.name}` {shape_text(held.shape)} "
        f"with `{other}`, which has {sizes[1 - side]} and not {sizes[side]} in dimension {match[3]}.",
        why=_WHY,
        fix=f"Make `{held.name}` and `{other}` agree in dimension {match[3]}.",
        evidence=tensor_evidence(crash, held) | {other: f"{sizes[1 - side]} in dimension {match[3]}"},
        confidence=0.93,
    )


# torch.cat and torch.stack of tensors that do not fit together.
_JOIN_FUNCTIONS = "cat", "concat", "concatenate", "stack"
_JOIN_WHY = "stack puts equal tensors next to each other; cat allows one dimension, the one it joins along, to differ."


def explain_join(crash: CrashFact) -> Blame | None:
    return explain_nodes(crash, lambda line, node: _judge_join(crash, line, node))


def joined_tensors(line: Line, node: ast.expr) -> tuple[list[LocalTensor], int]:
    """The known tensors of a call of cat or stack, and the dimension it joins along."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
        return [], 0
    written = [*node.args[1:2], *(word.value for word in node.keywords if word.arg in ("dim", "axis"))]
    dimension = number(written[0]) if written else 0
    if node.func.attr not in _JOIN_FUNCTIONS or dimension is None:
        return [], 0
    listed = node.args[0]
    if not isinstance(listed, ast.List | ast.Tuple):
        return line.entries(ast.unparse(listed)), dimension
    found = [tensor for item in listed.elts for tensor in _listed(line, item)]
    empty = (0,)  # which cat joins with anything
    return [tensor for tensor in found if tensor.shape != empty], dimension


def _listed(line: Line, item: ast.expr) -> list[LocalTensor]:
    """One entry of the list that is joined; of `*parts` all."""
    if isinstance(item, ast.Starred):
        return line.entries(ast.unparse(item.value))
    tensor = line.tensor(item)
    return [tensor] if tensor is not None else []


def _judge_join(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    tensors, dimension = joined_tensors(line, node)
    function = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
    odd = next((tensor for tensor in tensors[1:] if _differs(tensors[0], tensor, dimension, function)), None)
    if odd is None:
        return None
    first, expression = tensors[0], line.source(node)
    fix, operand, changed = _repair_join(function, first, odd, dimension)
    whole, edit = change_operand(crash, line, node, operand, changed) if changed else (expression, None)
    same = len(first.shape) == len(odd.shape)
    places = _different(first.shape, odd.shape, dimension) if same else []
    lost = lost_rows(crash.flow, (first.shape[places[0]], odd.shape[places[0]])) if places else None
    why = f"{lost.told}. Sizes that are {lost.multiples} come back as they were." if lost is not None else _JOIN_WHY
    return Blame(
        message=f"`{expression}` at {place_text(crash.place)} joins `{first.name}` {shape_text(first.shape)} "
        f"and `{odd.name}` {shape_text(odd.shape)}: {_rule(function, first.shape, odd.shape, dimension)}.",
        why=why,
        fix=f"{fix}: write `{whole}`." if changed else f"{fix}.",
        evidence=tensor_evidence(crash, first, odd),
        confidence=0.95,
        edit=edit,
    )


def _differs(first: LocalTensor, other: LocalTensor, dimension: int, function: str) -> bool:
    if function == "stack" or len(first.shape) != len(other.shape):
        return first.shape != other.shape
    return bool(_different(first.shape, other.shape, dimension))


def _different(first: tuple[int, ...], other: tuple[int, ...], dimension: int) -> list[int]:
    """The dimensions that differ although they are not the one joined along."""
    joined = dimension % len(first) if first else 0
    return [place for place, (a, b) in enumerate(zip(first, other, strict=True)) if a != b and place != joined]


def _rule(function: str, first: tuple[int, ...], odd: tuple[int, ...], dimension: int) -> str:
    if function == "stack":
        return "stack needs equal shapes"
    if len(first) != len(odd):
        return "cat needs the same number of dimensions"
    place = _different(first, odd, dimension)[0]
    sizes = f"{first[place]} and {odd[place]}"
    return f"all dimensions but {dimension} must be equal, and dimension {place} is {sizes}"


def _repair_join(function: str, first: LocalTensor, odd: LocalTensor, dimension: int) -> tuple[str, str, str]:
    """What to do, and the operand to write in another form where there is one answer."""
    if function == "stack":
        same = len(first.shape) == len(odd.shape)
        places = [place for place in range(len(first.shape)) if same and first.shape[place] != odd.shape[place]]
        if len(places) == 1:
            return f"Pad or cut them to one size in dimension {places[0]}, or join them there with torch.cat", "", ""
        return f"Bring `{odd.name}` to the form of `{first.name}`, {shape_text(first.shape)}, before this line", "", ""
    long, short = (first, odd) if len(first.shape) > len(odd.shape) else (odd, first)
    joined = dimension % len(long.shape)
    if len(long.shape) == len(short.shape) + 1:
        widened = (*short.shape[:joined], 1, *short.shape[joined:])
        if not _different(long.shape, widened, joined):
            return f"Give `{short.name}` the dimension it lacks", short.name, f"{short.name}.unsqueeze({dimension})"
    if len(long.shape) != len(short.shape):
        return f"Bring `{short.name}` to the {len(long.shape)} dimensions of `{long.name}`", "", ""
    places = _different(first.shape, odd.shape, joined)
    for one, full in ((first, odd), (odd, first)):
        if places == [0] and one.shape[0] == 1:
            sizes = ", ".join([f"{full.name}.size(0)", *["-1"] * (len(one.shape) - 1)])
            return f"Repeat `{one.name}` for each sample", one.name, f"{one.name}.expand({sizes})"
    if joined == 1 and len(first.shape) in (4, 5) and places[0] > 1:
        size = f"torch.nn.functional.interpolate({first.name}, size={odd.name}.shape[2:])"
        return f"Bring `{first.name}` to the size of `{odd.name}`", first.name, size
    if len(places) == 1 and first.shape[joined] == odd.shape[joined]:
        only = f"dimension {places[0]}, the only one that differs"
        return f"Join along {only}, or make dimension {places[0]} equal", "", ""
    return f"Make dimension {places[0]} of `{first.name}` and `{odd.name}` equal before this line", "", ""


# A size that is halved with a rest and doubled again comes back as another one: U-Nets and their skips.
_UNEQUAL = re.compile(
    r"Sizes of tensors must match except in dimension (\d+)\. Expected size (\d+) but got size (\d+) "
)
_JOINS = re.compile(r"\b(?:cat|concat|concatenate)\(")


@dataclass(frozen=True)
class LostRows:
    """How one dimension went through the model: 36, 18, 9, 4, 8."""

    sizes: tuple[int, ...]
    odd: int  # the size that was halved with a rest
    divisor: int  # what the first size has to be a multiple of

    @property
    def told(self) -> str:
        way = " -> ".join(str(size) for size in self.sizes)
        return (
            f"On its way through the model one dimension went {way}: {self.odd} is no even number, and "
            f"halved and doubled again it is {self.sizes[-1]}"
        )

    @property
    def multiples(self) -> str:
        below = self.sizes[0] // self.divisor * self.divisor
        near = " or ".join(str(size) for size in (below, below + self.divisor) if size)
        return f"multiples of {self.divisor} ({near} instead of {self.sizes[0]})"


def lost_rows(flow: Sequence[FlowStep], sizes: tuple[int, int]) -> LostRows | None:
    """Whether these two sizes meet because one of them was halved with a rest, and doubled again."""
    for dimension in (2, 3, 4):
        way = tuple(size for size, _ in itertools.groupby(_sizes(flow, dimension)))
        down = way[: way.index(min(way)) + 1] if way else ()
        halvings = [one for one, half in itertools.pairwise(down) if half in (one // 2, (one + 1) // 2)]
        if not halvings or len(halvings) != len(down) - 1:
            continue
        odd = next((size for size in sizes if size % 2 and size in halvings), None)
        if odd is not None and sorted((odd, way[-1])) == sorted(sizes) and abs(odd - way[-1]) == 1:
            return LostRows(way, odd, 2 ** len(halvings))
    return None


def _sizes(flow: Sequence[FlowStep], dimension: int) -> Iterator[int]:
    """Of that dimension, as the modules that have none inside of them got and made it."""
    parents = {step.path.rpartition(".")[0] for step in flow}
    for step in flow:
        for shape in (*step.given[:1], *step.made[:1]) if step.path not in parents else ():
            if len(shape) > dimension:
                yield shape[dimension]


def explain_lost_rows(crash: CrashFact) -> Blame | None:
    """For tensors that no name holds any more: skips.pop() inside of torch.cat."""
    told = _UNEQUAL.search(crash.message)
    if told is None or crash.pasted or not _JOINS.search(crash.place.code or ""):
        return None
    sizes = int(told[2]), int(told[3])
    lost = lost_rows(crash.flow, sizes)
    if lost is None:
        return None
    return Blame(
        message=f"The join at {place_text(crash.place)} meets sizes {sizes[0]} and {sizes[1]}. {lost.told}.",
        why=f"An input of {lost.sizes[0]} cannot be halved {lost.divisor.bit_length() - 1} times without a "
        "rest, and what was kept on the way down still has its size.",
        fix=f"Give the model sizes that are {lost.multiples}: resize, crop or pad. Or bring what was doubled "
        "to the size of what it joins: `torch.nn.functional.interpolate(x, size=skip.shape[2:])`.",
        evidence={
            "input size": float(lost.sizes[0]),
            "multiple of": float(lost.divisor),
            "line": line_text(crash.place),
        },
        confidence=0.92,
    )


# A loss whose input and target do not fit each other.
_CLASS_WHY = (
    "This loss takes scores [batch, classes, ...] and one class number for each of the other positions, [batch, ...]."
)
_EQUAL_WHY = "This loss compares input and target element by element, so both need the same shape."


def explain_loss_shapes(crash: CrashFact) -> Blame | None:
    call = loss_call(crash) if crash.kind in ("ValueError", "RuntimeError") else None
    if call is None:
        return None
    if call.function in CLASS_LOSSES:
        return _class_loss(crash, call) or _class_weights(crash, call)
    given, target = call.input.shape, call.target.shape
    if given == target or (call.function not in STRICT and clash(given, target) is None):
        return None
    got = f"{call.text(crash)} got an input {shape_text(given)} and a target {shape_text(target)}"
    fix, edit = (
        f"Bring the two to one shape: the model's last layers decide that of `{call.input_name}`, the data "
        f"that of `{call.target_name}`.",
        None,
    )
    cast = cast_to(call.input.dtype) if call.function in STRICT and call.target.dtype != call.input.dtype else ""
    added = [place for place in range(len(given)) if given == (*target[:place], 1, *target[place:])]
    dropped = [place for place in range(len(target)) if target == (*given[:place], 1, *given[place:])]
    if added:
        change, edit = call.change(crash, 1, f"{{}}.unsqueeze({_place(added, given)}){cast}")
        fix = f"Add the missing dimension to the target: {change}."
    elif (swap := _swapped_dimensions(given, target)) is not None:
        change, edit = call.change(crash, 1, f"{{}}.transpose({swap[0]}, {swap[1]}){cast}")
        fix = f"Turn two dimensions of the target: {change}."
    elif dropped:
        change, edit = call.change(crash, 1, f"{{}}.squeeze({_place(dropped, target)}){cast}")
        fix = f"Drop the extra dimension of the target: {change}."
    return _blame(crash, call, f"{got}; the two must have the same shape.", _EQUAL_WHY, fix, edit)


def _class_loss(crash: CrashFact, call: LossCall) -> Blame | None:
    scores, target = call.input.shape, call.target.shape
    # Equal shapes are class probabilities: what fails then is their dtype, not their form.
    if len(scores) < 2 or target in (scores, (scores[0], *scores[2:])) or swapped(call):
        return None
    got = f"{call.text(crash)} got scores {shape_text(scores)} and targets {shape_text(target)}"
    whole = "" if call.target.dtype in ("int64", "uint8") else ".long()"
    if target == (scores[0], 1, *scores[2:]):
        fix, edit = call.change(crash, 1, f"{{}}.squeeze(1){whole}")
        message = f"{got}: the targets have a dimension too many, {shape_text((scores[0], *scores[2:]))} is expected."
        return _blame(crash, call, message, _CLASS_WHY, f"Drop dimension 1: {fix}.", edit)
    if target == scores[:-1]:
        move = "transpose(1, 2)" if len(scores) == 3 else "movedim(-1, 1)"
        fix, edit = call.change(crash, 0, f"{{}}.{move}")
        message = f"{got}: the {scores[-1]} classes must be in dimension 1, not in the last."
        return _blame(crash, call, message, _CLASS_WHY, f"Move the classes forward: {fix}.", edit)
    if target[:1] != scores[:1]:
        rows, edit = target[0] if target else 0, None
        fix = _rows_made(crash, scores[0], rows) or (
            f"Make `{call.input_name}` and `{call.target_name}` come from one batch; a view(-1, n) with a wrong n "
            "in forward also changes the number of rows."
        )
        if len(scores) == 3 and target == (scores[0] * scores[1],):
            change, edit = call.change(crash, 0, "{}.flatten(0, 1)")
            fix = f"Merge the first two dimensions of the scores as well: {change}."
        elif target == () and scores[0] == 1:
            change, edit = call.change(crash, 1, "{}.unsqueeze(0)")
            fix = f"Make the target a batch of one as well: {change}."
        elif len(target) == 2 and len(scores) == 2 and scores[0] == target[0] * target[1]:
            change, edit = call.change(crash, 1, "{}.flatten()")
            fix = f"Flatten the targets as well: {change}."
        counted = f"{scores[0]} row{'s' * (scores[0] != 1)} of scores cannot be compared with {rows} targets"
        message = f"{got}: {counted}." if target else f"{got}, a single number for a batch of {scores[0]}."
        return _blame(crash, call, message, _CLASS_WHY, fix, edit)
    wanted = shape_text((scores[0], *scores[2:]))
    return _blame(
        crash, call, f"{got}, but for these scores the targets must be {wanted}.", _CLASS_WHY,
        f"Bring `{call.target_name}` to {wanted} before this line.", None,
    )  # fmt: skip


def _class_weights(crash: CrashFact, call: LossCall) -> Blame | None:
    scores, weight = call.input.shape, call.weight.shape if call.weight else ()
    classes = scores[1] if len(scores) > 1 else 0
    if not classes or not weight or weight == (classes,):
        return None
    return _blame(
        crash,
        call,
        f"{call.text(crash)} got scores {shape_text(scores)} for {classes} classes but class weights "
        f"{shape_text(weight)}.",
        "The loss takes one weight for each class, and dimension 1 of the scores counts the classes.",
        f"Give the loss {classes} weights where it is made, or build the last layer for {weight[0]} classes.",
        None,
    )


def _rows_made(crash: CrashFact, got: int, wanted: int) -> str | None:
    """The view in the model that made other rows of the samples, if the scores' graph shows one."""
    for step in crash.flow:
        before, after = (step.given[0], step.made[0]) if step.kind == "view" else ((0,), (0,))
        if before[0] == wanted and after[0] == got:
            features = math.prod(before[1:])
            return (
                f"A view in the model turned {shape_text(before)} into {shape_text(after)}, which mixes "
                f"samples. Write `x.flatten(1)` there, and build the Linear after it for {features} features."
            )
    return None


def _swapped_dimensions(given: tuple[int, ...], target: tuple[int, ...]) -> tuple[int, int] | None:
    """The only two dimensions that differ, where each has the other's size."""
    if len(given) != len(target):
        return None
    places = [place for place in range(len(given)) if given[place] != target[place]]
    turned = len(places) == 2 and [given[place] for place in places] == [target[place] for place in places[::-1]]
    return (places[0], places[1]) if turned and places[0] > 0 else None


def _place(places: list[int], shape: tuple[int, ...]) -> int:
    """-1 for the last dimension, which reads better than its number."""
    return -1 if places[-1] == len(shape) - 1 else places[-1]


def _blame(crash: CrashFact, call: LossCall, message: str, why: str, fix: str, edit: Edit | None) -> Blame:
    evidence: dict[str, float | str] = {
        call.input_name: shape_text(call.input.shape),
        call.target_name: shape_text(call.target.shape),
        "line": line_text(crash.place),
    }
    return Blame(message, why, fix, crash.place, evidence, 0.97, edit)
