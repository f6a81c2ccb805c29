"""A crash is explained wherever it happens, once, and the debugger can be used again."""

from __future__ import annotations

import sys
import threading
import traceback

import pytest
import torch
from torch import nn

from tests.debugger.conftest import RunScript
from tests.debugger.models import Net, train
from torch_debugger import Debugger

SCRIPT = """
import torch, torch_debugger
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 16)
        self.fc2 = nn.Linear(20, 2)

    def forward(self, x):
        return self.fc2(self.fc1(x))

model, x = Net(), torch.randn(4, 8)
"""
PLAIN_END = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x16 and 20x2)"


def bad() -> tuple[nn.Module, torch.Tensor]:
    return nn.Sequential(nn.Linear(8, 16), nn.Linear(20, 2)), torch.randn(4, 8)


def test_a_crash_before_run_is_entered(run_script: RunScript) -> None:
    done = run_script(f"{SCRIPT}\ndebugger = torch_debugger.Debugger()\noutput = debugger.run(model(x))\n")
    assert (done.returncode, done.stdout) == (1, "")
    told, _, explanation = done.stderr.partition(PLAIN_END)
    assert told.startswith("Traceback (most recent call last):")
    assert "/torch_debugger/" not in told
    assert explanation.count("error: shape-mismatch") == 1
    assert "Linear(20, 2)" in explanation
    assert "failed" in explanation
    assert all(len(line) <= 80 for line in explanation.splitlines())


def test_a_crash_inside_with_ends_as_python_ends_it(run_script: RunScript) -> None:
    done = run_script(f"{SCRIPT}\nwith torch_debugger.Debugger(model):\n    model(x)\n")
    assert done.returncode == 1
    assert done.stderr.count("error: shape-mismatch") == 1
    assert done.stderr.rstrip().endswith(PLAIN_END)
    assert "torch_debugger/" not in done.stderr


def test_a_crash_under_watch(run_script: RunScript) -> None:
    done = run_script(f"{SCRIPT}\ntorch_debugger.watch(model)\nmodel(x)\n")
    assert done.returncode == 1
    assert done.stderr.count("error: shape-mismatch") == 1
    assert done.stderr.index(PLAIN_END) < done.stderr.index("error: shape-mismatch")


def test_ctrl_c_is_no_crash(run_script: RunScript) -> None:
    done = run_script(f"{SCRIPT}\ntorch_debugger.watch(model)\nraise KeyboardInterrupt\n")
    assert done.returncode in (-2, 130)
    assert "was stopped before its first step was done" in done.stderr
    assert "crashed" not in done.stderr


def test_sys_exit_is_no_crash(run_script: RunScript) -> None:
    done = run_script(f"{SCRIPT}\nimport sys\nwith torch_debugger.Debugger(model):\n    sys.exit(3)\n")
    assert done.returncode == 3
    assert "crash" not in done.stderr


def test_an_excepthook_of_the_users_is_called_first(run_script: RunScript) -> None:
    hook = "import sys\nsys.excepthook = lambda *told: print('mine', told[0].__name__)\n"
    done = run_script(f"{SCRIPT}\n{hook}\ndebugger = torch_debugger.Debugger()\nmodel(x)\n")
    assert (done.returncode, done.stdout) == (1, "mine RuntimeError\n")
    assert "error: shape-mismatch" in done.stderr


def test_a_crash_no_check_knows(run_script: RunScript) -> None:
    done = run_script(f"{SCRIPT}\ntorch_debugger.watch(model)\n{{}}['missing']\n")
    assert done.returncode == 1
    assert done.stderr.index("KeyError: 'missing'") < done.stderr.index("error: unexplained-crash")
    assert "No check recognised the cause, so none is claimed" in " ".join(done.stderr.split())


def test_inside_with(capfd: pytest.CaptureFixture[str]) -> None:
    model, x = bad()
    with pytest.raises(RuntimeError, match="mat1 and mat2") as caught, Debugger(model) as d:
        model(x)
    assert [finding.name for finding in d.findings] == ["shape-mismatch"]
    assert d.report().result.outcome == "crashed"
    assert capfd.readouterr().err.count("error: shape-mismatch") == 1
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    assert len(files) > 4
    assert not [file for file in files if "/torch_debugger/" in file]


def test_inside_run(capfd: pytest.CaptureFixture[str]) -> None:
    model, x = bad()
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        Debugger().run(model, x)
    assert capfd.readouterr().err.count("error: shape-mismatch") == 1


def test_run_inside_with_explains_once(capfd: pytest.CaptureFixture[str]) -> None:
    model, x = bad()
    with pytest.raises(RuntimeError, match="mat1 and mat2"), Debugger() as d:
        d.run(model, x)
    assert capfd.readouterr().err.count("error: shape-mismatch") == 1


def test_nested_debuggers_explain_once(capfd: pytest.CaptureFixture[str]) -> None:
    model, x = bad()
    with pytest.raises(RuntimeError, match="mat1 and mat2"), Debugger() as outer, Debugger() as inner:
        model(x)
    assert capfd.readouterr().err.count("error: shape-mismatch") == 1
    for debugger in (outer, inner):
        assert [finding.name for finding in debugger.findings] == ["shape-mismatch"]


