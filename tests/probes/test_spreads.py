"""The spread of each layer's values: right by the slow way, rare, and harmless where it fails."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.probes.watching import Seen, watched
from torch_debugger.probes.model.value_ranges import Spreads, quantiles_of
from torch_debugger.records import ProbeFault, TensorRows
from torch_debugger.records.layers import QUANTILES


def train(steps: int, model: nn.Module, **settings: Any) -> Seen:
    with watched(**settings) as seen:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(steps):
            optimizer.zero_grad()
            model(torch.randn(64, 8)).square().mean().backward()
            optimizer.step()
    return seen


def spreads(seen: Seen, kind: str) -> list[TensorRows]:
    return [rows for rows in seen.of(TensorRows) if rows.table.kind == kind]


def small_net() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))


def test_weights_are_those_before_the_update() -> None:
    model = nn.Linear(8, 16)
    wanted = np.sort(model.weight.detach().reshape(-1).numpy().copy())

    (first, *_) = spreads(train(1, model), "weight_spread")

    assert first.table.names == ("model.weight",) and first.table.columns == tuple(map(str, QUANTILES))
    slow = [wanted[round(share * (len(wanted) - 1))] for share in QUANTILES]
    np.testing.assert_array_equal(first.values[0], np.array(slow, np.float32))


def test_every_layer_has_outputs_weights_and_gradients() -> None:
    seen = train(1, small_net())
    kinds = ("activation_spread", "weight_spread", "gradient_spread")
    names = {kind: {name for rows in spreads(seen, kind) for name in rows.table.names} for kind in kinds}
    parameters = {"model.0.weight", "model.0.bias", "model.2.weight", "model.2.bias"}
    assert names["weight_spread"] == names["gradient_spread"] == parameters
    assert names["activation_spread"] == {"model.0", "model.1", "model.2"}
    rows = next(rows for rows in spreads(seen, "activation_spread") if "model.1" in rows.table.names)
    rectified = rows.values[rows.table.names.index("model.1")]
    assert rectified[0] == 0 and 0.3 < np.mean(rectified == 0) < 0.7 and (np.diff(rectified) >= 0).all()


def test_looks_become_rare() -> None:
    steps = sorted({rows.step for rows in spreads(train(60, small_net()), "weight_spread")})
    assert steps == [1, 2, 3, 5, 8, 12, 18, 27, 41]


def test_a_sample_of_a_large_tensor_is_near_the_whole() -> None:
    torch.manual_seed(0)
    model = nn.Linear(8, 4096)
    nn.init.normal_(model.weight, std=2.0)
    (rows,) = [rows for rows in spreads(train(1, model), "weight_spread") if "model.weight" in rows.table.names]
    whole = np.quantile(model.weight.detach().numpy(), QUANTILES[4:-4])
    found = rows.values[rows.table.names.index("model.weight")][4:-4]
    assert np.abs(found - whole).max() < 0.5


def test_nan_is_the_upper_end() -> None:
    found = quantiles_of(np.array([[math.nan, 1.0, -math.inf, 2.0]], np.float32))[0]
    assert found[0] == -math.inf and math.isnan(found[-1])


def test_random_numbers_and_weights_are_untouched() -> None:
    def result() -> tuple[torch.Tensor, torch.Tensor]:
        torch.manual_seed(0)
        model = small_net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(4):
            model(torch.randn(64, 8)).square().mean().backward()
            optimizer.step()
        return torch.rand(1), model[0].weight.detach()  # type: ignore[index,return-value]

    plain = result()
    with watched() as seen:
        seen_too = result()
    assert spreads(seen, "gradient_spread")
    assert all(torch.equal(one, other) for one, other in zip(plain, seen_too, strict=True))


def test_a_fault_takes_off_the_spreads_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any) -> None:
        raise RuntimeError("no sample")

    monkeypatch.setattr(Spreads, "_take", broken)
    seen = train(5, small_net(), faults=True)
    assert [fault.probe for fault in seen.of(ProbeFault)] == ["spreads"]
    assert len([rows for rows in seen.of(TensorRows) if rows.table.kind == "activation"]) == 5
    assert len([rows for rows in seen.of(TensorRows) if rows.table.kind == "update"]) == 5
