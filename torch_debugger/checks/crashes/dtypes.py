"""TD902: a tensor of the wrong dtype."""

from __future__ import annotations

import ast
from dataclasses import replace

from torch_debugger.checks.crash_check import CrashCheck
from torch_debugger.checks.crashes.explanation import (
    Blame,
    layer_evidence,
    layer_name,
    line_text,
    place_text,
    shape_text,
)
from torch_debugger.checks.crashes.layers_and_losses import (
    CLASS_LOSSES,
    STRICT,
    LossCall,
    OutermostCall,
    change_input,
    loss_call,
    model_entry,
    swapped,
)
from torch_debugger.checks.crashes.shapes_operators import product_of
from torch_debugger.checks.crashes.user_code import (
    Change,
    Line,
    argument_of,
    called,
    calls_of,
    cast_to,
    change_operand,
    explain_nodes,
    is_floating,
    is_whole,
    number,
    numpy_hint,
    one_line,
    parse_expression,
    rewritten,
    statement_at,
    two_tensors,
    written_call,
)
from torch_debugger.records import CrashFact, LayerFact, LocalTensor

# A layer and its input in different dtypes.
_NOWHERE = 99  # no position: by keyword only
_WHY = "A layer computes in the dtype of its weights and does not convert its input by itself"


def explain_layer_dtypes(crash: CrashFact) -> Blame | None:
    layer = crash.layer
    if layer is not None and crash.kind == "AssertionError":
        return _mask(crash, layer)
    # Under autocast a half input next to float32 weights is right: the error itself must speak of types.
    if layer is None or "type" not in crash.message or crash.kind not in ("RuntimeError", "ValueError"):
        return None
    weights = next((weight.dtype for weight in layer.parameters if is_floating(weight.dtype)), None)
    if weights is None or not layer.inputs:
        return None
    if layer.kind in ("Embedding", "EmbeddingBag"):
        dtype, change = layer.inputs[0].dtype, change_input(crash, layer, "{}.long()")
        message = f"{layer_name(layer)} looks rows up by whole numbers but got {dtype} indices at "
        if dtype in ("int64", "int32"):
            return None
        return Blame(
            message=f"{message}{place_text(layer.call)}.",
            why="Indices into an embedding must be int64 or int32.",
            fix=f"Convert the indices: {change.text}.",
            where=layer.call,
            evidence=layer_evidence(layer, input=dtype, expected="int64"),
            edit=change.edit,
        )
    odd = next((tensor for tensor in layer.inputs if tensor.dtype not in (weights, "bool")), None)
    if odd is None:
        return None
    start = f"{layer_name(layer)} has {weights} weights"
    if crash.flow and odd.dtype == "float32":
        # Layers before this one took the default dtype: then it is this layer that was converted.
        call, where = calls_of(layer.place.code or "", layer.kind), layer.place if layer.place.file else layer.call
        message, why = f"{start}, while the layers before it compute in {odd.dtype}.", f"{_WHY}."
        fix = (
            f"Keep {layer_name(layer)} in {odd.dtype}: leave out the conversion to {weights} at "
            f"{place_text(where)}, or convert it back with `{cast_to(odd.dtype)}`."
        )
        edit = rewritten(layer.place, f"{call[0]}{cast_to(weights)}", call[0]) if call else None
        confidence = 0.9
    else:
        is_complex = odd.dtype.startswith("complex")  # from a Fourier transform: a cast would drop half of it
        change = _convert(crash, layer, odd, ".abs()" if is_complex else cast_to(weights))
        message = f"{start} but its input, from {place_text(change.where)}, is {odd.dtype}."
        why, fix = f"{_WHY}{numpy_hint(odd.dtype)}.", f"Convert the input: {change.text}."
        if is_complex:
            why = f"{_WHY}; a complex number has two parts, and a conversion keeps only the real one."
            fix = (
                f"Take the magnitudes: {change.text}; or give it both parts, `torch.view_as_real(x).flatten(-2)`, "
                "which are twice as many features."
            )
        where, edit = replace(change.where, module=layer.path), change.edit
        confidence = 0.95 if is_complex else 0.97
    evidence = layer_evidence(layer, weights=weights, input=odd.dtype)
    return Blame(message, why, fix, where, evidence, confidence, edit)


