"""The examples of a loader that excite a unit most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from torch_debugger.anatomy.held_generators import keep_held_states
from torch_debugger.errors import UsageError
from torch_debugger.pictures.exciting.drawing import Shown, drawn
from torch_debugger.pictures.exciting.looking import looks_at, shown_tensor
from torch_debugger.pictures.exciting.ranking import ranked
from torch_debugger.pictures.gradient_runs import for_gradients
from torch_debugger.pictures.maximizing.goals import Goal, Which, asked_goals
from torch_debugger.pictures.picture import Picture
from torch_debugger.pictures.runs_of_models import Layer
from torch_debugger.pictures.units.channel_axes import takes_series


def top_examples(
    model: nn.Module,
    loader: Any,
    layer: Layer = "",
    unit: Which | None = None,
    *,
    channel: int | None = None,
    logit: int | None = None,
    count: int = 9,
    words: Sequence[str] | Callable[[int], str] | None = None,
) -> Picture:
    """The examples of your data that a unit answers to most strongly, and where in them it looks.

        pictures.top_examples(model, loader, "layer3.0", 17)            # channel 17, wherever it is strongest
        pictures.top_examples(model, loader, "conv1", (5, 8, 8))        # its unit at row 8, column 8
        pictures.top_examples(model, loader, logit=3)                   # a class; channel= and unit= as well
        pictures.top_examples(language_model, loader, "blocks.3.mlp", 200, words=vocabulary)

    `loader` is anything that gives batches, a dataset, or inputs themselves; it is read once, in order, and
    only `count` examples are kept. Images show a frame around what moves the unit, text the token it is
    strongest at, series the stretch of time. `words` names tokens: a list, or a function such as a tokenizer's
    decode. The arrays that come back: `examples`, `strengths`, `numbers` (in the loader's order), `places` (in
    the layer's map) and `weights`, how much each place of an example counts.
    """
    goal = _one_goal(unit, channel, logit)
    if count < 1:
        raise UsageError(f"count is how many examples to show, but it is {count}.")
    put_back = keep_held_states([loader])
    try:
        with for_gradients(model) as inner:
            with torch.no_grad():
                ranking = ranked(inner, loader, layer, goal, count)
            assert ranking.reached is not None
            path, goal, found = ranking.reached.cut.path, ranking.goal, ranking.strongest
            weights = [looks_at(inner, ranking.reached, goal, each).cpu() for each in found]
            series = takes_series(inner, shown_tensor(found[0].inputs))
    finally:
        for restore in put_back:
            restore()
    shown = Shown(path, goal, found, weights, series, words, ranking.read)
    arrays = {
        "strengths": np.array([each.strength for each in found]),
        "numbers": np.array([each.number for each in found]),
        "places": np.array([each.place for each in found]),
        **shown.arrays(),
    }
    return Picture(shown.title(), arrays, lambda: drawn(shown))


def _one_goal(unit: Which | None, channel: int | None, logit: int | None) -> Goal:
    goals = asked_goals(unit, channel, None, logit)
    if len(goals) > 1:
        raise UsageError(f"examples are shown for one unit at a time, but {len(goals)} came.")
    if goals[0].kind == "layer":
        raise UsageError("say which unit: top_examples(model, loader, layer, 17), or channel=17, or logit=3.")
    return goals[0]
