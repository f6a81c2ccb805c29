"""Find the op that made a NaN or Inf, from code: `detect_anomaly` and `find_nan`.

with torch_debugger.detect_anomaly():
    loss = loss_function(model(x), y)
    loss.backward()  # raises where the loss or a gradient is not finite, and names the op that made it so
"""

from __future__ import annotations

import contextlib
from types import TracebackType
from typing import TYPE_CHECKING, Any

from torch_debugger.checks.base import RunState
from torch_debugger.checks.numerics.nan_and_overflow import LossNotFinite
from torch_debugger.records import Finding, NonFinite, Place
from torch_debugger.source.frames import shown_where_bare, user_frame
from torch_debugger.source.variables import module_paths, name_root
from torch_debugger.trials.anomaly_detection import (
    Anomaly,
    AnomalyKinds,
    AnomalySession,
    AnomalySettings,
    current_session,
    switch,
)
from torch_debugger.trials.nan_in_forward import Model, find_in_model

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import nn


class AnomalyError(RuntimeError):
    """A NaN or Inf, with what is known of the op that made it."""

    def __init__(self, text: str, finding: Finding, fact: NonFinite) -> None:
        super().__init__(text)
        self.finding = finding
        self.fact = fact
        self.origin = fact.origin


class detect_anomaly(contextlib.ContextDecorator):  # noqa: N801  named as torch's
    """Raise AnomalyError where a loss or a gradient is not finite, and name the op that made it so.

        with torch_debugger.detect_anomaly():
            loss = loss_function(model(x), y)
            loss.backward()

        @torch_debugger.detect_anomaly(check_inf=False)
        def train_step(batch): ...

    Nothing is checked op by op: losses and gradients are looked at once after each `backward()`, and only when
    something is wrong the forward and the backward run again on the same inputs, op by op. A region without
    a backward is judged by what it leaves behind. `stacklevel` is the number of your lines shown that led
    to the op. Results, weights and random numbers stay those of a run without it.
    """

    def __init__(self, check_nan: bool = True, check_inf: bool = True, stacklevel: int = 4) -> None:
        self._settings = AnomalySettings(AnomalyKinds(check_nan, check_inf), stacklevel, _error)
        self._begun: list[tuple[AnomalySettings | None, AnomalySession | None, int, int]] = []

    def __enter__(self) -> None:
        before = switch(self._settings)
        session = current_session()
        assert session is not None
        self._begun.append((before, session, session.recorder.tape.number, session.backwards))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        before, session, since, backwards = self._begun.pop()
        try:
            if kind is None and session is not None and session is current_session():
                session.end(since, backwards)
        finally:
            switch(before)


class set_detect_anomaly:  # noqa: N801  named as torch's
    """Switch `detect_anomaly` on or off for the code that follows, or, with `with`, for a region.

    torch_debugger.set_detect_anomaly(True)
    train()
    torch_debugger.set_detect_anomaly(False)
    """

    def __init__(self, mode: bool, check_nan: bool = True, check_inf: bool = True, stacklevel: int = 4) -> None:
        settings = AnomalySettings(AnomalyKinds(check_nan, check_inf), stacklevel, _error)
        self._before = switch(settings if mode else None)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        switch(self._before)


def _error(anomaly: Anomaly) -> AnomalyError:
    finding = _judge(anomaly.fact)
    return AnomalyError(_message(anomaly, finding), finding, anomaly.fact)


def _judge(fact: NonFinite) -> Finding:
    check, state = LossNotFinite(), RunState()
    return next(iter([*check.see(fact, state), *check.finish(state)]))


def _message(anomaly: Anomaly, finding: Finding) -> str:
    why = finding.why if anomaly.fact.origin is not None else ""
    hindrance = f"What made it is not known for certain: {anomaly.hindrance}." if anomaly.hindrance else ""
    if hindrance and anomaly.fact.how == "graph":
        hindrance = f"Its numbers could not be seen: {anomaly.hindrance}. Put the forward into the region too."
    return _page(finding, f"{why} {hindrance}".strip(), anomaly.lines)


def _page(finding: Finding, why: str, lines: Sequence[Place]) -> str:
    edit = finding.edit
    parts = [
        ("why", why),
        ("fix", finding.fix),
        ("change", edit.before if edit is not None else ""),
        ("to", edit.after if edit is not None else ""),
        ("lines", "\n          ".join(map(_line, lines))),
    ]
    return "\n".join([finding.message, *(f"  {label:<6}  {text}" for label, text in parts if text)])


def _line(place: Place) -> str:
    return f"{place.file}:{place.line}  {place.code or ''}".rstrip()


class NanSearch:
    """What `find_nan` has found: false where everything was finite, and its str() tells."""

    def __init__(self, fact: NonFinite | None) -> None:
        self.origin = fact.origin if fact is not None else None
        self.finding = _judge(fact) if fact is not None else None

    def __bool__(self) -> bool:
        return self.finding is not None

    def __str__(self) -> str:
        if self.finding is None:
            return "All finite: no op of the model made a NaN or Inf."
        return _page(self.finding, self.finding.why, ())

    def __repr__(self) -> str:
        return str(self)


def find_nan(
    model: nn.Module,
    *inputs: Any,
    loss: Callable[[Any], Any] | None = None,
    backward: bool = True,
    **kwargs: Any,
) -> NanSearch:
    """Run the model on these inputs, op by op, and name the first op that makes a NaN or Inf.

        found = torch_debugger.find_nan(model, x)
        if found:
            print(found)  # the op, its line, its module, the numbers it was given, and what to change

    As a line of its own it prints what it has found. `loss` makes a loss of the model's output; without it
    the backward starts with ones. With `backward=False` only the forward is looked at. Buffers, gradients
    and random numbers are put back.
    """
    origin = find_in_model(_seen_as(model, inputs, kwargs), slopes=backward, loss=loss)
    if origin is None:
        return shown_where_bare(NanSearch(None))
    what = "gradient" if origin.phase == "backward" else "output" if loss is None else "loss"
    names = (origin.given,) if origin.phase == "weights" else ()
    fact = NonFinite(0, what, origin.made or "nan", Place(), origin, names, how="step")
    return shown_where_bare(NanSearch(fact))


def _seen_as(model: nn.Module, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Model:
    frame = user_frame(2)
    return Model(model, module_paths(model, name_root(model, frame)), (inputs, keywords))
