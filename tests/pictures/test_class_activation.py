"""Class activation: the numbers of the `grad-cam` package, on every kind of model, leaving nothing behind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.pictures.cam_cases import CASES, RECORDED, segment
from tests.pictures.cam_models import ResidualNet, WindowTransformer
from tests.pictures.models import Convolutional, Segmenting, VisionTransformer, images, seeded
from tests.untouched_models import model_untouched
from torch_debugger import pictures
from torch_debugger.pictures.gradcam_methods import METHODS

AGREEMENT = 1e-4
RECORDED_ONES = [(name, method) for name, case in CASES.items() for method in case.methods]


@pytest.mark.parametrize(("name", "method"), RECORDED_ONES)
def test_maps_are_those_of_the_grad_cam_package(name: str, method: str) -> None:
    case = CASES[name]
    target: Any = segment if name == "segmentation" else None if case.targets is None else list(case.targets)
    found = pictures.class_activation(case.model(), case.images(), case.layers, target=target, method=method)
    recorded = np.load(RECORDED)[f"{name}/{method}"]
    assert found.maps.dtype == np.float32 and recorded.std() > 0.01
    assert np.abs(found.maps - recorded).max() < AGREEMENT


def test_guided_backpropagation_is_that_of_the_grad_cam_package() -> None:
    case = CASES["convolutional"]
    found = pictures.class_activation(case.model(), case.images()[:1], target=1, method="guided_backprop")
    recorded = np.load(RECORDED)["convolutional/guided_backprop"]
    np.testing.assert_allclose(found.raw[0], recorded, atol=1e-7)
    assert recorded.any()


def slow_grad_cam(
    model: nn.Module, layer: str, given: torch.Tensor, target: int, dtype: torch.dtype = torch.float64
) -> np.ndarray[Any, Any]:
    """By hand, image by image, no ReLU in place; the model runs in `dtype`, all after it in float64."""
    model = model.to(dtype).eval()
    for module in model.modules():
        if isinstance(module, nn.ReLU):
            module.inplace = False
    kept: list[torch.Tensor] = []
    model.get_submodule(layer).register_forward_hook(lambda *each: kept.append(each[2]))
    maps = []
    for image in given.to(dtype):
        score = model(image[None])[0, target]
        gradient, activation = torch.autograd.grad(score, kept[-1])[0].double(), kept[-1].double()
        heat = (activation * gradient.mean((2, 3), keepdim=True)).sum(1, keepdim=True).relu()
        heat = (heat - heat.min()) / (heat.max() - heat.min())
        heat = nn.functional.interpolate(heat, image.shape[1:], mode="bilinear")[0, 0]
        maps.append(((heat - heat.min()) / (heat.max() - heat.min())).detach().numpy())
    return np.stack(maps)


@pytest.mark.parametrize("layer", ["conv1", "bn1", "conv2"])
def test_an_inplace_relu_behind_the_layer_does_not_reach_its_activation(layer: str) -> None:
    """`bn1` and `conv2` are written over by the ReLU that follows them."""
    found = pictures.class_activation(seeded(Convolutional), images(), layer, target=1)
    np.testing.assert_allclose(found.maps, slow_grad_cam(seeded(Convolutional), layer, images(), 1), atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("maker", [Convolutional, VisionTransformer, WindowTransformer, Segmenting])
def test_every_method_leaves_every_model_as_it_was(maker: type[nn.Module], method: str) -> None:
    model, given = seeded(maker).train(), images()
    frozen = next(iter(model.parameters())).requires_grad_(False)
    wanting = [parameter.requires_grad for parameter in model.parameters()]
    with model_untouched(model, given):
        found = pictures.class_activation(model, given, method=method)
    assert found.maps.shape == (2, 16, 16) and 0 <= found.maps.min() <= found.maps.max() <= 1
    assert [parameter.requires_grad for parameter in model.parameters()] == wanting
    assert not frozen.requires_grad


def test_nothing_is_left_when_the_forward_fails() -> None:
    model, given = seeded(Convolutional).train(), images(channels=5)
    with model_untouched(model, given), pytest.raises(RuntimeError, match="channels"):
        pictures.class_activation(model, given)
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_a_pending_backward_of_the_user_still_gives_the_right_gradients() -> None:
    model, twin, given = seeded(ResidualNet).eval(), seeded(ResidualNet).eval(), images()
    loss = model(given).square().sum()
    pictures.class_activation(model, given)
    loss.backward()
    twin(given).square().sum().backward()
    for ours, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.equal(ours.grad, theirs.grad)


def as_they_come(name: str) -> tuple[nn.Module, torch.Tensor]:
    model, given = seeded(Convolutional), images()
    match name:
        case "training mode":
            return model.train(), given
        case "frozen":
            return model.requires_grad_(False), given
        case "compiled":
            return torch.compile(model, backend="eager"), given
        case "data parallel":
            return nn.DataParallel(model), given
        case "channels last":
            return model.to(memory_format=torch.channels_last), given.to(memory_format=torch.channels_last)
        case "input with a gradient":
            return model, given.requires_grad_()
        case "inference tensor":
            with torch.inference_mode():
                return model, given.clone()
    raise AssertionError(name)


FORMS = [
    "training mode", "frozen", "compiled", "data parallel", "channels last", "input with a gradient",
    "inference tensor",
]  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_the_map_is_the_same_in_whatever_form_the_model_comes(name: str) -> None:
    plain = pictures.class_activation(seeded(Convolutional).eval(), images(), "conv2", target=1)
    found = pictures.class_activation(*as_they_come(name), "conv2", target=1)
    np.testing.assert_allclose(found.maps, plain.maps, atol=2e-6)


def test_a_layer_may_be_named_as_the_wrapper_names_it() -> None:
    plain = pictures.class_activation(seeded(Convolutional).eval(), images(), "conv2", target=1)
    for form, path in (("data parallel", "module.conv2"), ("compiled", "_orig_mod.conv2")):
        found = pictures.class_activation(*as_they_come(form), path, target=1)
        assert found.layer == "conv2"
        np.testing.assert_allclose(found.maps, plain.maps, atol=2e-6)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_the_caller_may_have_gradients_off(mode: Any) -> None:
    model = seeded(Convolutional)
    plain = pictures.class_activation(model, images(), "conv2", target=1)
    with mode():
        found = pictures.class_activation(model, images(), "conv2", target=1)
        assert not torch.is_grad_enabled()
    np.testing.assert_array_equal(found.maps, plain.maps)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_loses_no_more_than_the_model_itself_does(dtype: torch.dtype) -> None:
    """How much that is depends on the processor: some add up a convolution's products in float16 too."""
    exact = slow_grad_cam(seeded(Convolutional), "conv2", images(), 1)
    by_hand = slow_grad_cam(seeded(Convolutional), "conv2", images(), 1, dtype)
    found = pictures.class_activation(seeded(Convolutional).to(dtype), images().to(dtype), "conv2", target=1)
    assert found.maps.dtype == np.float32
    lost = np.abs(by_hand - exact).max()
    assert 0 < lost < 0.1 and np.abs(found.maps - exact).max() < 2 * lost


