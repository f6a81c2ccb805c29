"""`debugger.run(model(x))` and `debugger.run(model, x)`: the output unchanged, the report on stderr."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn

from tests.debugger.conftest import RunScript
from tests.debugger.models import Net, train
from torch_debugger import Debugger

FIRST_SEED = """
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()

        self.conv1 = nn.Conv2d(1, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.view(-1, 16 * 5 * 5)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        x = self.fc3(x)
        return x

model = Net()
debugger = torch_debugger.Debugger()
output = debugger.run(model(x))
"""

FIRST_SEED_REPORT = """\
What model ran
module   kind       in          out         parameters    time
model    Net        4x1x32x32   4x10            61,706  # ms
  conv1  Conv2d     4x1x32x32   4x6x28x28          156  # ms
  pool   MaxPool2d  4x6x28x28   4x6x14x14  # ms
  conv2  Conv2d     4x6x14x14   4x16x10x10       2,416  # ms
  pool   MaxPool2d  4x16x10x10  4x16x5x5  # ms
  fc1    Linear     4x400       4x120           48,120  # ms
  fc2    Linear     4x120       4x84            10,164  # ms
  fc3    Linear     4x84        4x10               850  # ms

Memory: outputs of this forward pass 130 kB; process # now, # at most.

Nothing wrong found: no training step was watched (# checks).
"""


def without_measures(text: str) -> str:
    """The report with a # for every number that differs from run to run."""
    text = re.sub(r" +[\d.,]+ ms", "  # ms", text)
    text = re.sub(r"process [\d.]+ [kMG]B now, [\d.]+ [kMG]B at\s+most", "process # now, # at most", text)
    text = re.sub(r"\d+ checks", "# checks", text)
    return re.sub(r"parameters +time", "parameters    time", text)


def test_the_first_seed_runs_as_it_stands(run_script: RunScript) -> None:
    prelude = "import torch, torch_debugger\nx = torch.randn(4, 1, 32, 32)\n"
    done = run_script(f"{prelude}{FIRST_SEED}\nprint(tuple(output.shape))")
    assert (done.returncode, done.stdout) == (0, "(4, 10)\n")
    assert without_measures(done.stderr) == FIRST_SEED_REPORT
    assert all(len(line) <= 80 for line in done.stderr.splitlines())


def test_the_output_is_the_very_same_object(capfd: pytest.CaptureFixture[str]) -> None:
    model, x = Net(), torch.randn(4, 8)
    debugger = Debugger()
    output = model(x)
    assert debugger.run(output) is output
    told = capfd.readouterr()
    assert told.out == ""
    assert "What model ran" in told.err
    assert torch.equal(output, model(x))


def test_a_model_and_its_input(capfd: pytest.CaptureFixture[str]) -> None:
    model, x = Net(), torch.randn(4, 8)
    plain = model(x)
    assert torch.equal(Debugger().run(model, x), plain)
    assert torch.equal(Debugger().run(model, x=x), plain)
    assert capfd.readouterr().err.count("model       Net         4x8   4x3") == 2


@pytest.mark.parametrize("value", [None, 3, "text", {"a": 1}, [torch.ones(1)], print])
def test_whatever_comes_goes_back(value: object, capfd: pytest.CaptureFixture[str]) -> None:
    assert Debugger().run(value) is value
    told = capfd.readouterr().err
    assert "What" not in told
    assert "Nothing wrong found: no model ran while the debugger watched" in told


def test_run_ends_the_watch(capfd: pytest.CaptureFixture[str]) -> None:
    model, x = Net(), torch.randn(4, 8)
    debugger = Debugger()
    assert debugger.watching
    debugger.run(model(x))
    assert not debugger.watching
    model(x)
    assert debugger.report().flows[0][1] == 1


def test_run_again_watches_again(capfd: pytest.CaptureFixture[str]) -> None:
    model, other, x = Net(), nn.Linear(8, 2), torch.randn(4, 8)
    debugger = Debugger()
    debugger.run(model(x))
    debugger.run(other, x)
    assert [flow.root for flow, _ in debugger.report().flows] == ["other"]


def test_a_second_run_of_an_output_has_nothing_to_tell(capfd: pytest.CaptureFixture[str]) -> None:
    """The watch had ended, so model(x) was not seen; the text must not claim anything else."""
    model, x = Net(), torch.randn(4, 8)
    debugger = Debugger()
    debugger.run(model(x))
    capfd.readouterr()
    debugger.run(model(x))
    assert "no model ran while the debugger watched" in capfd.readouterr().err


def test_close_twice_is_close_once() -> None:
    debugger = Debugger()
    debugger.close()
    debugger.close()
    assert repr(debugger) == "<Debugger closed, 0 steps, 0 findings>"


def test_random_numbers_and_grads_stay_as_they_were(capfd: pytest.CaptureFixture[str]) -> None:
    model, x = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5)), torch.randn(4, 8)

    def sample() -> tuple[torch.Tensor, torch.Tensor]:
        torch.manual_seed(3)
        return model(x), torch.rand(5)

    plain = sample()
    debugger = Debugger(model)
    watched = sample()
    debugger.run(watched[0])
    assert torch.equal(plain[0], watched[0])
    assert torch.equal(plain[1], watched[1])
    assert not hasattr(model, "_torch_debugger")
    assert set(vars(model)) == set(vars(nn.Sequential()))


def test_a_report_that_cannot_be_printed_costs_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = Net(), torch.randn(4, 8)

    class Full:
        closed = False
        said = ""

        def write(self, text: str) -> int:
            if "could not be printed" not in text:
                raise OSError("No space left on device")
            self.said += text
            return len(text)

        def flush(self) -> None:
            raise OSError("No space left on device")

        def isatty(self) -> bool:
            return False

    full = Full()
    debugger = Debugger()
    output = model(x)
    monkeypatch.setattr("sys.stderr", full)
    assert debugger.run(output) is output
    assert "the report could not be printed (OSError: No space left on device)." in full.said


def test_a_deep_look_at_the_call_that_run_makes(capfd: pytest.CaptureFixture[str]) -> None:
    """After many steps most have no hooks on; the call inside run() is seen all the same."""
    model, x = Net(), torch.randn(4, 8)
    debugger = Debugger(budget=1e-9)
    train(model, steps=40)
    steps_seen = debugger.report().flows[0][0].step
    debugger.run(model, x)
    flow, _ = debugger.report().flows[0]
    assert (flow.step, flow.steps[0].given) == (41, ((4, 8),))
    assert steps_seen < 41


def test_usage_errors_leave_nothing_on() -> None:
    with pytest.raises(Exception, match="no-such-check"):
        Debugger(only=["no-such-check"])
