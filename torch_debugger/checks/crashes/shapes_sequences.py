"""Recurrent layers: the size of one element of the sequence."""

from __future__ import annotations

import dataclasses

from torch_debugger.checks.crashes.explanation import (
    Blame,
    layer_evidence,
    layer_name,
    line_text,
    place_text,
    shape_evidence,
    shape_text,
    target_place,
)
from torch_debugger.checks.crashes.layers_and_losses import Setting, add_keyword, change_input, constructor_place
from torch_debugger.checks.crashes.shapes_layers import features_in_the_middle, origin_text, other_size
from torch_debugger.checks.crashes.user_code import (
    Change,
    argument_of,
    calls_of,
    is_plain,
    statement_at,
    with_argument,
    write_instead,
    written_call,
)
from torch_debugger.records import CrashFact, Edit, LayerFact, Place
from torch_debugger.records.crash import PackingEvidence

RECURRENT = "RNN", "LSTM", "GRU"
CELLS = "RNNCell", "LSTMCell", "GRUCell"
_WHY = "A recurrent layer takes sequences whose elements have input_size features each"


def explain_sequence(crash: CrashFact) -> Blame | None:
    layer = crash.layer
    if layer is None or layer.kind not in RECURRENT + CELLS or not layer.inputs or not layer.inputs[0].shape:
        return None
    wanted = int(layer.settings["input_size"])
    if layer.inputs[0].shape[-1] == wanted:
        return None
    return (
        _no_features(crash, layer, wanted)
        or features_in_the_middle(crash, layer, wanted, _WHY)
        or other_element_size(crash, Setting(layer, "input_size", 0, layer.inputs[0].shape[-1]), "input", _WHY)
    )


def _no_features(crash: CrashFact, layer: LayerFact, wanted: int) -> Blame | None:
    """Series of plain numbers, [batch, length], given to a layer that takes one feature a step."""
    shape = layer.inputs[0].shape
    if wanted != 1 or len(shape) != 2 or layer.kind in CELLS:
        return None
    change = change_input(crash, layer, "{}.unsqueeze(-1)")
    return Blame(
        message=f"{layer_name(layer)} takes one feature a step but got {shape_text(shape)}, numbers without a "
        "feature dimension.",
        why=f"{_WHY}; two dimensions are taken for one sequence, its {shape[1]} numbers for features.",
        fix=f"Add the dimension: {change.text}.",
        where=change.where,
        evidence=shape_evidence(layer, f"[{shape[0]}, {shape[1]}, 1]"),
        confidence=0.95,
        edit=change.edit,
    )


def other_element_size(crash: CrashFact, setting: Setting, what: str, why: str) -> Blame:
    heads = int(setting.layer.settings.get("num_heads", 1))
    uneven = f", with a number of heads that divides {setting.got}" if setting.got % heads else ""
    reason, unit = uneven + origin_text(crash, setting), "features per element of the sequence"
    return other_size(setting, unit, why, reason, 0.98, what, plain=not uneven)


