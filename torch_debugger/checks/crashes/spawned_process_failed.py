"""TD963: a process that the script started failed."""

from __future__ import annotations

from torch_debugger.checks.explainers.crash_check import CrashCheck
from torch_debugger.checks.explainers.processes.spawned_processes import explain_spawned


class SpawnedProcessFailed(CrashCheck):
    """A process started by torch.multiprocessing.spawn or torchrun raised an exception or was ended.

    Symptom:
        The script stops with ProcessRaisedException, ProcessExitedException or ChildFailedError.
    Evidence:
        The traceback that the process left as text: its error and the innermost line of your own; or the
        signal that ended it.
    Fix:
        Look at that line. Run the function once in the main process to have the error explained whole.
    Known limits:
        The tensors and values of the other process are gone, so no cause is claimed beyond its own words.
        What ended a process by a signal is not known.
    """

    id = "TD963"
    name = "spawned-process-failed"
    title = "a process that the script started failed"
    explainers = (explain_spawned,)
