"""TD905: a normalization layer in training mode was given a single value for each channel."""

from __future__ import annotations

from torch_debugger.checks.explainers.building.single_values import explain_single_value
from torch_debugger.checks.explainers.crash_check import CrashCheck


class BatchOfOne(CrashCheck):
    """A BatchNorm layer in training mode got a batch of one sample, most often the last of a DataLoader.

    Symptom:
        "Expected more than 1 value per channel when training, got input size torch.Size([1, 48])", often at
        the end of the first epoch; "Expected more than 1 spatial element when training" from InstanceNorm.
    Evidence:
        The shape that reached the layer, the loop around the call, the number of samples and the batch size of
        its DataLoader, and whether gradients are switched off around the call.
    Fix:
        `drop_last=True` for the DataLoader; `model.eval()` before a call that is no training; larger batches.
    Known limits:
        A loop that goes through a generator of your own is not counted: the finding then names the call.
    """

    id = "TD905"
    name = "batch-of-one"
    title = "a normalization layer was given one value for each channel"
    explainers = (explain_single_value,)
