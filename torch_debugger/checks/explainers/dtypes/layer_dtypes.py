"""A layer and its input in different dtypes."""

from __future__ import annotations

from dataclasses import replace

from torch_debugger.checks.explainers.blame import Blame, layer_evidence, layer_name, place_text
from torch_debugger.checks.explainers.calls import calls_of, rewritten
from torch_debugger.checks.explainers.dtypes.casts import cast_to, is_floating, is_whole, numpy_hint
from torch_debugger.checks.explainers.entries import Entry, change_input, model_entry
from torch_debugger.checks.explainers.statements import Change
from torch_debugger.records import CrashFact, LayerFact, LocalTensor

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
        return _indices(crash, layer) if layer.inputs[0].dtype not in ("int64", "int32") else None
    odd = next((tensor for tensor in layer.inputs if tensor.dtype not in (weights, "bool")), None)
    if odd is None:
        return None
    # Layers before this one took the default dtype: then it is this layer that was converted.
    if crash.flow and odd.dtype == "float32":
        return _odd_layer(layer, odd, weights)
    if odd.dtype.startswith("complex"):
        return _complex(crash, layer, odd, weights)
    return _odd_input(crash, layer, odd, weights)


def _complex(crash: CrashFact, layer: LayerFact, odd: LocalTensor, weights: str) -> Blame:
    """A Fourier transform given to a layer of real weights: a cast would drop half of it."""
    change = _convert(crash, layer, odd, ".abs()")
    return Blame(
        message=f"{layer_name(layer)} has {weights} weights but its input, from {place_text(change.where)}, is "
        f"{odd.dtype}.",
        why=f"{_WHY}; a complex number has two parts, and a conversion keeps only the real one.",
        fix=f"Take the magnitudes: {change.text}; or give it both parts, `torch.view_as_real(x).flatten(-2)`, "
        "which are twice as many features.",
        where=replace(change.where, module=layer.path),
        evidence=layer_evidence(layer, weights=weights, input=odd.dtype),
        confidence=0.95,
        edit=change.edit,
    )


def _odd_input(crash: CrashFact, layer: LayerFact, odd: LocalTensor, weights: str) -> Blame:
    change = _convert(crash, layer, odd, cast_to(weights))
    return Blame(
        message=f"{layer_name(layer)} has {weights} weights but its input, "
        f"from {place_text(change.where)}, is {odd.dtype}.",
        why=f"{_WHY}{numpy_hint(odd.dtype)}.",
        fix=f"Convert the input: {change.text}.",
        where=replace(change.where, module=layer.path),
        evidence=layer_evidence(layer, weights=weights, input=odd.dtype),
        confidence=0.97,
        edit=change.edit,
    )


def _convert(crash: CrashFact, layer: LayerFact, odd: LocalTensor, cast: str) -> Change:
    """At the call of the whole model if the tensor came in there as it is, else at the layer's own."""
    several = [tensor.name for tensor in layer.inputs if tensor.dtype == odd.dtype]
    if (entry := _entry_with(crash, layer, odd.dtype)) is not None:
        return entry.change(f"{{}}{cast}")
    if len(several) > 1 or "[" in odd.name:
        names = " and ".join([", ".join(several[:-1]), several[-1]] if len(several) > 1 else several)
        return Change(f"append `{cast}` to {names} at {place_text(layer.call)}", None, layer.call)
    return change_input(crash, layer, f"{{}}{cast}", layer.inputs.index(odd), odd.name)


def _entry_with(crash: CrashFact, layer: LayerFact, dtype: str) -> Entry | None:
    """The user's call of the model, if that was already given a tensor of this dtype."""
    if any(step.kind.startswith("Embedding") for step in crash.flow):
        return None  # the model takes indices: converting those would break the embedding
    entry = model_entry(crash)
    given = {tensor.name: tensor.dtype for tensor in entry.inputs} if entry else {}
    return entry if entry and entry.module != layer.path and given.get("args[0]") == dtype else None


def _odd_layer(layer: LayerFact, odd: LocalTensor, weights: str) -> Blame:
    call, place = calls_of(layer.place.code or "", layer.kind), layer.place if layer.place.file else layer.call
    edit = rewritten(layer.place, f"{call[0]}{cast_to(weights)}", call[0]) if call else None
    return Blame(
        message=f"{layer_name(layer)} has {weights} weights, while the layers before it compute in "
        f"{odd.dtype}.",
        why=f"{_WHY}.",
        fix=f"Keep {layer_name(layer)} in {odd.dtype}: leave out the conversion to {weights} at "
        f"{place_text(place)}, or convert it back with `{cast_to(odd.dtype)}`.",
        where=place,
        evidence=layer_evidence(layer, weights=weights, input=odd.dtype),
        confidence=0.9,
        edit=edit,
    )


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


def _indices(crash: CrashFact, layer: LayerFact) -> Blame:
    dtype, change = layer.inputs[0].dtype, change_input(crash, layer, "{}.long()")
    return Blame(
        message=f"{layer_name(layer)} looks rows up by whole numbers but got {dtype} indices at "
        f"{place_text(layer.call)}.",
        why="Indices into an embedding must be int64 or int32.",
        fix=f"Convert the indices: {change.text}.",
        where=layer.call,
        evidence=layer_evidence(layer, input=dtype, expected="int64"),
        confidence=0.97,
        edit=change.edit,
    )
