"""A convolution that makes a picture of another size than is wanted: its padding is tried otherwise."""

from __future__ import annotations

import ast
import functools
import itertools
import linecache
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch import nn

from torch_debugger.anatomy.constructors import constructor_places
from torch_debugger.anatomy.sources import called_name, nodes_of, tree_of
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.variant_trials import Variant, trial_of, variants_that_pass
from torch_debugger.probes.shape_flow import outermost_call
from torch_debugger.records import Place
from torch_debugger.records.evidence.building import LayerSetting

_TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
_PLAIN = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_MOST_TRIED = 24
_KEPT = ("stride", "padding", "dilation", "groups", "padding_mode")


@dataclass(frozen=True, kw_only=True)
class _Setting(Variant):
    path: str
    name: str  # output_padding
    value: int


def examine_layer_settings(scene: Scene) -> LayerSetting | None:
    """None unless one setting of one layer makes the model's result fit what it is compared with. Inside the
    model nothing is tried: sizes that meet there may differ for some inputs alone."""
    if outermost_call(scene.frames) is not None:
        return None
    found = trial_of(scene)
    if found is None:
        return None
    root, make_test = found
    known = {id(model): name for name, model in scene.running.models.items()} | dict(scene.paths)
    name = known.get(id(root), type(root).__name__)
    files = list(dict.fromkeys(seen.file for seen in reversed(scene.frames) if seen.user))
    places = constructor_places(root, name, files)
    settings = list(itertools.islice(_settings(root, name), _MOST_TRIED))
    passing = variants_that_pass(root, settings, make_test) if settings else []
    for kind in ("output_padding", "padding"):
        likely = [each for each in passing if each.name == kind]
        if likely:
            return _told(likely[0], places) if len(likely) == 1 else None
    return None


def _settings(root: nn.Module, name: str) -> Iterator[_Setting]:
    for inner, layer in root.named_modules():
        for setting, value in _other_settings(layer):
            make = functools.partial(_made_anew, layer, **{setting: value})
            yield _Setting(layer, make, path=f"{name}.{inner}" if inner else name, name=setting, value=value)


def _other_settings(layer: Any) -> Iterator[tuple[str, int]]:
    if type(layer) not in (*_TRANSPOSED, *_PLAIN):
        return
    sizes = [getattr(layer, name) for name in ("kernel_size", "stride", "padding", "dilation")]
    if any(not isinstance(size, tuple) or len(set(size)) != 1 for size in sizes):
        return  # `padding="same"`, or another one for each side
    kernel, stride, padding, dilation = (size[0] for size in sizes)
    if type(layer) in _TRANSPOSED:
        if stride > 1 and not any(layer.output_padding):
            yield "output_padding", stride - 1
        yield "padding", padding + 1
        if padding:
            yield "padding", padding - 1
    elif kernel % 2 and padding != dilation * (kernel - 1) // 2:
        yield "padding", dilation * (kernel - 1) // 2


def _made_anew(layer: Any, **changed: int) -> nn.Module:
    names = (*_KEPT, "output_padding") if type(layer) in _TRANSPOSED else _KEPT
    kept = {name: getattr(layer, name) for name in names}
    settings = kept | {"bias": layer.bias is not None} | changed
    made: nn.Module = type(layer)(layer.in_channels, layer.out_channels, layer.kernel_size, **settings)
    return made


def _told(setting: _Setting, places: dict[str, Place]) -> LayerSetting | None:
    place = places.get(setting.path)
    if place is None or place.file is None or place.line is None:
        return None
    lines = Counter((each.file, each.line) for each in places.values())
    after = _rewritten(setting, place) if lines[place.file, place.line] == 1 else ""
    return LayerSetting(setting.path, setting.name, setting.value, place, after)


def _rewritten(setting: _Setting, place: Place) -> str:
    """The line with this setting; empty where the call has several lines, or gives it by its place."""
    kind = type(setting.module).__name__
    calls = [
        node
        for node in nodes_of(tree_of(place.file or "") or ast.Module([], []))
        if isinstance(node, ast.Call) and node.lineno == place.line and called_name(node) == kind
    ]
    line = linecache.getline(place.file or "", place.line or 0)
    if len(calls) != 1 or calls[0].end_lineno != place.line or not line.isascii() or len(calls[0].args) > 3:
        return ""
    call, text = calls[0], f"{setting.name}={setting.value}"
    written = next((word for word in call.keywords if word.arg == setting.name), None)
    if written is not None:
        start, end = written.col_offset, written.end_col_offset or 0
        return (line[:start] + text + line[end:]).strip()
    end = (call.end_col_offset or 0) - 1
    return (line[:end].rstrip().rstrip(",") + f", {text}" + line[end:]).strip()
