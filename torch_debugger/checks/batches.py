"""What the loaders of a run have delivered, as far as it was looked at."""

from __future__ import annotations

import re

from torch_debugger.records import BatchLook, LoaderFact, PassFact, Place, TensorLook

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


# Which passes over loaders are validations: those over data that no pass is ever trained on.
class Validations:
    """Told of every pass. A script that only evaluates has none: there is nothing to compare with."""

    def __init__(self) -> None:
        self._trained: set[int] = set()  # numbers of loaders that some pass was trained on

    def see(self, record: PassFact) -> bool:
        if record.updates or record.backwards:
            self._trained.add(record.loader)
        return bool(self._trained) and record.loader not in self._trained
