"""The first screen: the finding that matters with its code and its edit, the others, the crash, the loss."""

from __future__ import annotations

from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.report.chapters import chapters_of
from torch_debugger.report.sentences import one_of, run_sentence, without_a_step
from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.kept_code import kept_code
from torch_debugger.viewer.still.told import told_result
from torch_debugger.viewer.thin_curve import thin_curve
from torch_debugger.viewer.told_crash import told_crash
from torch_debugger.viewer.told_findings import chapter_to_json

_MOST_CHAPTERS = 100


def answer(asked: Asked) -> dict[str, Any]:
    return asked.of_run(verdict)


def verdict(run: Run) -> dict[str, Any]:
    code, chapters = kept_code(run), chapters_of(run.findings)
    shown = chapters[:_MOST_CHAPTERS]
    end = run.facts.end
    counted = end.counted if end else "steps"
    return {
        "has_verdict": run.verdict is not None,
        "judged_to": run.judged_to,
        "counted": counted,
        "counted_one": one_of(counted),
        "without_a_step": _without_a_step(run),
        "chapters": [chapter_to_json(chapter, code) for chapter in shown],
        "more_chapters": len(chapters) - len(shown),
        "crash": told_crash(run, code),
        "loss": thin_curve(run, run.loss_tag) if run.loss_tag else None,
    }


def _without_a_step(run: Run) -> dict[str, str] | None:
    """As the report says it, of a script that has finished and trained nothing."""
    if not run.is_watched or run.steps or run.status != "finished":
        return None
    result = told_result(run)
    return {"seen": run_sentence(result), "next": without_a_step(result)}
