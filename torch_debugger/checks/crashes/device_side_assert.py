"""TD921: a kernel on the device failed an assertion."""

from __future__ import annotations

from torch_debugger.checks.explainers.crash_check import CrashCheck
from torch_debugger.checks.explainers.memory.cuda_asserts import explain_device_assert


class DeviceSideAssert(CrashCheck):
    """A kernel on the GPU failed an assertion, nearly always an index out of range.

    Symptom:
        The script stops with "CUDA error: device-side assert triggered", often at a line that has nothing
        to do with it, and every later call into the GPU raises the same.
    Evidence:
        The integer tensors of the last batches, kept on the CPU while the GPU was in use, and those in your
        variables, against the rows of the model's embeddings and the number of scores the loss was given.
        The GPU itself is not asked: its context is dead.
    Fix:
        Bring the index into range, or build the layer for one more than the highest number. The values, the
        layer and the line that builds it are filled in.
    Known limits:
        Indices that were made on the GPU cannot be read; then only what is known is told. Probabilities
        outside 0 to 1 in `BCELoss`, or negative ones in `multinomial`, fail an assertion too.
    """

    id = "TD921"
    name = "device-side-assert"
    title = "a kernel on the GPU failed an assertion"
    explainers = (explain_device_assert,)
