"""Generators that a dataset keeps and draws from where it makes a sample."""

from __future__ import annotations

import random

import numpy
from torch.utils.data import Dataset, Subset

from torch_debugger.source.datasets import kept_generators


class Noisy(Dataset[float]):
    def __init__(self) -> None:
        self.rng = numpy.random.default_rng(0)

    def __getitem__(self, index: int) -> float:
        return self.augment(float(index))

    def augment(self, value: float) -> float:
        return value + float(self.rng.normal())


class Between(Dataset[float]):
    """Draws when the main process asks for it."""

    def __init__(self) -> None:
        self.rng = numpy.random.default_rng(0)

    def reshuffle(self) -> None:
        self.order = self.rng.permutation(8)

    def __getitem__(self, index: int) -> float:
        return float(self.order[index])


class Aware(Noisy):
    def __getitem__(self, index: int) -> float:
        self.rng = numpy.random.default_rng(index)
        return float(self.rng.normal())


class Jitter:
    def __init__(self) -> None:
        self.random = random.Random(1)

    def __call__(self, value: float) -> float:
        return value + self.random.random()


class Transformed(Dataset[float]):
    def __init__(self) -> None:
        self.transform = Jitter()

    def __getitem__(self, index: int) -> float:
        return self.transform(index)


def names(dataset: object) -> list[str]:
    return [f"{kept.owner}.{kept.attribute} ({kept.kind})" for kept in kept_generators(dataset)]


def test_generators_that_make_samples() -> None:
    assert names(Noisy()) == ["Noisy.rng (Generator)"]
    assert names(Subset(Noisy(), [0, 1])) == ["Noisy.rng (Generator)"]
    assert names(Transformed()) == ["Jitter.random (Random)"]
    [kept] = kept_generators(Noisy())
    assert kept.place.code == "self.rng = numpy.random.default_rng(0)"
    assert kept.drawn.code == "return value + float(self.rng.normal())"


def test_generators_of_the_main_process_or_made_anew() -> None:
    assert names(Between()) == [] and names(Aware()) == []
