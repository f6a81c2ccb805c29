"""Whatever breaks in us, the training ends as it would have ended without us, and one sentence says so."""

from __future__ import annotations

import functools
import gc
import importlib
import inspect
import pkgutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
import torch

import torch_debugger.probes
from tests.promises import training
from tests.promises.training import Kept, Training
from tests.promises.untouched import left_untouched
from torch_debugger.checks.judge import Judge
from torch_debugger.probes.model.root_modules import Gate
from torch_debugger.probes.probe import Guard, Listeners, Patches
from torch_debugger.probes.sinks import Sinks
from torch_debugger.probes.watch import Watch
from torch_debugger.records import EndFact, ProbeFault, Record
from torch_debugger.runner import plumbing
from torch_debugger.runner.debugger import Debugger
from torch_debugger.runner.plumbing import connect
from torch_debugger.runner.session import Session
from torch_debugger.settings import Settings
from torch_debugger.source import files as sources

# What holds the faults of all others cannot itself be made to fail. These hold nothing but a call of the guard.
CONTAINS = {Guard, Watch, Listeners, Patches, Gate, Sinks}
SHELLS = {
    "Forward._before", "Forward._after", "RootModules._around", "RootModules._call", "RootModules.of",
    "Evaluation._around", "Evaluation._call", "Optimizers._before_step", "Optimizers._after_step", "Scaler._skipped",
    "Cycles._after_step", "RankDigests._before_step", "Tracing._before", "Tracing._after",
    "Probes.put", "Probes.get", "Probes.in_order", "Probes.made",  # they make the probes, before any is at work
}  # fmt: skip
# These take things off. They are made to fail when they have, or everything would be left behind.
TAKES_OFF = {
    "Cycles.remove", "Evaluation.remove", "Forward._hooks_off", "Optimizers.remove", "RankDigests.remove",
    "RootModules.open_gates", "Tracing.stop", "Unreached.remove", "UserScalars.remove",
}  # fmt: skip


def _methods() -> Iterator[tuple[type, str]]:
    for found in pkgutil.walk_packages(torch_debugger.probes.__path__, "torch_debugger.probes."):
        module = importlib.import_module(found.name)
        for kind in vars(module).values():
            if inspect.isclass(kind) and kind.__module__ == found.name and kind not in CONTAINS:
                yield from ((kind, name) for name, item in vars(kind).items() if isinstance(item, FunctionType))


METHODS = {f"{kind.__name__}.{name}": (kind, name) for kind, name in _methods() if not name.startswith("__")}


class Fault(RuntimeError):
    """Ours, and never to be seen by a training."""


@pytest.fixture(scope="module", autouse=True)
def only_the_training_is_the_user_s() -> Iterator[None]:
    """As in a script of theirs; the many files of tests would be read in each of some hundred trainings."""
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(sources, "_is_user_path", lambda path: path == training.__file__)
        yield


@pytest.fixture(scope="module")
def plain() -> str:
    """What the training comes to without us."""
    gc.collect()
    gc.freeze()  # what other tests have left: left_untouched would look through it some hundred times
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
def called_in_a_training(deep: bool) -> dict[str, str]:
    """Each method that is called, in the order of the first calls, and the probe in whose name it was.

    Every other method is free to fail: until it is called, its fault changes nothing.
    """
    called: dict[str, str] = {}
    names = ["nobody's"]

    def named(original: Any) -> Any:
        @functools.wraps(original)
        def call(guard: Guard, probe: str, *arguments: Any) -> Any:
            names.append(probe)
            try:
                return original(guard, probe, *arguments)
            finally:
                names.pop()

        return call

    def noting(original: Any, method: str) -> Any:
        @functools.wraps(original)
        def note(*arguments: Any, **keywords: Any) -> Any:
            called.setdefault(method, names[-1])
            return original(*arguments, **keywords)

        return note

    with pytest.MonkeyPatch.context() as patches:
        for name in ("call", "contain"):
            patches.setattr(Guard, name, named(getattr(Guard, name)))
        for method, (kind, name) in METHODS.items():
            patches.setattr(kind, name, noting(getattr(kind, name), method))
        watched(Kept(), deep_always=deep)
    return called


class Shared:
    """One training in which all of these methods fail at every call."""

    def __init__(self, methods: Sequence[str], deep: bool) -> None:
        self.raised: set[str] = set()
        self.sink = Kept()
        with pytest.MonkeyPatch.context() as patches:
            for method in methods:
                kind, name = METHODS[method]
                patches.setattr(kind, name, self._failing(method, getattr(kind, name)))
            self.result = watched(self.sink, deep_always=deep)
        self.told = {fault.error.removeprefix("Fault: ") for fault in self.sink.of(ProbeFault)}

    def _failing(self, method: str, original: Any) -> Any:
        def fail(*arguments: Any, **keywords: Any) -> None:
            self.raised.add(method)
            if method in TAKES_OFF:
                original(*arguments, **keywords)
            raise Fault(method)

        return fail

    def complaints(self, plain: str) -> list[str]:
        probes = Counter(fault.probe for fault in self.sink.of(ProbeFault))
        held = {
            "the training came to something else": self.result == plain,
            f"others failed too: {sorted(self.told - self.raised)}": self.told <= self.raised,
            "a fault was not told": bool(self.told) == bool(self.raised),
            f"told more than once: {probes}": max(probes.values(), default=1) == 1,
            "not told how it ended": len(self.sink.of(EndFact)) == 1,
        }
        return [complaint for complaint, true in held.items() if not true]


def failing(methods: Sequence[str], deep: bool, plain: str) -> tuple[set[str], list[str]]:
    """Which of them are done, because their fault was told or, alone, never came up; and what went wrong."""
    try:
        shared = Shared(methods, deep)
        complaints = shared.complaints(plain)
    except Exception as error:  # Fault, or what is left behind: to be told with the names of those that failed
        complaints = [repr(error)[:500]]
    if complaints and len(methods) > 1:
        alone = [failing([method], deep, plain)[1] for method in methods]
        named = [complaint for each in alone for complaint in each]
        return set(methods), named or [f"{complaint}: only together, {methods}" for complaint in complaints]
    done = set(methods) if len(methods) == 1 else shared.told
    return done, [f"{methods[0]}: {complaint}" for complaint in complaints]


@pytest.mark.parametrize("deep", [False, True], ids=["", "deep"])
def test_a_fault_in_any_probe_stays_in_it(deep: bool, plain: str) -> None:
    """Every method fails: one of each probe's in a training, as a probe that failed is not asked again.

    A method that was not reached, or whose probe had already been taken off, has its turn in a later training.
    In trainings with few deep steps only what they call besides fails: steps that are not looked at.
    """
    probes = called_in_a_training(deep)
    left = [method for method in probes if method not in SHELLS]
    assert len(left) > 350
    if not deep:
        left = [method for method in left if method not in called_in_a_training(True)]
        assert left
    complaints: list[str] = []
    while left:
        together = list({probes[method]: method for method in reversed(left)}.values())
        done, wrong = failing(together, deep, plain)
        complaints += wrong
        if not done:
            complaints += [complaint for method in together for complaint in failing([method], deep, plain)[1]]
            done = set(together)
        waiting = [method for method in left if method not in together]
        left = waiting + [method for method in together if method not in done]
    assert not complaints, "\n".join(complaints)


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


def test_a_sink_that_fails_inside_import_torch_fails_no_import(plain: str, capfd: pytest.CaptureFixture[str]) -> None:
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
