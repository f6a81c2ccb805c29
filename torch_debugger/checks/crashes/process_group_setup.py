"""TD960: a process group that could not be set up."""

from __future__ import annotations

from torch_debugger.checks.explainers.crash_check import CrashCheck
from torch_debugger.checks.explainers.processes.spawned_processes import SETUP


class ProcessGroupSetup(CrashCheck):
    """The process group of torch.distributed could not be set up, or is asked for before it is.

    Symptom:
        "address already in use", "environment variable RANK expected, but not set", "Default process
        group has not been initialized", "doesn't have NCCL built in", "no GPUs found", "Duplicate GPU
        detected", a timeout while others are waited for.
    Evidence:
        The environment variables that are set, the arguments of init_process_group, the backends that this
        PyTorch has, the GPUs that this process sees and the one it uses, the process that holds the port, and
        the lines that call init_process_group.
    Fix:
        Start the script with `torchrun`, which sets the variables and finds a port, or set them by hand;
        call init_process_group once, before what needs it, with a backend that is there; with NCCL, one
        process for each GPU, each on its own (`torch.cuda.set_device`).
    Known limits:
        Which process holds a port can be told only for processes of the same user. Of processes on other
        machines nothing is known. A spawned process leaves only text, which is read with less confidence.
    """

    id = "TD960"
    name = "process-group-setup"
    title = "the process group could not be set up"
    explainers = SETUP
