"""TD410: gradients that grow on their way back, through layers or through time."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field

from torch_debugger.checks.base import Check
from torch_debugger.checks.curves import fallen_share
from torch_debugger.checks.gradient_profile import Profile, layer_rows, module_of, read_profile
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, Place, Record, ReusedWeight, Table, TensorRows

_RECURRENT = ("RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell")


@dataclass
class _Model:
    table: Table | None = None
    layers: tuple[int, ...] = ()  # rows of the table, one per layer
    recurrent: str = ""  # the last weight that is used again at every step of a sequence
    behind: str = ""  # a weight of the first layer after it
    ratios: list[float] = field(default_factory=list)  # early gradient / late gradient, one a look
    names: tuple[str, str] = ("", "")
    first_step: int = 0
    last_step: int = 0


class ExplodingGradient(Check):
    """The gradient grows by orders of magnitude on its way back to the first layers or the first time steps.

    Symptom:
        The loss jumps, now and then by a lot, or does not fall: every update follows a few enormous gradients.
    Evidence:
        The root mean square of the gradient, on many looks. Through layers: it grows almost steadily from the
        last layer to the first, ten-thousandfold in all. Through time: that of a recurrent layer's own weights
        is a thousand times that of the layer behind it. The loss has not halved. Where it is no longer a number
        after a few steps, one look before the first update is enough.
    Fix:
        Clip: `torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)` between `backward()` and `step()`.
        For recurrent layers start from an orthogonal matrix; shorter sequences and LSTM or GRU help too.
    Known limits:
        Gradients that are clipped are small when the optimizer uses them, so a script that clips is not
        reported.
    """

    id = "TD410"
    name = "exploding-gradient"
    title = "the gradient explodes on its way back"
    reads = (TensorRows, ReusedWeight)
    explains = ("loss-not-finite", "overflow-ahead")

    layers_needed = 4
    # Healthy stacks stay within a factor of a hundred.
    growth_error = 1e4
    steady_share = 0.75
    # A recurrent weight adds up the gradients of all time steps; a hundred of them are common.
    recurrent_error = 1e3
    # The norm of the early weight's gradient; one that is clipped as a whole is smaller.
    smallest_norm = 20.0
    looks_needed = 3
    died_within = 5  # steps
    healthy_fall = 0.5

    def __init__(self) -> None:
        self._models: dict[str, _Model] = {}
        self._reused: set[str] = set()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, ReusedWeight):
            self._reused.add(record.name)
            return ()
        assert isinstance(record, TensorRows)
        if record.table.kind == "parameter":
            model = self._models.setdefault(record.table.root, _Model())  # one table per optimizer
            if model.table is not record.table:
                model.table = record.table
                model.layers = layer_rows(record.table, state, self.layers_needed)
                model.recurrent, model.behind = _recurrent_pair(record.table, state, self._reused)
            self._look(model, record)
        return ()

    def _look(self, model: _Model, rows: TensorRows) -> None:
        model.first_step = model.first_step or rows.step
        model.last_step = rows.step
        if model.recurrent:
            early, late = _rms(rows, (model.recurrent, model.behind))
            model.names, ratio = (model.recurrent, model.behind), early / late if late > 0 else 0.0
        else:
            profile = read_profile(rows, model.layers)
            if len(profile.rms) < self.layers_needed:
                return
            model.names, ratio = (profile.names[0], profile.names[-1]), self._growth(profile)
        is_large = rows.by_name("grad_norm")[model.names[0]] >= self.smallest_norm
        model.ratios.append(ratio / self._limit(model) if is_large else 0.0)

    def _limit(self, model: _Model) -> float:
        return self.recurrent_error if model.recurrent else self.growth_error

    def _growth(self, profile: Profile) -> float:
        """How many times larger the first layer's gradient is; 0 where it does not grow steadily."""
        steady = sum(before > after for before, after in itertools.pairwise(profile.rms))
        if profile.rms[-1] <= 0 or steady < self.steady_share * (len(profile.rms) - 1):
            return 0.0
        return profile.rms[0] / profile.rms[-1]

    def finish(self, state: RunState) -> Iterable[Finding]:
        fallen = fallen_share(state.losses.finite())
        died = any(not math.isfinite(loss) for _, loss in state.losses.points[: self.died_within])
        for model in self._models.values():
            if died and model.first_step == 1:
                model.ratios, fallen = model.ratios[:1], 0.0  # what comes after is no gradient any more
            elif len(model.ratios) < self.looks_needed or fallen is None or fallen >= self.healthy_fall:
                continue
            typical = statistics.median(model.ratios) if model.ratios else 0.0
            if typical >= 1.0 and fallen is not None:
                yield self._judge(model, typical, fallen, state)

    def _judge(self, model: _Model, typical: float, fallen: float, state: RunState) -> Finding:
        early, late = model.names
        ratio = typical * self._limit(model)
        root = early.split(".", 1)[0]
        on_the_way = "through the time steps" if model.recurrent else "from layer to layer"
        start = f" and start from `nn.init.orthogonal_({model.recurrent})`" if model.recurrent else ""
        return self.finding(
            severity="error",
            confidence=0.85,
            message=(
                f"The gradient of `{early}` is {ratio:.2g} times that of `{late}` on {len(model.ratios)} "
                f"looks: it grows {on_the_way}. The loss has fallen by {max(0.0, fallen):.0%}."
            ),
            why=(
                "On its way back the gradient is multiplied with the same or like weights again and again. "
                "What is larger than 1 grows without bound, and a single batch then decides the update."
            ),
            fix=(
                f"Call `torch.nn.utils.clip_grad_norm_({root}.parameters(), 1.0)` right before the optimizer's "
                f"`step()`{start}."
            ),
            where=_where(early, state),
            first_step=model.first_step,
            last_step=model.last_step,
            evidence={"ratio": ratio, "looks": float(len(model.ratios)), "loss_fallen": fallen},
        )


def _recurrent_pair(table: Table, state: RunState, reused: set[str]) -> tuple[str, str]:
    """(the last recurrent weight, a weight of a layer defined after it); empty where there is no such pair."""
    kinds = {module.path: module.kind for model in state.models.values() for module in model.modules}
    shapes = {one.path: one.shape for model in state.models.values() for one in model.parameters}
    names = [name for name in table.names if len(shapes.get(name, ())) >= 2]
    own = [name for name in names if "weight_hh" in name and kinds.get(module_of(name)) in _RECURRENT]
    square = [name for name in names if name in reused and len(set(shapes[name])) == 1]
    recurrent = own or square
    behind = names[names.index(recurrent[-1]) + 1 :] if recurrent else []
    once = [name for name in behind if name not in reused and kinds.get(module_of(name)) not in _RECURRENT]
    return (recurrent[-1], once[0]) if once else ("", "")


def _rms(rows: TensorRows, names: tuple[str, ...]) -> list[float]:
    norms, counts = rows.by_name("grad_norm"), rows.by_name("elements")
    return [norms[name] / max(1.0, counts[name]) ** 0.5 for name in names]


def _where(parameter: str, state: RunState) -> Place:
    path = module_of(parameter)
    module = state.module(path)
    made = module.place if module else Place()
    return Place(made.file, made.line, path, made.code)