def test_a_crash_the_user_catches(capfd: pytest.CaptureFixture[str]) -> None:
    """The debugger watches on; the next call is a call of its own, not one inside the failed one."""
    (wrong, x), model = bad(), Net()
    debugger = Debugger()
    with pytest.raises(RuntimeError):
        wrong(x)
    debugger.run(model(x))
    flows = {flow.root: flow for flow, _ in debugger.report().flows}
    assert [(step.path, step.failed) for step in flows["wrong"].steps] == [
        ("wrong", True), ("wrong.0", False), ("wrong.1", True)
    ]  # fmt: skip
    assert [(step.path, step.depth) for step in flows["model"].steps] == [
        ("model", 0), ("model.features", 1), ("model.features.0", 2), ("model.features.1", 2), ("model.head", 1)
    ]  # fmt: skip
    assert debugger.findings == []
    assert "crash" not in capfd.readouterr().err


def test_a_model_called_while_an_exception_is_handled() -> None:
    """Not every None that a module returns under `except` is a failure."""

    class Silent(nn.Module):
        def forward(self, x: torch.Tensor) -> None:
            return None

    model = Silent()
    with Debugger() as d:
        try:
            raise ValueError("not the model's")
        except ValueError:
            model(torch.randn(2))
    assert [step.failed for step in d.report().flows[0][0].steps] == [False]


def test_use_after_a_crash(capfd: pytest.CaptureFixture[str]) -> None:
    (wrong, x), model = bad(), Net()
    debugger = Debugger()
    with pytest.raises(RuntimeError):
        debugger.run(wrong, x)
    with debugger:
        train(model)
    assert debugger.findings == []
    assert debugger.report().result.outcome == "finished"
    assert debugger.report().result.steps == 12


def test_uncaught_hooks_come_off_in_any_order() -> None:
    before = sys.excepthook, threading.excepthook
    first, second = Debugger(), Debugger()
    first.close()
    assert sys.excepthook is not before[0]
    second.close()
    assert (sys.excepthook, threading.excepthook) == before


def test_somebody_else_hooks_over_ours(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.excepthook", sys.excepthook)
    debugger = Debugger()
    ours, heard = sys.excepthook, []

    def theirs(*told: object) -> None:
        heard.append(told[0])
        ours(*told)  # type: ignore[arg-type]

    sys.excepthook = theirs
    debugger.close()
    assert sys.excepthook is theirs
    error = ValueError("after the watch")
    sys.excepthook(ValueError, error, None)
    assert heard == [ValueError]
    told = capfd.readouterr().err
    assert "ValueError: after the watch" in told
    assert "torch-debugger" not in told
    assert "wrong" not in told


def test_a_fork_that_dies_is_not_explained(run_script: RunScript) -> None:
    fork = "import os\nif os.fork() == 0:\n    raise ValueError('of the child')\nos.wait()\nd.close()\n"
    done = run_script(f"{SCRIPT}\nd = torch_debugger.Debugger()\n{fork}")
    assert done.returncode == 0
    assert "ValueError: of the child" in done.stderr
    assert "recognised" not in done.stderr


def test_at_a_prompt_the_watch_goes_on(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """The plain interpreter calls sys.excepthook after each failed line and lives on."""
    monkeypatch.setattr("sys.ps1", ">>> ", raising=False)
    (wrong, x), model = bad(), Net()
    debugger = Debugger()
    model(x)
    for call in (lambda: wrong(x), lambda: {}["a typo"]):
        try:
            call()
        except (RuntimeError, KeyError) as error:
            sys.excepthook(type(error), error, error.__traceback__)
    told = capfd.readouterr().err
    assert told.count("error: shape-mismatch") == 1
    assert "KeyError" in told
    assert "recognised" not in told
    assert debugger.watching
    assert debugger.findings == []
    debugger.close()
    assert {flow.root for flow, _ in debugger.report().flows} == {"model", "wrong"}


@pytest.fixture
def pythons_threading_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    """pytest puts one of its own there, which says nothing on stderr."""
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)


def finish(thread: threading.Thread) -> None:
    thread.start()
    thread.join()


@pytest.mark.usefixtures("pythons_threading_hook")
def test_a_crash_in_the_thread_that_watches(capfd: pytest.CaptureFixture[str]) -> None:
    model, x = bad()
    made: list[Debugger] = []

    def work() -> None:
        made.append(Debugger())
        model(x)

    finish(threading.Thread(target=work))
    assert not made[0].watching
    told = capfd.readouterr().err
    assert told.index("RuntimeError: mat1") < told.index("error: shape-mismatch")


@pytest.mark.usefixtures("pythons_threading_hook")
def test_a_crash_in_some_other_thread(capfd: pytest.CaptureFixture[str]) -> None:
    debugger = Debugger()
    finish(threading.Thread(target=lambda: {}["of another thread"]))
    assert debugger.watching
    debugger.close()
    told = capfd.readouterr().err
    assert "KeyError" in told
    assert "recognised" not in told
