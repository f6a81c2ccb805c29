"""When the watch is over the process is as it was, and nothing of the user's lived longer because of us."""

from __future__ import annotations

import gc
import os
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.modules import module as modules
from torch.utils.checkpoint import checkpoint

from tests.promises.training import STEPS, Kept, Training
from tests.promises.untouched import PATCHED, everything, left_untouched
from torch_debugger.log.process_channels import Board
from torch_debugger.probes.probe import Patches
from torch_debugger.records import ModelFact, ProbeFault
from torch_debugger.runner import plumbing
from torch_debugger.runner.debugger import Debugger
from torch_debugger.runner.plumbing import Plumbing, connect
from torch_debugger.settings import Settings


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


class Watching:
    """Probes on, with a sink that keeps all records."""

    def __init__(self, **settings: Any) -> None:
        self.sink = Kept()
        self._settings = Settings(**settings)

    def __enter__(self) -> Plumbing:
        self.probes = connect(self._settings, [self.sink], None)
        return self.probes

    def __exit__(self, *error: object) -> None:
        self.probes.disconnect([self.sink], "finished")
        assert not self.sink.of(ProbeFault)


def test_what_is_compared_does_change_while_we_watch() -> None:
    before = everything()
    with Watching():
        Training().run()
        while_watching = everything()
    assert everything() == before
    same = {name for name in before if before[name] == while_watching[name]}
    # Writers (torch's, tensorboardX's, wandb) that are imported are patched at once, the others waited for.
    writer = {"summary writer", "import finders"}
    assert not writer <= same
    assert same - writer <= {"threads", "files", "handles", "children", "finalizers"}


def test_every_attribute_that_is_replaced_is_one_we_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    replaced: set[tuple[Any, str]] = set()
    replace = Patches.replace
    monkeypatch.setattr(
        Patches,
        "replace",
        lambda self, owner, name, make: (replaced.add((owner, name)), replace(self, owner, name, make)),
    )
    with Watching():
        pass
    assert replaced
    of_writers = {"add_scalar", "log"}  # of those that another test has imported: SummaryWriter, wandb
    assert {pair for pair in replaced if pair[1] not in of_writers} <= set(PATCHED)


@pytest.mark.parametrize("deep", [False, True])
def test_a_watch_leaves_nothing(deep: bool) -> None:
    with left_untouched(), Watching(deep_always=deep):
        Training().run()


def test_a_watch_that_ends_in_the_middle_of_everything_leaves_nothing() -> None:
    with left_untouched():
        with Watching(deep_always=True):
            training = Training()
            batches = iter(training.loader)
            x, y = next(batches)
            loss = training.criterion(training.net(x), y)
        loss.backward()  # outside: hooks of ours in its graph must be gone, or silent
        training.optimizer.step()


def test_a_crash_leaves_nothing() -> None:
    with left_untouched():
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"), Debugger():
            Training().net(torch.zeros(2, 7))
        gc.collect()


def test_a_debugger_with_a_log_leaves_no_thread_and_no_file(tmp_path: Path) -> None:
    with left_untouched(), Debugger(log_dir=tmp_path):
        Training().run()
        names = {thread.name for thread in everything()["threads"]}
        assert "torch_debugger log" in names
    assert list(tmp_path.glob("*tfevents*"))


def test_two_debuggers_leave_nothing_whoever_goes_first() -> None:
    with left_untouched():
        first, second = Debugger(), Debugger()
        Training().run()
        first.close()
        assert torch.autograd.backward.__wrapped__, "the second one still watches"
        second.close()


def test_a_summary_writer_gets_its_method_back(tmp_path: Path) -> None:
    from torch.utils.tensorboard import SummaryWriter

    with left_untouched(), Watching(), SummaryWriter(str(tmp_path)) as writer:
        assert SummaryWriter.add_scalar.__wrapped__
        writer.add_scalar("validation", 0.5, 1)


def test_the_prompt_is_the_user_s_again() -> None:
    from torch_debugger.runner.launch import watch_prompts

    with left_untouched():
        board = Board.create()
        restore = watch_prompts(board)
        restore()
        os.close(board.fd)
        del board, restore


def test_between_deep_steps_no_module_hook_is_on() -> None:
    """Looked at in the middle of each step: by a parameter's own hook, during backward."""
    hooked: list[tuple[bool, bool]] = []
    with Watching() as probes:
        training = Training()
        training.net.last.weight.register_hook(
            lambda gradient: hooked.append((probes.watch.depth == 2, bool(modules._global_forward_hooks)))
        )
        for _ in range(3):
            training.run(spoilt=0)
    assert len(hooked) == 3 * STEPS
    assert {deep for deep, _ in hooked} == {True, False}
    assert all(deep == on for deep, on in hooked)


def test_nothing_hangs_on_the_modules_while_we_watch() -> None:
    plain = [sorted(vars(module)) for module in Training().net.modules()]
    with Watching(deep_always=True):
        training = Training()
        training.run()
        assert [sorted(vars(module)) for module in training.net.modules()] == plain
        for module in training.net.modules():
            assert not module._forward_hooks and not module._forward_pre_hooks and not module._backward_hooks
        for parameter in training.net.parameters():
            assert not parameter._backward_hooks and not parameter._post_accumulate_grad_hooks


