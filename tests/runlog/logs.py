"""Records to write and plain ways to write, read and compare them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from torch_debugger.log.reader_records import read_log
from torch_debugger.log.writer import LogWriter
from torch_debugger.records import EndFact, Notice, Record, Scalars, Table, TensorRows

LAYERS = Table(
    "activation",
    "net",
    ("net.fc1", "net.fc2", "net.fc3"),
    ("mean", "std", "zeros", "max"),
    ("float16", "float16", "float32"),
)
WEIGHTS = Table("parameter", "net", ("net.fc1.weight",), ("norm", "max"))


def write(folder: Path, records: Iterable[Record], **options: Any) -> list[str]:
    """A closed log of these records; gives back the faults."""
    faults: list[str] = []
    log = LogWriter(folder, on_fault=faults.append, **options)
    for record in records:
        log.add(record)
    log.close()
    return faults


def rows(step: int, table: Table = LAYERS) -> TensorRows:
    shape = len(table.names), len(table.columns)
    values = np.random.default_rng(step).normal(size=shape).astype(np.float32)
    values[0, 0] = np.nan
    values[-1, -1] = np.inf
    return TensorRows(step, table, values)


def scalars(step: int, *tags: str) -> Scalars:
    return Scalars(step, 1_700_000_000.25 + step, {tag: step + index / 4 for index, tag in enumerate(tags)})


def small_run() -> list[Record]:
    """A few records of every form, in an order that changes form often."""
    nan, inf = float("nan"), float("inf")
    return [
        Notice("a beginning", 0),
        scalars(1, "loss", "lr/0"),
        rows(1),
        scalars(2, "loss", "lr/0"),
        scalars(2, "eval/accuracy"),
        rows(2, WEIGHTS),
        rows(2),
        Scalars(3, 1_700_000_003.0, {"loss": nan, "lr/0": inf, "grad_norm": -inf}),
        Notice("größer als 1 µs\n", 3),
        scalars(300, "loss", "lr/0"),
        rows(300),
        EndFact("finished", 300, "optimizer steps"),
    ]


def faces(records: Iterable[Record]) -> list[object]:
    """What makes two records the same, NaN being the same as NaN."""
    return [face(record) for record in records]


def face(record: Record) -> object:
    if isinstance(record, TensorRows):
        return record.step, record.table, record.values.shape, record.values.astype("<f4").tobytes()
    if isinstance(record, Scalars):
        singles = {tag: np.float32(value).tobytes() for tag, value in record.values.items()}
        return record.step, record.time, singles
    return type(record).__name__, repr(dataclasses.asdict(record))


def read(folder: Path) -> list[Record]:
    return list(read_log(folder))


def event_file(folder: Path) -> Path:
    (path,) = folder.glob("*tfevents*")
    return path
