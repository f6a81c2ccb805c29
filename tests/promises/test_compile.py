"""torch.compile makes of a watched program what it makes of a plain one: as many graphs, breaks and recompiles.

Dynamo decides all three; the backend that follows it is the cheapest that still runs autograd.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch._dynamo
from torch import nn
from torch._dynamo.testing import CompileCounterWithBackend
from torch._dynamo.utils import counters
from torch.utils.checkpoint import checkpoint

from tests.promises.scripts.fingerprint import digest
from tests.promises.training import Kept
from tests.promises.untouched import left_untouched
from torch_debugger.probes.model.module_state import ModuleMoves
from torch_debugger.probes.probe import Patches
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Notice, ProbeFault, Scalars
from torch_debugger.runner.debugger import Debugger
from torch_debugger.runner.plumbing import connect
from torch_debugger.settings import Settings

Compile = Callable[..., Any]
Step = Callable[[], torch.Tensor]
STEPS = 10
COUNTED = ("stats", "graph_break", "unimplemented", "resumes", "recompiles", "exported")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU())
        self.last = nn.Linear(12, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.first(x))


class Checkpointed(Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(checkpoint(self.first, x, use_reentrant=False))


class Breaking(Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.first(x)
        torch._dynamo.graph_break()
        return self.last(hidden)


class Script:
    """A training in which something is compiled; each kind says what."""

    def __init__(self, compile: Compile) -> None:
        torch.manual_seed(0)
        self.compile = compile
        self.net = self.make_net()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1, momentum=0.9)
        self.criterion = nn.CrossEntropyLoss()
        self.setup()

    def make_net(self) -> nn.Module:
        return Net()

    def setup(self) -> None:
        pass

    def batch(self, size: int = 8) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.randn(size, 6), torch.randint(0, 3, (size,))

    def before_step(self, number: int) -> None:
        pass

    def loss(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.criterion(self.net(x), y)

    def run(self) -> str:
        losses = []
        for number in range(STEPS):
            self.before_step(number)
            self.optimizer.zero_grad()
            loss = self.loss(*self.batch())
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return digest([self.net.state_dict(), losses, torch.get_rng_state()])


class FromTheStart(Script):
    def make_net(self) -> nn.Module:
        return self.compile(Net())


class AfterSomeSteps(Script):
    def before_step(self, number: int) -> None:
        if number == 3:
            self.net = self.compile(self.net)


class InPlace(Script):
    def before_step(self, number: int) -> None:
        if number == 3:
            self.net._compiled_call_impl = self.compile(self.net._call_impl)  # what Module.compile does


class OneLayer(Script):
    def before_step(self, number: int) -> None:
        if number == 2:
            self.net.first = self.compile(self.net.first)


class LossFunction(Script):
    def setup(self) -> None:
        self.criterion = self.compile(lambda output, y: nn.functional.cross_entropy(output, y) * 2)


class LossModule(Script):
    def setup(self) -> None:
        self.criterion = self.compile(nn.CrossEntropyLoss())


class WholeStep(Script):
    """Model and loss module inside one compiled function, after steps in which both were called by hand."""

    def before_step(self, number: int) -> None:
        if number == 4:
            model, criterion = self.net, self.criterion
            self.compiled = self.compile(lambda x, y: criterion(model(x), y))

    def loss(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.compiled(x, y) if hasattr(self, "compiled") else super().loss(x, y)


class OptimizerStep(Script):
    def setup(self) -> None:
        self.optimizer.step = self.compile(self.optimizer.step)  # type: ignore[method-assign]


class Validates(FromTheStart):
    def before_step(self, number: int) -> None:
        if number % 3 == 0:
            self.net.eval()
            with torch.no_grad():
                self.loss(*self.batch())
            self.net.train()


class NewShapes(FromTheStart):
    def batch(self, size: int = 8) -> tuple[torch.Tensor, torch.Tensor]:
        return super().batch(4 + int(torch.randint(0, 9, ())))


class Checkpoints(FromTheStart):
    def make_net(self) -> nn.Module:
        return self.compile(Checkpointed())


class Breaks(FromTheStart):
    def make_net(self) -> nn.Module:
        return self.compile(Breaking())


class WholeTrainingStep(Script):
    def setup(self) -> None:
        def step(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            self.optimizer.zero_grad()
            loss = self.criterion(self.net(x), y)
            loss.backward()
            self.optimizer.step()
            return loss

        self.step = self.compile(step)

    def run(self) -> str:
        losses = [self.step(*self.batch()).item() for _ in range(STEPS)]
        return digest([self.net.state_dict(), losses, torch.get_rng_state()])


class Exports(Script):
    """torch.export traces the model with hooks on, in a step that is looked at closely."""

    def before_step(self, number: int) -> None:
        if number in (1, 5):
            graph = torch.export.export(self.net, (torch.ones(8, 6),)).graph
            counters["exported"][str(graph)] += 1


KINDS = [
    FromTheStart, AfterSomeSteps, InPlace, OneLayer, LossFunction, LossModule, WholeStep, OptimizerStep,
    Validates, NewShapes, Checkpoints, Breaks, WholeTrainingStep, Exports,
]  # fmt: skip


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch.set_num_threads(1)
    torch._dynamo.reset()
    counters.clear()
    yield
    torch._dynamo.reset()
    counters.clear()


def outcome(kind: type[Script]) -> dict[str, Any]:
    """What the training came to, and all that dynamo counted on the way."""
    torch._dynamo.reset()
    counters.clear()
    backend = CompileCounterWithBackend("aot_eager")
    result = kind(lambda target: torch.compile(target, backend=backend)).run()
    counted: dict[str, Any] = {name: dict(counters[name]) for name in COUNTED}
    if kind is WholeTrainingStep:  # what dynamo breaks at is called by ours: as many breaks, in other words
        counted |= {"graph_break": sorted(counters["graph_break"].values()), "unimplemented": None}
    return {"result": result, "graphs": backend.frame_count, "operations": backend.op_count, **counted}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_same_is_compiled_as_often(kind: type[Script]) -> None:
    plain = outcome(kind)
    assert plain["graphs"] or kind is Exports
    for deep in (False, True):
        sink = Kept()
        with left_untouched():
            probes = connect(Settings(deep_always=deep), [sink], None)
            watched = outcome(kind)
            probes.disconnect([sink], "finished")
        assert watched == plain, f"{deep=}"
        assert not sink.of(ProbeFault), f"{deep=}"
        seen = STEPS if kind is not WholeTrainingStep else 1  # then its steps are dynamo's alone
        assert len([record for record in sink.of(Scalars) if "loss" in record.values]) == seen, f"{deep=}"
        assert len(sink.of(Notice)) == (kind is not Exports), f"{deep=}"


def test_a_debugger_made_after_the_model_was_compiled_makes_nothing_compile_again() -> None:
    def run(watch: bool) -> tuple[str, int]:
        torch._dynamo.reset()
        backend = CompileCounterWithBackend("aot_eager")
        script = FromTheStart(lambda target: torch.compile(target, backend=backend))
        script.run()
        before = backend.frame_count
        if watch:
            with Debugger():
                return script.run(), backend.frame_count - before
        return script.run(), backend.frame_count - before

    assert run(watch=True) == run(watch=False)


def test_a_model_that_is_moved_in_a_compiled_function_is_compiled_as_before() -> None:
    def run() -> dict[str, Any]:
        torch._dynamo.reset()
        counters.clear()
        net, backend = Net(), CompileCounterWithBackend("eager")
        compiled = torch.compile(lambda x: net.to(x.device)(x), backend=backend)
        for size in (4, 4, 7):
            compiled(torch.ones(size, 6))
        return {"graphs": backend.frame_count, **{name: dict(counters[name]) for name in COUNTED}}

    plain, patches = run(), Patches()
    ModuleMoves(Watch()).install(patches)
    try:
        assert run() == plain
    finally:
        patches.restore()
