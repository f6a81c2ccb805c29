"""TD942: a checkpoint that holds more than torch.load will read by itself."""

from __future__ import annotations

from torch_debugger.checks.explainers.checkpoints.checkpoint_refusals import explain_refusal
from torch_debugger.checks.explainers.crash_check import CrashCheck


class CheckpointRefused(CrashCheck):
    """torch.load refused a class or function that the file names.

    Symptom:
        torch.load stops with "Weights only load failed" and "Unsupported global".
    Evidence:
        The name that the unpickler stopped at, taken from its own frame, and all others in the file that it
        would refuse; they are read from the pickle's opcodes, and nothing of the file is run.
    Fix:
        Allow exactly these names with torch.serialization.add_safe_globals, or save state dicts and plain
        values only. weights_only=False is for files that you made or trust.
    Known limits:
        Of an open file only the first refused name is known. Whether a file deserves trust is for you to say.
    """

    id = "TD942"
    name = "checkpoint-refused"
    title = "torch.load refused a class that the file names"
    explainers = (explain_refusal,)