# The hidden state given to a recurrent layer: layers x directions, batch, hidden size.
_STATE_WHY = "A recurrent layer keeps one hidden state for each layer, direction and sample of the batch"


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
    differing = [place for place, size in enumerate(state) if len(state) == len(wanted) and size != wanted[place]]
    if differing != [batch]:
        return _no_layers(crash, layer, state, wanted) or _other_form(layer, state, wanted)
    # Earlier steps went through: then it is this batch that is odd, not the order of the dimensions.
    turned = len(wanted) == 3 and layer.inputs[0].shape[:2].count(state[1]) == 1 and crash.step <= 1
    if turned:
        # The state's batch size is the input's other dimension: batch_first is not what the input is.
        given, batch = layer.inputs[0].shape, state[1]
        what = f"that is for a batch of {batch}, and the input {shape_text(given)} has that many"
        if layer.settings["batch_first"]:
            fix = f"Leave out batch_first=True at {place_text(layer.place)}, or make the state for {wanted[1]}"
            return _blame(layer, state, wanted, f"{what} in dimension 1, but batch_first=True", fix, layer.call)
        change = add_keyword(layer, "batch_first=True")
        fix = f"Say that the batch comes first: {change.text}"
        message = f"{what} in dimension 0, but without batch_first=True dimension 1 is the batch"
        return _blame(layer, state, wanted, message, fix, change.where, change.edit)
    made_for, samples = state[_batch_place(layer, wanted)], wanted[_batch_place(layer, wanted)]
    is_short = samples < made_for and crash.step > 1
    short = ", or drop the short last batch with `drop_last=True` in the DataLoader" if is_short else ""
    size = "x.size(0)" if layer.settings.get("batch_first", True) else "x.size(1)"
    return _blame(
        layer,
        state,
        wanted,
        f"the hidden state was made for a batch of {made_for}, this batch has {samples} sample{'s' * (samples != 1)}",
        f"Make the state anew for each batch, with the batch size `{size}` of the layer's input `x`{short}",
        layer.call,
    )


def _batch_place(layer: LayerFact, wanted: tuple[int, ...]) -> int:
    """The dimension of a state that counts samples; -1 where there is none."""
    if layer.kind in CELLS:
        return 0 if len(wanted) == 2 else -1
    return 1 if len(wanted) == 3 else -1


def _no_layers(crash: CrashFact, layer: LayerFact, state: tuple[int, ...], wanted: tuple[int, ...]) -> Blame | None:
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
        why=f"{_STATE_WHY}; the input has shape {given}.",
        fix=f"{fix}.",
        where=where,
        evidence=layer_evidence(layer, input=given, state=shape_text(state), expected=shape_text(wanted)),
        confidence=0.96,
        edit=edit,
    )


# pack_padded_sequence: padded sequences and lengths that do not go together.
_PACKING_WHY = "pack_padded_sequence takes sequences [time, batch, ...], or [batch, time, ...] with batch_first=True"
_POSITIONS = {"batch_first": 2, "enforce_sorted": 3}


