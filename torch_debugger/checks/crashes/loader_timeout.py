"""TD935: a batch did not come within the DataLoader's timeout."""

from __future__ import annotations

from torch_debugger.checks.explainers.crash_check import CrashCheck
from torch_debugger.checks.explainers.loading.slow_workers import explain_timeout


class LoaderTimeout(CrashCheck):
    """A batch did not come within the timeout that the DataLoader was given.

    Symptom:
        "DataLoader timed out after 30 seconds".
    Evidence:
        The batch that was waited for, its worker and its samples. They are fetched once more in another
        process for a moment; the sample that does not come, and the line it waits in, are named.
    Fix:
        Make that line faster or bound its waiting, or raise `timeout`.
    Known limits:
        A random order that is spent is kept nowhere; then the samples of the batch are not known.
    """

    id = "TD935"
    name = "loader-timeout"
    title = "a batch did not come within the DataLoader's timeout"
    explainers = (explain_timeout,)
