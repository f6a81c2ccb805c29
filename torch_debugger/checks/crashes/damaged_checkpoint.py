"""TD944: a file that is missing, cut short, or no checkpoint at all."""

from __future__ import annotations

from torch_debugger.checks.explainers.checkpoints.checkpoint_files import (
    explain_absent_file,
    explain_unread_buffer,
    explain_unreadable_file,
    explain_vanished_file,
)
from torch_debugger.checks.explainers.checkpoints.checkpoint_writes import explain_unwritten_file
from torch_debugger.checks.explainers.crash_check import CrashCheck


class DamagedCheckpoint(CrashCheck):
    """A checkpoint file is missing, cut short, no checkpoint at all, or could not be written.

    Symptom:
        torch.load stops with "PytorchStreamReader failed reading zip archive", "invalid load key", an
        EOFError or FileNotFoundError; torch.save with "Parent directory does not exist" or a failed write.
    Evidence:
        The size of the file and its first and last few hundred bytes, which tell what it is; similar names
        in its folder; for a write, the bytes to write and those free. Nothing of the file is unpickled.
    Fix:
        Fetch or save the file again, name the one that is there, make the folder, or read the file with
        the reader of its own format, as the finding says.
    Known limits:
        A file that is whole but holds wrong bytes in the middle is not recognised. Of open files only those
        with a name are looked at.
    """

    id = "TD944"
    name = "damaged-checkpoint"
    title = "a checkpoint file is missing, cut short or no checkpoint"
    explainers = (
        explain_unreadable_file,
        explain_absent_file,
        explain_vanished_file,
        explain_unread_buffer,
        explain_unwritten_file,
    )