def explain_packing(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.packing
    if fact is None:
        return None
    fact = dataclasses.replace(fact, place=dataclasses.replace(fact.place, module=crash.place.module))
    batch, time = fact.shape[:2] if fact.batch_first else fact.shape[1::-1]
    noticed = f"; `{fact.layer}` ran out of elements" if fact.layer else ""
    shape, confidence = shape_text(fact.shape), 0.97
    change: Change | None = None
    unsorted = {"enforce_sorted": "False"} if fact.enforce_sorted and fact.descending is False else {}
    if fact.device not in ("cpu", "meta") and not fact.layer:  # a meta tensor has no values to bring
        change = _lengths_on_cpu(fact)
        what = f"got its lengths on {fact.device}, and takes them on the CPU"
        why = "The lengths steer the packing from the CPU: they must be there, on whatever device the sequences are."
        fix = f"Bring the lengths to the CPU: {change.text}."
    elif fact.count == time != batch and (fact.highest is None or fact.highest <= batch):
        # The lengths count the dimension that is taken for the time.
        said, taken, right, first = ("with", 0, 1, "the time") if fact.batch_first else ("without", 1, 0, "the batch")
        up_to = f" of up to {fact.highest}" if fact.highest is not None else ""
        change = _written(fact, {"batch_first": str(not fact.batch_first)} | unsorted)
        counts = f"so a batch of {batch}, but there are {fact.count} lengths{up_to}"
        what = f"{said} batch_first=True takes dimension {taken} of {shape} for the batch, {counts}"
        what += f": the batch is in dimension {right}{noticed}"
        why, fix = f"{_PACKING_WHY}.", f"Say that {first} comes first: {change.text}."
        confidence = 0.98 if fact.highest == batch else 0.94
    elif fact.count != batch and not fact.layer:
        what = f"got {fact.count} lengths for a batch of {batch}: the sequences are {shape}"
        why = f"{_PACKING_WHY}, and one length for each sequence of the batch."
        fix = f"Give the {batch} lengths of the sequences in this batch."
    elif fact.empty and not fact.layer:
        what = f"got {fact.empty} of {fact.count} sequences with a length of {fact.lowest}"
        why = "A packed sequence has at least one element."
        padding = "let them count as one element of padding, with `lengths.clamp(min=1)`"
        fix = f"Leave empty samples out where the data is read, or {padding}."
    elif unsorted and not fact.layer:
        change = _written(fact, unsorted)
        what = f"wants the longest sequence first, but the {fact.count} lengths are not in falling order"
        why = (
            "With enforce_sorted=True, the default, nothing is sorted; with False the batch is sorted for the "
            "layer and its results come back in your order."
        )
        fix = f"Let it sort the batch: {change.text}."
    elif fact.highest is not None and fact.count == batch and fact.highest > time:
        what = f"got lengths of up to {fact.highest}, but the sequences {shape} have {time} steps{noticed}"
        why = f"{_PACKING_WHY}; a length says how many of its steps are not padding."
        fix = (
            f"Measure the lengths after the sequences are cut, at most {time}; where cutting them is meant, "
            f"give `lengths.clamp(max={time})`."
        )
    else:
        return None
    spread = f", {fact.lowest} to {fact.highest}" if fact.highest is not None else ""
    evidence: dict[str, float | str] = {
        "sequences": shape,
        "lengths": f"{fact.count}{spread}",
        "batch_first": str(fact.batch_first),
        "line": line_text(fact.place),
    }
    message = f"`{fact.call}` at {place_text(fact.place)} {what}."
    return Blame(message, why, fix, fact.place, evidence, confidence, change.edit if change else None)


def _lengths_on_cpu(fact: PackingEvidence) -> Change:
    call = written_call(fact.place.code or "", fact.call) or fact.call
    argument = argument_of(call, 1, "lengths")
    if argument is None or not is_plain(argument):
        return Change("give it `lengths.cpu()`", None, fact.place)
    return write_instead(fact.place, call, argument.replaced(f"{argument.text}.cpu()"), fact.place)


def _written(fact: PackingEvidence, keywords: dict[str, str]) -> Change:
    """The call with these keywords, in the place of those it has."""
    call = changed = written_call(fact.place.code or "", fact.call) or fact.call
    for keyword, value in keywords.items():
        argument = argument_of(changed, _POSITIONS[keyword], keyword)
        changed = argument.replaced(value) if argument else with_argument(changed, f"{keyword}={value}")
    return write_instead(fact.place, call, changed, fact.place)


# nn.MultiheadAttention: the size of query and key, their batch, and its masks.
_ATTENTION_WHY = "Attention splits the last dimension of its query, embed_dim, over the heads"
_ORDER_WHY = "Attention takes [length, batch, features], or [batch, length, features] with batch_first=True"
_MASK_KEYWORDS = {"attn_mask": 0, "mask": 0, "src_mask": 0, "tgt_mask": 1}  # and the argument it is for
_NOWHERE = 99  # no position: by keyword only

Shapes = dict[str, tuple[int, ...]]


def explain_attention(crash: CrashFact) -> Blame | None:
    layer = crash.layer
    if layer is None or layer.kind not in ("MultiheadAttention", "Transformer") or not layer.inputs:
        return None
    shapes = {tensor.name: tensor.shape for tensor in layer.inputs}
    if layer.kind == "Transformer":
        source, target = shapes.get("src", ()), shapes.get("tgt", ())
        return (
            _other_attention_batch(layer, source, target, ("source", "target"))
            if len(source) == len(target) == 3
            else None
        )
    query, key = shapes.get("query", ()), shapes.get("key", ())
    if not query or not key:
        return None
    if query[-1] != layer.settings["embed_dim"]:
        return features_in_the_middle(
            crash, layer, int(layer.settings["embed_dim"]), _ATTENTION_WHY
        ) or other_element_size(crash, Setting(layer, "embed_dim", 0, query[-1]), "query", _ATTENTION_WHY)
    if key[-1] != layer.settings["kdim"]:
        key, value = shapes["key"], shapes.get("value", shapes["key"])
        own = bool(calls_of(constructor_place(layer).code or "", layer.kind))  # a decoder layer hands no kdim on
        change = add_keyword(layer, f"kdim={key[-1]}, vdim={value[-1]}") if own else None
        return Blame(
            message=f"{layer_name(layer)} got keys of {key[-1]} features but takes {layer.settings['kdim']}.",
            why="Keys and values have the query's embed_dim unless kdim and vdim say otherwise; "
            f"the key has shape {shape_text(key)}.",
            fix=f"Say what comes in: {change.text}."
            if change
            else f"Bring it to {layer.settings['kdim']} features before the call at {place_text(layer.call)}.",
            where=change.where if change else layer.call,
            evidence=_evidence(layer, shapes, int(layer.settings["kdim"])),
            edit=change.edit if change else None,
        )
    if len(query) != 3 or len(key) != 3:
        return None
    return (
        _other_attention_batch(layer, query, key)
        or _padding_mask(layer, shapes)
        or _attention_mask(crash, layer, shapes)
    )


def _other_attention_batch(
    layer: LayerFact, query: tuple[int, ...], key: tuple[int, ...], names: tuple[str, str] = ("query", "key")
) -> Blame | None:
    batch = 0 if layer.settings["batch_first"] else 1
    if query[batch] == key[batch]:
        return None
    change = add_keyword(layer, "batch_first=True") if batch and query[0] == key[0] else None
    return Blame(
        message=f"{layer_name(layer)} got a {names[0]} {shape_text(query)} and a {names[1]} {shape_text(key)}: "
        f"it takes dimension {batch} for the batch, and there {query[batch]} meets {key[batch]}.",
        why=f"{_ORDER_WHY}.",
        fix=f"Dimension 0 is equal, so say that the batch comes first: {change.text}."
        if change
        else f"Give it {names[0]} and {names[1]} of one batch at {place_text(layer.call)}.",
        where=change.where if change else layer.call,
        evidence=_evidence(layer, {names[0]: query, names[1]: key}, query[batch]),
        confidence=0.95,
        edit=change.edit if change else None,
    )


def _padding_mask(layer: LayerFact, shapes: Shapes) -> Blame | None:
    mask, key, first = shapes.get("key_padding_mask", ()), shapes["key"], layer.settings["batch_first"]
    wanted = (key[0], key[1]) if first else (key[1], key[0])
    if len(mask) != 2 or mask == wanted:
        return None
    turned = mask == wanted[::-1]
    build = add_keyword(layer, "batch_first=True").text
    fix = f"Make the mask {shape_text(wanted)}, one row for each sample, at {place_text(layer.call)}"
    if turned and not first:
        fix = f"If the input is [batch, length, features], {build}; if not, give it the mask's transpose, `.T`"
    elif turned:
        fix = f"Give it the mask's transpose, `.T`, at {place_text(layer.call)}"
    return Blame(
        message=f"{layer_name(layer)} got a key_padding_mask {shape_text(mask)} but takes [batch, length], "
        f"which is {shape_text(wanted)} for the key {shape_text(key)}.",
        why=f"{_ORDER_WHY}; the mask is [batch, length] either way.",
        fix=f"{fix}.",
        where=target_place(layer) if turned and not first else layer.call,
        evidence=_evidence(layer, shapes, shape_text(wanted)),
        confidence=0.93,
    )


def _attention_mask(crash: CrashFact, layer: LayerFact, shapes: Shapes) -> Blame | None:
    mask, place = shapes.get("attn_mask", ()), 1 if layer.settings["batch_first"] else 0
    wanted = shapes["query"][place], shapes["key"][place]
    if len(mask) != 2 or mask == wanted:
        return None
    larger = mask[0] >= wanted[0] and mask[1] >= wanted[1]
    change = _cut(crash, layer, place) if larger and wanted[0] == wanted[1] else None
    fix = f"Cut it to the length of this batch: {change.text}" if change else f"Make the mask {shape_text(wanted)}"
    return Blame(
        message=f"{layer_name(layer)} got a mask {shape_text(mask)} for {wanted[0]} queries and {wanted[1]} "
        f"keys; it must be {shape_text(wanted)}.",
        why="An attention mask says for each query which keys it may see: [queries, keys].",
        fix=f"{fix}.",
        where=layer.call,
        evidence=_evidence(layer, shapes, shape_text(wanted)),
        confidence=0.96,
        edit=change.edit if change else None,
    )


def _cut(crash: CrashFact, layer: LayerFact, place: int) -> Change:
    """mask[:x.size(1), :x.size(1)], under whatever keyword the user's call gives the mask."""
    statement, names = statement_at(crash, layer.call), list(reversed((layer.path or "").split(".")))
    for keyword, position in _MASK_KEYWORDS.items():
        given = statement.argument(names, position)
        if given is not None and statement.argument(names, _NOWHERE, keyword) is not None:
            size = f"{given.text}.size({place})"
            return statement.change(names, f"{{}}[:{size}, :{size}]", _NOWHERE, keyword)
    return Change(f"`mask[:length, :length]` at {place_text(layer.call)}", None, layer.call)


def _evidence(layer: LayerFact, shapes: Shapes, expected: float | str) -> dict[str, float | str]:
    evidence: dict[str, float | str] = {name: shape_text(shape) for name, shape in shapes.items()}
    return evidence | layer_evidence(layer, expected=expected)


# CTC loss: log-probabilities [time, batch, classes], and the lengths that go with them.


def explain_ctc(crash: CrashFact) -> Blame | None:
    inner = crash.frames[-1] if crash.frames else None
    if inner is None or inner.user or inner.function != "ctc_loss" or crash.kind != "RuntimeError":
        return None
    held = {tensor.name: tensor for tensor in inner.tensors}
    scores, steps, symbols = (held.get(name) for name in ("log_probs", "input_lengths", "target_lengths"))
    if scores is None or len(scores.shape) != 3:
        return None
    time, batch = scores.shape[:2]
    shape, targets, edit = shape_text(scores.shape), held.get("targets"), None
    if steps is not None and steps.shape == (time,) and time != batch:
        names = [*((crash.layer.path or "").split(".")[-1:] if crash.layer else ()), "ctc_loss"]
        change = statement_at(crash, crash.place).change(names, "{}.transpose(0, 1)", 0, "log_probs")
        what = (
            f"the log-probabilities are {shape}, so a batch of {batch}, but there are {time} input lengths: the batch "
            "is in dimension 0"
        )
        fix, edit = f"Put the time first: {change.text}.", change.edit
    elif steps is not None and steps.highest is not None and steps.highest > time:
        what = f"the input lengths go up to {steps.highest}, but the log-probabilities {shape} have {time} steps"
        fix = (
            f"Give the lengths that come out of the model, at most {time}: strides and poolings before "
            "the loss shorten a sequence."
        )
    elif targets is None or symbols is None or symbols.highest is None or len(targets.shape) != 2:
        return None
    elif symbols.highest > targets.shape[1]:
        what = f"the target lengths go up to {symbols.highest}, but the targets are {shape_text(targets.shape)}"
        fix = f"Give target lengths of at most {targets.shape[1]}, or pad the targets to {symbols.highest} columns."
    else:
        return None
    return Blame(
        message=f"The CTC loss at {place_text(crash.place)} cannot use what it got: {what}.",
        why="CTC takes log-probabilities [time, batch, classes], and for each sample how many steps and symbols it "
        "has.",
        fix=fix,
        evidence={"log_probs": shape, "line": line_text(crash.place)},
        confidence=0.96,
        edit=edit,
    )
