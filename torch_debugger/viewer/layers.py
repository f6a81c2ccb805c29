"""The layers of a run over its steps. Without a number: what there is to choose from. With one: its grid.

Of a model with thousands of layers the page asks for the rows that it shows: `top` is the first of them.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.log.run import Run
from torch_debugger.records import SEVERITIES, Finding, ModelFact, ModuleFact
from torch_debugger.system.errors import UsageError
from torch_debugger.viewer.layer_numbers import NUMBERS, LayerLook, Values, gather, layers_with, owner_of
from torch_debugger.viewer.questions import UNMEASURED, Query, as_json, steps_to_show

ROWS_AT_ONCE = 200


def answer_layers(query: Query) -> dict[str, Any]:
    if not query.text("number"):
        return query.of_run(choices)
    return query.of_run(lambda run: _grid(run, query))


def choices(run: Run) -> dict[str, Any]:
    """The numbers and the models that have any; the models in the order in which they came."""
    models = Models(run)
    by_number = {key: _roots(models, layers) for key, layers in layers_with(run).items()}
    roots = dict.fromkeys([*models.facts, *(root for found in by_number.values() for root in found)])
    known = {root for found in by_number.values() for root in found}
    return {
        "budget": run.facts.run.budget if run.facts.run else None,
        "models": [root for root in roots if root in known],
        "numbers": [
            {"key": key, "title": each.title, "unit": each.unit, "says": each.says, "models": by_number[key]}
            for key, each in NUMBERS.items()
            if by_number[key]
        ],
    }


def _roots(models: Models, layers: list[str]) -> list[str]:
    return list(dict.fromkeys(models.root_of(layer) for layer in layers))


def _grid(run: Run, query: Query) -> dict[str, Any]:
    number = NUMBERS.get(query.text("number"))
    if number is None:
        raise UsageError(f"There is no number {query.text('number')!r} of layers.")
    first, last = query.number("from", -math.inf), query.number("to", math.inf)
    assert first is not None and last is not None
    whole = whole_grid(run, number.key, query.text("model"))
    chosen = whole.between(first, last)
    shown, top = chosen.thinned(), max(0, query.whole("top", 0))
    found = range_of(chosen.values, number.scale)
    rows = shown.values[top : top + ROWS_AT_ONCE].tolist()
    return {
        "number": number.key,
        "layers": shown.layers if not top else [],
        "steps": shown.steps,
        "top": top,
        "values": [[four_figures(value) for value in row] for row in rows],
        "range": asdict(found) if found is not None else None,
        "looks": len(chosen.steps),
        "measured": len(whole.steps),
        "span": [whole.steps[0], whole.steps[-1]] if whole.steps else None,
        "stands_out": what_stands_out(number.key, chosen),
        "marks": marks(run.findings, shown.layers) if not top else [],
    }


def four_figures(value: float) -> float | str | None:
    """Four figures: more cannot be seen, and the answer is half as long."""
    known = as_json(value)
    return float(f"{known:.4g}") if isinstance(known, float) else known


# One number of all layers over the steps of a run: a grid, thinned to what a screen can show.
Places = NDArray[np.int64]
_MOST_STEPS = 300
_MOST_KEPT = 6


@dataclass(frozen=True)
class LayerGrid:
    layers: list[str]
    steps: list[int]
    values: Values  # [layer, step]; UNMEASURED where nobody looked

    def between(self, first: float, last: float) -> LayerGrid:
        chosen = [place for place, step in enumerate(self.steps) if first <= step <= last]
        return LayerGrid(self.layers, [self.steps[place] for place in chosen], self.values[:, chosen])

    def thinned(self) -> LayerGrid:
        chosen = steps_to_show(self.values, _MOST_STEPS)
        return LayerGrid(self.layers, [self.steps[place] for place in chosen], self.values[:, chosen])


_KEPT: weakref.WeakKeyDictionary[Run, dict[tuple[float, str, str], LayerGrid]] = weakref.WeakKeyDictionary()


def whole_grid(run: Run, number: str, root: str) -> LayerGrid:
    """Every look, also of a run that is looked at again before anything was written."""
    kept = _KEPT.setdefault(run, {})
    key = (run.changed, number, root)
    if key not in kept:
        while len(kept) >= _MOST_KEPT:
            kept.pop(next(iter(kept)))
        models, gathered = Models(run), gather(run, (number,))
        looks = gathered.looks.get(number, [])
        tables = {id(look.layers): look.layers for look in looks}
        layers = {layer: None for names in tables.values() for layer in names}
        shown = [layer for layer in layers if not root or models.root_of(layer) == root]
        kept[key] = fill(looks, models.sorted_layers(shown, gathered.order))
    return kept[key]


def fill(looks: Sequence[LayerLook], layers: list[str]) -> LayerGrid:
    """Several looks at one step (of ranks, devices, optimizers) become one; no NaN is hidden by that."""
    rows = {layer: place for place, layer in enumerate(layers)}
    tables = {id(look.layers): look.layers for look in looks}
    places = {key: _places(names, rows) for key, names in tables.items()}
    shown = [(look, *places[id(look.layers)]) for look in looks if len(places[id(look.layers)][0])]
    steps = sorted({look.step for look, _, _ in shown})
    columns = {step: place for place, step in enumerate(steps)}
    values = np.full((len(layers), len(steps)), UNMEASURED)
    for look, known, where in shown:
        _enter(values[:, columns[look.step]], where, look.values[known])
    return LayerGrid(layers, steps, values)


def _places(names: Sequence[str], rows: Mapping[str, int]) -> tuple[Places, Places]:
    """Which of the names are rows of the grid, and which rows they are."""
    known = [place for place, name in enumerate(names) if name in rows]
    return np.array(known, np.int64), np.array([rows[names[place]] for place in known], np.int64)


def _enter(column: Values, places: Places, values: Values) -> None:
    before = column[places]
    column[places] = np.where((before == UNMEASURED) | ~np.isfinite(values), values, before)


# The range of numbers that the colours of a map cover: one odd cell does not bleach the rest.
_EDGES = (2.0, 98.0)  # percentiles
_DECADES = 1.5  # from here on a scale is logarithmic


@dataclass(frozen=True)
class Range:
    form: str  # linear | log | diverging
    low: float
    high: float
    below: int = 0  # finite cells outside: drawn in the colour of the end
    above: int = 0


def range_of(values: Values, scale: str) -> Range | None:
    """None where no cell has a finite number."""
    known = values[np.isfinite(values) & (values != UNMEASURED)]
    if not len(known):
        return None
    form, low, high = _ends(known, scale)
    slack = 1e-9 * (high - low)  # of the way there and back through logarithms
    below, above = int((known < low - slack).sum()), int((known > high + slack).sum())
    return Range(form, low, high, below, above)


def _ends(known: Values, scale: str) -> tuple[str, float, float]:
    if scale == "share":
        return "linear", 0.0, 1.0
    if scale == "bits" and (known > 0).all():
        low, high = _robust(known)
        return "linear", low, high if high > low else low + 1
    if scale in ("signed", "bits"):
        far = _robust(np.abs(known))[1] or 1.0
        return "diverging", -far, far
    positive = known[known > 0]
    if not len(positive):
        return "linear", 0.0, 1.0
    low, high = (float(np.exp(end)) for end in _robust(np.log(positive)))
    if high / low >= 10**_DECADES:
        return "log", low, high
    return ("linear", low, high) if high > low else ("linear", 0.0, 2 * high)


def _robust(values: Values) -> tuple[float, float]:
    """All of them, unless the outermost few would take up more than half of the range."""
    low, high = (float(end) for end in np.percentile(values, _EDGES))
    least, most = float(values.min()), float(values.max())
    return (least, most) if most - least <= 2 * (high - low) or high == low else (low, high)


# What stands out among the numbers of layers: counts in words; judging is the checks' business.
Chosen = NDArray[np.bool_]

_NAMED = 3  # layers in one sentence
_APART = 1e4  # the largest of all layers over the smallest
_GROWN = 10.0
# By number: what many share, and how it is said.
_HIGH = {
    "activation.zeros": (0.9, "put out more than 90 % zeros"),
    "saturation": (0.9, "keep the sigmoid or tanh behind them at its limits for more than 90 % of the values"),
    "update.ratio": (0.1, "were moved by more than 10 % of their size by one update"),
}
_LOW = {
    "headroom.own": (2.0, "are within two doublings of what their type can hold"),
    "headroom.float16": (0.0, "put out numbers that float16 cannot hold (above 65504)"),
    "depth.float16": (0.0, "get gradients that float16 would make zero (below 6e-8)"),
}
_ZERO = {
    "activation.std": (0.0, "put out one and the same number everywhere"),
    "gradient.size": (0.0, "get a gradient of exactly zero"),
    "parameter.gradient": (0.0, "have a gradient of exactly zero"),
    "update.ratio": (0.0, "were not moved by the update"),
}
_COMPARED = {"activation.std": "deviation of outputs", "gradient.size": "gradient of outputs"}


def what_stands_out(number: str, grid: LayerGrid) -> list[str]:
    """Sentences; none where nothing does."""
    if not grid.steps or not grid.layers:
        return []
    seen = grid.values != UNMEASURED
    place = grid.values.shape[1] - 1 - seen[:, ::-1].argmax(axis=1)
    last: Values = grid.values[np.arange(len(grid.layers)), place]  # the last number of each layer
    known = np.isfinite(last) & (last != UNMEASURED)
    said = [_not_finite(grid)]
    for limits, is_beyond in ((_HIGH, np.greater), (_LOW, np.less), (_ZERO, np.equal)):
        if number in limits:
            limit, words = limits[number]
            said.append(_count(grid, known & is_beyond(last, limit), known, words))
    if number in _COMPARED:
        said.append(_far_apart(_COMPARED[number], grid, last, known))
    if number == "parameter.weight":
        said.append(_grown(grid, last, known))
    return [sentence for sentence in said if sentence]


def _count(grid: LayerGrid, those: Chosen, of: Chosen, words: str) -> str:
    count = int(those.sum())
    if not count:
        return ""
    names = [grid.layers[place] for place in np.flatnonzero(those)]
    return f"{count} of {int(of.sum())} layers {words} at the last look: {named(names)}."


def _not_finite(grid: LayerGrid) -> str:
    bad = ~np.isfinite(grid.values)
    if not bad.any():
        return ""
    column = int(bad.any(axis=0).argmax())
    names = [grid.layers[place] for place in np.flatnonzero(bad[:, column])]
    count, first = int(bad.any(axis=1).sum()), grid.steps[column]
    where = f"{count} of {len(grid.layers)} layers"
    return f"This number is NaN or infinite in {where}, first at step {first} in {named(names)}."


def _far_apart(what: str, grid: LayerGrid, last: Values, known: Chosen) -> str:
    """Between the largest and the smallest layer; zeros have a sentence of their own."""
    places = np.flatnonzero(known & (last > 0))
    if len(places) < 2:
        return ""
    top, bottom = places[last[places].argmax()], places[last[places].argmin()]
    if last[top] / last[bottom] < _APART:
        return ""
    ends = f"from {last[top]:.2g} ({grid.layers[top]}) to {last[bottom]:.2g} ({grid.layers[bottom]})"
    return f"The {what} reaches {ends} at the last look."


def _grown(grid: LayerGrid, last: Values, known: Chosen) -> str:
    first = grid.values[np.arange(len(grid.layers)), (grid.values != UNMEASURED).argmax(axis=1)]
    with np.errstate(divide="ignore", invalid="ignore"):
        those = known & (first > 0) & (last > _GROWN * first)
    words = f"have grown to more than {_GROWN:.0f} times the size they had at step {grid.steps[0]}"
    return _count(grid, those, known, words).replace(" at the last look", "")


def named(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED} more"


# Which findings speak of which layer.
def findings_by_layer(findings: list[Finding], layers: Collection[str]) -> dict[str, list[Finding]]:
    """By the module that a finding names, or the module of the parameter that it names."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        module = finding.where.module or ""
        for layer in dict.fromkeys((module, owner_of(module))):
            if layer in layers:
                found.setdefault(layer, []).append(finding)
                break
    return found


