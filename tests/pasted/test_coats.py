"""The same traceback in every coat: the same line, the same exception, the same words."""

from __future__ import annotations

import os

import pytest

from tests.pasted.texts import COATS
from torch_debugger.checks.judge import Judge
from torch_debugger.records import CrashFact
from torch_debugger.source.pasted_tracebacks import read_crash

MESSAGE = "mat1 and mat2 shapes cannot be multiplied (64x3456 and 100x10)"


def crash_in(text: str) -> CrashFact:
    crash = read_crash(text)
    assert crash is not None
    return crash


@pytest.mark.parametrize("coat", COATS)
def test_the_traceback_is_found(coat: str) -> None:
    crash = crash_in(COATS[coat])
    assert (crash.kind, crash.message) == ("RuntimeError", MESSAGE)
    assert (crash.place.line, crash.place.code) == (14, "x = self.fc1(x)")
    name = os.path.basename(crash.place.file or "")
    assert name in ("net.py", "Cell In[4]", "<ipython-input-4-1a2b3c4d5e6f>")
    assert crash.frames[-1].file.endswith("/torch/nn/modules/linear.py")
    assert [frame.user for frame in crash.frames if "torch" in frame.file] == [False] * sum(
        "torch" in frame.file for frame in crash.frames
    )
    assert crash.bases[:2] == ("RuntimeError", "Exception")


@pytest.mark.parametrize("coat", COATS)
def test_it_is_explained_from_the_text_alone(coat: str) -> None:
    judge = Judge()
    judge.see(crash_in(COATS[coat]))
    assert judge.faults == []
    [finding] = judge.findings
    assert finding.name == "shape-mismatch"
    assert finding.confidence < 0.9
    assert finding.message.startswith("From the text alone: a Linear layer called by `")
    assert finding.message.endswith("got 3456 features and was built for 100.")
    assert "nn.Linear(3456, 10)" in finding.fix
    assert "Not known from the text" in finding.fix
    assert finding.edit is None
