"""TD931: a DataLoader worker ended without an exception."""

from __future__ import annotations

from torch_debugger.checks.explainers.crash_check import CrashCheck
from torch_debugger.checks.explainers.loading.dead_workers import explain_worker_death


class WorkerKilled(CrashCheck):
    """A worker of a DataLoader was killed, or ended itself, and no exception tells why.

    Symptom:
        "DataLoader worker (pid(s) 4711) exited unexpectedly", "is killed by signal: Killed", "Bus error",
        "Segmentation fault"; or a connection error while a batch is waited for.
    Evidence:
        The exit codes of the loader's processes. The samples that the dead worker still owed are fetched
        once more in another process; the one that ends it too is named, with its line. Free memory, free
        shared memory and the size of a batch where the signal speaks of memory.
    Fix:
        Repair the sample or the native call that ends the process; or need less memory, as the finding says.
    Known limits:
        After SIGKILL and bus errors the samples are not fetched again, for the memory they took. Memory is
        counted after the worker has gone.
    """

    id = "TD931"
    name = "worker-killed"
    title = "a DataLoader worker ended without an exception"
    explainers = (explain_worker_death,)