def _convert(crash: CrashFact, layer: LayerFact, odd: LocalTensor, cast: str) -> Change:
    """At the call of the whole model if the tensor came in there as it is, else at the layer's own."""
    several = [tensor.name for tensor in layer.inputs if tensor.dtype == odd.dtype]
    if (entry := _entry_with(crash, layer, odd.dtype)) is not None:
        return entry.change(f"{{}}{cast}")
    if len(several) > 1 or "[" in odd.name:
        names = " and ".join([", ".join(several[:-1]), several[-1]] if len(several) > 1 else several)
        return Change(f"append `{cast}` to {names} at {place_text(layer.call)}", None, layer.call)
    return change_input(crash, layer, f"{{}}{cast}", layer.inputs.index(odd), odd.name)


def _entry_with(crash: CrashFact, layer: LayerFact, dtype: str) -> OutermostCall | None:
    """The user's call of the model, if that was already given a tensor of this dtype."""
    if any(step.kind.startswith("Embedding") for step in crash.flow):
        return None  # the model takes indices: converting those would break the embedding
    entry = model_entry(crash)
    given = {tensor.name: tensor.dtype for tensor in entry.inputs} if entry else {}
    return entry if entry and entry.module != layer.path and given.get("args[0]") == dtype else None


def _mask(crash: CrashFact, layer: LayerFact) -> Blame | None:
    """A mask of whole numbers, which attention does not take."""
    masks = [tensor for tensor in layer.inputs if tensor.name.endswith("mask") and is_whole(tensor.dtype)]
    if layer.kind != "MultiheadAttention" or not masks or "types of" not in crash.message:
        return None
    name, dtype = masks[0].name, masks[0].dtype
    change = change_input(crash, layer, "{}.bool()", _NOWHERE, name)
    return Blame(
        message=f"{layer_name(layer)} got a {name} of {dtype} at {place_text(layer.call)}; it wants bool.",
        why="In a mask of bool, true says where not to look; a mask of numbers is added to the scores.",
        fix=f"Convert the mask: {change.text}.",
        where=layer.call,
        evidence=layer_evidence(layer, input=dtype, expected="bool"),
        confidence=0.95,
        edit=change.edit,
    )


# A loss whose target has the wrong dtype.
def explain_loss_dtypes(crash: CrashFact) -> Blame | None:
    call = loss_call(crash) if crash.kind in ("RuntimeError", "NotImplementedError") else None
    if call is None:
        return None
    if call.function in CLASS_LOSSES:
        return (
            _swapped(crash, call) or _class_numbers(crash, call) or _one_hot(crash, call) or _class_weights(crash, call)
        )
    if call.function in STRICT:
        if call.input.shape != call.target.shape or call.input.dtype == call.target.dtype:
            return None
        what = f"got {call.target.dtype} targets for a {call.input.dtype} input; the two must be the same"
        why = "This loss computes with the target's numbers, so it needs them in the dtype of the input."
        return _blame(crash, call, what, why, call.input.dtype)
    return None


def _swapped(crash: CrashFact, call: LossCall) -> Blame | None:
    if not swapped(call):
        return None
    statement = statement_at(crash, crash.place)
    written = written_call(statement.whole.code or "", call.unparsed) or ""
    first, second = argument_of(written, 0, "input"), argument_of(written, 1, "target")
    changed = second.replaced(first.text) if first and second else ""
    changed = changed[: first.start] + second.text + changed[first.end :] if first and second else ""
    fix = f"write `{one_line(changed)}`" if changed else "give it the scores first, then the targets"
    return Blame(
        message=f"{call.text(crash)} got {call.input.dtype} {shape_text(call.input.shape)} as scores and "
        f"{call.target.dtype} {shape_text(call.target.shape)} as targets: the two are swapped.",
        why="This loss takes the scores first and the class numbers second.",
        fix=f"Swap the two: {fix}.",
        evidence=_evidence(crash, call),
        confidence=0.96,
        edit=rewritten(statement.whole, written, changed) if changed else None,
    )


