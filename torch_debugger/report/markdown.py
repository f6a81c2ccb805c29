"""The report as Markdown, for an issue or a log book."""

from __future__ import annotations

import re

from torch_debugger.records import Edit, Finding
from torch_debugger.report import sentences
from torch_debugger.report.chapters import Chapter
from torch_debugger.report.diff import diff_lines
from torch_debugger.report.hang_stacks import stack_lines
from torch_debugger.report.printable import printable
from torch_debugger.report.result import RunResult
from torch_debugger.report.source import excerpt


def render_markdown(result: RunResult) -> str:
    opening = [] if result.verdict else [escape(sentences.opening(result))]
    chapters = [block for chapter in result.chapters for block in _chapter(chapter, result)]
    closing = ["\n".join(f"- {label}: {escape(text)}" for label, text in sentences.closing(result))]
    stacks = ["## Where everybody stood", _fenced("text", stack_lines(result.hangs, result.folder))]
    blocks = ["# torch-debugger report", *opening, *chapters, *(stacks if result.hangs else []), *closing]
    return "\n\n".join(block for block in blocks if block) + "\n"


def escape(text: str) -> str:
    """One line in which nothing is Markdown or HTML any more."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&])", r"\\\1", printable(text.replace("\n", " ")))


def prose(text: str) -> str:
    """Escaped, except that `code` stays code."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(part if index % 2 else escape(part) for index, part in enumerate(parts))


def _chapter(chapter: Chapter, result: RunResult) -> list[str]:
    finding = chapter.cause
    aside = ", ".join(part for part in (finding.check, sentences.certainty(finding)) if part)
    return [
        f"## {finding.severity}: {escape(finding.name)} ({aside})",
        f"**{prose(sentences.told(finding.message, result))}**",
        escape(sentences.where(finding, result)),
        _code(finding, result),
        _evidence(finding),
        f"Why: {prose(sentences.told(finding.why, result))}",
        f"Fix: {prose(sentences.told(finding.fix, result))}",
        _diff(finding.edit, result) if finding.edit else "",
        "\n".join(f"- explains: {escape(sentences.symptom(each))}" for each in chapter.symptoms),
    ]


def _code(finding: Finding, result: RunResult) -> str:
    lines = excerpt(finding.where, result.folder)
    digits = len(str(lines[-1].number)) if lines else 0
    return _fenced(
        "text", [f"{'>' if each.marked else ' '} {each.number:>{digits}} | {each.text}" for each in lines]
    )


def _evidence(finding: Finding) -> str:
    rows = [f"| {escape(key)} | {escape(sentences.number(value))} |" for key, value in finding.evidence.items()]
    return "\n".join(["| evidence | value |", "| --- | --- |", *rows]) if rows else ""


def _diff(edit: Edit, result: RunResult) -> str:
    heading = f"@@ {sentences.edit_place(edit, result)} @@"
    return _fenced("diff", [heading, *(f"{mark} {text}" for mark, text in diff_lines(edit))])


def _fenced(language: str, lines: list[str]) -> str:
    """A code block whose fence is longer than any run of backticks in it."""
    if not lines:
        return ""
    longest = max(len(run) for run in re.findall("`*", "\n".join(lines)))
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *(line.rstrip() for line in lines), fence])
