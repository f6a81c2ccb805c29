"""TD616: NaN in what a model gives, in a script that trains nothing."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.explainers.nonfinite.case import Story
from torch_debugger.checks.explainers.nonfinite.telling import tell
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, NonFiniteOutput, Place, Record


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
        self._told: set[str] = set()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, NonFiniteOutput)
        if record.model in self._told:
            return
        self._told.add(record.model)
        origin = record.fact.origin
        story = _story(record)
        place = origin.place if origin is not None and origin.place.file else record.fact.site
        whole = record.everywhere
        yield self.finding(
            severity="error" if whole else "warning",
            confidence=0.97 if origin is not None and origin.op else 0.9 if record.rows and whole else 0.7,
            message=story.proof,
            why=f"{_where_in_output(record)} {story.why}".strip(),
            fix=story.fix,
            where=Place(place.file, place.line, origin.module if origin is not None else None, place.code),
            first_step=0,
            last_step=0,
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


def _where_in_output(record: NonFiniteOutput) -> str:
    """Seen in call 21 of `net`, in evaluation mode; 3 of 16 samples of its output have NaN."""
    if not record.rows:
        return ""
    verb = "has" if record.bad_rows == 1 else "have"
    shared = (
        f"{record.bad_rows:,} of {record.rows:,} samples of its output {verb} NaN" if record.rows > 1 else ""
    )
    mode = "training" if record.training else "evaluation"
    return f"Seen in call {record.call:,} of `{record.model}`, in {mode} mode{'; ' if shared else ''}{shared}."