def _class_weights(crash: CrashFact, call: LossCall) -> Blame | None:
    weight = call.weight
    if weight is None or weight.dtype == call.input.dtype or "type" not in crash.message:
        return None
    cast = cast_to(call.input.dtype)
    argument = argument_of(call.call or "", _NOWHERE, "weight")
    change = statement_at(crash, crash.place).change([call.function], f"{{}}{cast}", _NOWHERE, "weight")
    where = f"append `{cast}` to them where the loss is made"
    return Blame(
        message=f"{call.text(crash)} got {weight.dtype} class weights for {call.input.dtype} scores; the two "
        "must be the same.",
        why=f"The loss multiplies the two without converting them{numpy_hint(weight.dtype)}.",
        fix=f"Convert the weights: {change.text if argument else where}.",
        evidence=_evidence(crash, call) | {"weight": weight.dtype},
        confidence=0.96,
        edit=change.edit if argument else None,
    )


def _class_numbers(crash: CrashFact, call: LossCall) -> Blame | None:
    scores, target = call.input.shape, call.target
    fits = target.shape == (scores[:1] + scores[2:] if len(scores) > 1 else ())
    if fits and len(scores) == 2 and scores[1] == 1 and is_floating(target.dtype):
        # Floating targets and one score a sample: what the binary losses take.
        return Blame(
            message=f"{call.text(crash)} got scores {shape_text(call.input.shape)}, one for each sample, and "
            f"{call.target.dtype} targets {shape_text(call.target.shape)}.",
            why="Cross-entropy picks one of several classes by an int64 number; one score leaves none to pick.",
            fix="For two classes use nn.BCEWithLogitsLoss, with the scores squeezed to the targets' shape, "
            "`.squeeze(1)`; or build the last layer for one score a class and convert the targets with `.long()`.",
            evidence=_evidence(crash, call),
            confidence=0.92,
        )
    if not fits or target.dtype in ("int64", "uint8"):
        return None
    what = f"got {target.dtype} targets {shape_text(target.shape)}; class numbers must be int64"
    return _blame(crash, call, what, "Targets in this form are class numbers, which index the scores.", "int64")


def _one_hot(crash: CrashFact, call: LossCall) -> Blame | None:
    target = call.target
    if call.input.shape != target.shape or not is_whole(target.dtype) or not is_floating(call.input.dtype):
        return None
    what = f"got {target.dtype} targets {shape_text(target.shape)}; in this form they must be floating"
    why = "Targets with the shape of the scores are taken for class probabilities, one-hot rows included."
    return _blame(crash, call, what, why, call.input.dtype)


def _blame(crash: CrashFact, call: LossCall, what: str, why: str, wanted: str) -> Blame:
    fix, edit = call.change(crash, 1, f"{{}}{cast_to(wanted)}")
    return Blame(
        message=f"{call.text(crash)} {what}.",
        why=why,
        fix=f"Convert the target: {fix}.",
        evidence=_evidence(crash, call),
        edit=edit,
    )


def _evidence(crash: CrashFact, call: LossCall) -> dict[str, float | str]:
    return {call.input_name: call.input.dtype, call.target_name: call.target.dtype, "line": line_text(crash.place)}


