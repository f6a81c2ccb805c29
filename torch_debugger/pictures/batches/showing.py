"""The first thing to do with a training that does not learn: look at what it is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from torch_debugger.errors import UsageError
from torch_debugger.pictures.batches.augmentation import show_augmentation
from torch_debugger.pictures.batches.drawing import draw_batch
from torch_debugger.pictures.batches.labels import Names, describe_labels, label_texts
from torch_debugger.pictures.batches.parts import TEXTS, TOKENS, Parts, as_numbers, read_parts
from torch_debugger.pictures.batches.taking import is_dataset, take_batch
from torch_debugger.pictures.batches.tokens import Decode, drawable, token_texts
from torch_debugger.pictures.batches.words import describe_inputs, odd_things
from torch_debugger.pictures.remarked import RemarkedPicture


def show_batch(
    source: Any,
    *,
    labels: Any = None,
    most: int = 16,
    augmented: bool | int | None = None,
    decode: Decode | None = None,
    kind: str | None = None,
) -> RemarkedPicture:
    """What a model is given: images, tokens, series or a table, with labels, ranges, and what looks odd.

        show_batch(train_loader).save("batch.png")
        show_batch((images, targets), labels=["cat", "dog"])       # names of the classes
        show_batch(loader, decode=tokenizer)                       # words instead of ids
        show_batch(dataset, augmented=True)                        # with and without its transform

    A loader gives its first batch, as the training will get it, and is not consumed: random numbers,
    samplers and workers stay as they are. Of a dataset some samples are drawn, evenly spaced. `labels` are
    names of the classes, or the labels themselves as a tensor. `decode` is a tokenizer, a function or a
    vocabulary; `kind` says what a batch is (images, tokens, texts, series, table) where its shape does not.
    With `augmented` each sample is drawn several times, or as often as it says, beside what it is without
    the dataset's transform. `.remarks` has the sentences below the picture.
    """
    if most < 1:
        raise UsageError(f"most= is the number of samples to show, at least 1, not {most}.")
    if augmented:
        return show_augmentation(source, draws=4 if augmented is True else int(augmented), most=most)
    parts = read_parts(take_batch(source, most), kind)
    names: Names = None
    if isinstance(labels, (torch.Tensor, np.ndarray)):
        parts = Parts(parts.kind, parts.inputs, as_numbers(labels), parts.dtype, parts.columns)
    else:
        names = labels
    return _picture(parts, names, min(most, len(parts)), decode, _title(source, parts))


def _picture(parts: Parts, names: Names, shown: int, decode: Decode | None, head: str) -> RemarkedPicture:
    if not len(parts):
        raise UsageError("there is nothing to show: the batch is empty.")
    said = [describe_inputs(parts)]
    if parts.labels is not None:
        said.append(describe_labels(parts.labels, names))
    odd = odd_things(parts, in_order=not head.startswith("Dataset"))
    said += [f"Odd: {sentence}" for sentence in odd] or ["Nothing looks odd."]
    title = f"{head}: {_samples(shown, len(parts))}"
    texts = _texts(parts, shown, decode)
    written = label_texts(parts.labels, names, shown)
    arrays = {"inputs": parts.inputs} if isinstance(parts.inputs, np.ndarray) else {}
    arrays |= {"labels": parts.labels} if isinstance(parts.labels, np.ndarray) else {}
    return RemarkedPicture(title, arrays, lambda: draw_batch(title, parts, written, texts, said), said)


def _samples(shown: int, count: int) -> str:
    if shown < count:
        return f"{shown} of {count} samples"
    return "1 sample" if count == 1 else f"{count} samples"


def _texts(parts: Parts, shown: int, decode: Decode | None) -> list[str]:
    if parts.kind == TEXTS:
        return [drawable(text) for text in parts.inputs[:shown]]
    return token_texts(parts.inputs[:shown], decode) if parts.kind == TOKENS else []


def _title(source: Any, parts: Parts) -> str:
    if isinstance(source, DataLoader):
        return f"First batch of the loader, {parts.kind}"
    if is_dataset(source):
        return f"Dataset of {len(source):,}, {parts.kind}" if hasattr(source, "__len__") else "Dataset"
    return f"Batch, {parts.kind}"