def marks(findings: list[Finding], layers: list[str]) -> list[dict[str, object]]:
    """For the margin: the layer's place, how serious it is, and the words."""
    places = {layer: place for place, layer in enumerate(layers)}
    return [
        {
            "layer": places[layer],
            "severity": max((each.severity for each in about), key=SEVERITIES.index),
            "names": [each.name for each in about],
        }
        for layer, about in findings_by_layer(findings, places).items()
    ]


# Which models a run has, and which of them a layer belongs to.
class Models:
    """By the user's own names for them; a model that was told twice (it grew) is as it was told last."""

    def __init__(self, run: Run) -> None:
        self.facts = {fact.root: fact for fact in run.records(ModelFact)}

    def root_of(self, layer: str) -> str:
        """The longest name of a model that a path begins with; else its first part."""
        inside = [root for root in self.facts if layer == root or layer.startswith(f"{root}.")]
        return max(inside, key=len, default=layer.split(".")[0])

    def sorted_layers(self, layers: Iterable[str], ran: dict[str, None]) -> list[str]:
        """In the order in which they ran; those that were not seen to run, as they are defined, after these."""
        defined = [module.path for fact in self.facts.values() for module in fact.modules]
        known = {name: place for place, name in enumerate([*ran, *(path for path in defined if path not in ran)])}
        return sorted(dict.fromkeys(layers), key=lambda name: known.get(name, len(known)))

    def module(self, layer: str) -> ModuleFact | None:
        fact = self.facts.get(self.root_of(layer))
        return next((each for each in fact.modules if each.path == layer), None) if fact is not None else None
