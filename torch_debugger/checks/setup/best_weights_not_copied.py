"""TD117: the best weights were kept by reference, so training went on in them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.cycle_streaks import line_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import CheckpointLoad, Edit, Finding, Record


class BestWeightsNotCopied(Check):
    """The weights that were kept to go back to are the model's own tensors, not a copy.

    Symptom:
        After early stopping the restored model is no better than the last one: going back changes nothing.
    Evidence:
        Every tensor that load_state_dict() was given lies in the very memory of the model's own one, after
        steps of training, and the line that took them from `state_dict()` ran before some of these steps.
    Fix:
        Keep a copy: `best = copy.deepcopy(model.state_dict())`, or write it to a file with `torch.save`.
    Known limits:
        Found where the weights are loaded back into the same model. A kept state that is only saved at the
        end is the same mistake and is not seen.
    """

    id = "TD117"
    name = "best-weights-not-copied"
    title = "kept weights are the live ones, not a copy"
    reads = (CheckpointLoad,)

    # Loading a model's own state before any training is a way to check names, and harmless.
    steps_before = 2

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, CheckpointLoad)
        if record.kept and record.own == record.wanted > 0 and record.step > self.steps_before:
            yield self._judge(record)

    def _judge(self, load: CheckpointLoad) -> Finding:
        kept = load.kept
        source = _source(kept.code or "")
        return self.finding(
            severity="error",
            confidence=0.95,
            message=(
                f"`{load.place.code}`{line_of(load.place)} loads the model's own tensors into itself: "
                f"`{kept.code}`{line_of(kept)} kept all {load.own} without a copy, and training went on."
            ),
            why=(
                "state_dict() returns the parameters themselves. Every optimizer step since then has changed "
                "what was kept, so it is always the last state of the model, never the best."
            ),
            fix=f"Write `{_copied(kept.code or '', source)}`{line_of(kept)} (with `import copy`).",
            where=kept,
            first_step=load.step,
            last_step=load.step,
            evidence={"tensors": float(load.wanted), "same_memory": float(load.own)},
            edit=_edit(load, source),
        )


def _source(code: str) -> str:
    """What is kept: all of the right-hand side, or model.state_dict() where it stands beside other values."""
    given = code.partition("=")[2].strip()
    alone = re.search(r"[\w.]+\.state_dict\(\)$", given)
    return alone.group(0) if alone else given


def _copied(code: str, source: str) -> str:
    return code.replace(source, f"copy.deepcopy({source})") if source else "copy.deepcopy(model.state_dict())"


def _edit(load: CheckpointLoad, source: str) -> Edit | None:
    kept = load.kept
    if kept.file is None or kept.line is None or not kept.code or not source.endswith(".state_dict()"):
        return None
    return Edit(kept.file, kept.line, kept.code, _copied(kept.code, source))
