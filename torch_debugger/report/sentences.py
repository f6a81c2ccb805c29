"""The sentences all reports share, so that terminal and Markdown say the same words."""

from __future__ import annotations

import math
import os
import signal
import textwrap

from torch_debugger.records import CostFact, Edit, Finding, ProbeFault
from torch_debugger.records.ranks import ranks_in_words
from torch_debugger.report.exits import ending_signal
from torch_debugger.report.memory import peak_line
from torch_debugger.report.printable import one_line
from torch_debugger.report.rank_words import ranks_sentence
from torch_debugger.report.result import RunResult
from torch_debugger.report.source import short_paths, shown_path
from torch_debugger.report.untrained import trained_nothing, what_can_be_done, what_was_seen

_ONE = {"backward passes": "backward pass", "steps as logged": "step as logged"}
_SURE = 0.9  # from here on a finding is stated plainly; below, it says how sure it is
_UNTRAINED = "Nothing wrong was found, but no training could be judged"
_UNSEEN = ": backward() and optimizers are watched, updates made by hand are not"
_UNAVOIDABLE_S = 0.5  # putting probes on and the first deep steps cost this much at most, whatever the budget


def number(value: float | str) -> str:
    """3.1, 120, 1,204,000, 1.2e-07, nan; text stays text."""
    if isinstance(value, str):
        return one_line(value)
    if math.isfinite(value) and value == int(value) and abs(value) < 1e12:
        return f"{int(value):,}"
    return f"{value:.4g}"


def told(sentence: str, result: RunResult) -> str:
    """A check's sentence on one line, with paths as the user would type them."""
    return one_line(short_paths(sentence, result.folder))


def where(finding: Finding, result: RunResult) -> str:
    """train.py:31 in net.fc1, since step 2, on ranks 0-3"""
    place = finding.where
    parts = (
        [shown_path(place.file, result.folder) + (f":{place.line}" if place.line else "")] if place.file else []
    )
    parts += [f"in {place.module}" if place.file else place.module] if place.module else []
    spot, moment = " ".join(parts), _moment(finding, result)
    return one_line(", ".join(part for part in (spot, moment, on_ranks(finding)) if part))


def on_ranks(finding: Finding) -> str:
    """on rank 2; empty for a program of one process"""
    return f"on {ranks_in_words(finding.ranks)}" if finding.ranks else ""


def _moment(finding: Finding, result: RunResult) -> str:
    ended = result.outcome in ("crashed", "explained")
    if ended and finding.first_step == finding.last_step >= max(result.steps, 1):
        return f"at step {finding.first_step}"
    return f"since step {finding.first_step}" if finding.first_step > 0 else ""


def edit_place(edit: Edit, result: RunResult) -> str:
    return one_line(f"{shown_path(edit.file, result.folder)}:{edit.line}")


def symptom(finding: Finding) -> str:
    """loss-not-finite in net.fc2, since step 14"""
    spot = f" in {finding.where.module}" if finding.where.module else ""
    moment = f", since step {finding.first_step}" if finding.first_step > 0 else ""
    ranks = f", {on_ranks(finding)}" if finding.ranks else ""
    return one_line(f"{finding.name}{spot}{moment}{ranks}")


def certainty(finding: Finding) -> str:
    """Empty for a stable check that is sure."""
    doubts = [f"{100 * finding.confidence:.0f} % sure"] if finding.confidence < _SURE else []
    doubts += ["preview"] if finding.status == "preview" else []
    return ", ".join(doubts)


def run_sentence(result: RunResult) -> str:
    """train.py finished after 120 optimizer steps, loss 2.303 -> 0.041."""
    script = os.path.basename(result.script) or "the script"
    if result.part and result.outcome == "finished":
        return one_line(f"{_watched(result)}.")
    if trained_nothing(result):
        return one_line(f"{script} {_ending(result)}{what_was_seen(result)}.")
    return one_line(f"{script} {_ending(result)}{_progress(result)}.")


def opening(result: RunResult) -> str:
    """What a report says first when there is no verdict."""
    if result.outcome in ("crashed", "hung"):
        return f"{run_sentence(result)} {_unexplained(result)}"
    if result.steps == 0 and result.outcome == "finished" and not result.part:
        return f"{run_sentence(result)} {without_a_step(result)}".rstrip()
    watched = f" ({result.checks} checks)" if result.checks else ""
    if result.outcome == "stopped" and result.exit_code and ending_signal(result.exit_code) is None:
        return f"{run_sentence(result)} Up to there nothing wrong was found{watched}."
    return f"Nothing wrong found: {run_sentence(result).removesuffix('.')}{watched}."


