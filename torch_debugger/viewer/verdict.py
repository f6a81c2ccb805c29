"""The first screen: the finding that matters with its code and its edit, the others, the crash, the loss."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from torch_debugger.checks.catalog import FAMILIES, catalog, family, find_check, page
from torch_debugger.log.run import Run
from torch_debugger.records import (
    CostFact,
    CrashFact,
    CrashFrame,
    Edit,
    EndFact,
    Finding,
    LocalTensor,
    LocalValue,
    LossSite,
    ModelFact,
    Notice,
    Place,
    ProbeFault,
    RunFact,
    Scalars,
    TrialResult,
    UntrainedModel,
)
from torch_debugger.report.json_and_markdown import finding_to_json
from torch_debugger.report.result import NO_SIGN_OF_TORCH, Chapter, LossCurvePoints, RunDigest, RunResult, chapters_of
from torch_debugger.report.sentences import cost_sentence, one_of, run_sentence, unseen, without_a_step
from torch_debugger.report.text import diff_lines, excerpt_of, one_line, printable, shown_path
from torch_debugger.system.redaction import redact_record
from torch_debugger.viewer.questions import Query, thin_curve

_MOST_CHAPTERS = 100


def answer_verdict(query: Query) -> dict[str, Any]:
    return query.of_run(verdict)


def verdict(run: Run) -> dict[str, Any]:
    code, chapters = kept_code(run), chapters_of(run.findings)
    shown = chapters[:_MOST_CHAPTERS]
    counted = run.facts.end.counted if run.facts.end else "steps"
    untrained = None  # as the report says it, of a script that has finished and trained nothing
    if run.is_watched and not run.steps and run.status == "finished":
        result = redacted_result(run)
        untrained = {"seen": run_sentence(result), "next": without_a_step(result)}
    loss = run.loss_tag
    return {
        "has_verdict": run.verdict is not None,
        "judged_to": run.judged_to,
        "counted": counted,
        "counted_one": one_of(counted),
        "without_a_step": untrained,
        "chapters": [chapter_to_json(chapter, code) for chapter in shown],
        "more_chapters": len(chapters) - len(shown),
        "crash": crash_to_json(run, code),
        "loss": {"tag": loss, **thin_curve(run, loss), "all_points": len(run.scalars(loss))} if loss else None,
    }


# What was looked at and what could not be: the grounds of a verdict, and of none.
_MOST = 50


def answer_checked(query: Query) -> dict[str, Any]:
    return query.of_run(checked)


def checked(run: Run) -> dict[str, Any]:
    kinds = run.record_kinds | ({Scalars.__name__} if run.tags.get("scalars") else set())
    cost = run.last_record(CostFact)
    notices = [each.text for each in run.records(Notice)]
    families: list[dict[str, Any]] = []
    for name in FAMILIES:
        checks = [check for check in catalog() if family(check) == name]
        # Those that found something to judge in this run.
        applicable = sum(any(kind.__name__ in kinds for kind in check.reads) for check in checks)
        families += [{"name": name, "checks": len(checks), "asked": applicable}] if checks else []
    return {
        "families": families,
        "unseen": list(dict.fromkeys(map(unseen, run.records(ProbeFault))))[:_MOST],
        "notices": [one_line(text) for text in dict.fromkeys(notices)][:_MOST],
        "cost": cost_sentence(cost) if cost is not None and run.steps else None,
    }


# What `torch-debugger explain` says of a check, by its name or id.
def answer_explain(query: Query) -> dict[str, Any]:
    text = page(find_check(query.text("check")))
    return {"summary": text.summary, "sections": text.sections}


# A crash as the page shows it: the user's own frames with what their variables held.
_MOST_FRAMES = 20
_MOST_VALUES = 30
_LONGEST_TRACEBACK = 20_000  # characters


def crash_to_json(run: Run, code: KeptCode) -> dict[str, Any] | None:
    """The one that ended the run, if one did."""
    crashes = list(run.records(CrashFact))
    if not crashes or run.status != "crashed":
        return None
    crash = crashes[-1]
    return {
        "kind": crash.qualified or crash.kind,
        "message": printable(crash.message.strip())[:_LONGEST_TRACEBACK],
        "step": crash.step,
        "frames": _frames(crash, code),
        "traceback": "\n".join(map(printable, crash.traceback[-_LONGEST_TRACEBACK:].split("\n"))),
    }


def _frames(crash: CrashFact, code: KeptCode) -> list[dict[str, Any]]:
    """The user's, outermost first, each with how many of libraries follow it."""
    shown: list[dict[str, Any]] = []
    for frame in crash.frames:
        if frame.user:
            shown.append(_frame(frame, code))
        elif shown:
            shown[-1]["inside"] += 1
    return shown[-_MOST_FRAMES:]


def _frame(frame: CrashFrame, code: KeptCode) -> dict[str, Any]:
    tensors = [_tensor(each) for each in frame.tensors]
    values = [_value(each) for each in frame.values if each.kind != "module"]
    return {
        "file": shown_path(frame.file, code.folder),
        "line": frame.line,
        "function": frame.function,
        "module": frame.module,
        "kind": frame.kind,
        "failing": frame.failing,
        "code": code.excerpt(Place(frame.file, frame.line)),
        "values": [*tensors, *values][:_MOST_VALUES],
        "inside": 0,
    }


