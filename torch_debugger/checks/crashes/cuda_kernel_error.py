"""TD922: an error of the GPU, or of a library on it, that says little by itself."""

from __future__ import annotations

from torch_debugger.checks.explainers.crash_check import CrashCheck
from torch_debugger.checks.explainers.memory.cuda_errors import explain_cuda_error


class CudaKernelError(CrashCheck):
    """A kernel or a library on the GPU failed with an error code instead of a reason.

    Symptom:
        The script stops with "an illegal memory access was encountered", "misaligned address",
        "CUBLAS_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_NOT_INITIALIZED", "CUDNN_STATUS_NOT_INITIALIZED",
        "unspecified launch failure" or "no kernel image is available for execution on the device".
    Evidence:
        How much memory the device has left, where it still answers; the indices of the last batches, as
        they were on the CPU, against the model's tables and scores; the architectures torch was built for
        against the device's own.
    Fix:
        Free memory where a library found none, bring an index into range, or install a torch that was
        built for this device; where none of these shows, how to get the exact line.
    Known limits:
        A wrong address is often a fault of a custom kernel, whose own line cannot be told from here.
    """

    id = "TD922"
    name = "cuda-kernel-error"
    title = "the GPU failed with an error code instead of a reason"
    explainers = (explain_cuda_error,)
