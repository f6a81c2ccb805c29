"""The sentences all reports share, so that terminal and Markdown say the same words."""

from __future__ import annotations

import math
import os
import signal
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from torch_debugger.records import (
    CostFact,
    Edit,
    Finding,
    FlowFact,
    HangFact,
    MemoryFact,
    MemoryLook,
    ProbeFault,
    StackLine,
    Standing,
)
from torch_debugger.records.performance import ACTIVATIONS, BEFORE_BACKWARD, KEPT, VARIABLES
from torch_debugger.records.ranks import ranks_in_words
from torch_debugger.records.units import bytes_text
from torch_debugger.report.result import RankResult, RunResult, ending_signal
from torch_debugger.report.text import one_line, short_paths, shown_path

_ONE = {"backward passes": "backward pass", "steps as logged": "step as logged"}
_SURE = 0.9  # from here on a finding is stated plainly; below, it says how sure it is
_UNTRAINED = "Nothing wrong was found, but no training could be judged"
_UNSEEN = ": backward() and optimizers are watched, updates made by hand are not"
_UNEXPLAINED = "No check recognised the cause; what the script itself printed is above."
_KILLED = (
    "SIGKILL leaves no message: most often the machine ran out of memory or a job scheduler "
    "reached its limit. The system log (dmesg) names the cause."
)
_UNAVOIDABLE_S = 0.5  # putting probes on and the first deep steps cost this much at most, whatever the budget


def number(value: float | str) -> str:
    """3.1, 120, 1,204,000, 1.2e-07, nan; text stays text."""
    if isinstance(value, str):
        return one_line(value)
    if math.isfinite(value) and value == int(value) and abs(value) < 1e12:
        return f"{int(value):,}"
    return f"{value:.4g}"


def shown_sentence(sentence: str, result: RunResult) -> str:
    """A check's sentence on one line, with paths as the user would type them."""
    return one_line(short_paths(sentence, result.folder))


def where(finding: Finding, result: RunResult) -> str:
    """train.py:31 in net.fc1, since step 2, on ranks 0-3"""
    place = finding.where
    parts = [shown_path(place.file, result.folder) + (f":{place.line}" if place.line else "")] if place.file else []
    parts += [f"in {place.module}" if place.file else place.module] if place.module else []
    ended = result.outcome in ("crashed", "explained")
    if ended and finding.first_step == finding.last_step >= max(result.steps, 1):
        moment = f"at step {finding.first_step}"
    else:
        moment = f"since step {finding.first_step}" if finding.first_step > 0 else ""
    return one_line(", ".join(part for part in (" ".join(parts), moment, on_ranks(finding)) if part))


def on_ranks(finding: Finding) -> str:
    """on rank 2; empty for a program of one process"""
    return f"on {ranks_in_words(finding.ranks)}" if finding.ranks else ""


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
        watched = f"{_steps(result)} watched{_loss_change(result)}" if result.steps else "no training step was watched"
        return one_line(f"{watched if result.torch_seen else 'no model ran while the debugger watched'}.")
    if trained_nothing(result):
        progress = what_was_seen(result)
    elif result.steps:
        progress = f" after {_steps(result)}{_loss_change(result)}"
    else:
        finished = result.outcome == "finished"
        progress = "; no training step was seen" if finished else " before its first step was done"
    return one_line(f"{script} {_ending(result)}{progress}.")


def opening(result: RunResult) -> str:
    """What a report says first when there is no verdict."""
    if result.outcome in ("crashed", "hung"):
        unexplained = _KILLED if ending_signal(result.exit_code) == signal.SIGKILL else _UNEXPLAINED
        return f"{run_sentence(result)} {unexplained}"
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
    if result.verdict and result.told:
        # The way out once more, for a reader who sees only the end of a long traceback.
        verdict, place = result.verdict, result.verdict.where
        spot = f" at {shown_path(place.file, result.folder)}:{place.line}" if place.file and place.line else ""
        lines.append(("fix", one_line(f"{verdict.name}{spot}: {shown_sentence(verdict.fix, result)}")))
    lines += [("unseen", unseen(fault)) for fault in result.faults]
    lines += [("notice", one_line(notice.text)) for notice in result.notices]
    for look in result.memory:
        if max(look.used_bytes, look.peak_bytes) >= _WORTH_A_LINE:
            lines.append(("memory", peak_sentence(look)))
    lines += [("cost", cost_sentence(result.cost))] if result.cost and result.steps else []
    lines += [("log", one_line(result.log))] if result.log else []
    lines += [("more", f"torch-debugger explain {one_line(result.verdict.name)}")] if result.verdict else []
    return lines


