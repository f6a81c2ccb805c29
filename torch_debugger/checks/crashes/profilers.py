"""TD970: torch's profiler was set up or asked for results as it cannot be."""

from __future__ import annotations

from torch_debugger.checks.crash_check import CrashCheck
from torch_debugger.checks.crashes.explanation import Blame, line_text, listed, place_text
from torch_debugger.checks.crashes.user_code import (
    Change,
    Explanation,
    calls_of,
    rewritten,
    statement_place,
    with_change,
)
from torch_debugger.records import CrashFact
from torch_debugger.records.crash import ProfilerRefusal

# A profiler that refused what it was asked: why, and the call or option that is missing or too many.
_LEAST = {"active": 1}


def explain_profiler(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.profiler
    if fact is None:
        return None
    message, change, why = _built(crash, fact) or _asked(crash, fact)
    evidence: dict[str, float | str] = {"line": line_text(crash.place)}
    if fact.schedule:
        evidence["schedule"] = _schedule(fact)
    if fact.fault == "waiting":
        evidence["steps"] = fact.steps
    if fact.missing:
        evidence["missing" if fact.fault == "options" else "activities"] = ", ".join(fact.missing)
    if fact.folder:
        evidence["folder"] = fact.folder
    return with_change(crash, message, why, change, evidence, 0.95)


def _schedule(fact: ProfilerRefusal) -> str:
    shown = {name: value for name, value in fact.schedule.items() if value or name in ("wait", "warmup", "active")}
    return ", ".join(f"{name}={value}" for name, value in shown.items())


def _asked(crash: CrashFact, fact: ProfilerRefusal) -> Explanation:
    """What was asked of the profiler too early, too late or too often."""
    here, name, called = statement_place(crash), fact.name, f"`{fact.name}.{fact.method}` was called"
    line, why = place_text(here), ""
    match fact.fault:
        case "saved":
            before = f"at {place_text(fact.place)}" if fact.place.file else "before"
            who = f"its `on_trace_ready` handler wrote it into {fact.folder!r}" if fact.folder else f"saved {before}"
            message = f"The trace of `{name}` was saved already: {who}."
            text = f"save it once and copy the file, or drop one of the two calls, {line}"
            if fact.folder:
                text = f"drop this call, {line}: the trace is in {fact.folder!r}"
            why = "A recording is handed over to the first file it is written to, and is gone after that."
        case "running":
            message = f"{called} while `{name}` is still recording."
            text = f"move {line} out of the `with` block (or behind `{name}.stop()`)"
            why = "A trace exists only once the profiler has stopped."
        case "waiting":
            times = fact.schedule
            message = f"`{name}` has recorded nothing: its schedule was still waiting"
            message += f" ({_schedule(fact)})" if times else ""
            often = {0: "never called", 1: "called once"}.get(fact.steps, f"called {fact.steps} times")
            message += f", and `{name}.step()` was {often}."
            needed = sum(times.get(part, 0) for part in ("skip_first", "wait", "warmup", "active"))
            why = "The schedule goes on by one with each `step()`."
            why += f" This one ends its first recording at step {needed}." if times else ""
            text = f"run at least {needed} iterations under the profiler, or make `wait` and `warmup` smaller"
            if not fact.stepped:
                text = f"call `{name}.step()` at the end of each iteration, inside the `with` block"
            elif times.get("repeat") and fact.steps >= needed:
                text = f"start `{name}` before the loop"
        case "not started":
            message = f"{called}, but `{name}` was never started."
            text = f"put the code to measure under `with {name}:` and call `{fact.method}` behind the block"
            if fact.method == "stop":
                text = f"call `{name}.start()` before the code to measure"
            why = "A profiler records between `start()` and `stop()`, or inside of `with`."
        case _:
            message = f"`{name}` was entered by a second `with`; an autograd profiler records once."
            text = f"make a new one for each block at {place_text(crash.place)}, or use torch.profiler.profile"
    return message, Change(text, None, here), why


def _built(crash: CrashFact, fact: ProfilerRefusal) -> Explanation | None:
    """What the profiler, its schedule or its handler was built with."""
    here, edit, why = statement_place(crash), None, ""
    place = fact.place if fact.place.file else here
    match fact.fault:
        case "directory":
            message = f"`tensorboard_trace_handler` could not make the folder {fact.folder!r}"
            message += f": {fact.in_the_way!r} is a file." if fact.in_the_way else ": it may not be written there."
            what = "the name of a folder, not of a file," if fact.in_the_way else "a folder that this user may make,"
            text = f"give the handler {what} at {place_text(place)}"
            why = "The handler makes the folder when the first recording ends."
        case "schedule":
            place = here
            wrong = {name: value for name, value in fact.schedule.items() if value < _LEAST.get(name, 0)}
            message = (
                f"`schedule` was called with {' and '.join(f'`{name}={value}`' for name, value in wrong.items())}."
            )
            name, value = next(iter(wrong.items()))
            least = f"{name}={_LEAST.get(name, 0)}"
            calls = calls_of(here.code or "", "schedule")
            after = calls[0].replace(f"{name}={value}", least) if len(calls) == 1 and len(wrong) == 1 else ""
            edit = rewritten(here, calls[0], after) if after else None
            text = f"give it `{least}` or more at {place_text(here)}"
            why = "`active` counts the recorded steps and is 1 at least; no number may be negative."
        case "activities":
            place = here
            given = f"only {listed(sorted(set(fact.missing)))}" if fact.missing else "an empty list"
            message = f"`profile` was given {given} for `activities`; there is nothing to record."
            wanted = "`[ProfilerActivity.CPU]` (and `ProfilerActivity.CUDA`)"
            text = f"give it {wanted} at {place_text(here)}, or leave `activities` out"
        case "options":
            wanted = ", ".join(f"{option}=True" for option in fact.missing)
            method = f"`{fact.name}.{fact.method}`"
            message = f"{method} needs what `{fact.name}` did not record: it was built without `{wanted}`."
            calls = calls_of(fact.place.code or "", "profile")
            if len(calls) == 1 and not any(f"{option}=" in calls[0] for option in fact.missing):
                inside = calls[0][:-1].rstrip().rstrip(",")
                edit = rewritten(fact.place, calls[0], f"{inside}{'' if inside.endswith('(') else ', '}{wanted})")
            text = f"build the profiler with `{wanted}`, {place_text(place)}"
            why = "These things are recorded while the ops run; they cannot be added afterwards."
        case _:
            return None
    return message, Change(text, edit, place), why


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
