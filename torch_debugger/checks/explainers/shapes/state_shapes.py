"""The hidden state given to a recurrent layer: layers x directions, batch, hidden size."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, layer_evidence, layer_name, place_text, shape_text
from torch_debugger.checks.explainers.constructors import add_keyword
from torch_debugger.checks.explainers.entries import change_input
from torch_debugger.checks.explainers.shapes.sequence_shapes import CELLS, RECURRENT
from torch_debugger.records import CrashFact, Edit, LayerFact, Place

_WHY = "A recurrent layer keeps one hidden state for each layer, direction and sample of the batch"


def explain_state(crash: CrashFact) -> Blame | None:
    layer = crash.layer
    if layer is None or layer.kind not in RECURRENT + CELLS or len(layer.inputs) < 2:
        return None
    given = layer.inputs[0].shape
    if not given or given[-1] != layer.settings["input_size"]:
        return None
    for place, state in enumerate(layer.inputs[1:]):
        wanted = _wanted(layer, given, cell_state=place > 0)
        if wanted is not None and state.shape != wanted:
            return _judge(crash, layer, state.shape, wanted)
    return None


def _wanted(layer: LayerFact, given: tuple[int, ...], cell_state: bool) -> tuple[int, ...] | None:
    """The state's shape for this input; None for an input whose own form is wrong."""
    projected = 0 if cell_state else int(layer.settings.get("proj_size", 0))
    hidden = projected or int(layer.settings["hidden_size"])
    if layer.kind in CELLS:
        return (*given[:-1], hidden) if len(given) in (1, 2) else None
    layers = int(layer.settings["num_layers"]) * (2 if layer.settings["bidirectional"] else 1)
    if len(given) == 2:
        return layers, hidden
    return (layers, given[0 if layer.settings["batch_first"] else 1], hidden) if len(given) == 3 else None


def _judge(crash: CrashFact, layer: LayerFact, state: tuple[int, ...], wanted: tuple[int, ...]) -> Blame:
    batch = _batch_place(layer, wanted)
    differing = [
        place for place, size in enumerate(state) if len(state) == len(wanted) and size != wanted[place]
    ]
    if differing != [batch]:
        return _no_layers(crash, layer, state, wanted) or _other_form(layer, state, wanted)
    # Earlier steps went through: then it is this batch that is odd, not the order of the dimensions.
    turned = len(wanted) == 3 and layer.inputs[0].shape[:2].count(state[1]) == 1 and crash.step <= 1
    return _turned(layer, state, wanted) if turned else _other_batch(crash, layer, state, wanted)


def _batch_place(layer: LayerFact, wanted: tuple[int, ...]) -> int:
    """The dimension of a state that counts samples; -1 where there is none."""
    if layer.kind in CELLS:
        return 0 if len(wanted) == 2 else -1
    return 1 if len(wanted) == 3 else -1


def _other_batch(crash: CrashFact, layer: LayerFact, state: tuple[int, ...], wanted: tuple[int, ...]) -> Blame:
    made_for, samples = state[_batch_place(layer, wanted)], wanted[_batch_place(layer, wanted)]
    is_short = samples < made_for and crash.step > 1
    short = ", or drop the short last batch with `drop_last=True` in the DataLoader" if is_short else ""
    size = "x.size(0)" if layer.settings.get("batch_first", True) else "x.size(1)"
    return _blame(
        layer,
        state,
        wanted,
        f"the hidden state was made for a batch of {made_for}, this batch has {samples} "
        f"sample{'s' * (samples != 1)}",
        f"Make the state anew for each batch, with the batch size `{size}` of the layer's input `x`{short}",
        layer.call,
    )


def _turned(layer: LayerFact, state: tuple[int, ...], wanted: tuple[int, ...]) -> Blame:
    """The state's batch size is the input's other dimension: batch_first is not what the input is."""
    given, batch = layer.inputs[0].shape, state[1]
    what = f"that is for a batch of {batch}, and the input {shape_text(given)} has that many"
    if layer.settings["batch_first"]:
        fix = f"Leave out batch_first=True at {place_text(layer.place)}, or make the state for {wanted[1]}"
        return _blame(layer, state, wanted, f"{what} in dimension 1, but batch_first=True", fix, layer.call)
    change = add_keyword(layer, "batch_first=True")
    fix = f"Say that the batch comes first: {change.text}"
    message = f"{what} in dimension 0, but without batch_first=True dimension 1 is the batch"
    return _blame(layer, state, wanted, message, fix, change.where, change.edit)


def _no_layers(
    crash: CrashFact, layer: LayerFact, state: tuple[int, ...], wanted: tuple[int, ...]
) -> Blame | None:
    if wanted != (1, *state):
        return None
    single = len(layer.inputs) == 2
    change = change_input(crash, layer, "{}.unsqueeze(0)", 1, "hx") if single else None
    what = f"it takes [num_layers x directions, batch, hidden_size], which is {shape_text(wanted)} here"
    fix = f"Add the first dimension: {change.text}" if change else "Give both states a first dimension of 1"
    return _blame(layer, state, wanted, what, fix, layer.call, change.edit if change else None)


def _other_form(layer: LayerFact, state: tuple[int, ...], wanted: tuple[int, ...]) -> Blame:
    names = "[batch, hidden_size]" if layer.kind in CELLS else "[num_layers x directions, batch, hidden_size]"
    names = names if _batch_place(layer, wanted) >= 0 else names.replace("batch, ", "")
    options = [f"Make the state {shape_text(wanted)} at {place_text(layer.call)}"]
    if len(state) == len(wanted) == 3 and state[1:] == wanted[1:]:
        directions = 2 if layer.settings["bidirectional"] else 1
        if state[0] % directions == 0:
            options.append(f"build {layer_name(layer)} with num_layers={state[0] // directions}")
    elif len(state) == len(wanted) and state[:-1] == wanted[:-1]:
        options.append(f"build {layer_name(layer)} with hidden_size={state[-1]}")
    what = f"it takes {names}, which is {shape_text(wanted)} here"
    return _blame(layer, state, wanted, what, ", or ".join(options), layer.call)


def _blame(
    layer: LayerFact,
    state: tuple[int, ...],
    wanted: tuple[int, ...],
    what: str,
    fix: str,
    where: Place,
    edit: Edit | None = None,
) -> Blame:
    given = shape_text(layer.inputs[0].shape)
    return Blame(
        message=f"{layer_name(layer)} got a hidden state {shape_text(state)}: {what}.",
        why=f"{_WHY}; the input has shape {given}.",
        fix=f"{fix}.",
        where=where,
        evidence=layer_evidence(layer, input=given, state=shape_text(state), expected=shape_text(wanted)),
        confidence=0.96,
        edit=edit,
    )
