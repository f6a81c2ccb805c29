"""What a variational model samples, beside what the divergence in its loss takes the same tensors for."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records.place import Place

# What is made of a tensor before the noise is multiplied with it.
# Of which the first is right.
SAMPLING_ORDERS = ("mean + deviation * noise", "mean * deviation + noise", "deviation + mean * noise")
DEVIATION_FORMS = (
    "as it is", "half", "exp", "half of exp", "exp of half", "exp of twice", "exp of minus half", "square root",
    "square", "softplus", "sigmoid",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FormFit:
    """A gradient as `first` times one function plus `second` times another, and the share left over."""

    first: float
    second: float
    misfit: float


@dataclass(frozen=True, slots=True)
class DivergenceReading:
    """A tensor that the deviation is made of, and what the divergence takes it for."""

    form: str  # log-variance | log-deviation | deviation | variance
    distance: int  # functions between what multiplies the noise and this tensor; 0: it is the same
    positive: bool  # whatever the layer gives, by exp() or softplus()
    fit: FormFit  # -1 times the first as the second, where it is that
    size: float  # of the deviation that it takes that for: root of the mean square
    used: tuple[float, ...]  # how far what multiplies the noise is from each of DEVIATION_FORMS, as a share


@dataclass(frozen=True, slots=True)
class NoiseLook:
    mean: float
    deviation: float
    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class WrittenSampling:
    """How the sampling stands in the source."""

    place: Place = field(default_factory=Place)  # mean + deviation * noise
    deviation: str = ""  # as it is written there, or where the function is called
    deviation_place: Place = field(default_factory=Place)  # of that
    around: tuple[str, ...] = ()  # what stands before and behind it in that line
    noise: str = ""  # the call: torch.rand_like
    noise_place: Place = field(default_factory=Place)
    parts: tuple[
        str, ...
    ] = ()  # of another order than the right one: mean, deviation, noise; `around` is that of the whole then


@dataclass(frozen=True, slots=True)
class LatentSampling:
    """mean + deviation * noise on the way to a loss that also holds a divergence of mean and deviation."""

    source: str  # the layer that makes the mean: vae.fc_mean
    shape: tuple[int, ...]  # of the deviation
    order: str  # one of SAMPLING_ORDERS
    agreement: (
        FormFit  # of the gradient with that of a KL divergence of what is sampled; 1 and -1 times its weight
    )
    mean_factor: float  # of the mean in the divergence's gradient; its weight in a right one, nan: not known
    readings: tuple[DivergenceReading, ...]  # those that fit
    size: float  # of what multiplies the noise: root of the mean square
    noise: NoiseLook | None
    error_op: str  # of the reconstruction: MseLoss; empty where there is none of a known form
    error_weight: float  # of one number in it
    error_shape: tuple[int, ...]
    error_mean: bool  # a mean over all its numbers
    written: WrittenSampling
    divergence: Place  # the line that computes it, if there is one such line
    step: int