def cost_sentence(cost: CostFact) -> str:
    """0.8 % of 34.1 s (budget 2 %), 12 deep steps"""
    if cost.elapsed_s < cost.spent_s:
        return f"{cost.spent_s:.2f} s, before any step was timed"
    plain_s, budget = cost.elapsed_s - cost.spent_s - cost.tracing_s, f"{100 * cost.budget:g} %"
    deep = f"{cost.deep_steps:,} deep step{'' if cost.deep_steps == 1 else 's'}"
    if cost.tracing_s:
        deep += f"; {cost.tracing_s:.1f} s more to trace the cause"
    if cost.ratio - 1 > cost.budget and cost.spent_s < _UNAVOIDABLE_S:
        return f"{cost.spent_s:.2f} s on top of {plain_s:.2f} s (too short a run for a budget of {budget}), {deep}"
    return f"{100 * (cost.ratio - 1):.1f} % of {plain_s:.1f} s (budget {budget}), {deep}"


def unseen(fault: ProbeFault) -> str:
    missing = f"{fault.probe}, from step {fault.step} on: it failed and was taken off"
    error = textwrap.shorten(fault.error, 200, placeholder=" ...")  # torch's dispatcher may write pages
    return one_line(f"{missing}; the training was not touched ({error}).")


def _ending(result: RunResult) -> str:
    caught = ending_signal(result.exit_code)
    if caught is not None:
        verb = "was stopped by" if result.outcome == "stopped" else "was ended by"
        return f"{verb} signal {caught.value} ({caught.name})"
    status = f" with exit code {result.exit_code}" if result.exit_code else ""
    verbs = {"hung": "stopped making progress", "stopped": "was stopped"}
    return verbs.get(result.outcome, result.outcome) + status


def _steps(result: RunResult) -> str:
    return f"{result.steps:,} {one_of(result.counted) if result.steps == 1 else result.counted}"


def one_of(counted: str) -> str:
    """backward passes: backward pass"""
    return _ONE.get(counted, counted.removesuffix("s"))


def _loss_change(result: RunResult) -> str:
    if result.losses is None:
        return ""
    return f", loss {number(result.losses.first[1])} -> {number(result.losses.last[1])}"


# The ranks of a run in one sentence.
_ENDS = {"finished": "finished", "crashed": "crashed", "hung": "hung", "stopped": "were stopped"}


def ranks_sentence(ranks: Sequence[RankResult]) -> str:
    """4 ranks (gloo): ranks 0, 2 and 3 were stopped by SIGTERM after 12 steps, rank 1 crashed after 12 steps"""
    ends: dict[str, list[int]] = {}
    for each in ranks:
        caught = ending_signal(each.exit_code)
        verb = _ENDS.get(each.outcome, "left no end in their logs")
        verb = f"were ended by {caught.name}" if caught is not None else verb
        steps = f"{each.steps:,} step{'' if each.steps == 1 else 's'}"
        ends.setdefault(f"{verb} after {steps}", []).append(each.rank)
    if len(ends) == 1:
        words = f"all {next(iter(ends))}"
    else:
        parts = []
        for end, ended in ends.items():
            if len(ended) == 1:
                end = end.replace("were ", "was ", 1).replace("in their logs", "in its log", 1)
            parts.append(f"{ranks_in_words(ended)} {end}")
        words = ", ".join(parts)
    backends = sorted({each.backend for each in ranks if each.backend})
    hosts = {each.host for each in ranks if each.host}
    world = max([each.world_size for each in ranks] + [len(ranks)])
    many = f"{len(ranks)} of {world} ranks" if len(ranks) < world else f"{world} ranks"
    on_hosts = f" on {len(hosts)} hosts" if len(hosts) > 1 else ""
    by = f" ({', '.join(backends)})" if backends else ""
    return f"{many}{on_hosts}{by}: {words}"


