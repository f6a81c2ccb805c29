"""A finding as the page shows it: its words, its line in context, the edit as a diff."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from torch_debugger.checks.catalog import find_check
from torch_debugger.checks.pages import page
from torch_debugger.errors import UsageError
from torch_debugger.records import Edit, Finding
from torch_debugger.report.chapters import Chapter
from torch_debugger.report.diff import diff_lines
from torch_debugger.report.json_form import finding_to_json
from torch_debugger.report.source import shown_path
from torch_debugger.viewer.kept_code import KeptCode

_MOST_SYMPTOMS = 50


def chapter_to_json(chapter: Chapter, code: KeptCode) -> dict[str, Any]:
    shown = chapter.symptoms[:_MOST_SYMPTOMS]
    return {
        "cause": told_finding(chapter.cause, code),
        "symptoms": [told_finding(each, code) for each in shown],
        "more_symptoms": len(chapter.symptoms) - len(shown),
    }


def told_finding(finding: Finding, code: KeptCode) -> dict[str, Any]:
    return finding_to_json(finding, code.folder, None) | {
        "code": code.excerpt(finding.where, finding.edit),
        "diff": _diff(finding.edit, code.folder) if finding.edit else None,
    }


def pages_of(findings: Iterable[Finding]) -> dict[str, Any]:
    """What `torch-debugger explain` says of each check that found something, by its name."""
    pages: dict[str, Any] = {}
    for name in dict.fromkeys(finding.name for finding in findings):
        try:
            text = page(find_check(name))
        except UsageError:  # a log of another version, with a check that is not in this one
            continue
        pages[name] = {"summary": text.summary, "sections": text.sections, "explained_by": text.explained_by}
    return pages


def findings_in(chapters: Sequence[Chapter]) -> list[Finding]:
    return [finding for chapter in chapters for finding in (chapter.cause, *chapter.symptoms)]


def _diff(edit: Edit, folder: str) -> dict[str, Any]:
    lines = [{"mark": mark, "text": text} for mark, text in diff_lines(edit)]
    return {"file": shown_path(edit.file, folder), "line": edit.line, "lines": lines, "after": edit.after}
