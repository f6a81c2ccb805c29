"""TD970: torch's profiler was set up or asked for results as it cannot be."""

from __future__ import annotations

from collections.abc import Callable

from torch_debugger.checks.crash_check import CrashCheck
from torch_debugger.checks.crashes.explanation import Blame, as_sentence, line_text, listed, place_text
from torch_debugger.checks.crashes.user_code import (
    Change,
    Explanation,
    calls_of,
    edited_place,
    rewritten,
    statement_place,
)
from torch_debugger.records import CrashFact
from torch_debugger.records.crash import ProfilerRefusal

# A profiler that refused what it was asked: why, and the call or option that is missing or too many.
_LEAST = {"active": 1}


def explain_profiler(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.profiler
    if fact is None:
        return None
    message, change, why = _FAULTS[fact.fault](crash, fact)
    evidence: dict[str, float | str] = {"line": line_text(crash.place)}
    if fact.schedule:
        evidence["schedule"] = _schedule(fact)
    if fact.fault == "waiting":
        evidence["steps"] = fact.steps
    if fact.missing:
        evidence["missing" if fact.fault == "options" else "activities"] = ", ".join(fact.missing)
    if fact.folder:
        evidence["folder"] = fact.folder
    where = edited_place(crash, change)
    return Blame(message, why, as_sentence(change.text), where, evidence, 0.95, change.edit)


def _schedule(fact: ProfilerRefusal) -> str:
    shown = {name: value for name, value in fact.schedule.items() if value or name in ("wait", "warmup", "active")}
    return ", ".join(f"{name}={value}" for name, value in shown.items())


def _saved(crash: CrashFact, fact: ProfilerRefusal) -> Explanation:
    here = statement_place(crash)
    before = f"at {place_text(fact.place)}" if fact.place.file else "before"
    who = f"its `on_trace_ready` handler wrote it into {fact.folder!r}" if fact.folder else f"saved {before}"
    message = f"The trace of `{fact.name}` was saved already: {who}."
    change = Change(f"drop this call, {place_text(here)}: the trace is in {fact.folder!r}", None, here)
    if not fact.folder:
        change = Change(f"save it once and copy the file, or drop one of the two calls, {place_text(here)}", None, here)
    return message, change, "A recording is handed over to the first file it is written to, and is gone after that."


def _running(crash: CrashFact, fact: ProfilerRefusal) -> Explanation:
    here = statement_place(crash)
    message = f"`{fact.name}.{fact.method}` was called while `{fact.name}` is still recording."
    text = f"move {place_text(here)} out of the `with` block (or behind `{fact.name}.stop()`)"
    return message, Change(text, None, here), "A trace exists only once the profiler has stopped."


def _waiting(crash: CrashFact, fact: ProfilerRefusal) -> Explanation:
    here, times = statement_place(crash), fact.schedule
    message = f"`{fact.name}` has recorded nothing: its schedule was still waiting"
    message += f" ({_schedule(fact)})" if times else ""
    called = {0: "never called", 1: "called once"}.get(fact.steps, f"called {fact.steps} times")
    message += f", and `{fact.name}.step()` was {called}."
    needed = times.get("skip_first", 0) + sum(times.get(name, 0) for name in ("wait", "warmup", "active"))
    why = "The schedule goes on by one with each `step()`."
    why += f" This one ends its first recording at step {needed}." if times else ""
    if not fact.stepped:
        text = f"call `{fact.name}.step()` at the end of each iteration, inside the `with` block"
    elif times.get("repeat") and fact.steps >= needed:
        return message, Change(f"start `{fact.name}` before the loop", None, here), why
    else:
        text = f"run at least {needed} iterations under the profiler, or make `wait` and `warmup` smaller"
    return message, Change(text, None, here), why


def _not_started(crash: CrashFact, fact: ProfilerRefusal) -> Explanation:
    here = statement_place(crash)
    message = f"`{fact.name}.{fact.method}` was called, but `{fact.name}` was never started."
    text = f"put the code to measure under `with {fact.name}:` and call `{fact.method}` behind the block"
    if fact.method == "stop":
        text = f"call `{fact.name}.start()` before the code to measure"
    return (
        message,
        Change(text, None, here),
        "A profiler records between `start()` and `stop()`, or inside of `with`.",
    )


def _entered_twice(crash: CrashFact, fact: ProfilerRefusal) -> Explanation:
    message = f"`{fact.name}` was entered by a second `with`; an autograd profiler records once."
    text = f"make a new one for each block at {place_text(crash.place)}, or use torch.profiler.profile"
    return message, Change(text, None, statement_place(crash)), ""


def _directory(crash: CrashFact, fact: ProfilerRefusal) -> Explanation:
    message = f"`tensorboard_trace_handler` could not make the folder {fact.folder!r}"
    message += f": {fact.in_the_way!r} is a file." if fact.in_the_way else ": it may not be written there."
    place = fact.place if fact.place.file else statement_place(crash)
    text = f"give the handler the name of a folder, not of a file, at {place_text(place)}"
    if not fact.in_the_way:
        text = f"give the handler a folder that this user may make, at {place_text(place)}"
    return message, Change(text, None, place), "The handler makes the folder when the first recording ends."


def _wrong_schedule(crash: CrashFact, fact: ProfilerRefusal) -> Explanation:
    place, code = statement_place(crash), statement_place(crash).code or ""
    wrong = {name: value for name, value in fact.schedule.items() if value < _LEAST.get(name, 0)}
    told = " and ".join(f"`{name}={value}`" for name, value in wrong.items())
    message = f"`schedule` was called with {told}."
    name, value = next(iter(wrong.items()))
    least = _LEAST.get(name, 0)
    calls = calls_of(code, "schedule")
    after = calls[0].replace(f"{name}={value}", f"{name}={least}") if len(calls) == 1 and len(wrong) == 1 else ""
    edit = rewritten(place, calls[0], after) if after and after != calls[0] else None
    text = f"give it `{name}={least}` or more at {place_text(place)}"
    return (
        message,
        Change(text, edit, place),
        "`active` counts the recorded steps and is 1 at least; no number may be negative.",
    )


def _activities(crash: CrashFact, fact: ProfilerRefusal) -> Explanation:
    given = f"only {listed(sorted(set(fact.missing)))}" if fact.missing else "an empty list"
    message = f"`profile` was given {given} for `activities`; there is nothing to record."
    place = statement_place(crash)
    text = f"give it `[ProfilerActivity.CPU]` (and `ProfilerActivity.CUDA`) at {place_text(place)}"
    return message, Change(f"{text}, or leave `activities` out", None, place), ""


def _options(crash: CrashFact, fact: ProfilerRefusal) -> Explanation:
    wanted = ", ".join(f"{option}=True" for option in fact.missing)
    message = f"`{fact.name}.{fact.method}` needs what `{fact.name}` did not record: it was built without `{wanted}`."
    calls = calls_of(fact.place.code or "", "profile")
    edit = None
    if len(calls) == 1 and not any(f"{option}=" in calls[0] for option in fact.missing):
        inside = calls[0][:-1].rstrip().rstrip(",")
        edit = rewritten(fact.place, calls[0], f"{inside}{'' if inside.endswith('(') else ', '}{wanted})")
    where = fact.place if fact.place.file else statement_place(crash)
    change = Change(f"build the profiler with `{wanted}`, {place_text(where)}", edit, where)
    return message, change, "These things are recorded while the ops run; they cannot be added afterwards."


_FAULTS: dict[str, Callable[[CrashFact, ProfilerRefusal], Explanation]] = {
    "saved": _saved,
    "running": _running,
    "waiting": _waiting,
    "not started": _not_started,
    "entered twice": _entered_twice,
    "directory": _directory,
    "schedule": _wrong_schedule,
    "activities": _activities,
    "options": _options,
}


class ProfilerMisused(CrashCheck):
    """torch.profiler was built with values it does not take, or asked for what it has not recorded.

    Symptom:
        "Trace is already saved", "Profiler must be initialized before getting key averages", "'NoneType' object
        has no attribute 'save'", "export_stacks() requires with_stack=True", "Can't create directory",
        "Invalid profiler schedule arguments", "No valid profiler activities found".
    Evidence:
        The profiler itself: its options, its schedule and how many times `step()` was called, whether it has
        recorded anything, the handler that saved its trace; and the lines of your file that call it.
    Fix:
        The option to add, the call to leave out, to move or to add.
    Known limits:
        Profilers of classes of your own are not looked at.
    """

    id = "TD970"
    name = "profiler-misused"
    title = "torch.profiler was asked for what it cannot give"
    explainers = (explain_profiler,)
