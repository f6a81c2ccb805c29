"""TD920: an allocation that the device or the host refused."""

from __future__ import annotations

from torch_debugger.checks.explainers.crash_check import CrashCheck
from torch_debugger.checks.explainers.memory.memory_device import explain_device_memory
from torch_debugger.checks.explainers.memory.memory_host import explain_host_memory


class OutOfMemory(CrashCheck):
    """The memory of the device, or of the machine, was not enough.

    Symptom:
        The script stops with "CUDA out of memory", "DefaultCPUAllocator: can't allocate memory" or numpy's
        "Unable to allocate".
    Evidence:
        On a device: the caching allocator's counts, the bytes of parameters, gradients and optimizer state,
        variables that keep tensors and their graphs from earlier steps, and one training step of the model
        measured on tensors that have shapes and no memory, at two batch sizes and under autocast. On the
        host: the bytes asked for, the shapes that met, and the memory of the machine.
    Fix:
        Let go of what is kept, take the batch that fits, or pay with time: bfloat16 autocast, gradient
        accumulation, activation checkpointing. The numbers are filled in. On the host it is nearly always
        one tensor that was never meant: a broadcast of every row with every row, or a size in the wrong place.
    Known limits:
        The measured step is the model's own forward and backward; the loss's memory is not part of it. A
        forward that depends on values (`.item()`, boolean masks) cannot be measured, and no batch is named.
        A process that the system kills for its memory raises no exception.
    """

    id = "TD920"
    name = "out-of-memory"
    title = "the memory of the device or the machine was not enough"
    explainers = (explain_device_memory, explain_host_memory)
