"""Tensors of a checkpoint that have another shape in the model: which size differs, and who sets it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, shape_text
from torch_debugger.checks.explainers.calls import (
    argument_of,
    calls_of,
    number_of,
    one_line,
    parse_expression,
    rewritten,
    with_argument,
)
from torch_debugger.checks.explainers.checkpoints.state_loads import counted, load_statement, some_names
from torch_debugger.checks.explainers.checkpoints.state_names import missing_and_unexpected
from torch_debugger.checks.explainers.makers import defaults_of
from torch_debugger.checks.explainers.settings import Setting
from torch_debugger.checks.explainers.statements import Change
from torch_debugger.records import CrashFact, LayerFact, Place
from torch_debugger.records.evidence.checkpoints import ModelLoad

# The size that each dimension of a tensor is, and the position of its argument.
_IN, _OUT = ("in_features", 0), ("out_features", 1)
_CHANNELS_IN, _CHANNELS_OUT = ("in_channels", 0), ("out_channels", 1)
_ROWS, _COLUMNS = ("num_embeddings", 0), ("embedding_dim", 1)
_SIZES: dict[tuple[str, str], tuple[tuple[str, int], ...]] = {
    ("Linear", "weight"): (_OUT, _IN),
    ("Linear", "bias"): (_OUT,),
    ("Embedding", "weight"): (_ROWS, _COLUMNS),
    ("EmbeddingBag", "weight"): (_ROWS, _COLUMNS),
}
_SIZES |= {(f"Conv{n}d", "weight"): (_CHANNELS_OUT, _CHANNELS_IN) for n in (1, 2, 3)}
_SIZES |= {(f"Conv{n}d", "bias"): (_CHANNELS_OUT,) for n in (1, 2, 3)}
_SIZES |= {(f"ConvTranspose{n}d", "weight"): (_CHANNELS_IN, _CHANNELS_OUT) for n in (1, 2, 3)}
_NORM = (("num_features", 0),)
_SIZES |= {(f"BatchNorm{n}d", leaf): _NORM for n in (1, 2, 3) for leaf in ("weight", "running_mean")}
_RECURRENT = (("hidden_size", 1), ("input_size", 0))
_SIZES |= {(kind, "weight_ih_l0"): _RECURRENT for kind in ("LSTM", "GRU", "RNN")}
_SIZES |= {("MultiheadAttention", "in_proj_weight"): (("embed_dim", 0), ("embed_dim", 0))}
_STACKED = {"LSTM": 4, "GRU": 3, "MultiheadAttention": 3}  # gates, or query, key and value
_TOLD = 4


@dataclass(frozen=True, slots=True)
class Difference:
    """One tensor with both its shapes."""

    name: str
    saved: tuple[int, ...]
    wanted: tuple[int, ...]

    def sizes(self) -> list[tuple[int, int, int]]:
        """Dimension, size in the model, size in the checkpoint: those that differ."""
        if len(self.saved) != len(self.wanted):
            return []
        pairs = enumerate(zip(self.wanted, self.saved, strict=True))
        return [(dimension, now, then) for dimension, (now, then) in pairs if now != then]


def explain_checkpoint_shapes(crash: CrashFact) -> Blame | None:
    evidence = crash.evidence.checkpoints
    load = evidence.model if evidence is not None and crash.kind == "RuntimeError" else None
    differences = list(_differences(load)) if load is not None else []
    if load is None or not differences:
        return None
    if load.strict and any(missing_and_unexpected(load.saved, load.wanted)):
        return None
    change = _change(load, differences)
    where = change.where if change is not None else load_statement(crash).line
    return Blame(
        message=_message(load, differences),
        why="load_state_dict copies values into the tensors that are there; it never changes a shape, not even "
        "with strict=False.",
        fix=_fix(load, differences, change),
        where=where,
        evidence=_evidence(crash, differences),
        confidence=0.97,
        edit=change.edit if change is not None else None,
    )


def _differences(load: ModelLoad) -> Iterator[Difference]:
    saved = {entry.name: entry.shape for entry in load.saved}
    for entry in load.wanted:
        if entry.name in saved and saved[entry.name] != entry.shape:
            yield Difference(entry.name, saved[entry.name], entry.shape)


def _message(load: ModelLoad, differences: list[Difference]) -> str:
    first = differences[0]
    more = len(differences) - 1
    others = f"; {counted(more, 'other tensor')} differ{'s' if more == 1 else ''} too" if more else ""
    return (
        f"`{load.name}.{first.name}` is {shape_text(first.wanted)} in the model but {shape_text(first.saved)} "
        "in "
        f"the checkpoint{others}."
    )


def _fix(load: ModelLoad, differences: list[Difference], change: Change | None) -> str:
    built = (
        change.text
        if change is not None
        else f"Build the model with the sizes it was saved with{_sizes(load, differences)}"
    )
    layers = list(dict.fromkeys(item.name.rpartition(".")[0] for item in differences))
    if len(layers) != 1 or not layers[0] or len(load.wanted) <= len(differences):
        return f"{built}."
    return (
        f"{built}. To keep the model's own `{layers[0]}` and train it anew, leave it out and load the rest: "
        f'`{{k: v for k, v in state.items() if not k.startswith("{layers[0]}.")}}` with `strict=False`.'
    )


def _change(load: ModelLoad, differences: list[Difference]) -> Change | None:
    """The one number that, changed where the model is built, makes all shapes meet."""
    found = {(now, then) for item in differences for _, now, then in _sizes_of(load, item)}
    if len(found) != 1 or not all(item.sizes() for item in differences):
        return None
    now, then = next(iter(found))
    settings = [setting for item in differences if (setting := _setting(load, item)) is not None]
    if not settings:
        return None
    at_root = _in_the_models_own_call(settings[0].layer, now, then)
    if at_root is not None:
        return at_root
    reach = {(setting.layer.path, setting.keyword) for setting in settings}
    edit = settings[0].edit() if len(reach) == 1 else None
    return Change(settings[0].fix("").rstrip("."), edit, settings[0].where)


def _sizes(load: ModelLoad, differences: list[Difference]) -> str:
    """: `model.0` with out_features=16 instead of 8, ..."""
    settings = [setting for item in differences if (setting := _setting(load, item)) is not None]
    told = [
        f"`{item.layer.path}` with {item.keyword}={item.got} instead of {item.built_for}" for item in settings
    ]
    return f": {', '.join(list(dict.fromkeys(told))[:_TOLD])}" if told else ""


def _layer(load: ModelLoad, item: Difference) -> LayerFact | None:
    path = f"{load.name}.{item.name.rpartition('.')[0]}".rstrip(".")
    return next((layer for layer in load.layers if layer.path == path), None)


def _sizes_of(load: ModelLoad, item: Difference) -> list[tuple[int, int, int]]:
    """The differing sizes, of stacked tensors those of one of the parts: an LSTM stacks four gates."""
    layer = _layer(load, item)
    parts = _STACKED.get(layer.kind, 1) if layer is not None else 1
    return [
        (dimension, now, then) if dimension else (dimension, now // parts, then // parts)
        for dimension, now, then in item.sizes()
    ]


def _setting(load: ModelLoad, item: Difference) -> Setting | None:
    layer, leaf = _layer(load, item), item.name.rpartition(".")[2]
    sizes = _SIZES.get((layer.kind, leaf), ()) if layer is not None else ()
    dimension, now, then = next(iter(_sizes_of(load, item)), (0, 0, 0))
    if layer is None or dimension >= len(sizes) or layer.settings.get(sizes[dimension][0]) != now:
        return None
    keyword, position = sizes[dimension]
    return Setting(layer, keyword, position, then)


def _in_the_models_own_call(layer: LayerFact, now: int, then: int) -> Change | None:
    """Net(num_classes=10) -> Net(num_classes=100), where the user's class takes the number."""
    for inner, outer in zip(layer.constructions, layer.constructions[1:], strict=False):
        names = defaults_of(inner.scope)
        calls = calls_of(outer.place.code or "", inner.maker) if inner.maker else []
        if len(calls) != 1 or not names:
            continue
        written = [(name, argument_of(calls[0], place, name)) for place, name in enumerate(names)]
        fitting = [item for _, item in written if item is not None and number_of(item.text) == now]
        absent = [name for name, item in written if item is None and names[name] == now]
        if len(fitting) == 1:
            return _rewritten(outer.place, calls[0], fitting[0].replaced(str(then)))
        if not fitting and len(absent) == 1 and parse_expression(calls[0]) is not None:
            return _rewritten(outer.place, calls[0], with_argument(calls[0], f"{absent[0]}={then}"))
    return None


def _rewritten(place: Place, before: str, after: str) -> Change:
    text = f"Change `{one_line(before)}` to `{one_line(after)}` at {place_text(place)}"
    where = Place(place.file, place.line, place.module, (place.code or "").partition("\n")[0])
    return Change(text, rewritten(place, before, after), where)


def _evidence(crash: CrashFact, differences: list[Difference]) -> dict[str, float | str]:
    shown: dict[str, float | str] = {
        item.name: f"{shape_text(item.wanted)} in the model, {shape_text(item.saved)} saved"
        for item in differences[:4]
    }
    names = [item.name for item in differences]
    return shown | {
        "differing": some_names(names).replace("`", ""),
        "line": line_text(load_statement(crash).line),
    }
