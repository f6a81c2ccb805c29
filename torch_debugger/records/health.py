"""How layers and loops fare on a deep step: what saturates, what is the same, what is kept too long."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class KeptGraphs:
    """A variable of the user's that keeps the autograd graphs of earlier steps alive."""

    name: str  # losses, self.losses, history['loss'], total_loss
    form: str  # container | sum | chain: made of its own last value
    count: (
        int  # tensors with a graph in it, additions in the graph of the sum, steps that the chain reaches back
    )
    since: int  # the step at which its oldest tensor was first seen there; of a sum or a chain the first look
    scalar: bool  # its tensors have one element each
    place: Place  # the statement that adds to it
    added: str  # and what that adds: loss
    step: int


@dataclass(frozen=True, slots=True)
class TwinUnits:
    """Weight matrices whose units are all alike before an update of a deep step."""

    optimizer: str
    step: int
    alike: tuple[str, ...]  # with gradients that are alike too: the update keeps them so
    silent: tuple[str, ...]  # with gradients of exactly zero
    matrices: int  # that the optimizer holds and that have gradients
    place: Place  # the line that fills them, if it can be told


@dataclass(frozen=True, slots=True)
class Squasher:
    """A sigmoid or tanh between two layers, on one deep step."""

    source: str  # the layer that feeds it: net.fc1
    function: str  # sigmoid | tanh
    shape: tuple[int, ...]
    saturated: float  # share of its outputs that are next to its limits
    step: int


@dataclass(frozen=True, slots=True)
class BatchNormLook:
    """Batch normalisation in training mode on one deep step: the batch beside what it keeps for evaluation."""

    name: str  # net.bn1
    shape: tuple[int, ...]  # of its output; channels come second
    gap: float  # distance of the kept means from the batch's, in deviations of the batch
    ratio: float  # kept variance / the batch's
    step: int
    biased: str = ""  # the layer in front whose bias goes nowhere but into this norm: net.conv1


@dataclass(frozen=True, slots=True)
class SampleSpread:
    """Tensors [samples, features] that a model made, among the variables around a backward()."""

    names: tuple[str, ...]  # z1, z2
    directions: tuple[float, ...]  # how far the samples' directions differ: root of the mean square
    between: tuple[float, ...]  # and the samples themselves; 0: all are the same
    step: int


@dataclass(frozen=True, slots=True)
class LatentLook:
    """The latent variables of a variational model on one look: how much they say about the samples."""

    source: str  # the layer that makes their means: vae.fc_mean
    size: int
    divergence: float  # KL to the standard normal, nats a sample
    between: float  # deviation of the means between samples
    step: int


@dataclass(frozen=True, slots=True)
class WeightedSum:
    """A softmax whose weights add up to 1 over one dimension and are used in a sum over others."""

    shape: tuple[int, ...]  # of the softmax
    dim: int  # over which it is taken
    summed: tuple[int, ...]  # of its dimensions, those that the weighted values are added up over
    of_pairs: bool  # its scores are products of queries and keys
    samples_first: bool  # its first size is the number of samples in the loss
    place: Place  # the call of softmax, if it can be told
    step: int
