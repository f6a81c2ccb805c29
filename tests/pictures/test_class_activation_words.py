"""What class activation says when it cannot be done: what was expected, what came, where, what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.pictures.cam_models import WindowTransformer
from tests.pictures.models import Convolutional, Recurrent, images, seeded, tokens
from tests.pictures.test_class_activation import Answering, Checkpointed
from torch_debugger import pictures
from torch_debugger.system.errors import UsageError


class Ending(nn.Module):
    """Scores, and what is done to them or around them."""

    def __init__(self, ending: str) -> None:
        super().__init__()
        self.inner, self.ending = seeded(Convolutional), ending

    def forward(self, x: torch.Tensor) -> Any:
        if self.ending == "no_grad":
            with torch.no_grad():
                return self.inner(x)
        scores = self.inner(x)
        if self.ending == "numpy":
            return torch.from_numpy(scores.detach().numpy())
        return {"argmax": lambda: scores.argmax(1), "detach": scores.detach, "nothing": lambda: None}[self.ending]()


def test_a_wrong_layer_is_answered_with_close_names() -> None:
    with pytest.raises(UsageError, match=r"no layer `conv3` in this model\. There is `conv2`, `conv1`\."):
        pictures.class_activation(seeded(Convolutional), images(), "conv3")
    with pytest.raises(UsageError, match="the Conv2d given as layer is no part of this model"):
        pictures.class_activation(seeded(Convolutional), images(), nn.Conv2d(1, 1, 1))


@pytest.mark.parametrize(
    ("maker", "layer", "gave"),
    [(Convolutional, "fc", "2, 4"), (WindowTransformer, "stage2.1.attn", "8, 4, 16")],
)
def test_a_layer_without_places_is_refused(maker: type[nn.Module], layer: str, gave: str) -> None:
    said = rf"layer `{layer}` gives \[{gave}\], without places of the 16 x 16 image: expected \[images,.* reshape="
    with pytest.raises(UsageError, match=said):
        pictures.class_activation(seeded(maker), images(), layer)


def test_a_model_without_such_a_layer_asks_for_one() -> None:
    with pytest.raises(UsageError, match=r"no convolution and no block with two layer norms.*name one"):
        pictures.class_activation(nn.Sequential(nn.Flatten(), nn.Linear(768, 4)), images())


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (4, "target 4 is out of range: the model gives 4 classes, 0 to 3"),
        (-1, "target -1 is out of range"),
        ((1, 2), r"target \(1, 2\) is out of range: the output for one example is \[4\]"),
        ([1, 2, 3], "target has 3 entries for 2 examples: give one for each"),
        ([], "target has 0 entries for 2 examples"),
        ("cat", "expected target as a class number, an index .* or a function of it, but got 'cat'"),
        (lambda row: row, r"the function given as target gave \[4\]: expected a tensor that holds one number"),
        (lambda row: row.sum().item(), "the function given as target gave float: expected a tensor"),
    ],
)
def test_a_wrong_target_is_refused(target: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        pictures.class_activation(seeded(Convolutional), images(), target=target)


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        ("argmax", "output is of torch.int64 and cannot be differentiated: it has been through argmax"),
        (
            "detach",
            r"cannot be differentiated with respect to `inner\.conv2`: between them lies .*\.detach\(\)",
        ),
        ("numpy", "cannot be differentiated .* a way through numpy"),
        ("no_grad", r"layer `inner\.conv2` runs under torch\.no_grad\(\) in the model's own forward"),
        ("nothing", "the model gives NoneType without a tensor in it: nothing to explain"),
    ],
)
def test_an_output_without_a_gradient_is_told(ending: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        pictures.class_activation(Ending(ending), images())


def test_methods_without_gradients_need_none() -> None:
    plain = pictures.class_activation(seeded(Convolutional), images(), method="scorecam")
    found = pictures.class_activation(Ending("no_grad"), images(), method="scorecam")
    np.testing.assert_array_equal(found.maps, plain.maps)


def test_a_layer_that_the_score_does_not_use_is_told() -> None:
    class Aside(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.aside = nn.Conv2d(3, 4, 3), nn.Conv2d(3, 4, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.aside(x)
            return self.used(x).mean((2, 3))

    model = seeded(Aside)
    with pytest.raises(UsageError, match=r"cannot be differentiated with respect to `aside`"):
        pictures.class_activation(model, images(), "aside")
    with pytest.raises(UsageError, match=r"the score does not depend on layer `aside`"):
        pictures.class_activation(model, images(), ["used", "aside"])


def test_a_reentrant_checkpoint_is_told() -> None:
    model = seeded(Checkpointed)
    model.reentrant = True
    with pytest.raises(UsageError, match=r"checkpointed with use_reentrant=True.*use_reentrant=False"):
        pictures.class_activation(model, images(), "first")
    with pytest.raises(UsageError, match=r"layer `part\.0` runs under .*so does a checkpoint"):
        pictures.class_activation(model, images(), "part.0")


def test_nan_is_told_with_the_layer_and_the_image() -> None:
    given = images()
    given[1] = float("nan")
    with pytest.raises(UsageError, match=r"the output of layer `conv2` holds NaN or Inf for image 1.*find_nan"):
        pictures.class_activation(seeded(Convolutional), given)
    for method in ("fullgrad", "guided_backprop"):
        with pytest.raises(UsageError, match=r"score for example 1 is NaN or Inf"):
            pictures.class_activation(seeded(Convolutional), given, method=method)


def test_a_map_of_nothing_is_said_in_its_note_and_still_drawn() -> None:
    model = seeded(Convolutional)
    nn.init.zeros_(model.fc.weight)
    found = pictures.class_activation(model, images())
    assert not found.maps.any() and found.note.startswith("All gradients are zero")
    assert found.png().startswith(b"\x89PNG")
    against = pictures.class_activation(model, images(), method="hirescam", target=lambda row: -row.square().sum())
    assert not against.maps.any()


def test_a_map_that_is_nowhere_positive_is_told() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))
    nn.init.constant_(model[4].weight, -1.0)
    found = pictures.class_activation(model, images(1), "1", target=0)
    assert found.note == "The map is nowhere positive: no place here speaks for the target."


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (torch.zeros(16), r"expected images, \[images, channels, height, width\], but got \[16\]"),
        (torch.zeros(0, 3, 16, 16), r"the batch is empty: \[0, 3, 16, 16\]"),
        ("cat.png", "as a tensor, but got str without a tensor in it"),
        (
            torch.zeros(2, 3, 16, 16, device="meta"),
            r'model is on cpu, but the input on meta: move it with \.to\("cpu"\)',
        ),
    ],
)
def test_a_wrong_input_is_refused(given: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        pictures.class_activation(seeded(Convolutional), given)


def test_other_mistakes_are_told() -> None:
    model = seeded(Convolutional)
    with pytest.raises(
        UsageError, match=r"no method 'gradcan'\. Did you mean 'gradcam'\? There is gradcam, gradcam\+\+"
    ):
        pictures.class_activation(model, images(), method="gradcan")
    with pytest.raises(UsageError, match=r"reshape= made \[2, 12, 64\] of what layer `conv2` gives, \[2, 12, 8, 8\]"):
        pictures.class_activation(model, images(), "conv2", reshape=lambda each: each.flatten(2))
    with pytest.raises(UsageError, match=r"expected background= as 2 images, .* but got \[1, 3, 8, 8\]"):
        pictures.class_activation(model, images(), background=torch.rand(1, 3, 8, 8))
    with pytest.raises(UsageError, match="mean= and std= have 2 entries, but the images have 3 channels"):
        pictures.class_activation(model, images(), mean=(0.5, 0.5))
    with pytest.raises(UsageError, match=r"expected a model, an `nn\.Module`, but got function"):
        pictures.class_activation(lambda each: each, images())  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"give target= as a function of it"):
        pictures.class_activation(Answering("list of dictionaries"), images())
    with pytest.raises(UsageError, match=r"expected images, .* but got \[2, 7\]"):
        pictures.class_activation(seeded(Recurrent), tokens())
    with torch.inference_mode():
        inside = seeded(Convolutional)
    with pytest.raises(UsageError, match=r"made inside torch\.inference_mode\(\).*outside of it"):
        pictures.class_activation(inside, images())


def test_methods_are_known_by_the_names_people_write() -> None:
    model = seeded(Convolutional)
    for name in ("Grad-CAM++", "GradCAMPlusPlus", "gradcam_plus_plus"):
        assert pictures.class_activation(model, images(1), method=name).title == "Grad-CAM++ at conv2"
