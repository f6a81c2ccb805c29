"""TD943: a checkpoint from a device that is not here."""

from __future__ import annotations

from torch_debugger.checks.explainers.checkpoints.checkpoint_devices import explain_location
from torch_debugger.checks.explainers.crash_check import CrashCheck


class CheckpointDevice(CrashCheck):
    """A checkpoint's tensors were to be put on a device that this machine does not have.

    Symptom:
        torch.load stops with "Attempting to deserialize object on a CUDA device but
        torch.cuda.is_available() is False".
    Evidence:
        The device that a stored tensor names, from the frame that tried to put it there; the map_location
        given, if any; and how many such devices torch finds.
    Fix:
        Pass `map_location="cpu"` to torch.load, or the device of this run; the call is filled in.
    Known limits:
        A model that is moved to an absent device by `.to("cuda")` is not a matter of its checkpoint.
    """

    id = "TD943"
    name = "checkpoint-device"
    title = "a checkpoint's tensors belong on a device that is not here"
    explainers = (explain_location,)
