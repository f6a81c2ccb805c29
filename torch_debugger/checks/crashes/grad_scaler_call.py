"""TD966: the methods of a GradScaler were called in the wrong order, or on the wrong things."""

from __future__ import annotations

from torch_debugger.checks.explainers.building.scaler_calls import explain_scaler
from torch_debugger.checks.explainers.crash_check import CrashCheck


class GradScalerCall(CrashCheck):
    """The methods of a GradScaler were called in the wrong order, twice, or on gradients it cannot take.

    Symptom:
        "unscale_() has already been called on this optimizer since the last update()", "step() has already been
        called since the last update()", "No inf checks were recorded prior to update", "Attempting to unscale
        FP16 gradients".
    Evidence:
        The scaler's own bookkeeping at the crash: whether it has scaled a loss, unscaled and stepped this
        optimizer; the dtype of its gradients; and the lines of your file that call it.
    Fix:
        The call to add, to move or to leave out.
    Known limits:
        The line to edit is named where your file has only one that it can be.
    """

    id = "TD966"
    name = "grad-scaler-call"
    title = "GradScaler was called in the wrong order"
    explainers = (explain_scaler,)
