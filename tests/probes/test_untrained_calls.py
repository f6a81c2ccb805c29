"""Models that are called in a script that trains nothing, or before it does."""

from __future__ import annotations

import torch
from torch import nn

from tests.probes.watching import watched
from torch_debugger.probes.model.inference import UntrainedCalls
from torch_debugger.records import NonFiniteOutput, TensorRows, UntrainedModel


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h: torch.Tensor = self.fc(x)
        return (h - h.mean(0)) / h.std(0)


def test_each_model_is_counted_and_its_outputs_are_looked_at() -> None:
    net, aux = nn.Sequential(nn.Linear(4, 3)).eval(), nn.Sequential(nn.Linear(3, 2))
    with watched() as seen:
        for _ in range(5):
            with torch.no_grad():
                aux(net(torch.randn(2, 4)))
        with torch.inference_mode():
            net(torch.randn(2, 4))
        net(torch.randn(2, 4))  # with gradients
        net(torch.randn(2, 4))
    first, second = seen.of(UntrainedModel)
    assert (first.model, first.kind, first.calls, first.looks) == ("net", "Sequential", 8, 8)
    assert (second.model, second.calls) == ("aux", 5)
    assert first.place.code == "aux(net(torch.randn(2, 4)))"
    assert not seen.of(NonFiniteOutput)


def test_nan_is_traced_to_its_op() -> None:
    for context in (torch.no_grad(), torch.inference_mode(), torch.enable_grad()):
        net = Scaled().eval()
        with watched() as seen, context:
            for rows in (8, 8, 1, 8, 1):
                net(torch.randn(rows, 4))
        (found,) = seen.of(NonFiniteOutput)
        assert (found.model, found.call, found.bad_rows, found.rows, found.training) == ("net", 3, 1, 1, False)
        origin = found.fact.origin
        assert origin is not None and (origin.op, origin.module) == ("std", "net")
        assert origin.place.code == "return (h - h.mean(0)) / h.std(0)"


def test_memory_that_nothing_was_written_to_is_a_try_of_shapes() -> None:
    net = nn.Linear(4, 2)
    with watched() as seen, torch.no_grad():
        x = torch.empty(8, 4).to(torch.float32)
        x.data.fill_(torch.nan)  # as memory may be
        net(x)
    assert not seen.of(NonFiniteOutput)
    with watched() as seen, torch.no_grad():
        y = torch.empty(8, 4)
        y[3] = torch.nan
        net(y)
    assert seen.of(NonFiniteOutput)
    with watched() as seen, torch.no_grad():
        net(torch.empty(8, 4).fill_(torch.nan))
    assert seen.of(NonFiniteOutput)


def test_rows_of_a_mask_are_not_the_whole_output() -> None:
    attention = nn.MultiheadAttention(4, 2, batch_first=True)
    with watched() as seen, torch.no_grad():
        x, masked = torch.randn(3, 5, 4), torch.zeros(5, 5, dtype=torch.bool)
        masked[4] = True  # this query may see nothing
        attention(x, x, x, attn_mask=masked)
    (found,) = seen.of(NonFiniteOutput)
    assert (found.bad_rows, found.rows, found.everywhere) == (3, 3, False)


def test_nan_of_the_input_and_of_the_weights() -> None:
    net = nn.Linear(4, 2)
    with watched() as seen, torch.no_grad():
        x = torch.randn(8, 4)
        x[5] = torch.nan
        net(x)
    (found,) = seen.of(NonFiniteOutput)
    origin = found.fact.origin
    assert (found.bad_rows, found.rows, found.everywhere) == (1, 8, False)
    assert origin is not None and (origin.phase, origin.given, origin.rows) == ("input", "input", (5,))
    bad = nn.Sequential(nn.Linear(4, 2))
    bad[0].weight.data[0, 0] = torch.nan
    with watched() as seen, torch.no_grad():
        bad(torch.randn(8, 4))
    origin = seen.of(NonFiniteOutput)[0].fact.origin
    assert origin is not None and (origin.phase, origin.given) == ("weights", "bad.0.weight")


def test_infinities_and_numbers_that_overflow_a_sum_are_no_nan() -> None:
    class Masked(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = super().forward(x).clone()
            y[:, 0], y[:, 1] = torch.inf, -torch.inf
            return y

    with watched() as seen, torch.no_grad():
        Masked(4, 3)(torch.randn(2, 4))
        nn.Linear(4, 3).half()(torch.full((2, 4), 6e4).half())
    assert not seen.of(NonFiniteOutput)


def test_hooks_on_all_modules_come_off_and_on_again_where_a_training_begins() -> None:
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    hooks = nn.modules.module._global_forward_hooks
    with watched() as seen:
        with torch.no_grad():
            for call in range(UntrainedCalls.HOOKED + 20):
                net(torch.randn(2, 4))
                assert bool(hooks) == (call + 1 < UntrainedCalls.HOOKED)
        for _ in range(2):
            optimizer.zero_grad()
            net(torch.randn(2, 4)).square().mean().backward()
            optimizer.step()
        assert hooks
    assert vars(nn.Sequential).get("_compiled_call_impl") is None and not hooks
    steps = {rows.step for rows in seen.of(TensorRows) if rows.table.kind == "activation"}
    assert steps == {1, 2}
    assert not seen.of(UntrainedModel)  # it has been trained


def test_a_late_nan_is_seen_at_the_gate() -> None:
    net = Scaled().eval()
    with watched() as seen, torch.no_grad():
        for call in range(100):
            net(torch.randn(1 if call == 90 else 8, 4))
    (found,) = seen.of(NonFiniteOutput)
    assert found.call == 91 and found.fact.origin is not None and found.fact.origin.op == "std"
    assert seen.of(UntrainedModel)[0].calls == 100


def test_what_is_evaluated_in_a_training_is_left_to_others() -> None:
    net = Scaled()
    with watched() as seen:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()
        with torch.no_grad():
            net(torch.randn(1, 4))
    assert not seen.of(NonFiniteOutput) and not seen.of(UntrainedModel)


def test_a_forward_that_raises_is_the_scripts() -> None:
    net = nn.Sequential(nn.Linear(4, 2))
    with watched() as seen, torch.no_grad():
        for number in range(UntrainedCalls.HOOKED + 4):
            try:
                net(torch.randn(2, 4 if number % 2 else 5))
            except RuntimeError:
                continue
    assert seen.of(UntrainedModel)[0].calls > 2