class Checkpointed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.part = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(8, 8, 3))
        self.fc = nn.Linear(8, 3)
        self.saving, self.reentrant = True, False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        x = checkpoint(self.part, x, use_reentrant=self.reentrant) if self.saving else self.part(x)
        return self.fc(x.mean((2, 3)))


@pytest.mark.parametrize("layer", ["first", "part.0", "part.2", "part"])
def test_a_layer_inside_a_checkpoint_is_seen_as_without_it(layer: str) -> None:
    model = seeded(Checkpointed)
    found = pictures.class_activation(model, images(), layer)
    model.saving = False
    np.testing.assert_array_equal(found.maps, pictures.class_activation(model, images(), layer).maps)


def test_several_targets_of_an_image_are_the_maps_of_each() -> None:
    model, given = seeded(Convolutional), images(3)
    found = pictures.class_activation(model, given, target=[[0, 3], [2], [1, 1]])
    assert found.targets == [0, 3, 2, 1, 1] and found.examples == [0, 0, 1, 2, 2]
    for row, (example, target) in enumerate(zip(found.examples, found.targets, strict=True)):
        alone = pictures.class_activation(model, given[example], target=target)
        np.testing.assert_allclose(found.maps[row], alone.maps[0], atol=1e-5)
        np.testing.assert_allclose(found.scores[row], alone.scores[0], atol=1e-6)


