"""torch.profiler asked for what it cannot give, and refusals that are not its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.crashes.scripts import HEAD, crash_of, judge
from torch_debugger.records.codec import from_plain, to_plain

START = (
    HEAD
    + """
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler
cpu = [ProfilerActivity.CPU]
def work():
    return torch.randn(4, 4) @ torch.randn(4, 4)
"""
)
RECORDED = """
with profile(activities=cpu) as prof:
    work()
"""
NEVER_STARTED = "prof = profile(activities=cpu)\nprof.key_averages()\n"
WAITED = """
with profile(activities=cpu, schedule=schedule(wait=5, warmup=1, active=2)) as prof:
    for _ in range(3):
        work()
        prof.step()
prof.export_chrome_trace("trace.json")
"""
SAVED_TWICE = RECORDED + 'prof.export_chrome_trace("a.json")\nprof.export_chrome_trace("b.json")\n'
SAVED_INSIDE = """
with profile(activities=cpu) as prof:
    work()
    prof.export_chrome_trace("a.json")
"""
STOPPED = "prof = profile(activities=cpu)\nprof.stop()\n"
TWO_BLOCKS = """
measured = torch.autograd.profiler.profile()
with measured:
    work()
with measured:
    work()
"""
A_FILE = """
open("traces", "w").close()
with profile(activities=cpu, on_trace_ready=tensorboard_trace_handler("traces")) as prof:
    work()
"""
NO_ACTIVE = "plan = schedule(wait=1, warmup=1, active=0)\n"
NO_ACTIVITY = 'profile(activities=["cpu"])\n'
NO_STACKS = RECORDED + 'prof.export_stacks("stacks.txt")\n'
NO_MEMORY = RECORDED + 'prof.export_memory_timeline("memory.json")\n'

OWN_REFUSAL = """
def handler(prof):
    raise RuntimeError("Trace is already saved.")
with profile(activities=cpu, on_trace_ready=handler) as prof:
    work()
"""
IN_THE_BLOCK = """
with profile(activities=cpu) as prof:
    assert work().shape == (4, 5), "Profiler must be initialized before getting key averages"
"""


@pytest.mark.parametrize(
    ("script", "said", "advice"),
    [
        (NEVER_STARTED, "never started", "under `with prof:`"),
        (WAITED, "wait=5, warmup=1, active=2), and `prof.step()` was called 3 times", "at least 8 iterations"),
        (SAVED_TWICE, "saved at train.py:", "drop one of the two calls"),
        (SAVED_INSIDE, "still recording", "out of the `with` block"),
        (STOPPED, "never started", "`prof.start()`"),
        (TWO_BLOCKS, "`measured` was entered by a second `with`", "a new one for each block"),
        (A_FILE, "'traces' is a file", "the name of a folder"),
        (NO_ACTIVE, "`active=0`", "`active=1` or more"),
        (NO_ACTIVITY, "only `str`", "ProfilerActivity.CPU"),
        (NO_STACKS, "without `with_stack=True`", "`with_stack=True`"),
        (NO_MEMORY, "record_shapes=True, profile_memory=True, with_stack=True", "profile_memory=True"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_what_the_profiler_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str, advice: str
) -> None:
    monkeypatch.chdir(tmp_path)
    crash = crash_of(tmp_path / "train.py", START + script)
    assert from_plain("CrashFact", to_plain(crash)) == crash
    (finding,) = judge(crash)
    assert finding.name == "profiler-misused"
    assert said in finding.message
    assert advice in finding.fix


@pytest.mark.parametrize("script", [OWN_REFUSAL, IN_THE_BLOCK])
def test_what_the_script_itself_refused(tmp_path: Path, script: str) -> None:
    names = {finding.name for finding in judge(crash_of(tmp_path / "train.py", START + script))}
    assert names
    assert "profiler-misused" not in names


@pytest.mark.parametrize(
    ("script", "after"),
    [
        (NO_STACKS, "with profile(activities=cpu, with_stack=True) as prof:"),
        (NO_ACTIVE, "plan = schedule(wait=1, warmup=1, active=1)"),
    ],
)
def test_the_edit_of_an_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, after: str) -> None:
    monkeypatch.chdir(tmp_path)
    (finding,) = judge(crash_of(tmp_path / "train.py", START + script))
    assert finding.edit is not None and finding.edit.after == after
