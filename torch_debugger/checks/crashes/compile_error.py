"""TD965: a compiler of torch's stopped at a line that runs without it."""

from __future__ import annotations

from torch_debugger.checks.explainers.crash_check import CrashCheck
from torch_debugger.checks.explainers.processes.compile_errors import (
    explain_backend_failure,
    explain_backend_name,
    explain_compiled_code,
    explain_export,
    explain_graph_break,
    explain_recompiling,
)


class CompileError(CrashCheck):
    """torch.compile, torch.export or TorchScript could not take your code.

    Symptom:
        torch._dynamo.exc.Unsupported, TorchRuntimeError, BackendCompilerFailed, FailOnRecompileLimitHit,
        GuardOnDataDependentSymNode, or a TorchScript error with "<--- HERE".
    Evidence:
        The line of yours that the compiler was at, by its own record; and, for torch.compile on the CPU,
        the same call made once more without the compiler, in a fork of the process: where that fails too,
        that failure is explained instead.
    Fix:
        Rewrite the line, take it out of the compiled part, or leave out fullgraph=True.
    Known limits:
        The call is not tried on GPUs, nor for longer than a moment. Why a backend fails inside is not known.
    """

    id = "TD965"
    name = "compile-error"
    title = "torch.compile, torch.export or TorchScript stopped at a line"
    explains = ("recompiles-each-step", "graph-breaks")
    explainers = (
        explain_graph_break,
        explain_recompiling,
        explain_backend_failure,
        explain_backend_name,
        explain_compiled_code,
        explain_export,
    )
