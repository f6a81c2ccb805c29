"""A list or a sum that keeps the autograd graph of every step."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from torch_debugger.checks.base import Check, RunState
from torch_debugger.checks.call_edits import edit_line
from torch_debugger.records import Finding, KeptGraphs


@dataclass
class _KeptVariable:
    looks: list[KeptGraphs] = field(default_factory=list)
    reported: bool = False


_KEPT = {"container": "tensors with a graph", "sum": "additions in its graph", "chain": "steps in its graph"}


class MemoryGrows(Check):
    """A variable keeps the autograd graphs of all steps, so memory grows with every step.

    Symptom:
        Memory grows steadily and the run ends in "out of memory" after hours, at a step that is no different
        from the first one.
    Evidence:
        A list or a sum among the variables around `backward()` holds tensors that still have a graph. On
        several deep steps its oldest tensor was the same one and its length had grown; a sum had got one more
        addition for every step between the looks. Or a tensor is made of its own last value (`h = cell(x, h)`)
        and its graph reaches back one step further with every step.
    Fix:
        Keep the number, not the tensor: `losses.append(loss.item())`, or `.detach()` where the values are
        needed. `total += loss.item()` for a sum. `h = cell(x, h.detach())` for a state that is carried on.
    Known limits:
        Variables of the functions that are running are seen, and what they hold three objects deep: attributes,
        entries, closures, class attributes. What lies deeper is not. A list that is emptied again is not
        reported, nor is a sum that starts anew within ten steps.
    """

    id = "TD550"
    name = "memory-grows"
    title = "a variable keeps the autograd graph of every step"
    reads = (KeptGraphs,)
    explains = ("out-of-memory", "steps-get-slower")

    looks_needed = 3
    # The list of one episode, or of one accumulated batch, is over by then.
    steps_apart = 10
    # Of the steps between two looks, the share that added to a container; some add on every second step.
    smallest_growth = 0.25

    def __init__(self) -> None:
        self._variables: dict[str, _KeptVariable] = {}

    def see(self, record: KeptGraphs, state: RunState) -> Iterable[Finding]:
        variable = self._variables.setdefault(record.name, _KeptVariable())
        looks = variable.looks
        if looks and looks[-1].step == record.step:
            return
        if looks and not self._follows(looks, record):
            looks.clear()
        looks.append(record)
        if not variable.reported and self._is_certain(looks):
            variable.reported = True
            yield self._judge(looks)

    def finish(self, state: RunState) -> Iterable[Finding]:
        for variable in self._variables.values():
            if variable.reported and self._is_certain(variable.looks):
                yield self._judge(variable.looks)

    def _follows(self, looks: list[KeptGraphs], now: KeptGraphs) -> bool:
        before = looks[-1]
        grown, steps = now.count - before.count, now.step - before.step
        if now.form != before.form:
            return False
        if now.form == "container":
            return now.since == before.since and grown >= self.smallest_growth * steps
        if grown <= 0 or grown % steps:
            return False
        # As many additions a step as so far: a sum over the parts of one step has no such rate.
        return len(looks) < 2 or grown // steps == (before.count - looks[0].count) // (before.step - looks[0].step)

    def _is_certain(self, looks: list[KeptGraphs]) -> bool:
        return len(looks) >= self.looks_needed and looks[-1].step - looks[0].step >= self.steps_apart

    def _judge(self, looks: list[KeptGraphs]) -> Finding:
        first, last = looks[0], looks[-1]
        after, fix = _remedy(last)
        return self.finding(
            severity="warning",
            confidence=0.95,
            message=f"`{last.name}` keeps the autograd graphs of past steps: {first.count} {_KEPT[last.form]} at step "
            f"{first.step}, {last.count} at step {last.step}, so memory grows with every step.",
            why="A tensor that comes out of a model remembers how it was computed. As long as a variable holds "
            "it, nothing of that memory is given back.",
            fix=fix,
            where=last.place,
            steps=(first.since, last.step),
            evidence={
                "variable": last.name,
                "kept": float(last.count),
                "kept_before": float(first.count),
                "steps_between": float(last.step - first.step),
            },
            edit=edit_line(last.place, after),
        )


def _remedy(last: KeptGraphs) -> tuple[str | None, str]:
    """The line as it should read, and the same in words."""
    end = ".item()" if last.scalar else ".detach()"
    code = last.place.code or ""
    if last.form == "chain":  # behind the equals sign, the variable's last value without its graph
        before, sign, value = code.partition("=")
        own = rf"(?<![\w.]){re.escape(last.name)}(?![\w.(\[]| is )"
        if sign and "\n" not in code and len(re.findall(own, value)) == 1:
            after = before + sign + re.sub(own, f"{last.name}.detach()", value)
            return after, f"Write `{after}`: it goes on with the value, without the graph of the steps before."
        return None, f"Go on with `{last.name}.detach()`: the value, without the graph of the steps before."
    if re.fullmatch(r"[\w.]+", last.added) and "\n" not in code:
        parts = list(re.finditer(rf"(?<![\w.]){re.escape(last.added)}(?![\w.(\[])", code))
        if parts:
            after = code[: parts[-1].end()] + end + code[parts[-1].end() :]
            kept = "number" if last.scalar else "values"
            return after, f"Write `{after}`: it adds the {kept} without the graph."
    what = f"`{last.added}`" if last.added else f"what is added to `{last.name}`"
    return None, f"Add {what} without its graph: put `{end}` behind each tensor that goes into `{last.name}`."
