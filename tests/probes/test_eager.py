"""The call that a compiler failed on, made again without it: what it answers, and that it leaves no trace."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from tests.checks.crashes.scripts import HEAD, run_script
from torch_debugger.crashes.capture import capture_crash
from torch_debugger.records import CrashFact
from torch_debugger.records.crash_loading import CompileEvidence

COUNTING = """
calls = []
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
    def forward(self, x):
        x = F.dropout(self.norm(x), 0.5)
        calls.append(len(calls))
        open("/proc/self/status").close()
        return x
net = Net()
model = torch.compile(net, backend="eager", fullgraph=True)
model(torch.randn(8, 4))
"""


UNCOMPILED = """
import os, time
@torch.compile(backend="eager", fullgraph=True)
def f(x):
    {}
    return x
f(torch.ones(2))
"""


def crash_with(file: Path, source: str) -> tuple[CrashFact, dict[str, object]]:
    error = run_script(file, HEAD + source)
    assert error is not None
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename != str(file):
        traceback = traceback.tb_next
    assert traceback is not None
    names = traceback.tb_frame.f_globals
    before = torch.get_rng_state()
    crash = capture_crash(error, 1)
    assert torch.equal(torch.get_rng_state(), before)
    return crash, names


def compiled(crash: CrashFact) -> CompileEvidence:
    assert crash.evidence.processes is not None
    assert crash.evidence.processes.compiled is not None
    return crash.evidence.processes.compiled


def test_it_runs_and_leaves_no_trace(tmp_path: Path) -> None:
    crash, names = crash_with(tmp_path / "net.py", COUNTING)
    assert compiled(crash).eager == "runs"
    assert crash.causes == ()
    assert names["calls"] == []
    net = names["net"]
    assert isinstance(net, nn.Module)
    assert torch.equal(net.norm.running_mean, torch.zeros(4))  # type: ignore[union-attr, arg-type]


def test_what_fails_without_the_compiler_too_is_the_cause(tmp_path: Path) -> None:
    source = "@torch.compile(backend='eager')\ndef f(x, w):\n    return x @ w\n"
    crash, _ = crash_with(tmp_path / "net.py", f"{source}f(torch.ones(2, 3), torch.ones(4, 5))\n")
    assert compiled(crash).eager == "fails"
    assert [cause.kind for cause in crash.causes] == ["RuntimeError"]
    assert crash.causes[0].place.line == 7
    assert crash.raised_from
    assert [frame.function for frame in crash.causes[0].frames if frame.user][-2:] == ["<module>", "f"]


def test_a_call_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    crash, _ = crash_with(tmp_path / "net.py", UNCOMPILED.format("time.sleep(30)"))
    assert compiled(crash).eager == ""


def test_a_call_that_ends_the_process_ends_only_the_fork(tmp_path: Path) -> None:
    crash, _ = crash_with(tmp_path / "net.py", UNCOMPILED.format("os._exit(3)"))
    assert compiled(crash).eager == ""
