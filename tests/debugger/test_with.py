"""`with Debugger(model) as d:` around a training loop, and `watch(model)` in a script."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from tests.debugger.conftest import RunScript
from tests.debugger.models import Net, train
from torch_debugger import Debugger, watch
from torch_debugger.log.reader_records import read_log
from torch_debugger.records import EndFact, FlowFact, ModelFact, RunFact, Scalars, TensorRows


def test_a_missing_zero_grad_is_found(capfd: pytest.CaptureFixture[str]) -> None:
    model = Net()
    with Debugger(model) as d:
        train(model, zero=False)
    told = capfd.readouterr()
    assert told.out == ""
    assert [finding.name for finding in d.findings] == ["missing-zero-grad"]
    assert "error: missing-zero-grad" in told.err
    assert "models.py:" in told.err
    assert "12 optimizer steps watched, loss" in told.err


def test_softmax_before_cross_entropy_is_found(capfd: pytest.CaptureFixture[str]) -> None:
    model = Net()
    with Debugger() as d:
        train(model, softmax=True)
    assert [finding.name for finding in d.findings] == ["softmax-before-cross-entropy"]
    assert "softmax-before-cross-entropy" in capfd.readouterr().err


def test_a_healthy_loop_gets_silence(capfd: pytest.CaptureFixture[str]) -> None:
    model = Net()
    with Debugger(model) as d:
        train(model)
    assert capfd.readouterr() == ("", "")
    assert d.findings == []
    assert not d.watching


def test_the_training_is_the_same_with_and_without() -> None:
    def trained(watched: bool) -> tuple[list[float], list[torch.Tensor]]:
        torch.manual_seed(5)
        model = Net()
        if watched:
            with Debugger(model):
                losses = train(model)
        else:
            losses = train(model)
        return losses, [*model.parameters(), torch.get_rng_state()]

    plain, seen = trained(False), trained(True)
    assert plain[0] == seen[0]
    assert all(torch.equal(one, other) for one, other in zip(plain[1], seen[1], strict=True))


def test_findings_can_be_asked_for_inside(capfd: pytest.CaptureFixture[str]) -> None:
    model = Net()
    with Debugger(model) as d:
        train(model, softmax=True)
        inside = d.findings
        assert "softmax-before-cross-entropy" in str(d.report())
    assert [finding.name for finding in inside] == ["softmax-before-cross-entropy"]


def test_the_log_holds_the_run(tmp_path: Path) -> None:
    model = Net()
    with Debugger(model, log_dir=tmp_path / "log") as d:
        losses = train(model, steps=5)
    records = list(read_log(tmp_path / "log"))
    assert isinstance(records[0], RunFact)
    assert [record.root for record in records if isinstance(record, ModelFact)] == ["model"]
    assert any(isinstance(record, FlowFact) for record in records)
    seen = [record.values["loss"] for record in records if isinstance(record, Scalars) and "loss" in record.values]
    assert seen == pytest.approx(losses, rel=1e-6)
    assert [record.steps for record in records if isinstance(record, EndFact)] == [5]
    assert str(tmp_path / "log") in str(d.report()).replace("\n", "")


def test_the_model_is_named_as_the_user_names_it() -> None:
    policy = Net()
    with Debugger(policy) as d:
        pass
    assert d.findings == []
    other = nn.Linear(8, 1)
    with Debugger() as d:
        other(torch.randn(2, 8))
    assert [flow.root for flow, _ in d.report().flows] == ["other"]


def test_validation_after_training_is_seen_but_not_measured(tmp_path: Path) -> None:
    model = Net()
    with Debugger(model, log_dir=tmp_path / "log") as d:
        train(model, steps=2)
        with torch.no_grad():
            for _ in range(50):
                model(torch.full((64, 8), 1e6))
        train(model, steps=1)
    records = list(read_log(tmp_path / "log"))
    flows = [record for record in records if isinstance(record, FlowFact)]
    # Calls are told until there are enough of them; validation batches do not drown the log.
    assert 0 < len([flow for flow in flows if flow.steps[0].given == ((64, 8),)]) < 50
    tables = [record for record in records if isinstance(record, TensorRows)]
    rows = [record for record in tables if record.table.kind == "activation"]
    assert [record.step for record in rows] == [1, 2, 3]
    assert max(rows[-1].column("max")) < 1e3  # those of the training batch
    assert d.report().result.steps == 3


WATCHED = """
import torch, torch_debugger
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
torch_debugger.watch(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(16, 4), torch.randint(2, (16,))
for step in range(10):
    {zero}
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
print("trained")
"""


def test_one_line_in_a_script(run_script: RunScript) -> None:
    done = run_script(WATCHED.format(zero="pass"))
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert done.stderr.count("error: missing-zero-grad") == 1
    assert "10 optimizer steps watched, loss" in done.stderr
    assert "What model ran" not in done.stderr  # after a loop this is not the news


def test_one_line_in_a_healthy_script(run_script: RunScript) -> None:
    done = run_script(WATCHED.format(zero="optimizer.zero_grad()"))
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert "Nothing wrong found: 10 optimizer steps watched" in done.stderr


def test_a_fork_of_a_watched_script_does_not_report(run_script: RunScript) -> None:
    fork = "import os, sys\nif os.fork() == 0:\n    sys.exit(0)\nos.wait()\n"
    done = run_script(WATCHED.format(zero="optimizer.zero_grad()") + fork)
    assert done.stderr.count("Nothing wrong found") == 1


def test_watch_can_be_closed_early(run_script: RunScript) -> None:
    script = WATCHED.format(zero="pass").replace("torch_debugger.watch", "d = torch_debugger.watch")
    done = run_script(f"{script}\nd.close()\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "trained\n", "")


def test_watch_ends_with_close() -> None:
    debugger = watch()
    assert debugger.watching
    debugger.close()
    assert not debugger.watching