# What is said of a script that has finished without training anything: what was seen, and what can be done.
_NAMED = 3  # models


def trained_nothing(result: RunResult) -> bool:
    """A script without a step that ended by itself, and is a whole script."""
    unseen = not result.torch_seen or bool(result.untrained)
    return unseen and result.steps == 0 and result.outcome == "finished" and not result.part


def what_was_seen(result: RunResult) -> str:
    """: `net` (Net) was called 20 times; no backward() and no optimizer step was seen"""
    if result.untrained:
        calls: list[str] = []
        for each in result.untrained[:_NAMED]:
            times = "once" if each.calls == 1 else f"{each.calls:,} times"
            calls.append(f"`{each.model}` ({each.kind}) {'' if calls else 'was called '}{times}")
        more = len(result.untrained) - _NAMED
        others = f" and {more} more model{'s' if more > 1 else ''}" if more > 0 else ""
        return f": {', '.join(calls)}{others}; no backward() and no optimizer step was seen"
    if result.run is not None and result.run.torch:
        return "; it imported torch, but no model was called and nothing was trained"
    return " without importing torch: there was nothing to watch"


def what_can_be_done(result: RunResult) -> str:
    """Of the models' outputs, and where to look next."""
    if not result.untrained:
        if result.run is None or not result.run.torch:
            return ""
        return (
            "torch_debugger.describe(x) shows what a tensor holds, torch_debugger.activations(model, x) what "
            "each layer of a model gives."
        )
    name, looks = result.untrained[0].model, sum(each.looks for each in result.untrained)
    outputs = "the output" if looks == 1 else f"{looks:,} outputs"
    clean = f"No NaN in {outputs} looked at. " if looks and result.verdict is None else ""
    return (
        f"{clean}torch_debugger.activations({name}, x) shows what each layer gives, "
        f"torch_debugger.doctor({name}, loss_fn, (x, y)) tries the model before it is trained, and a script "
        "that trains it is watched step by step."
    )


# Memory in words: what a forward pass made, and what the process holds.
_WORTH_A_LINE = 100_000_000  # bytes; nobody runs out of less
_PARTS, _MODULES = 4, 3


def memory_sentence(flows: Sequence[FlowFact], memory: MemoryFact | None) -> str:
    """outputs of this forward pass 130 kB; process 256 MB now, 301 MB at most"""
    parts = []
    if flows:
        # The modules that ran no others: an output handed up the tree is counted once.
        made = sum(
            step.made_bytes
            for flow in flows
            for step, following in zip(flow.steps, [*flow.steps[1:], None], strict=True)
            if not following or following.depth <= step.depth
        )
        which = "this forward pass" if len(flows) == 1 else f"these {len(flows)} forward passes"
        parts.append(f"outputs of {which} {bytes_text(made)}")
    if memory is not None:
        parts.append(f"process {bytes_text(memory.resident_bytes)} now, {bytes_text(memory.peak_bytes)} at most")
        if memory.device_peak_bytes:
            now, most = bytes_text(memory.device_bytes), bytes_text(memory.device_peak_bytes)
            parts.append(f"accelerator {now} now, {most} at most")
    return "; ".join(parts)


def fullest_sentence(look: MemoryLook) -> str:
    """2.1 GB on cuda:0 before the backward of step 12: activations 1.4 GB (most by net.stem 0.3 GB), ..."""
    moment = "before the backward" if look.moment == BEFORE_BACKWARD else "after the update"
    # Its largest parts, with the modules and variables that they belong to.
    parts = sorted(look.parts.items(), key=lambda part: -part[1])
    made_of = ", ".join(f"{name} {bytes_text(size)}{_whose(name, look)}" for name, size in parts[:_PARTS] if size)
    return f"{bytes_text(look.used_bytes)} on {look.device} {moment} of step {look.step}: {made_of}"