# Functions and operators of the user's line that were given a tensor of the wrong dtype.
_INTO = "scatter", "scatter_", "scatter_add", "scatter_add_", "index_add", "index_add_", "index_copy_"
_INDEX, _MASK, _FLOATING = "indices of dtype int64", "a mask of dtype bool", "floating-point numbers"
_WANTED = {_INDEX: "int64", _MASK: "bool", _FLOATING: "float32"}
# function -> (which operand, what it must be)
_STRICT = {
    "gather": (2, _INDEX), "index_select": (2, _INDEX), "scatter": (2, _INDEX), "scatter_add": (2, _INDEX),
    "scatter_": (2, _INDEX), "scatter_add_": (2, _INDEX), "index_add": (2, _INDEX), "index_add_": (2, _INDEX),
    "take_along_dim": (1, _INDEX), "one_hot": (0, _INDEX), "embedding": (0, _INDEX),
    "masked_fill": (1, _MASK), "masked_fill_": (1, _MASK), "masked_select": (1, _MASK), "where": (0, _MASK),
    "mean": (0, _FLOATING), "std": (0, _FLOATING), "var": (0, _FLOATING), "softmax": (0, _FLOATING),
    "log_softmax": (0, _FLOATING),
}  # fmt: skip


def explain_operand_dtypes(crash: CrashFact) -> Blame | None:
    return explain_nodes(
        crash,
        lambda line, node: (
            _product(crash, line, node)
            or _strict(crash, line, node)
            or _source(crash, line, node)
            or _subtracted(crash, line, node)
            or _index(crash, line, node)
        ),
        kinds=("RuntimeError", "IndexError", "NotImplementedError"),
    ) or explain_nodes(crash, lambda line, node: _inverted(crash, line, node), kinds=("RuntimeError", "TypeError"))