def _tensor(tensor: LocalTensor) -> dict[str, str]:
    shape = f"[{', '.join(map(str, tensor.shape))}]"
    says = f"{shape}, {tensor.dtype} on {tensor.device}" + (", needs gradients" if tensor.requires_grad else "")
    if tensor.lowest is not None and tensor.highest is not None:
        says += f", from {tensor.lowest} to {tensor.highest}"
    return {"name": printable(tensor.name), "kind": "Tensor", "says": says}


def _value(value: LocalValue) -> dict[str, str]:
    size = f"{value.size:,} entries" if value.size is not None else ""
    return {
        "name": printable(value.name),
        "kind": printable(value.kind),
        "says": ", ".join(filter(None, (printable(value.text), size))),
    }


# A finding as the page shows it: its words, its line in context, the edit as a diff.
_MOST_SYMPTOMS = 50


def chapter_to_json(chapter: Chapter, code: KeptCode) -> dict[str, Any]:
    shown = chapter.symptoms[:_MOST_SYMPTOMS]
    return {
        "cause": finding_with_code(chapter.cause, code),
        "symptoms": [finding_with_code(each, code) for each in shown],
        "more_symptoms": len(chapter.symptoms) - len(shown),
    }


def finding_with_code(finding: Finding, code: KeptCode) -> dict[str, Any]:
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


# The user's code as the log keeps it: the whole script, and single lines of other files.
#
# Secrets were masked when it was written. No file of the disk is read: whoever looks at the page may sit at another
# machine than the script.
_AROUND = 4  # lines before and behind the one that is meant


@dataclass(frozen=True)
class KeptCode:
    folder: str
    script: str = ""
    lines: list[str] = field(default_factory=list)
    known: dict[tuple[str, int], str] = field(default_factory=dict)  # single lines, by file and number

    def excerpt(self, place: Place, edit: Edit | None = None) -> list[dict[str, object]]:
        """The line with its neighbours, or alone where only that is known; nothing where not even that is."""
        if place.file is None or place.line is None:
            return []
        path = self.whole_path(place.file)
        code = place.code or self._code_of(path, place, edit)
        lines = self.lines if path == self.script else []
        found = excerpt_of(lines, Place(path, place.line, code=code), _AROUND, _AROUND)
        return [{"number": each.number, "text": each.text, "marked": each.marked} for each in found]

    def _code_of(self, path: str, place: Place, edit: Edit | None) -> str | None:
        known = self.known.get((path, place.line or 0))
        if known is None and edit is not None and edit.line == place.line and edit.before:
            return edit.before.split("\n")[0].strip()
        return known

    def indent(self, file: str, line: int) -> str:
        """How far the line stands from the left; nothing where only its words are known."""
        known = self.lines if self.whole_path(file) == self.script else []
        text = known[line - 1] if 0 < line <= len(known) else ""
        return text[: len(text) - len(text.lstrip())]

    def whole_path(self, file: str) -> str:
        """A script that was started by a relative path is written so in the log."""
        return os.path.normpath(os.path.join(self.folder, file))


def kept_code(run: Run) -> KeptCode:
    facts = run.facts
    around, folder = facts.surroundings, facts.run.folder if facts.run else ""
    code = KeptCode(folder)
    if around is not None and around.source:
        lines = around.source.expandtabs(4).split("\n")
        code = KeptCode(folder, code.whole_path(around.script), lines)
    places: list[Place] = []
    for record in run.records(CrashFact, LossSite, ModelFact):
        if isinstance(record, CrashFact):
            for frame in record.frames:
                line = frame.code_line or frame.line
                places.append(Place(frame.file, line, code=frame.code.split("\n")[0]))
        elif isinstance(record, LossSite):
            places.append(record.place)
        elif isinstance(record, ModelFact):
            places += [module.place for module in record.modules]
    for place in places:
        if place.file and place.line and place.code:
            code.known.setdefault((code.whole_path(place.file), place.line), place.code)
    return code


# A run from the archive as the result that all reports are written from.
_SEEN = (RunFact, EndFact, ProbeFault, Notice, TrialResult, UntrainedModel)
_SILENT = {kind.__name__ for kind in NO_SIGN_OF_TORCH}
_OUTCOMES = {"running": "was running", "killed": "was killed", "unknown": "was left"}


def redacted_result(run: Run) -> RunResult:
    """Without secrets: this goes into a file that may be mailed."""
    digest = RunDigest(run.name)
    cost = run.last_record(CostFact)
    for record in (*run.records(*_SEEN), *([cost] if cost is not None else [])):
        digest.see(record)
    digest.reached(run.steps)
    digest.torch_seen = digest.torch_seen or bool(run.record_kinds - _SILENT)
    outcome = _OUTCOMES.get(run.status, run.status)
    result = dataclasses.replace(digest.result(run.findings, outcome=outcome), losses=_losses(run))
    without_secrets: RunResult = redact_record(result)
    return without_secrets


def _losses(run: Run) -> LossCurvePoints | None:
    if run.loss_tag is None:
        return None
    curve = run.scalars(run.loss_tag)
    points = list(zip(curve.steps[[0, -1]].tolist(), curve.values[[0, -1]].tolist(), strict=True))
    finite = np.where(np.isfinite(curve.values), curve.values, np.inf)
    lowest = int(finite.argmin())
    known = (int(curve.steps[lowest]), float(finite[lowest])) if np.isfinite(finite[lowest]) else None
    return LossCurvePoints(points[0], points[1], known)
