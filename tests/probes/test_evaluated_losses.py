from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from tests.probes.watching import Seen, watched
from torch_debugger.records import Scalars


def trained(evaluate: Callable[[nn.Module], dict[str, object]]) -> Seen:
    """Three epochs of two steps, each with an evaluation behind it that gives variables to the loop."""
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with watched() as seen:
        val_loss: object = None
        history: dict[str, object] = {}
        for _ in range(3):
            for _ in range(2):
                model(torch.randn(4, 2)).square().mean().backward()
                optimizer.step()
                optimizer.zero_grad()
            with torch.no_grad():
                found = evaluate(model)
            val_loss, history = found.pop("val_loss", None), found
        assert val_loss is None or history is not None
    return seen


def lost(model: nn.Module) -> float:
    return model(torch.ones(4, 2)).square().mean().item()


def test_the_number_in_a_variable_is_read_when_training_goes_on() -> None:
    values: list[float] = []

    def evaluate(model: nn.Module) -> dict[str, object]:
        values.append(lost(model))
        return {"val_loss": values[-1]}

    seen = trained(evaluate)
    assert list(seen.scalars("eval/val_loss").values()) == values[:2]


def test_the_last_number_of_a_history_counts() -> None:
    seen = trained(lambda model: {"test_losses": [1.0, lost(model)], "val_accuracy": 0.5})
    assert len(seen.scalars("eval/test_losses")) == 2
    assert not seen.scalars("eval/val_accuracy")


@pytest.mark.parametrize("held", [{"val_loss": "low"}, {"best_val_loss": 1.0}, {"train_loss": 1.0}, {}])
def test_other_variables_are_left_alone(held: dict[str, object]) -> None:
    def evaluate(model: nn.Module) -> dict[str, object]:
        lost(model)
        return dict(held)

    seen = trained(evaluate)
    assert not [tag for record in seen.of(Scalars) for tag in record.values if tag.startswith("eval/")]