def _product(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    tensors = two_tensors(line, product_of(node)[1])
    if tensors is None or tensors[0].dtype == tensors[1].dtype or not (tensors[0].dtype and tensors[1].dtype):
        return None
    # float32 is torch's own default: whatever differs from it is the odd one.
    odd, other = tensors if tensors[1].dtype == "float32" else tensors[::-1]
    message = f"multiplies {tensors[0].dtype} by {tensors[1].dtype}: `{odd.name}` is {odd.dtype}"
    why = f"A matrix product needs one dtype on both sides{numpy_hint(odd.dtype)}."
    return _operand_blame(crash, line, node, odd, other.dtype, message, why)


def _strict(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    name, operands = called(node)
    position, wanted = _STRICT.get(name, (0, ""))
    tensor = line.tensor(operands[position]) if wanted and len(operands) > position else None
    converts = isinstance(node, ast.Call) and any(word.arg == "dtype" for word in node.keywords)
    if tensor is None or not tensor.dtype or converts or _accepts(wanted, tensor.dtype):
        return None
    message = f"wants {wanted}, but `{tensor.name}` is {tensor.dtype}"
    return _operand_blame(crash, line, node, tensor, _WANTED[wanted], message, f"{name} takes {wanted} here.")


def _source(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    """What is put into a tensor: scatter_(1, index, source), index_add_(0, index, source)."""
    name, operands = called(node)
    if name not in _INTO or len(operands) < 4 or "type" not in crash.message:
        return None
    held, source = line.tensor(operands[0]), line.tensor(operands[3])
    if held is None or source is None or held.dtype == source.dtype or not (held.dtype and source.dtype):
        return None
    message = f"puts {source.dtype} values, `{source.name}`, into `{held.name}`, which is {held.dtype}"
    why = f"{name} copies values without converting them, so both need one dtype."
    return _operand_blame(crash, line, node, source, held.dtype, message, why)


def _subtracted(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    """1 - mask, mask - mask: booleans cannot be subtracted."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub) or "Subtraction" not in crash.message:
        return None
    sides = [line.tensor(node.left), line.tensor(node.right)]
    masks = [tensor for tensor in sides if tensor is not None and tensor.dtype == "bool"]
    if not masks:
        return None
    why = "Booleans cannot be subtracted: `~` inverts a mask, `^` tells where two differ."
    message = f"subtracts, and `{masks[-1].name}` is bool"
    blame = _operand_blame(crash, line, node, masks[-1], "float32", message, why)
    written = {2: f"{masks[0].name} ^ {masks[-1].name}", 1: f"~{masks[-1].name}"}[len(masks)]
    plain = all(mask.name.isidentifier() for mask in masks)
    if not plain or (len(masks) == 1 and number(node.left) != 1):
        return blame
    before, whole = line.written(node), statement_at(crash, crash.place).whole
    return replace(blame, fix=f"Write `{written}` instead of `{before}`.", edit=rewritten(whole, before, written))


def _accepts(wanted: str, dtype: str) -> bool:
    if wanted == _INDEX:
        return dtype in ("int64", "int32")
    return dtype in ("bool", "uint8") if wanted == _MASK else is_floating(dtype) or dtype.startswith("complex")


def _index(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    if not isinstance(node, ast.Subscript) or line.tensor(node.value) is None:
        return None
    tensor = line.tensor(node.slice)
    if tensor is None or not is_floating(tensor.dtype):
        return None
    held = line.tensor(node.value)
    covers = held is not None and len(tensor.shape) > 1 and tensor.shape == held.shape[: len(tensor.shape)]
    wanted = _MASK if covers or "mask" in tensor.name else _INDEX
    message = f"wants {wanted}, but `{tensor.name}` is {tensor.dtype}"
    why = "A tensor inside square brackets picks elements by their numbers (int64) or by a mask (bool)."
    return _operand_blame(crash, line, node, tensor, _WANTED[wanted], message, why)


def _inverted(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    if not isinstance(node, ast.UnaryOp) or not isinstance(node.op, ast.Invert):
        return None
    tensor = line.tensor(node.operand)
    if tensor is None or not is_floating(tensor.dtype):
        return None
    message = f"inverts `{tensor.name}`, which is {tensor.dtype}; `~` wants {_MASK}"
    return _operand_blame(
        crash, line, node, tensor, "bool", message, "`~` turns true into false, so it takes booleans."
    )


def _operand_blame(
    crash: CrashFact, line: Line, node: ast.expr, odd: LocalTensor, wanted: str, message: str, why: str
) -> Blame:
    operand, form = _converted(line.source(node), odd.name, cast_to(wanted))
    edit = change_operand(crash, line, node, operand, form)[1]
    return Blame(
        message=f"`{line.source(node)}` at {place_text(crash.place)} {message}.",
        why=why,
        fix=f"Convert it: write `{form}` instead of `{operand or odd.name}`.",
        evidence={odd.name: odd.dtype, "expected": wanted, "line": line_text(crash.place)},
        confidence=0.95,
        edit=edit,
    )


def _converted(expression: str, operand: str, cast: str) -> tuple[str, str]:
    """What to replace by what; an operator's result keeps the parentheses it stands in."""
    node = parse_expression(operand)
    if not isinstance(node, ast.BinOp | ast.Compare | ast.UnaryOp):
        return operand, f"{operand}{cast}"
    method = expression.removeprefix(f"({operand}).")
    return (expression, f"({operand}){cast}.{method}") if method != expression else ("", f"({operand}){cast}")


class DtypeMismatch(CrashCheck):
    """A layer, loss or operator was given a tensor of the wrong dtype.

    Symptom:
        The script stops with an error about types: "mat1 and mat2 must have the same dtype",
        "expected scalar type Long but found Float", "Found dtype Long but expected Float".
    Evidence:
        The dtypes of the tensors in the frames of the traceback, compared with the layer's weights or
        with what the function takes. The exception's message alone is not enough.
    Fix:
        Convert the odd tensor where it comes in: `.float()` for inputs and regression targets,
        `.long()` for class numbers and indices, `.bool()` for masks.
    Known limits:
        Operators are read from one statement. Which of two tensors is the odd one is a judgement:
        float32, torch's default, is taken for the right one.
    """

    id = "TD902"
    name = "dtype-mismatch"
    title = "a tensor has the wrong dtype"
    explainers = explain_layer_dtypes, explain_loss_dtypes, explain_operand_dtypes
