"""TD941: a checkpoint whose tensors have other shapes than the model's."""

from __future__ import annotations

from torch_debugger.checks.explainers.checkpoints.checkpoint_shapes import explain_checkpoint_shapes
from torch_debugger.checks.explainers.crash_check import CrashCheck


class CheckpointShapes(CrashCheck):
    """A checkpoint fits the model by its names, but some of its tensors have other shapes.

    Symptom:
        load_state_dict stops with "size mismatch for fc.weight: copying a param with shape [100, 512]
        from checkpoint, the shape in current model is [10, 512]".
    Evidence:
        Both shapes of each tensor, the layer's settings, and the lines that build it and the model.
    Fix:
        Build the model with the number it was saved with; the constructor's line is filled in where one
        number explains all differences. Or leave the layer out to train it anew.
    Known limits:
        Which of the two models is meant is for you to say. Sizes that several numbers make up together,
        as the heads of an attention layer, are told without an edit.
    """

    id = "TD941"
    name = "checkpoint-shapes"
    title = "a checkpoint's tensors have other shapes than the model's"
    explainers = (explain_checkpoint_shapes,)
