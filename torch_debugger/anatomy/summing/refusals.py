"""Why a model could not be run for its summary, in a sentence."""

from __future__ import annotations

from torch_debugger.anatomy.summing.attempts import Attempt, Blank
from torch_debugger.anatomy.summing.rows import class_name
from torch_debugger.anatomy.summing.runs import Failure
from torch_debugger.anatomy.summing.seen import dtype_name, sizes_text
from torch_debugger.errors import UsageError

_LONGEST = 200


def does_not_fit(failure: Failure) -> UsageError:
    """the model does not take [1, 3, 20, 20] float32: `fc` (Linear) was given [1, 75]: RuntimeError: ..."""
    return UsageError(f"the model does not take {_given(failure.attempt)}: {_where(failure)}{_why(failure)}.")


def cannot_run(failure: Failure) -> str:
    return f"Parameters only, since forward needs the values of tensors: {_where(failure)}{_why(failure)}."


def _given(attempt: Attempt) -> str:
    blanks = [(name, value) for name, value in _arguments(attempt) if isinstance(value, Blank)]
    told = [f"{name}{list(blank.size)} {dtype_name(blank.dtype)}" for name, blank in blanks]
    return ", ".join(told) or "a call without inputs"


def _arguments(attempt: Attempt) -> list[tuple[str, object]]:
    named = [(f"{name}: ", value) for name, value in attempt.call.keywords.items()]
    return [*(("", value) for value in attempt.call.arguments), *named]


def _where(failure: Failure) -> str:
    node = failure.at
    if node is None or not node.path:
        return ""
    return f"`{node.path}` ({class_name(node.module)}) was given {sizes_text(node.inputs)[0]}: "


def _why(failure: Failure) -> str:
    lines = str(failure.error).strip().splitlines() or ["(no message)"]
    return f"{type(failure.error).__name__}: {lines[0].partition('. ')[0].rstrip('.')[:_LONGEST]}"