def test_what_the_user_patched_over_us_stays_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[object] = []
    with Watching():
        ours = torch.autograd.backward

        def theirs(*arguments: Any, **keywords: Any) -> None:
            counted.append(arguments)
            ours(*arguments, **keywords)

        monkeypatch.setattr(torch.autograd, "backward", theirs)
        Training().run()
    assert torch.autograd.backward is theirs
    Training().run()
    assert len(counted) == 2 * STEPS
    monkeypatch.undo()  # puts our own back, which its own watch no longer takes off
    torch.autograd.backward = ours.__wrapped__  # type: ignore[attr-defined]


# Nothing lives longer


class Sentinel:
    """Dies with the autograd node it is put into."""


def _batches(count: int) -> Iterator[torch.Tensor]:
    for _ in range(count):
        yield torch.randn(8, 6)


@pytest.mark.parametrize("deep", [False, True])
def test_a_batch_and_its_graph_die_with_their_step(deep: bool) -> None:
    alive: list[int] = []

    def train(net: nn.Module, head: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        seen: list[weakref.ref[torch.Tensor]] = []
        for x in _batches(8):
            code = net(x)
            output = head(code)
            loss = output.pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen += [weakref.ref(tensor) for tensor in (x, code, output, loss)]
            del x, code, output, loss
            alive.append(sum(reference() is not None for reference in seen))

    net, head = nn.Sequential(nn.Linear(6, 5), nn.ReLU()), nn.Linear(5, 1)
    optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
    with Watching(deep_always=deep):
        gc.disable()
        try:
            train(net, head, optimizer)
        finally:
            gc.enable()
    assert alive == [0] * 8


def test_an_epoch_without_steps_keeps_at_most_the_last_batch_and_no_graph() -> None:
    """Validation where no_grad was forgotten: what the script lets go of is gone."""
    net, head = nn.Linear(6, 5), nn.Linear(5, 1)
    graphs: list[weakref.ref[Sentinel]] = []
    with Watching(deep_always=True):
        for x in _batches(3):
            code = net(x).relu()
            sentinel = Sentinel()
            code.grad_fn.metadata["sentinel"] = sentinel
            graphs.append(weakref.ref(sentinel))
            head(code)
            del x, code, sentinel
            assert [graph() for graph in graphs if graph() is not None] == []


def test_a_model_dies_while_we_watch() -> None:
    with Watching(deep_always=True) as probes:
        training = Training()
        training.run()
        gone = [weakref.ref(training.net), weakref.ref(training.optimizer), weakref.ref(training.loader)]
        gone += [weakref.ref(parameter) for parameter in training.net.parameters()]
        del training
        gc.collect()
        assert [reference() for reference in gone if reference() is not None] == []
        assert not probes.optimizers.held


def test_a_model_whose_forward_raised_dies_too() -> None:
    with Watching(deep_always=True):
        net = nn.Sequential(nn.Linear(6, 5), nn.Linear(6, 5))
        with pytest.raises(RuntimeError):
            net(torch.zeros(2, 6))
        gone = weakref.ref(net)
        del net
        sys.last_value = sys.last_traceback = None
        gc.collect()
        # The calls of a step that never ended are forgotten with the next one that does.
        Training().run()
        gc.collect()
        assert gone() is None


def test_a_debugger_that_is_kept_keeps_nothing_of_the_training() -> None:
    training = Training()
    debugger = Debugger(training.net)
    training.run()
    debugger.close()
    gone = [weakref.ref(training.net), weakref.ref(training.optimizer)]
    del training
    gc.collect()
    assert [reference() for reference in gone if reference() is not None] == []
    assert debugger.findings is not None


def test_a_graph_that_outlives_the_watch_has_no_hook_of_ours() -> None:
    with Watching(deep_always=True) as probes:
        net = nn.Linear(6, 1)
        loss = net(torch.ones(2, 6)).sum()
    gone = weakref.ref(probes)
    del probes
    gc.collect()
    assert gone() is None, "something in the graph still holds our probes"
    loss.backward()


def test_the_locals_of_the_user_s_function_are_not_touched() -> None:
    """Before Python 3.13 reading a frame's variables fills the dictionary that its locals() gave."""

    def train(rate: float, steps: int) -> dict[str, object]:
        configuration = locals()
        net = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=rate)
        for x in _batches(steps):
            loss = net(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return configuration

    with Watching(deep_always=True) as probes:
        assert train(0.1, 4) == {"rate": 0.1, "steps": 4}
        assert probes.watch.step == 5


def test_names_are_read_all_the_same() -> None:
    def train() -> None:
        encoder = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 1))
        optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
        encoder(torch.ones(2, 6)).sum().backward()
        optimizer.step()

    watching = Watching()
    with watching:
        train()
    assert [fact.root for fact in watching.sink.of(ModelFact)] == ["encoder"]


def test_checkpointed_blocks_are_no_models_of_their_own() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = nn.Sequential(nn.Linear(6, 6), nn.ReLU())
            self.head = nn.Linear(6, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(checkpoint(self.block, x, use_reentrant=False))

    watching = Watching(deep_always=True)
    with watching:
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x in _batches(3):
            net(x).sum().backward()
            optimizer.step()
    assert [fact.root for fact in watching.sink.of(ModelFact)] == ["net"]


def test_nobody_watches_when_the_last_one_has_gone() -> None:
    with Watching():
        assert plumbing._current is not None
    assert plumbing._current is None
