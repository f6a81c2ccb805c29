"""TD713: the model is saved in every step."""

from __future__ import annotations

import re

from torch_debugger.checks.line_cost import Advice, LineCost, rarely
from torch_debugger.checks.state import RunState
from torch_debugger.checks.step_lines import DearLine, StepSample, every

_SAVES = re.compile(r"(^|\.)(save|save_pretrained|save_file|save_model|save_state|save_checkpoint|savez)$")
_SAVERS = re.compile(
    r"[/\\](torch|safetensors|transformers|accelerate|lightning|pytorch_lightning|numpy|joblib)[/\\]"
)
_WRITTEN = re.compile(r"\b(pickle|joblib)\.dump\(|\.save_pretrained\(|\bsave_file\(")


class CheckpointEachStep(LineCost):
    """A checkpoint is written in every step and takes a large part of the time.

    Symptom:
        The training is slow, and the disk is busy all the time; the files are overwritten or fill it up.
    Evidence:
        The share of sampled stacks in a line that saves (`torch.save`, `save_pretrained`, `save_file`), and the
        source around it: the loop that makes the steps, and no condition in between.
    Fix:
        Save every 500 steps, or once an epoch: move the line behind the loop over the batches.
    Known limits:
        A line under any condition is taken for rare enough, and so is one that runs once an epoch, however
        short the epochs are.
    """

    id = "TD713"
    name = "checkpoint-each-step"
    title = "the model is saved in every step"

    steps_between = 500
    saved = 1 - 1 / steps_between

    def fits(self, sample: StepSample) -> bool:
        if _SAVES.search(sample.called) and _SAVERS.search(sample.called_file):
            return True
        return _WRITTEN.search(sample.place.code or "") is not None

    def advise(self, line: DearLine, state: RunState) -> Advice:
        edit = every(line, self.steps_between)
        return Advice(
            what="Saving in every step",
            why=(
                "The training waits until the whole file is written. What a crash may cost are the steps since "
                "the last file, and some hundred of them are soon made again."
            ),
            fix=f"{rarely(edit, self.steps_between)}, or move it behind the loop, to the end of the epoch.",
            edit=edit,
        )