@pytest.mark.parametrize("target", [[0, 3], [lambda row: row[0], lambda row: row[3]], torch.tensor([0, 3])])
def test_a_list_is_for_each_image_and_for_one_image_several_targets(target: Any) -> None:
    model, given = seeded(Convolutional), images()
    both = pictures.class_activation(model, given, target=target)
    assert both.examples == [0, 1]
    one = pictures.class_activation(model, given[:1], target=target)
    assert one.examples == [0, 0]
    np.testing.assert_allclose(one.maps[0], both.maps[0], atol=1e-6)


def test_the_top_class_of_each_image_is_taken_and_told() -> None:
    model, given = seeded(VisionTransformer).eval(), images(4)
    found = pictures.class_activation(model, given)
    scores, classes = model(given).detach().max(1)
    assert found.targets == classes.tolist()
    np.testing.assert_allclose(found.scores, scores.numpy(), rtol=1e-5)


class Answering(nn.Module):
    """The same scores in other clothes."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self.inner, self.form = seeded(Convolutional), form

    def forward(self, pixel_values: torch.Tensor, labels: torch.Tensor | None = None) -> Any:
        scores = self.inner(pixel_values)
        return {
            "dictionary": {"loss": scores.mean(), "logits": scores},
            "tuple": (scores.mean(), scores),
            "list of dictionaries": [{"scores": each} for each in scores],
            "squeezed": scores.squeeze(),
        }[self.form]


@pytest.mark.parametrize("form", ["dictionary", "tuple", "list of dictionaries", "squeezed"])
@pytest.mark.parametrize("count", [1, 2])
def test_scores_are_found_in_what_a_model_gives(form: str, count: int) -> None:
    target: Any = (lambda found: found["scores"][2]) if form == "list of dictionaries" else 2
    given = {"pixel_values": images(count), "labels": torch.zeros(count)}
    found = pictures.class_activation(Answering(form), given, target=target, method="scorecam")
    plain = pictures.class_activation(seeded(Convolutional), images(count), target=2, method="scorecam")
    np.testing.assert_allclose(found.maps, plain.maps, atol=1e-5)


def test_several_layers_are_averaged_by_path_pattern_or_module() -> None:
    model, given = seeded(ResidualNet), images()
    by_path = pictures.class_activation(model, given, ["layer1", "layer2", "layer3"], target=0)
    by_pattern = pictures.class_activation(model, given, "layer?", target=0)
    by_module = pictures.class_activation(model, given, [model.layer1, model.layer2, model.layer3], target=0)
    assert by_path.layer == by_pattern.layer == by_module.layer == "layer1, layer2, layer3"
    np.testing.assert_array_equal(by_path.maps, by_pattern.maps)
    np.testing.assert_array_equal(by_path.maps, by_module.maps)


def test_a_layer_that_is_called_twice_is_seen_in_its_last_call() -> None:
    model, given = seeded(ResidualNet), images()
    relu = pictures.class_activation(model, given, "layer3.1.relu", method="ablationcam")
    block = pictures.class_activation(model, given, "layer3", method="ablationcam")
    np.testing.assert_allclose(relu.maps, block.maps, atol=1e-6)


def test_the_class_of_the_same_name_gives_the_map_of_one_image() -> None:
    model, image = seeded(ResidualNet), images(1)
    grad_cam = pictures.GradCAM(model, target_layer="layer3")
    heat = grad_cam.generate_cam(image, target_class=3)
    np.testing.assert_array_equal(heat, pictures.gradcam(model, image, "layer3", target=3).maps[0])
    drawn = grad_cam.visualize(image, image[0], target_class=3)
    assert drawn.targets == [3] and drawn.png().startswith(b"\x89PNG")
    assert not any(module._forward_hooks for module in model.modules())