def _whose(category: str, look: MemoryLook) -> str:
    if category == ACTIVATIONS:
        named = [(each.path or "outside of modules", each.size_bytes) for each in look.modules]
    elif category in (KEPT, VARIABLES):
        named = [(each.name, each.size_bytes) for each in look.variables if each.grown == (category == KEPT)]
    else:
        named = []
    largest = ", ".join(f"{name} {bytes_text(size)}" for name, size in named[:_MODULES])
    return f" ({largest})" if largest else ""


def peak_sentence(look: MemoryLook) -> str:
    """Of the fullest look at a device: what it was made of, and how much higher it was between two looks."""
    within = look.peak_bytes - look.used_bytes
    if within <= 0:
        return f"at most {fullest_sentence(look)}"
    return (
        f"peak {bytes_text(look.peak_bytes)}, {bytes_text(within)} of it for a moment within a step; "
        f"{fullest_sentence(look)}"
    )


# Where everybody stood: the stacks of a hang, those that are alike shown once.
_MOST_ALIKE = 8  # named one by one
_PACKAGES = ("/site-packages/", "/dist-packages/", "/lib/python3")


def stack_lines(facts: Iterable[HangFact], folder: str | None) -> list[str]:
    """One block for each thread, worker and rank; innermost line last."""
    blocks: dict[tuple[StackLine, ...], list[tuple[HangFact, Standing]]] = {}
    for fact in facts:
        for standing in fact.stacks:
            blocks.setdefault(standing.lines, []).append((fact, standing))
    shown: list[str] = []
    for lines, members in blocks.items():
        shown.append(f"{_heading(members)}:")
        shown += [f"    {_line(line, folder)}" for line in lines] or ["    no stack: it did not answer"]
    return shown


def hang_to_json(fact: HangFact, folder: str | None) -> dict[str, Any]:
    place = fact.place
    return {
        "rank": fact.rank,
        "world": fact.world,
        "step": fact.step,
        "still_s": round(fact.still_s, 1),
        "expected_s": round(fact.expected_s, 1),
        "kind": fact.kind,
        "doing": fact.doing,
        "where": {"file": shown_path(place.file, folder) if place.file else None, "line": place.line},
        "stacks": [
            {
                "who": each.who,
                "pid": each.pid,
                "alive": each.is_alive,
                "wait": each.wait,
                "target": each.target,
                "lines": [_line(line, folder) for line in each.lines],
            }
            for each in fact.stacks
        ],
    }


def _heading(members: Sequence[tuple[HangFact, Standing]]) -> str:
    names = []
    for fact, each in members:
        rank = f"rank {fact.rank} " if fact.rank is not None else ""
        names.append(f"{rank}{one_line(each.who)} (process {each.pid})")
    named = ", ".join(names[:_MOST_ALIKE]) + (f" and {len(names) - _MOST_ALIKE} more" * (len(names) > _MOST_ALIKE))
    first = members[0][1]
    if not first.is_alive:
        return f"{named}, has ended"
    wait = f", in {first.wait}{f' of {one_line(first.target)}' if first.target else ''}" if first.wait else ""
    return f"{named}{wait}"


def _line(line: StackLine, folder: str | None) -> str:
    """train.py:9 in main: lock.acquire()"""
    file = line.place.file or "?"
    shown = shown_path(file, folder) if line.is_users else _short(file)
    code = f": {line.place.code}" if line.place.code else ""
    return one_line(f"{shown}:{line.place.line} in {line.function}{code}")


def _short(file: str) -> str:
    """torch/utils/data/dataloader.py, without the folders it is installed in."""
    for part in _PACKAGES:
        _, found, after = file.rpartition(part)
        if found:
            return after.partition("/")[2] if part == _PACKAGES[2] else after
    return file