def without_a_step(result: RunResult) -> str:
    """Where a script has finished and no step was seen: what can be done, or why nothing could be judged."""
    if trained_nothing(result):
        return what_can_be_done(result)
    return f"{_UNTRAINED}{_UNSEEN if not result.notices else ''}."


def closing(result: RunResult) -> list[tuple[str, str]]:
    """What a report says last: (label, text) pairs."""
    lines = [("run", run_sentence(result))] if result.verdict and result.outcome != "explained" else []
    lines += [("ranks", ranks_sentence(result.ranks))] if result.ranks else []
    lines += [("fix", _reminder(result.verdict, result))] if result.verdict and result.told else []
    lines += [("unseen", unseen(fault)) for fault in result.faults]
    lines += [("notice", one_line(notice.text)) for notice in result.notices]
    lines += [("memory", told) for told in map(peak_line, result.memory) if told]
    lines += [("cost", cost_sentence(result.cost))] if result.cost and result.steps else []
    lines += [("log", one_line(result.log))] if result.log else []
    lines += [("more", f"torch-debugger explain {one_line(result.verdict.name)}")] if result.verdict else []
    return lines


def _reminder(finding: Finding, result: RunResult) -> str:
    """The way out once more, for a reader who sees only the end of a long traceback."""
    place = finding.where
    spot = f" at {shown_path(place.file, result.folder)}:{place.line}" if place.file and place.line else ""
    return one_line(f"{finding.name}{spot}: {told(finding.fix, result)}")


def cost_sentence(cost: CostFact) -> str:
    """0.8 % of 34.1 s (budget 2 %), 12 deep steps"""
    if cost.elapsed_s < cost.spent_s:
        return f"{cost.spent_s:.2f} s, before any step was timed"
    plain_s, budget = cost.elapsed_s - cost.spent_s - cost.tracing_s, f"{100 * cost.budget:g} %"
    deep = f"{cost.deep_steps:,} deep step{'' if cost.deep_steps == 1 else 's'}"
    if cost.tracing_s:
        deep += f"; {cost.tracing_s:.1f} s more to trace the cause"
    if cost.ratio - 1 > cost.budget and cost.spent_s < _UNAVOIDABLE_S:
        return (
            f"{cost.spent_s:.2f} s on top of {plain_s:.2f} s (too short a run for a budget of {budget}), {deep}"
        )
    return f"{100 * (cost.ratio - 1):.1f} % of {plain_s:.1f} s (budget {budget}), {deep}"


def unseen(fault: ProbeFault) -> str:
    missing = f"{fault.probe}, from step {fault.step} on: it failed and was taken off"
    error = textwrap.shorten(fault.error, 200, placeholder=" ...")  # torch's dispatcher may write pages
    return one_line(f"{missing}; the training was not touched ({error}).")


def _unexplained(result: RunResult) -> str:
    if ending_signal(result.exit_code) == signal.SIGKILL:
        return (
            "SIGKILL leaves no message: most often the machine ran out of memory or a job scheduler "
            "reached its limit. The system log (dmesg) names the cause."
        )
    return "No check recognised the cause; what the script itself printed is above."


def _ending(result: RunResult) -> str:
    caught = ending_signal(result.exit_code)
    if caught is not None:
        verb = "was stopped by" if result.outcome == "stopped" else "was ended by"
        return f"{verb} signal {caught.value} ({caught.name})"
    status = f" with exit code {result.exit_code}" if result.exit_code else ""
    verbs = {"hung": "stopped making progress", "stopped": "was stopped"}
    return verbs.get(result.outcome, result.outcome) + status


def _watched(result: RunResult) -> str:
    """For a part of a script: 120 optimizer steps watched, loss 2.303 -> 0.041"""
    if not result.torch_seen:
        return "no model ran while the debugger watched"
    return f"{_steps(result)} watched{_loss_change(result)}" if result.steps else "no training step was watched"


def _progress(result: RunResult) -> str:
    if result.steps == 0:
        return (
            "; no training step was seen" if result.outcome == "finished" else " before its first step was done"
        )
    return f" after {_steps(result)}{_loss_change(result)}"


def _steps(result: RunResult) -> str:
    return f"{result.steps:,} {one_of(result.counted) if result.steps == 1 else result.counted}"


def one_of(counted: str) -> str:
    """backward passes: backward pass"""
    return _ONE.get(counted, counted.removesuffix("s"))


def _loss_change(result: RunResult) -> str:
    if result.losses is None:
        return ""
    return f", loss {number(result.losses.first[1])} -> {number(result.losses.last[1])}"
