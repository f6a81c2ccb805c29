"""Findings on paper: what, where, the line itself, the numbers, why, and the edit."""

from __future__ import annotations

import re

from torch_debugger.records import Edit, Finding
from torch_debugger.report import sentences
from torch_debugger.report.chapters import Chapter
from torch_debugger.report.diff import diff_lines
from torch_debugger.report.result import RunResult
from torch_debugger.viewer.kept_code import KeptCode
from torch_debugger.viewer.still.markup import Markup, element, together

_MARKS = {"-": "removed", "+": "added", " ": None}


def chapter_section(chapter: Chapter, result: RunResult, code: KeptCode, level: str = "h3") -> Markup:
    finding = chapter.cause
    return element(
        "section",
        _heading(finding, level),
        element("p", prose(sentences.told(finding.message, result)), class_="still-message"),
        element("p", sentences.where(finding, result), class_="quiet still-where"),
        _code(code.excerpt(finding.where, finding.edit)),
        _evidence(finding),
        _labelled("Why", finding.why, result),
        _labelled("Fix", finding.fix, result),
        _diff(finding.edit, result) if finding.edit else None,
        _explains(chapter),
        class_=f"still-finding still-{finding.severity}",
    )


def prose(sentence: str) -> Markup:
    """`code` between backticks is set as code."""
    parts = re.split(r"`([^`]+)`", sentence)
    return together(*(element("code", part) if place % 2 else part for place, part in enumerate(parts)))


def _heading(finding: Finding, level: str) -> Markup:
    aside = ", ".join(part for part in (finding.check, sentences.certainty(finding)) if part)
    badge = element("span", finding.severity, class_="still-badge")
    return element(level, badge, " ", finding.name, " ", element("span", aside, class_="quiet still-aside"))


def _labelled(label: str, sentence: str, result: RunResult) -> Markup | None:
    told = sentences.told(sentence, result)
    return element("p", element("b", f"{label}: "), prose(told)) if told else None


def _evidence(finding: Finding) -> Markup | None:
    rows = [
        element("tr", element("th", key.replace("_", " "), scope="row"), element("td", sentences.number(value)))
        for key, value in finding.evidence.items()
    ]
    caption = element("caption", "The numbers behind it")
    return element("table", caption, element("tbody", *rows), class_="still-table") if rows else None


def _code(lines: list[dict[str, object]]) -> Markup | None:
    if not lines:
        return None
    digits = len(str(lines[-1]["number"]))
    shown = [
        element(
            "span",
            f"{'>' if line['marked'] else ' '} {line['number']:>{digits}} | {line['text']}",
            class_="still-marked" if line["marked"] else None,
        )
        for line in lines
    ]
    return element("pre", together(*shown, between="\n"), tabindex="0", aria_label="The code around it")


def _diff(edit: Edit, result: RunResult) -> Markup:
    place = element("span", sentences.edit_place(edit, result), class_="quiet")
    lines = [element("span", f"{mark} {text}".rstrip(), class_=_MARKS[mark]) for mark, text in diff_lines(edit)]
    return element("pre", together(place, *lines, between="\n"), tabindex="0", aria_label="The edit, as a diff")


def _explains(chapter: Chapter) -> Markup | None:
    if not chapter.symptoms:
        return None
    rows = [element("li", sentences.symptom(each)) for each in chapter.symptoms]
    return together(element("p", "It explains:"), element("ul", *rows))
