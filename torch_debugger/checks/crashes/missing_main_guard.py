"""TD933: a script that spawns processes runs again in each of them."""

from __future__ import annotations

from torch_debugger.checks.explainers.crash_check import CrashCheck
from torch_debugger.checks.explainers.loading.main_guards import explain_bootstrapping, explain_main_guard


class MissingMainGuard(CrashCheck):
    """A script starts processes by spawn outside of `if __name__ == "__main__":`.

    Symptom:
        "An attempt has been made to start a new process before the current process has finished its
        bootstrapping phase", printed by the new processes; the script itself sees workers that exited.
    Evidence:
        The workers' start method and exit code, that no batch came, and the script's own source: the line
        at its top level that leads to them has no `if` around it.
    Fix:
        Put what runs under `if __name__ == "__main__":`; imports, classes and functions stay outside.
    Known limits:
        A script that guards itself in another way, by any `if` at its top level, is left alone.
    """

    id = "TD933"
    name = "missing-main-guard"
    title = "a script that spawns processes has no __main__ guard"
    explainers = (explain_bootstrapping, explain_main_guard)
