"""Checkpoints that leave layers at their random start, and best weights kept by reference."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.call_edits import edit_line
from torch_debugger.records import CheckpointLoad, Finding


class CheckpointDoesNotMatch(Check):
    """A checkpoint was loaded with strict=False, and its names do not fit those of the model.

    Symptom:
        A model that should start where an earlier run ended starts at the loss of an untrained one.
    Evidence:
        Nothing that the model has was in what load_state_dict() was given, or in the state from which the
        script had picked the names that fit; or layers were missing while entries of the very same shapes, in
        the same order, went unused under other names.
    Fix:
        Rename the keys before loading (`key.removeprefix("module.")`), take the inner dictionary of the
        checkpoint, and load with `strict=True`, which raises where names do not fit.
    Known limits:
        A model that has more than the checkpoint (a new head, an adapter) and a head that was replaced, of
        another shape or alone in its name, are loaded in part on purpose and are not reported.
    """

    id = "TD116"
    name = "checkpoint-does-not-match"
    title = "a checkpoint's names do not fit the model, and nothing is loaded"
    reads = (CheckpointLoad,)
    explains = ("frozen-at-random",)

    def see(self, record: CheckpointLoad, state: RunState) -> Iterable[Finding]:
        if record.wanted and not record.loaded:
            # Nothing at all may be given on purpose, where a part of a checkpoint is optional.
            yield self._judge(record, record.wanted, 0.97 if record.unexpected else 0.7)
        elif _is_renamed(record):
            yield self._judge(record, len(record.missing), 0.9)

    def _judge(self, load: CheckpointLoad, lost: int, confidence: float) -> Finding:
        wanted = load.missing[0].key if load.missing else ""
        given = load.unexpected[0].key if load.unexpected else ""
        beside = f": the model wants `{wanted}`, the checkpoint has `{given}`" if given else ""
        return self.finding(
            severity="error" if given else "warning",
            confidence=confidence,
            message=f"`{load.place.code}`{at_line(load.place)} left {lost} of {load.wanted} entries of {load.kind} "
            f"as they were{beside or ', because it was given none of them'}.",
            why=f"{_how(load)} These layers keep their random start values.",
            fix=_fix(load, wanted, given),
            where=load.place,
            steps=(max(1, load.step), max(1, load.step)),
            evidence={
                "wanted": float(load.wanted),
                "loaded": float(load.loaded),
                "missing": wanted,
                "unexpected": given,
            },
        )


def _how(load: CheckpointLoad) -> str:
    if load.filtered:
        return "Only entries whose names the model has are taken over, and there was none; no error is raised."
    return (
        "With strict=False, load_state_dict() passes over every name that it does not find and every name that "
        "it does not know."
    )


def _is_renamed(load: CheckpointLoad) -> bool:
    """All that is missing is there under another name; one last layer alone may have been replaced."""
    if not load.missing:
        return False
    only_head = all(one.key.startswith(load.last_layer + ".") for one in load.missing)
    shapes = [one.shape for one in load.missing]
    loaded = [one.shape for one in load.unexpected if not one.key.endswith("num_batches_tracked")]
    enough = Counter(loaded) == Counter(shapes)
    return not only_head and enough


def _fix(load: CheckpointLoad, wanted: str, given: str) -> str:
    at = at_line(load.place)
    if load.nested:
        return f'Load the inner dictionary{at}: `["{load.nested}"]` of what is loaded now. Leave strict=False out.'
    if given.endswith("." + wanted):
        prefix = given.removesuffix(wanted)
        return (
            f"Load `{{key.removeprefix({prefix!r}): value for key, value in state.items()}}`{at}, "
            "and leave strict=False out."
        )
    if given:
        # encoder.0.weight and backbone.0.weight differ in "encoder." and "backbone."
        one, other = given.split("."), wanted.split(".")
        while len(one) > 1 and len(other) > 1 and one[-1] == other[-1]:
            one, other = one[:-1], other[:-1]
        old, new = ".".join(one) + ".", ".".join(other) + "."
        strictly = "" if load.filtered else ", and leave strict=False out"
        return f"Rename `{old}` to `{new}` in the keys before the load{at}{strictly}."
    return f"Compare the keys of what is loaded{at} with `model.state_dict().keys()`; leave strict=False out."


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

    def see(self, record: CheckpointLoad, state: RunState) -> Iterable[Finding]:
        if record.kept and record.own == record.wanted > 0 and record.step > self.steps_before:
            kept = record.kept
            code = kept.code or ""
            given = code.partition("=")[2].strip()
            # All of the right-hand side, or model.state_dict() where it stands beside other values.
            alone = re.search(r"[\w.]+\.state_dict\(\)$", given)
            source = alone.group(0) if alone else given
            yield self.finding(
                severity="error",
                confidence=0.95,
                message=f"`{record.place.code}`{at_line(record.place)} loads the model's own tensors into itself: "
                f"`{kept.code}`{at_line(kept)} kept all {record.own} without a copy, and training went on.",
                why="state_dict() returns the parameters themselves. Every optimizer step since then has changed "
                "what was kept, so it is always the last state of the model, never the best.",
                fix=f"Write `{_copied(code, source)}`{at_line(kept)} (with `import copy`).",
                where=kept,
                steps=(record.step, record.step),
                evidence={"tensors": float(record.wanted), "same_memory": float(record.own)},
                edit=edit_line(kept, _copied(code, source)) if source.endswith(".state_dict()") else None,
            )


def _copied(code: str, source: str) -> str:
    return code.replace(source, f"copy.deepcopy({source})") if source else "copy.deepcopy(model.state_dict())"
