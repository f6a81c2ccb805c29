"""Climbed images look like what the network was trained to see: bars and discs, by direction and colour."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from gallery_models.shapes import BARS, COLOURS, NAMES, ShapeNet, drawn, trained_shape_net

from torch_debugger import pictures
from torch_debugger.pictures import Picture
from torch_debugger.pictures.model_runs import record_layers

IMAGES, LABELS = drawn(256, seed=2)


@pytest.fixture(scope="module")
def network() -> ShapeNet:
    network = trained_shape_net(steps=110)
    with torch.no_grad():
        right = (network(IMAGES).argmax(1) == LABELS).float().mean()
    assert right > 0.97, "the training is too short for this test"
    return network


@pytest.fixture(scope="module")
def classes(network: ShapeNet) -> Picture:
    return pictures.maximize(network, logit=range(len(NAMES)), like=IMAGES, steps=160)


@pytest.fixture(scope="module")
def noise(network: ShapeNet) -> Picture:
    return pictures.maximize(network, logit=range(len(NAMES)), like=IMAGES, steps=0)


def direction(image: np.ndarray) -> float:
    """Of the bars in it, in degrees from upright: across the steepest slopes, from the structure tensor."""
    down, right = np.gradient(image.mean(0))
    twice = math.atan2(2 * (down * right).sum(), (right**2 - down**2).sum())
    return math.degrees(twice / 2) % 180


def apart(one: float, two: float) -> float:
    return abs((one - two + 90) % 180 - 90)


def likeness(image: np.ndarray, colour: torch.Tensor) -> float:
    """The correlation of the most colourful quarter of the image with a colour, grey taken off both."""
    pixels = image.reshape(3, -1).T
    pixels = pixels - pixels.mean(1, keepdims=True)
    strong = pixels[np.argsort(-np.linalg.norm(pixels, axis=1))[: len(pixels) // 4]].mean(0)
    wanted = (colour - colour.mean()).numpy()
    return float(strong @ wanted / np.linalg.norm(strong) / np.linalg.norm(wanted))


def test_the_network_takes_each_image_for_its_class(network: ShapeNet, classes: Picture, noise: Picture) -> None:
    with torch.no_grad():
        sure = network(torch.tensor(classes.arrays["images"])).softmax(1).diag()
        before = network(torch.tensor(noise.arrays["images"])).softmax(1).diag()
    assert sure.min() > 0.95
    assert before.mean() < 0.7


@pytest.mark.parametrize("name", range(BARS), ids=NAMES[:BARS].__getitem__)
def test_a_class_of_bars_looks_like_its_bars(classes: Picture, name: int) -> None:
    example = IMAGES[LABELS.tolist().index(name)].numpy()
    assert apart(direction(example), name * 45) < 10, "the measure itself is wrong"
    assert apart(direction(classes.arrays["images"][name]), name * 45) < 15


def test_noise_has_no_direction_of_its_own(noise: Picture) -> None:
    errors = [apart(direction(noise.arrays["images"][name]), name * 45) for name in range(BARS)]
    assert max(errors) > 20


def test_a_class_of_a_colour_has_the_colour(classes: Picture, noise: Picture) -> None:
    found = [likeness(classes.arrays["images"][BARS + number], colour) for number, colour in enumerate(COLOURS)]
    control = [likeness(noise.arrays["images"][0], colour) for colour in COLOURS]
    assert min(found) > 0.8
    assert np.mean(control) < 0.6
    others = [likeness(classes.arrays["images"][BARS + number - 1], colour) for number, colour in enumerate(COLOURS)]
    assert np.mean(others) < 0.3


def test_no_training_image_excites_a_channel_nearly_as_much(network: ShapeNet) -> None:
    channels = range(12)
    climbed = pictures.maximize(network, "conv3", channels=channels, like=IMAGES, steps=100)
    images = drawn(64 * 24, seed=1)[0]
    seen = record_layers(network, images, "conv3", lambda module, output: output.amax((0, 2, 3)))["conv3"]
    factors = torch.tensor(climbed.arrays["activations"]) / seen[list(channels)]
    assert factors.min() > 1.2 and factors.mean() > 1.7, factors
