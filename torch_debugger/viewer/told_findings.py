"""A finding as the page shows it: its words, its line in context, the edit as a diff."""

from __future__ import annotations

from typing import Any

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
        "diff": _diff(finding.edit, code) if finding.edit else None,
    }


def _diff(edit: Edit, code: KeptCode) -> dict[str, Any]:
    lines = diff_lines(edit)
    indent = code.indent(edit.file, edit.line)
    return {
        "file": shown_path(edit.file, code.folder),
        "line": edit.line,
        "lines": [{"mark": mark, "text": text} for mark, text in lines],
        "added": "\n".join(indent + text for mark, text in lines if mark == "+"),
    }
