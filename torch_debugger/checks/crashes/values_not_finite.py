"""TD967: NaN or Inf was handed to something that takes only real numbers."""

from __future__ import annotations

from torch_debugger.checks.explainers.crash_check import CrashCheck
from torch_debugger.checks.explainers.nonfinite.anomaly_mode import explain_anomaly
from torch_debugger.checks.explainers.numbers import explain_not_finite


class ValuesNotFinite(CrashCheck):
    """A distribution, a sampling, a decomposition or autograd's anomaly mode met NaN or Inf.

    Symptom:
        "Expected parameter logits ... to satisfy the constraint", "probability tensor contains either `inf`,
        `nan` or element < 0", "The algorithm failed to converge", "cannot convert float NaN to integer",
        "Function 'SqrtBackward0' returned nan values in its 0th output".
    Evidence:
        Tensors in the frames of the crash that hold NaN or Inf, and whether the weights do; of anomaly mode
        the node that it names. Under `torch-debugger run` the step is run again for the op: `loss-not-finite`.
    Fix:
        Not here: the crash is a symptom. Find the op that made the first of them.
    Known limits:
        Anomaly mode looks for NaN only, so the node it names may be the one behind an op whose slope was inf.
        Tensors on an accelerator are not read. Probabilities that are merely negative are no case of this.
    """

    id = "TD967"
    name = "values-not-finite"
    title = "NaN or Inf was given to something that takes only real numbers"
    explainers = (explain_not_finite, explain_anomaly)
