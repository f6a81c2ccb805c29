"""`gradcheck`: are the gradients of a function, an autograd Function or a module right?"""

from __future__ import annotations

from typing import Any

import torch

from torch_debugger.anatomy.bare_calls import shown_where_bare
from torch_debugger.anatomy.randomness import randomness_kept
from torch_debugger.errors import DebuggerError
from torch_debugger.trials.gradcheck.comparing import Tolerance
from torch_debugger.trials.gradcheck.examining import Examination
from torch_debugger.trials.gradcheck.preparing import (
    Target,
    input_names,
    name_of,
    narrow_dtypes,
    prepare,
)
from torch_debugger.trials.gradcheck.raised import forward_raised
from torch_debugger.trials.gradcheck.result import GradcheckResult
from torch_debugger.trials.gradcheck.subject import FunctionSubject


class WrongGradientError(DebuggerError):
    """Raised by gradcheck(..., raise_exception=True); its text is the result's."""

    def __init__(self, result: GradcheckResult) -> None:
        super().__init__(str(result))
        self.result = result


def gradcheck(
    fn_or_module: Target,
    inputs: Any,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float = 1e-3,
    raise_exception: bool = False,
) -> GradcheckResult:
    """Compares the gradients that autograd gives with differences of the function itself.

    Takes a function, an autograd `Function.apply` or a module, whose parameters are checked too. All runs
    are made on copies in float64; the caller's tensors, module and random numbers are left as they are.
    Checked are the inputs that require a gradient or, if none does, all floating-point ones; None and
    anything else is passed on as it is. `eps` is the step of the differences (None: chosen by size and
    precision); an element is wrong when it is off by more than `atol` (None: what rounding explains) plus
    `rtol` of its size.

    The result is true where all is right; its text says what is wrong, where, and what to do:

    >>> x = torch.randn(4, 5, requires_grad=True)
    >>> result = torch_debugger.gradcheck(MyFunction.apply, x)
    >>> assert result, result
    """
    tolerance = Tolerance(eps, atol, rtol)
    with randomness_kept(), torch.inference_mode(False), torch.enable_grad():
        result = _checked(fn_or_module, inputs, tolerance)
    if raise_exception and not result:
        raise WrongGradientError(result)
    return result if raise_exception else shown_where_bare(result)


def _checked(target: Target, inputs: Any, tolerance: Tolerance) -> GradcheckResult:
    found = ready(target, inputs)
    if isinstance(found, GradcheckResult):
        return found
    subject, notes = found
    count = len(inputs) if isinstance(inputs, (tuple, list)) else 1
    return Examination(subject, input_names(target, count), notes, False).carry_out(tolerance)


def ready(target: Target, inputs: Any) -> tuple[FunctionSubject, list[str]] | GradcheckResult:
    """A subject that runs, and what to say of it; or the result, where it does not run at all."""
    subject = prepare(target, inputs, widen=True)
    narrow = narrow_dtypes(target, inputs)
    error = _failure(subject)
    if error is None:
        note = f"{', '.join(narrow)} was checked in float64, on copies."
        return subject, [note] if narrow else []
    as_given = prepare(target, inputs, widen=False) if narrow else None
    if as_given is not None and _failure(as_given) is None:
        kinds = ", ".join(narrow)
        note = f"It does not run in float64, so it was checked in {kinds}, where differences are coarse."
        return as_given, [note]
    nones = [name for name, value in _named(target, inputs) if value is None]
    return GradcheckResult(name_of(target), False, problems=(forward_raised(error, nones),))


def _failure(subject: FunctionSubject) -> Exception | None:
    try:
        subject.run(None)
    except Exception as error:  # the user's forward may raise anything, and it is told
        return error
    return None


def _named(target: Target, inputs: Any) -> list[tuple[str, Any]]:
    values = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
    return list(zip(input_names(target, len(values)), values, strict=True))
