"""Gradients by layer."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.pictures.everyday_wrappers import WAYS, Ways
from tests.pictures.goldens import assert_as_looked_at
from tests.pictures.models import Convolutional, Language, Recurrent, VisionTransformer, images, seeded, tokens
from tests.untouched_models import model_untouched
from torch_debugger.pictures import gradient_flow
from torch_debugger.system.errors import UsageError

LABELS = torch.tensor([0, 2])


def deep(depth: int, squash: type[nn.Module] = nn.Sigmoid) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        blocks = [nn.Sequential(nn.Linear(16, 16), squash()) for _ in range(depth)]
        return nn.Sequential(*blocks, nn.Linear(16, 4))


class _Parts(nn.Module):
    """One layer frozen, one that the loss does not reach."""

    def __init__(self) -> None:
        super().__init__()
        self.frozen = nn.Linear(4, 4).requires_grad_(False)
        self.unused = nn.Linear(4, 4)
        self.used = nn.Linear(4, 4)
        self.last = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.used(self.frozen(x)))


def test_a_chain_of_sigmoids_is_as_it_was_looked_at() -> None:
    model = deep(12)
    model.add_module("spare", nn.Linear(4, 4))
    x = torch.randn(8, 16, generator=torch.Generator().manual_seed(0))
    F.cross_entropy(nn.Sequential(*list(model)[:-1])(x), torch.zeros(8, dtype=torch.long)).backward()
    assert_as_looked_at(gradient_flow(model), "gradient_flow")


def test_the_numbers_are_those_of_backward() -> None:
    model, x = seeded(Convolutional).train(), images()
    twin = copy.deepcopy(model)
    torch.manual_seed(5)
    F.cross_entropy(twin(x), LABELS).backward()
    torch.manual_seed(5)
    with model_untouched(model, x):
        given = gradient_flow(model, x, loss=F.cross_entropy, targets=LABELS)
    present = gradient_flow(twin)
    assert given.layers == present.layers == ("conv1", "bn1", "conv2", "fc")
    weights = [twin.conv1.weight, twin.bn1.weight, twin.conv2.weight, twin.fc.weight]
    assert np.allclose(present.mean, [float(each.grad.abs().mean()) for each in weights])
    assert np.allclose(present.largest, [float(each.grad.abs().max()) for each in weights])
    assert np.allclose(given.mean, present.mean, rtol=1e-4)


@pytest.mark.parametrize("way", WAYS)
def test_no_gradient_and_no_mode_is_left_behind(way: Ways) -> None:
    model, x = seeded(Convolutional), images()
    wrapped = way(model)
    x = x.to(model.conv1.weight.dtype)
    with model_untouched(model, x):
        flow = gradient_flow(wrapped, x, loss=lambda output: F.cross_entropy(output, LABELS))
    assert np.isfinite(flow.mean).all() and flow.png()


def test_a_loss_can_be_given_in_every_form() -> None:
    model, x = seeded(Convolutional).eval(), images()
    loss = F.cross_entropy(model(x), LABELS)
    expected = gradient_flow(model, loss=loss).mean
    loss.backward()  # its graph was left to the user
    for flow in (
        gradient_flow(model, loss=lambda: F.cross_entropy(model(x), LABELS)),
        gradient_flow(model, loss=lambda given: F.cross_entropy(given(x), LABELS)),
        gradient_flow(model, x, loss=nn.CrossEntropyLoss(), targets=LABELS),
        gradient_flow(model),
    ):
        assert np.allclose(flow.mean, expected, rtol=1e-5)


def test_what_vanished_is_told() -> None:
    flow = gradient_flow(deep(14), torch.randn(4, 16), loss=lambda output: output.sum())
    assert flow.vanished[:3] == ["0.0", "1.0", "2.0"] and not flow.missing and not flow.exploded
    assert flow.remarks[0].startswith("Vanished: 0.0, 1.0, 2.0")


def test_a_healthy_model_gets_one_calm_sentence() -> None:
    flow = gradient_flow(seeded(Convolutional), images(), loss=F.cross_entropy, targets=LABELS)
    assert flow.remarks == ("Every layer has a gradient; none has vanished or exploded.",)


def test_what_is_missing_exploded_or_frozen_is_told() -> None:
    model = _Parts()
    model(torch.ones(3, 4)).sum().backward()
    model.last.weight.grad[0, 0] = float("inf")
    flow = gradient_flow(model)
    assert (flow.missing, flow.exploded) == (["unused"], ["last"])
    assert flow.remarks == (
        "No gradient (None): unused: the loss does not depend on them, or backward has not run.",
        "Exploded: last: not finite, above 1e6, or 1000 times the layers behind.",
        "Frozen parameters left out: 2.",
    )


def test_a_layer_far_above_the_others_has_exploded() -> None:
    model = deep(6, nn.Identity)
    model(torch.randn(4, 16)).sum().backward()
    model[3][0].weight.grad.mul_(1e7)
    assert gradient_flow(model).exploded == ["3.0"]


def test_what_grows_on_its_way_back_has_exploded() -> None:
    model = deep(12)
    for place, block in enumerate(list(model)[:-1]):
        block[0].weight.grad = torch.full((16, 16), 10.0 ** (5 - place))
    model[12].weight.grad = torch.full((4, 16), 1e-6)
    flow = gradient_flow(model)
    assert flow.exploded == ["0.0", "1.0", "2.0", "3.0", "4.0"]


def test_what_is_huge_everywhere_has_exploded() -> None:
    model = deep(12, nn.Identity)
    with torch.no_grad():
        for block in list(model)[:-1]:
            block[0].weight.mul_(12)
    flow = gradient_flow(model, torch.randn(4, 16), loss=lambda output: output.sum())
    assert len(flow.exploded) == 13 and not flow.vanished


def test_biases_are_left_out_unless_asked_for() -> None:
    model = seeded(Recurrent)
    flow = gradient_flow(model, tokens(), loss=F.cross_entropy, targets=LABELS)
    assert flow.layers == ("embedding", "lstm.weight_ih_l0", "lstm.weight_hh_l0", "fc")
    assert len(gradient_flow(model, tokens(), loss=F.cross_entropy, targets=LABELS, biases=True).layers) == 7


@pytest.mark.parametrize("kind", [VisionTransformer, Language])
def test_other_kinds_of_models(kind: type[nn.Module]) -> None:
    model = seeded(kind)
    x = images() if kind is VisionTransformer else tokens()
    with model_untouched(model):
        assert gradient_flow(model, x, loss=lambda output: output.square().mean()).png(dpi=40)


def test_three_hundred_layers_can_be_read() -> None:
    model = deep(300, nn.Tanh)
    flow = gradient_flow(model, torch.randn(2, 16), loss=lambda output: output.sum())
    (axes,) = flow.figure().axes
    assert len(flow.layers) == 301 and len(axes.get_xticklabels()) <= 60
    assert flow.figure().get_figwidth() <= 16


def test_a_model_that_returns_its_loss_needs_none() -> None:
    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"logits": self.fc(x), "loss": self.fc(x).sum()}

    assert gradient_flow(Own(), torch.ones(1, 2)).layers == ("fc",)


def test_sparse_gradients_are_read() -> None:
    model = nn.EmbeddingBag(10, 3, sparse=True, mode="sum")
    model(torch.tensor([[1, 2]])).sum().backward()
    assert gradient_flow(model).largest.tolist() == [1.0]


def test_what_cannot_be_shown_is_said() -> None:
    model = seeded(Convolutional)
    with pytest.raises(UsageError, match=r"no parameter has a gradient: call this after loss\.backward\(\)"):
        gradient_flow(model)
    with pytest.raises(UsageError, match=r"expected one number to differentiate, but got \[2, 4\]"):
        gradient_flow(model, images())
    with pytest.raises(UsageError, match=r"depends on nothing that requires a gradient"):
        gradient_flow(model, images(), loss=lambda output: output.argmax(1).float().sum())
    with pytest.raises(UsageError, match=r"one number to differentiate, but got float without a graph"):
        gradient_flow(model, loss=0.7)
    with pytest.raises(UsageError, match=r"everything is frozen"):
        gradient_flow(nn.Linear(2, 2).requires_grad_(False))
    only = nn.Linear(2, 2)
    only.weight.requires_grad_(False)
    with pytest.raises(UsageError, match=r"only biases"):
        gradient_flow(only, torch.ones(1, 2), loss=torch.sum)
