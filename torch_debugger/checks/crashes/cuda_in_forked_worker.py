"""TD923: CUDA in a process that was forked from one that uses it."""

from __future__ import annotations

from torch_debugger.checks.explainers.crash_check import CrashCheck
from torch_debugger.checks.explainers.memory.cuda_forks import explain_forked_cuda


class CudaInForkedWorker(CrashCheck):
    """A forked process, mostly a loader's worker, touched CUDA.

    Symptom:
        The script stops with "Cannot re-initialize CUDA in forked subprocess", or with "CUDA error:
        initialization error" from a DataLoader's worker.
    Evidence:
        The line of your dataset or collate function in the traceback that the worker sent.
    Fix:
        Let the dataset give CPU tensors and move the batch in the training loop; with `pin_memory=True`
        and `non_blocking=True` that is as fast. Or start the workers with
        `multiprocessing_context="spawn"`.
    Known limits:
        A process of your own (`multiprocessing.Process`) prints its traceback itself; only what reaches
        the main process is explained.
    """

    id = "TD923"
    name = "cuda-in-forked-worker"
    title = "a forked worker touched CUDA"
    explainers = (explain_forked_cuda,)
