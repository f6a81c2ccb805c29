"""What is seen of a GradScaler, in small loops on the CPU."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from tests.probes.watching import Seen, watched
from torch_debugger.records import ScalerMisuse, TensorRows


class Loop:
    """A training in three parts that tests replace."""

    def __init__(self, scale: float = 1024.0, **optimizer: Any) -> None:
        torch.manual_seed(0)
        self.net = nn.Linear(4, 1)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=0.01, **optimizer)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=scale)
        self.x = torch.randn(8, 4)
        self.losses: list[float] = []

    def loss(self) -> torch.Tensor:
        loss = self.net(self.x).pow(2).mean()
        self.losses.append(loss.item())
        return loss

    def step(self) -> None:
        self.optimizer.zero_grad()
        self.scaler.scale(self.loss()).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()


def see(body: Callable[[], None], steps: int = 3, **settings: Any) -> Seen:
    with watched(**settings) as seen:
        for _ in range(steps):
            body()
    return seen


def faults(seen: Seen) -> set[tuple[str, str, float]]:
    return {(record.fault, record.optimizer, record.scale) for record in seen.of(ScalerMisuse)}


def test_the_loss_is_told_as_it_was_before_it_was_scaled() -> None:
    loop = Loop()
    seen = see(loop.step)
    assert list(seen.scalars("loss").values()) == loop.losses
    assert set(seen.scalars("scaler/scale").values()) == {1024.0}
    assert not faults(seen)


def test_two_losses_scaled_before_either_goes_backward() -> None:
    loop = Loop()

    def step() -> None:
        loop.optimizer.zero_grad()
        first, second = loop.loss(), 10 * loop.loss()
        scaled = [loop.scaler.scale(each) for each in (first, second)]
        scaled[0].backward(retain_graph=True)
        scaled[1].backward()
        loop.scaler.step(loop.optimizer)
        loop.scaler.update()

    seen = see(step, steps=1)
    assert seen.scalars("loss")[1] == pytest.approx(10 * loop.losses[1])
    assert not faults(seen)


def test_a_step_left_out_is_counted_with_the_scale_that_was_too_large() -> None:
    loop = Loop(scale=2.0**126)
    loop.x *= 100
    seen = see(loop.step, steps=3)
    left_out = seen.scalars("scaler/skipped")
    assert set(left_out) == {1, 2, 3}
    assert list(seen.scalars("scaler/scale").values()) == [2.0**126, 2.0**125, 2.0**124]
    assert seen.plumbing.watch.clock.skipped == 3


def test_a_fused_optimizer_leaves_out_steps_too_and_its_gradients_are_told_unscaled() -> None:
    plain, fused = (see(Loop(fused=flag).step) for flag in (False, True))
    assert fused.scalars("grad_norm") == pytest.approx(plain.scalars("grad_norm"), rel=1e-5)
    loop = Loop(scale=2.0**126, fused=True)
    loop.x *= 100
    assert set(see(loop.step).scalars("scaler/skipped")) == {1, 2, 3}


def test_a_scaler_that_is_switched_off_is_none() -> None:
    loop = Loop()
    loop.scaler = torch.amp.GradScaler("cpu", enabled=False)
    seen = see(loop.step)
    assert not seen.scalars("scaler/scale")
    assert not faults(seen)


@pytest.mark.parametrize("parameters", [list, iter, lambda them: (each for each in them)])
def test_a_clip_before_unscale_is_seen_whatever_it_is_given(parameters: Callable[[Any], Any]) -> None:
    loop = Loop()

    def step() -> None:
        loop.optimizer.zero_grad()
        loop.scaler.scale(loop.loss()).backward()
        nn.utils.clip_grad_norm_(parameters(loop.net.parameters()), 0.5)
        loop.scaler.step(loop.optimizer)
        loop.scaler.update()

    record = see(step).of(ScalerMisuse)[0]
    assert (record.fault, record.scale, record.limit) == ("clipped", 1024.0, 0.5)
    assert record.norm > 1024 * 0.1
    assert record.place.code == "nn.utils.clip_grad_norm_(parameters(loop.net.parameters()), 0.5)"


def test_a_clip_of_other_gradients_or_after_unscale_is_none() -> None:
    loop = Loop()
    other = nn.Linear(2, 1)
    other(torch.ones(1, 2)).sum().backward()

    def step() -> None:
        loop.optimizer.zero_grad()
        loop.scaler.scale(loop.loss()).backward()
        nn.utils.clip_grad_norm_(other.parameters(), 0.5)
        loop.scaler.unscale_(loop.optimizer)
        nn.utils.clip_grad_value_(loop.net.parameters(), clip_value=0.5)
        loop.scaler.step(loop.optimizer)
        loop.scaler.update()

    assert not faults(see(step))


def test_clipping_gives_the_same_answers_and_can_be_pickled_while_we_watch() -> None:
    def norm() -> tuple[float, float]:
        loop = Loop()
        loop.scaler.scale(loop.loss()).backward()
        total = nn.utils.clip_grad_norm_(loop.net.parameters(), max_norm=0.5)
        assert loop.net.weight.grad is not None
        return total.item(), loop.net.weight.grad.norm().item()

    before = norm()
    with watched():
        assert norm() == before
        clip = torch.nn.utils.clip_grad_norm_
        assert pickle.loads(pickle.dumps(clip)) is clip is torch.nn.utils.clip_grad.clip_grad_norm_


def test_an_optimizer_that_steps_by_itself_is_seen() -> None:
    loop = Loop()

    def step() -> None:
        loop.optimizer.zero_grad()
        loop.scaler.scale(loop.loss()).backward()
        loop.optimizer.step()

    assert faults(see(step)) == {("stepped", "optimizer", 1024.0)}


def test_a_plain_loss_under_a_scaler_is_seen_and_a_derived_one_is_left_alone() -> None:
    loop = Loop()

    def step(backward: Callable[[torch.Tensor], None]) -> None:
        loop.optimizer.zero_grad()
        backward(loop.loss())
        loop.scaler.step(loop.optimizer)
        loop.scaler.update()

    def forgotten(loss: torch.Tensor) -> None:
        loop.scaler.scale(loss)
        loss.backward()

    seen = see(lambda: step(forgotten))
    assert faults(seen) == {("not scaled", "optimizer", 1024.0)}
    assert not faults(see(lambda: step(lambda loss: (loop.scaler.scale(loss) / 4).backward())))


def test_a_clip_of_whose_limit_is_no_plain_number() -> None:
    loop = Loop()

    def step() -> None:
        loop.optimizer.zero_grad()
        loop.scaler.scale(loop.loss()).backward()
        nn.utils.clip_grad_norm_(loop.net.parameters(), torch.tensor(0.5))  # type: ignore[arg-type]
        loop.scaler.step(loop.optimizer)
        loop.scaler.update()

    assert math.isnan(see(step).of(ScalerMisuse)[0].limit)


class Half(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.out = nn.Linear(4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.float16):
            return self.out(self.fc(x).float() + 1.0)


def half_steps(deep: bool, steps: int) -> Seen:
    net = Half()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        net(torch.randn(8, 4)).float().pow(2).mean().backward()
        optimizer.step()

    return see(step, steps, deep=deep)


def test_tables_know_the_dtype_of_each_tensor_and_what_float16_lost() -> None:
    rows = next(record for record in half_steps(True, 1).of(TensorRows) if record.table.kind == "activation")
    assert dict(zip(rows.table.names, rows.table.dtypes, strict=True)) == {
        "net.fc": "float16", "net.out": "float16", "net": "float16"
    }  # fmt: skip
    assert rows.table.columns[-2:] == ("subnormal", "faint")
    assert all(0.0 <= share <= 1.0 for share in rows.column("faint"))


def test_the_range_of_float16_outputs_is_looked_at_between_deep_steps() -> None:
    seen = half_steps(False, 40)
    ranges = [record for record in seen.of(TensorRows) if record.table.kind == "range"]
    deep = {record.step for record in seen.of(TensorRows) if record.table.kind == "activation"}
    assert len(ranges) >= 2
    assert not {rows.step for rows in ranges} & deep
    assert set(ranges[0].table.names) == {"net.fc", "net.out", "net"}
    assert all(low <= high for low, high in zip(ranges[0].column("min"), ranges[0].column("max"), strict=True))


def test_a_model_without_float16_is_never_asked_for_ranges() -> None:
    loop = Loop()
    seen = see(loop.step, 40, deep=False)
    assert not [record for record in seen.of(TensorRows) if record.table.kind == "range"]
