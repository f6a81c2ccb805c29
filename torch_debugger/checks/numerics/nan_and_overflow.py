"""NaN and Inf: the operation that made the first one, and numbers that grow towards it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from torch_debugger.checks.base import Check, RunState, within
from torch_debugger.checks.numerics.nonfinite_explanation import tell
from torch_debugger.checks.numerics.nonfinite_operation import Story, described
from torch_debugger.checks.trends import GrowthFit, falling_share, find_growth, fit_growth, rising_share
from torch_debugger.records import Finding, NonFinite, NonFiniteOutput, Place, Record, Scalars, TensorRows


class LossNotFinite(Check):
    """The loss, a gradient or a weight became NaN or Inf.

    Symptom:
        The loss prints `nan` or `inf`; from then on every weight is NaN and nothing is learned.
    Evidence:
        The step is run again op by op: the first op whose result was not finite although its inputs
        were, forward or backward, with its line, its module, and the operands' numbers that show why. Or
        the rows of the batch and the samples of the dataset that were not finite to begin with, or the
        update that made the weights so.
    Fix:
        Keep the op inside its domain: the edit of the line is offered where it is plain (log, sqrt and
        division at 0, exp of large numbers, masked rows, the mean of nothing). Clean the data, or lower
        the learning rate where values grew step by step.
    Known limits:
        With a `GradScaler` a gradient that is not finite is reported only if the loss follows it: such
        steps are skipped by design. Where the step could not be run again, as on a GPU that is not waited
        for, the op is not known and the confidence is lower; `--on-nan stop` looks at every step.
    """

    id = "TD601"
    name = "loss-not-finite"
    title = "the loss became NaN or Inf"
    explains = ("values-not-finite", "output-not-finite", "assertion-failed")
    reads = (NonFinite, Scalars)

    # The replay that names the operation needs some steps' time; after that the bare fact is reported.
    steps_to_wait = 5

    def __init__(self) -> None:
        self._fact: NonFinite | None = None
        self._lost: tuple[int, float] | None = None  # step and value of the first loss that was not finite
        self._reported = False

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, NonFinite):
            # The first, unless it stayed without consequence: then a later one has its own cause.
            if self._fact is None or record.step > self._fact.step + self.steps_to_wait:
                self._fact = record
        elif isinstance(record, Scalars):
            loss = record.values.get("loss", 0.0)
            if self._lost is None and not math.isfinite(loss):
                self._lost = (record.step, loss)
        if not self._reported and (self._fact is not None or self._lost is not None):
            yield from self._report(state, ended=False)

    def finish(self, state: RunState) -> Iterable[Finding]:
        if not self._reported:
            yield from self._report(state, ended=True)

    def _report(self, state: RunState, ended: bool) -> Iterable[Finding]:
        fact = self._fact
        if fact is not None and self._is_confirmed(fact):
            self._reported = True
            yield self._explained(fact, state)
        elif fact is not None and ended and fact.step >= state.step:
            yield self._explained(fact, state)  # the run ended before the loss could follow
        elif self._lost is not None and (ended or state.step >= self._lost[0] + self.steps_to_wait):
            self._reported = True
            yield self._bare(*self._lost, state)

    def _is_confirmed(self, fact: NonFinite) -> bool:
        """A gradient must be followed by the loss, for GradScaler drops bad ones by design, unless there is
        no scaler and it was seen to be made in backward: then the update makes NaN of the weights."""
        if fact.what != "gradient":
            return True
        made = fact.origin is not None and fact.origin.phase == "backward" and fact.how in ("step", "model")
        if not fact.scaled and (made or fact.policy != "report"):
            return True
        return self._lost is not None and self._lost[0] <= fact.step + self.steps_to_wait

    def _explained(self, fact: NonFinite, state: RunState) -> Finding:
        confirmed = self._is_confirmed(fact)
        story = tell(fact, state.optimizers.get(fact.optimizer))
        return self.finding(
            severity="error" if confirmed else "warning",
            confidence=_confidence(fact) if confirmed else 0.6,
            message=story.proof,
            why=story.why,
            fix=story.fix,
            where=_where(fact),
            steps=(fact.step, fact.step),
            evidence=_evidence(fact),
            edit=story.edit,
        )

    def _bare(self, step: int, value: float, state: RunState) -> Finding:
        before = [point for point in state.losses.finite() if point[0] < step]
        last = f"; the last finite loss was {before[-1][1]:.4g} at step {before[-1][0]}" if before else ""
        return self.finding(
            severity="error",
            confidence=0.7,
            message=f"The loss became {value} at step {step}{last}.",
            why="What made it could not be seen: no closer look at that step was possible.",
            fix="Look at the operations that can leave the range of numbers: log, sqrt, division, exp. "
            "If the loss grew before, lower the learning rate.",
            where=state.loss_place,
            steps=(step, step),
            evidence={"what": "loss", "value": str(value), "op": "unknown"},
        )


def _confidence(fact: NonFinite) -> float:
    origin = fact.origin
    if origin is None or fact.how == "late":
        return 0.7
    if fact.how == "anomaly":
        return 0.85
    if origin.op is not None or origin.phase in ("input", "weights"):
        return 0.9 if fact.how == "graph" else 0.97
    return 0.85 if origin.module is not None else 0.7


def _where(fact: NonFinite) -> Place:
    origin = fact.origin
    place = origin.place if origin is not None and origin.place.file else fact.site
    return within(place, origin.module if origin is not None else None)


def _evidence(fact: NonFinite) -> dict[str, float | str]:
    origin = fact.origin
    evidence: dict[str, float | str] = {
        "what": fact.what,
        "value": fact.value,
        "phase": origin.phase if origin else "unknown",
        "op": origin.op or "unknown" if origin else "unknown",
        "how": fact.how or "not traced",
    }
    operands = origin.operands if origin else ()
    shown = [described(operand, operand.name or f"operand {index}") for index, operand in enumerate(operands, 1)]
    more = {"operands": "; ".join(shown), "parameters": ", ".join(fact.parameters[:5])}
    return evidence | {key: text for key, text in more.items() if text} | fact.update


class OutputNotFinite(Check):
    """A model that is only run, not trained, gives NaN.

    Symptom:
        Predictions, features or scores are `nan`; an `argmax` of them is silently 0, and a comparison is always
        false.
    Evidence:
        The outermost calls of models before any backward: a sum of the output that is NaN, and which samples of
        the batch have it. The call is run again op by op: the first op whose result was not finite although its
        inputs were, or the input or the weight that was not finite to begin with.
    Fix:
        Keep the op inside its domain, clean the input, or load weights that are finite. Statistics over a batch
        (std, var) need more than one sample.
    Known limits:
        The first eight calls of a model are looked at, later ones as far as the budget reaches. NaN that the
        script makes of the output itself is not seen. Places that are padding and not used may be NaN on
        purpose: where not every place of every sample has it, this is a warning. On a GPU the number comes some
        calls later, and the operation is found where it happens again. Inf alone is left to the script: masks
        are made of it.
    """

    id = "TD616"
    name = "output-not-finite"
    title = "a model that is not trained gives NaN"
    reads = (NonFiniteOutput,)

    def __init__(self) -> None:
        self._reported: set[str] = set()

    def see(self, record: NonFiniteOutput, state: RunState) -> Iterable[Finding]:
        if record.model in self._reported:
            return
        self._reported.add(record.model)
        origin, whole, seen = record.fact.origin, record.everywhere, ""
        story = _story(record)
        if record.rows:
            # Seen in call 21 of `net`, in evaluation mode; 3 of 16 samples of its output have NaN.
            seen = f"Seen in call {record.call:,} of `{record.model}`, in "
            seen += "training mode" if record.training else "evaluation mode"
            if record.rows > 1:
                verb = "has" if record.bad_rows == 1 else "have"
                seen += f"; {record.bad_rows:,} of {record.rows:,} samples of its output {verb} NaN"
            seen += "."
        yield self.finding(
            severity="error" if whole else "warning",
            confidence=0.97 if origin is not None and origin.op else 0.9 if record.rows and whole else 0.7,
            message=story.proof,
            why=f"{seen} {story.why}".strip(),
            fix=story.fix,
            where=_where(record.fact),
            steps=(0, 0),
            evidence={
                "call": record.call,
                "rows with NaN": record.bad_rows,
                "rows": record.rows,
                "op": (origin.op if origin is not None else None) or "unknown",
            },
            edit=story.edit,
        )


def _story(record: NonFiniteOutput) -> Story:
    origin = record.fact.origin
    if not record.rows:
        return Story(
            f"The output of `{record.model}` became nan in its call {record.call}.",
            "When the number came from the device that call was over, and no later one gave NaN.",
            f"`torch_debugger.find_nan({record.model}, x)` with that input names the operation.",
        )
    if origin is not None and origin.phase == "weights":
        return Story(
            f"The output of `{record.model}` became nan: `{origin.given}` is not finite.",
            "It was loaded so, or the script wrote it.",
            "Look at what it was loaded from: weights of a training that went NaN are saved like any others. "
            "`[name for name, value in state.items() if not value.isfinite().all()]` lists them.",
        )
    return tell(record.fact)


LARGEST = {"float16": 65504.0, "bfloat16": 3.3895e38, "float32": 3.4028e38, "float64": 1.7977e308}
_WORDS = {"activation": "The output of", "output_gradient": "The gradient of the output of"}


@dataclass
class _Track:
    """The largest value of one tensor on each deep step."""

    dtype: str = ""
    points: list[tuple[int, float]] = field(default_factory=list)


@dataclass(frozen=True)
class _Forecast:
    kind: str
    module: str
    dtype: str
    growth: GrowthFit
    first: tuple[int, float]
    last: tuple[int, float]
    step: int  # of the overflow


class OverflowAhead(Check):
    """Values grow step by step and will leave the range of their dtype before long.

    Symptom:
        None yet: the loss may look healthy until the step in which it becomes NaN.
    Evidence:
        The largest value of a module's output (or of its gradient) on the deep steps: it rises steadily, few
        bits of headroom are left, and a robust fit reaches the largest number of the dtype within twice the
        time that was looked at.
    Fix:
        Find what feeds the growth: a state carried on without a norm, an input that only ever grows, weights
        without decay. Normalise it, bound it, or run that part in float32 or bfloat16.
    Known limits:
        A forecast, not a fact. Only outputs of modules are seen, not what a function computes inside. float16
        must have less than 4 bits left (values above 4,000); wider dtypes must have grown a million times.
        Growth that slows down, or by which the loss falls, is left alone; so are gradients under a
        GradScaler, whose scale grows by design.
    """

    id = "TD602"
    name = "overflow-ahead"
    title = "values grow towards the end of their dtype's range"
    reads = (TensorRows, Scalars)
    explains = ("loss-not-finite", "scale-collapse")

    looks_needed = 6
    looks_kept = 24
    # Bits between the largest value and the dtype's largest, below which growth is worth a word.
    few_bits, few_bits_wide = 4.0, 100.0  # float16; all others
    # Bits lost within the looks: one is a doubling.
    lost_bits, lost_bits_wide = 1.0, 20.0
    # Noise of single batches may interrupt a rise, not make one.
    rising = 0.8
    # Of all pairs of losses meanwhile, the share in which the later one is smaller: 0.5 is noise. More says
    # that the growth is meant.
    still_falling = 0.65
    losses_needed = 10
    # A fit is trusted this many times as far ahead as it reaches back.
    reach = 2.0

    def __init__(self) -> None:
        self._tracks: dict[tuple[str, str], _Track] = {}
        self._scaler_seen = False
        self._reported = False

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, Scalars):
            self._scaler_seen = self._scaler_seen or "scaler/scale" in record.values
        elif isinstance(record, TensorRows) and not self._reported:
            kind = record.table.kind
            if kind not in ("activation", "range") and (kind != "output_gradient" or self._scaler_seen):
                return
            taken = self._take(record)
            forecasts = [found for key in taken if (found := self._forecast(key, state)) is not None]
            if forecasts:
                self._reported = True
                yield self._found(min(forecasts, key=lambda forecast: forecast.step), len(forecasts), state)

    def _take(self, rows: TensorRows) -> list[tuple[str, str]]:
        """Add the sizes of one deep step; what is not finite has gone over already and begins anew."""
        table = rows.table
        kind = "activation" if table.kind == "range" else table.kind
        dtypes = table.dtypes or ("float32",) * len(table.names)
        taken = []
        for name, dtype, low, high in zip(table.names, dtypes, rows.column("min"), rows.column("max"), strict=True):
            track = self._tracks.setdefault((kind, name), _Track())
            size = max(-low, high)
            if track.dtype != dtype or not math.isfinite(size) or size <= 0:
                track.dtype, track.points = dtype, []
            if math.isfinite(size) and size > 0:
                track.points.append((rows.step, size))
                del track.points[: -self.looks_kept]
                taken.append((kind, name))
        return taken

    def _forecast(self, key: tuple[str, str], state: RunState) -> _Forecast | None:
        track = self._tracks[key]
        limit = LARGEST.get(track.dtype, math.inf)
        points = track.points[-max(self.looks_needed, len(track.points) * 2 // 3) :]
        if len(points) < self.looks_needed:
            return None
        half = track.dtype == "float16"
        left, lost = math.log2(limit / points[-1][1]), math.log2(points[-1][1] / points[0][1])
        if left >= (self.few_bits if half else self.few_bits_wide):
            return None
        if lost < (self.lost_bits if half else self.lost_bits_wide):
            return None
        growth = find_growth(points)
        if growth is None or rising_share(points) < self.rising:
            return None
        late = fit_growth(points[len(points) // 2 - 1 :], growth.doubles)  # a plateau begins late
        # Outputs that grow towards large targets do so while the loss falls, and stop when they are there.
        losses = [point for point in state.losses.finite() if point[0] >= points[0][0]]
        if late is None or len(losses) < self.losses_needed or falling_share(losses) > self.still_falling:
            return None
        growth = min(growth, late, key=lambda fit: fit.rate)
        steps = growth.steps_to(limit, points[-1][1])
        if not 0 < steps <= self.reach * (points[-1][0] - points[0][0]):
            return None
        return _Forecast(*key, track.dtype, growth, points[0], points[-1], points[-1][0] + math.ceil(steps))

    def _found(self, forecast: _Forecast, count: int, state: RunState) -> Finding:
        left = math.log2(LARGEST[forecast.dtype] / forecast.last[1])
        others = f" {count - 1} more modules follow." if count > 1 else ""
        range_ = " If the growth is meant, run this part in float32 or bfloat16." if forecast.dtype == "float16" else ""
        return self.finding(
            severity="warning",
            confidence=0.8,
            message=f"{_WORDS[forecast.kind]} `{forecast.module}` ({forecast.dtype}) {_pace(forecast)}: {left:.1f} "
            f"bits are left at step {forecast.last[0]:,}, Inf around step {forecast.step:,}.{others}",
            why=f"{forecast.dtype} ends at {_number(LARGEST[forecast.dtype])}. The largest value rose steadily "
            f"from {_number(forecast.first[1])} at step {forecast.first[0]:,} to {_number(forecast.last[1])}.",
            fix=f"Find what feeds the growth of `{forecast.module}` and bound it: a state that is carried on or an "
            "input that only counts up wants a norm (`nn.LayerNorm`) or a logarithm, weights that grow want "
            f"decay.{range_}",
            where=state.place_of(forecast.module),
            steps=(forecast.first[0], forecast.last[0]),
            evidence={
                "module": forecast.module,
                "dtype": forecast.dtype,
                "bits_left": left,
                "largest": forecast.last[1],
                "inf_at_step": float(forecast.step),
            },
        )


def _pace(forecast: _Forecast) -> str:
    growth = forecast.growth
    if growth.doubles:
        steps = 1 / growth.rate
        return f"loses 1 bit of headroom every {steps:.0f} steps" if steps >= 1.5 else "loses a bit every step"
    return f"grows by {_number(growth.rate)} a step"


def _number(size: float) -> str:
    return f"{size:,.0f}" if 100 <= size < 1e6 else f"{size:.4g}"
