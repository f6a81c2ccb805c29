"""What the loaders of a run have delivered, as far as it was looked at."""

from __future__ import annotations

import math
import re

from torch_debugger.checks.base import RunState
from torch_debugger.checks.trends import fallen_share, recent_level
from torch_debugger.records import BatchLook, InputLook, LoaderFact, PassFact, Place, TargetLook, TensorLook

_ANY = ("loader", "dataloader", "data_loader", "self", "dl")
_EVALUATION = re.compile(
    r"[xy]?(val|valid|validation|test|testing|dev|eval|evaluation|holdout|va|te)(loader|dl|set|data|iter|batches)?"
)
_WORDS = re.compile(r"[_\W\d]+|(?<=[a-z])(?=[A-Z])")


def inputs_of(look: BatchLook) -> tuple[TensorLook, ...]:
    """The tensors of a batch that tell one sample from another."""
    return tuple(tensor for tensor in look.tensors if tensor.samples)


def digest_of(look: BatchLook) -> tuple[tuple[int, ...], ...]:
    """Stands for all that was seen of a batch, labels included."""
    return tuple(tensor.samples or tensor.labels for tensor in look.tensors)


def label_tensor(look: BatchLook) -> TensorLook | None:
    """The labels of a batch: its last tensor of one whole number a sample; None where inputs are missing."""
    found = [tensor for tensor in look.tensors if tensor.labels]
    whole = [tensor for tensor in found if "float" not in tensor.dtype]  # weights of samples may be all 1.0
    return (whole or found)[-1] if found and inputs_of(look) else None


def labels_of(look: BatchLook) -> tuple[int, ...]:
    tensor = label_tensor(look)
    return tensor.labels if tensor is not None else ()


def name_of(fact: LoaderFact) -> str:
    """The most telling of the user's names: `val_loader` rather than the `loader` of a function."""
    telling = [name for name in fact.names if is_evaluation(name) or "train" in name.lower()]
    own = [name for name in fact.names if name.lower() not in _ANY]
    return (telling or own or list(fact.names) or ["loader"])[0]


def is_evaluation(name: str) -> bool:
    """val_loader, testLoader, dev, Xva; not `interval`, `device_loader`, nor `train_eval_loader`."""
    words = [word.lower() for word in _WORDS.split(name)]
    return "train" not in words and any(_EVALUATION.fullmatch(word) for word in words)


def line_of(fact: LoaderFact) -> Place:
    """The line that makes the loader, else the one that goes through it."""
    return fact.made if fact.made else fact.place


def loader_of(look: BatchLook, state: RunState) -> LoaderFact | None:
    return state.loaders.get(look.loader)


# Numbers that reach the first layer as they came from the file: too large for weights drawn for unit scale.

# Weights are drawn for inputs of about unit size: a hundred times that is a hundred times the output.
LARGE = 50.0
LOOKS = 3  # on different steps
CHANCE = 0.8  # of the loss of a guess among all classes
FALLEN = 0.3  # of the first loss, where there are no classes


class RawInputs:
    """The looks at one layer, as long as all of them were large."""

    def __init__(self) -> None:
        self._looks: dict[str, list[InputLook]] = {}  # the first ones, and the last
        self._modest: set[str] = set()  # layers that were given other numbers as well
        self._classes: set[str] = set()

    def see(self, look: InputLook | TargetLook) -> None:
        if isinstance(look, TargetLook):
            self._classes |= set(look.labels)
            return
        looks = self._looks.setdefault(look.layer, [])
        if all(look.step != earlier.step for earlier in looks):
            looks[LOOKS:] = [look]
            if rms(look) < LARGE:
                self._modest.add(look.layer)

    def layers(self) -> list[list[InputLook]]:
        """Of every layer that was given large numbers all the time, the looks."""
        large = [looks for layer, looks in self._looks.items() if layer not in self._modest]
        return [looks for looks in large if len(looks) >= LOOKS]

    def severity(self, state: RunState) -> str:
        """A warning where the loss shows no learning; a run that learns all the same gets a note."""
        points = state.losses.finite()
        if len(state.sites) > 1 or len(points) < 20 or len(points) < len(state.losses.points):
            return "note"
        if len(self._classes) > 1:
            return "warning" if recent_level(points, 20) >= CHANCE * math.log(len(self._classes)) else "note"
        return "warning" if (fallen_share(points) or 0.0) < FALLEN else "note"


def rms(look: InputLook) -> float:
    """Root of the mean square: of everything, or of a table's largest column."""
    return float(max((look.mean**2 + look.std**2) ** 0.5, look.column_rms))


def is_image(look: InputLook) -> bool:
    """Bytes as numbers: 0 to 255, in a convolution or in the rows of a flattened image."""
    in_bytes = look.minimum >= 0 and 128 <= look.maximum <= 255
    return in_bytes and (look.kind == "Conv2d" or (look.kind == "Linear" and look.shape[-1] in _FLAT))


_FLAT = frozenset(
    side * side * channels for side in (8, 14, 16, 20, 24, 28, 32, 48, 64, 96, 128, 224) for channels in (1, 3)
)


def root_of(look: InputLook) -> str:
    return look.layer.split(".")[0]


def is_trained(look: InputLook, state: RunState) -> bool:
    """Its model is one that was met, and the layer's own weights learn."""
    model = state.models.get(root_of(look))
    return model is not None and any(
        parameter.trainable for parameter in model.parameters if parameter.path.startswith(look.layer + ".")
    )


# Which passes over loaders are validations: those over data that no pass is ever trained on.
class Validations:
    """Told of every pass. A script that only evaluates has none: there is nothing to compare with."""

    def __init__(self) -> None:
        self._trained: set[int] = set()  # numbers of loaders that some pass was trained on

    def see(self, record: PassFact) -> bool:
        if record.updates or record.backwards:
            self._trained.add(record.loader)
        return bool(self._trained) and record.loader not in self._trained
