"""Processes started by spawn from a script that runs again when it is imported."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.records import CrashFact, Place


def explain_main_guard(crash: CrashFact) -> Blame | None:
    """Seen from the process that started the others: they ended at once, and the script has no guard."""
    loading = crash.evidence.loading
    death = loading.death if loading is not None else None
    if death is None or not death.unguarded.file or death.exit_code != 1 or death.delivered:
        return None
    line = death.unguarded
    return Blame(
        message=f"The processes started by {place_text(line)} end before they begin: the script has no "
        f'`if __name__ == "__main__":` around it.',
        why=_WHY + " Each of them ended with exit code 1 before a batch came.",
        fix=_fix(line),
        where=line,
        evidence={"exit code": 1.0, "line": line_text(line)},
        confidence=0.95,
    )


def explain_bootstrapping(crash: CrashFact) -> Blame | None:
    """Seen from inside such a process, while it imports the script."""
    last = crash.frames[-1] if crash.frames else None
    if last is None or last.function != "_check_not_importing_main" or last.user:
        return None
    outer = next((frame for frame in crash.frames if frame.user and frame.function == "<module>"), None)
    if outer is None:
        return None
    line = Place(outer.file, outer.line, None, outer.code.split("\n")[0])
    return Blame(
        message=f"{place_text(line)} starts processes while the script is only being imported: it has no "
        f'`if __name__ == "__main__":` around it.',
        why=_WHY,
        fix=_fix(line),
        where=line,
        evidence={"line": line_text(line)},
        confidence=0.97,
    )


_WHY = (
    "A spawned process imports the script anew to find the dataset's class in it, so it runs everything at the "
    "script's top level once more, and would start processes again."
)


def _fix(line: Place) -> str:
    return (
        f"Leave imports, classes and functions where they are, and put what runs, {place_text(line)} included, "
        f'under `if __name__ == "__main__":`.'
    )
