"""Small builders of what loaders deliver: every field has a plain default, name what matters."""

from __future__ import annotations

from collections.abc import Iterable

from tests.fakes import place
from torch_debugger.records import BatchLook, InputLook, LoaderFact, TargetLook, TensorLook


def loader(number: int = 1, name: str = "train_loader", **others: object) -> LoaderFact:
    facts: dict[str, object] = {
        "dataset": "TensorDataset", "length": 10, "batch_size": 8, "workers": 0, "shuffle": True,
        "place": place(20, code=f"for x, y in {name}:"), "step": 1, "names": (name,),
        "made": place(10 + number, code=f"{name} = DataLoader(data, batch_size=8, shuffle=True)"),
        "samples": 80, "base": number,
    }  # fmt: skip
    return LoaderFact(number=number, **{**facts, **others})  # type: ignore[arg-type]


def batch(
    samples: Iterable[int],
    labels: Iterable[int] = (),
    step: int = 1,
    index: int = 0,
    iteration: int = 1,
    loader: int = 1,
    trained: bool = True,
    std: float = 1.0,
) -> BatchLook:
    digests, classes = tuple(samples), tuple(labels)
    tensors = [TensorLook("batch[0]", (len(digests), 12), "float32", digests, (), std)]
    if classes:
        tensors.append(TensorLook("batch[1]", (len(classes),), "int64", (), classes, 0.0, min(classes), max(classes)))
    return BatchLook(loader, iteration, index, trained, tuple(tensors), step)


def given(step: int, samples: Iterable[int] = (), **others: object) -> InputLook:
    facts: dict[str, object] = {
        "layer": "net.0", "kind": "Linear", "shape": (8, 12), "dtype": "float32", "viewed": (), "minimum": -2.0,
        "maximum": 2.0, "mean": 0.0, "std": 1.0, "column": 3, "column_rms": 1.1,
        "call": place(24, code="loss = criterion(net(x), y)"),
    }  # fmt: skip
    return InputLook(step=step, samples=tuple(samples), **{**facts, **others})  # type: ignore[arg-type]


def target(step: int, **others: object) -> TargetLook:
    facts: dict[str, object] = {
        "site": "loss", "op": "NllLoss", "shape": (8,), "dtype": "int64", "labels": {"0": 4, "1": 4},
        "copied_to": (), "made": place(25, code="loss = criterion(net(x), y)"),
    }  # fmt: skip
    return TargetLook(step=step, **{**facts, **others})  # type: ignore[arg-type]
