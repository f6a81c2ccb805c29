"""Whatever breaks in us, the training ends as it would have ended without us, and one sentence says so."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
import torch

import torch_debugger.probes
from tests.promises.training import Kept, Training
from tests.promises.untouched import left_untouched
from torch_debugger import plumbing
from torch_debugger.checks.judge import Judge
from torch_debugger.debugger import Debugger
from torch_debugger.plumbing import connect
from torch_debugger.probes.gates import Gate
from torch_debugger.probes.guard import Guard
from torch_debugger.probes.patches import Patches
from torch_debugger.probes.sinks import Sinks
from torch_debugger.probes.watch import Watch
from torch_debugger.records import EndFact, ProbeFault, Record
from torch_debugger.session import Session
from torch_debugger.settings import Settings

# What holds the faults of all others cannot itself be made to fail. These hold nothing but a call of the guard.
CONTAINS = {Guard, Watch, Patches, Gate, Sinks}
SHELLS = {
    "Forward._before", "Forward._after", "Roots._around", "Roots._call", "Roots.of", "Evaluation._around",
    "Evaluation._call", "Optimizers._before_step", "Optimizers._after_step", "Scaler._skipped",
    "Cycles._after_step", "RankDigests._before_step", "Tracing._before", "Tracing._after",
}  # fmt: skip
# These take things off. They are made to fail when they have, or everything would be left behind.
TAKES_OFF = {
    "Cycles.remove",
    "Evaluation.remove",
    "Forward._hooks_off",
    "Optimizers.remove",
    "RankDigests.remove",
    "Roots.open_gates",
    "Tracing.stop",
    "Unreached.remove",
    "UserScalars.remove",
}


def _methods() -> Iterator[tuple[type, str]]:
    for found in pkgutil.iter_modules(torch_debugger.probes.__path__, "torch_debugger.probes."):
        module = importlib.import_module(found.name)
        for kind in vars(module).values():
            if inspect.isclass(kind) and kind.__module__ == found.name and kind not in CONTAINS:
                yield from ((kind, name) for name, item in vars(kind).items() if isinstance(item, FunctionType))


METHODS = {f"{kind.__name__}.{name}": (kind, name) for kind, name in _methods() if not name.startswith("__")}


class Fault(RuntimeError):
    """Ours, and never to be seen by a training."""


@pytest.fixture(scope="module")
def plain() -> str:
    """What the training comes to without us."""
    torch.set_num_threads(1)
    assert Training().run() == Training().run(), "two plain runs must agree"
    return Training().run()


def watched(sink: Any, **settings: Any) -> str:
    with left_untouched():
        probes = connect(Settings(**settings), [sink], None)
        try:
            return Training().run()
        finally:
            probes.disconnect([sink], "finished")


def test_a_watched_training_comes_to_the_same_and_no_probe_fails(plain: str) -> None:
    sink = Kept()
    assert watched(sink) == plain
    assert not sink.of(ProbeFault)


@functools.cache
def called_in_a_training(deep: bool) -> frozenset[str]:
    """Every other method is free to fail: until it is called, its fault changes nothing."""
    called: set[str] = set()
    with pytest.MonkeyPatch.context() as patches:
        for method, (kind, name) in METHODS.items():
            patches.setattr(kind, name, _noting(getattr(kind, name), method, called))
        watched(Kept(), deep_always=deep)
    return frozenset(called)


def _noting(original: Any, method: str, called: set[str]) -> Any:
    @functools.wraps(original)
    def noting(*arguments: Any, **keywords: Any) -> Any:
        called.add(method)
        return original(*arguments, **keywords)

    return noting


@pytest.mark.parametrize("deep", [False, True], ids=["", "deep"])
@pytest.mark.parametrize("method", sorted(METHODS.keys() - SHELLS))
def test_a_fault_in_any_probe_stays_in_it(
    method: str, deep: bool, plain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if method not in called_in_a_training(deep):
        return
    kind, name = METHODS[method]
    original = getattr(kind, name)
    called = Counter[str]()

    def fail(*arguments: Any, **keywords: Any) -> None:
        called[method] += 1
        if method in TAKES_OFF:
            original(*arguments, **keywords)
        raise Fault(method)

    monkeypatch.setattr(kind, name, fail)
    sink = Kept()
    assert watched(sink, deep_always=deep) == plain
    faults = sink.of(ProbeFault)
    assert bool(faults) == bool(called)
    assert {fault.error for fault in faults} <= {f"Fault: {method}"}
    assert max(Counter(fault.probe for fault in faults).values(), default=1) == 1
    assert len(sink.of(EndFact)) == 1


class Broken:
    """A sink that takes some records and then fails."""

    def __init__(self, takes: int) -> None:
        self.takes = takes
        self.asked = 0

    def add(self, record: Record) -> None:
        self.asked += 1
        if self.asked > self.takes:
            raise Fault("no room")


@pytest.mark.parametrize("takes", [0, 1, 40])
def test_a_sink_that_fails_is_let_go_and_the_others_hear_everything(
    takes: int, plain: str, capfd: pytest.CaptureFixture[str]
) -> None:
    before, broken, behind = Kept(), Broken(takes), Kept()
    probes = connect(Settings(), [before, broken, behind], None)
    result = Training().run()
    probes.disconnect([before, broken, behind], "finished")
    assert result == plain
    assert [id(record) for record in behind] == [id(record) for record in before]
    assert len(behind) > 100 and len(behind.of(EndFact)) == 1
    assert broken.asked == takes + 1
    said = "torch-debugger: Broken failed (Fault: no room) and gets no more records; the training goes on.\n"
    assert capfd.readouterr().err == said


def test_a_sink_that_fails_inside_import_torch_fails_no_import(
    plain: str, capfd: pytest.CaptureFixture[str]
) -> None:
    broken, whole = Broken(0), Kept()
    session = Session(Settings(), "train.py", (), [broken, whole])
    session.start()  # torch is imported, so this is what its import would do
    assert Training().run() == plain
    session.end("finished")
    assert broken.asked == 1
    assert whole.of(EndFact)
    assert capfd.readouterr().err.count("\n") == 1


def test_a_watch_that_cannot_begin_says_so_and_leaves_the_script_alone(
    plain: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(plumbing.Plumbing, "__init__", _fail)
    with left_untouched():
        session = Session(Settings(), "train.py", (), [Kept()])
        session.start()
        assert Training().run() == plain
        session.end("finished")
    said = "torch-debugger: could not begin to watch (Fault: at once); the script runs unwatched.\n"
    assert capfd.readouterr().err == said


def _fail(*arguments: Any) -> None:
    raise Fault("at once")


def test_a_debugger_whose_judge_fails_lets_the_training_go_on(
    plain: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with left_untouched(), Debugger():
        monkeypatch.setattr(Judge, "see", _fail)
        assert Training().run() == plain
    assert capfd.readouterr().err.startswith("torch-debugger: Debugger failed (Fault: at once)")


def test_a_module_of_the_user_s_named_as_a_logger_is_imported_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.joinpath("wandb.py").write_text("project = 'a stand-in without log'")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "wandb", raising=False)
    sink = Kept()
    probes = connect(Settings(), [sink], None)
    import wandb

    probes.disconnect([sink], "finished")
    monkeypatch.delitem(sys.modules, "wandb")
    assert wandb.project
    assert not sink.of(ProbeFault)
