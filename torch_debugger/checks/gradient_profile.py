"""How large the gradient is, layer by layer: read from one table of parameters."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from torch_debugger.checks.state import RunState
from torch_debugger.records import Table, TensorRows


@dataclass
class Profile:
    """The gradient's size per layer, first layer first, at one step."""

    step: int
    names: tuple[str, ...]
    rms: tuple[float, ...]

    @property
    def decay(self) -> float:
        """How many times smaller the first layer's gradient is than the last one's."""
        return self.rms[-1] / self.rms[0] if self.rms[0] > 0 else math.inf


def layer_rows(table: Table, state: RunState, needed: int) -> tuple[int, ...]:
    """One row per layer with a weight matrix or kernel: its bias if enough layers have one."""
    models = state.models.values()
    shapes = {one.path: one.shape for model in models for one in model.parameters}
    kinds = {one.path: one.kind for model in models for one in model.modules}
    rows = {name: index for index, name in enumerate(table.names)}
    # An embedding's gradient is zero for every word not in the batch: another scale.
    weights = [
        name
        for name in rows
        if len(shapes.get(name, ())) >= 2 and not kinds.get(module_of(name), "").startswith("Embedding")
    ]
    biases = [rows[bias] for name in weights if (bias := f"{module_of(name)}.bias") in rows]
    # A bias in front of a batch norm has no gradient to speak of.
    normed = any(kind.startswith(("BatchNorm", "InstanceNorm")) for kind in kinds.values())
    return tuple(biases) if len(biases) >= needed and not normed else tuple(rows[name] for name in weights)


def relative_spread(rows: TensorRows, state: RunState) -> float:
    """The median over weight matrices of rms * sqrt(fan-in) = norm / sqrt(fan-out): near 1 is Xavier's
    choice, 0.58 the default of nn.Linear. NaN where no shape is known."""
    norms = rows.by_name("weight_norm")
    spreads = [
        norms[one.path] / math.sqrt(one.shape[0])
        for model in state.models.values()
        for one in model.parameters
        if len(one.shape) >= 2 and one.shape[0] and one.path in norms
    ]
    return statistics.median(spreads) if spreads else math.nan


def module_of(parameter: str) -> str:
    return parameter.rpartition(".")[0]


def read_profile(rows: TensorRows, layers: tuple[int, ...]) -> Profile:
    columns = rows.table.columns
    norm, elements = columns.index("grad_norm"), columns.index("elements")
    known: list[tuple[str, float]] = []
    for index in layers:
        value, count = float(rows.values[index, norm]), float(rows.values[index, elements])
        if math.isfinite(value) and count > 0:
            known.append((rows.table.names[index], value / math.sqrt(count)))
    return Profile(rows.step, tuple(name for name, _ in known), tuple(rms for _, rms in known))
