"""Runs of MLflow on this machine: its SQLite file, or the folders of an older `mlruns`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from torch_debugger.errors import UsageError
from torch_debugger.integrations.foreign.foreign_run import ForeignRun
from torch_debugger.records import Scalars

_METRICS = "select key, value, step, timestamp, is_nan from metrics where run_uuid = ? order by step, timestamp"
_INFINITY = 1.7e308  # MLflow keeps the largest float for it


def read_mlflow_database(path: Path) -> list[ForeignRun]:
    try:
        return _read_database(path)
    except sqlite3.Error as error:
        raise UsageError(f"{path} is no database of MLflow's that can be read: {error}.") from error


def _read_database(path: Path) -> list[ForeignRun]:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as store:
        found = store.execute("select run_uuid, name from runs where lifecycle_stage = 'active'").fetchall()
        return [_from_database(store, number, name or number) for number, name in found]


def _from_database(store: sqlite3.Connection, number: str, name: str) -> ForeignRun:
    hparams = dict(store.execute("select key, value from params where run_uuid = ?", [number]))
    rows = [
        (key, float("nan") if is_nan else value, step, timestamp)
        for key, value, step, timestamp, is_nan in store.execute(_METRICS, [number])
    ]
    return ForeignRun(name, _points(rows), hparams)


def read_mlflow_folder(folder: Path) -> ForeignRun:
    """One run of a file store: a file a metric (`timestamp value step` a line), a file a param."""
    named = folder / "tags" / "mlflow.runName"
    rows = [
        (path.relative_to(folder / "metrics").as_posix(), float(value), int(step), int(timestamp))
        for path in sorted((folder / "metrics").rglob("*"))
        if path.is_file()
        for timestamp, value, step in (line.split()[:3] for line in path.read_text().splitlines())
    ]
    hparams = {path.name: path.read_text() for path in sorted((folder / "params").glob("*"))}
    name = named.read_text().strip() if named.exists() else folder.name
    return ForeignRun(name, _points(sorted(rows, key=lambda row: row[2:])), dict(hparams))


def find_mlflow_folders(folder: Path) -> list[Path]:
    """Runs, which have metrics beside their meta.yaml; experiments have not."""
    return sorted(path.parent for path in folder.rglob("meta.yaml") if (path.parent / "metrics").is_dir())


def _points(rows: Iterable[tuple[str, float, int, int]]) -> list[Scalars]:
    """One record a step and moment, as they were logged."""
    points: list[Scalars] = []
    for key, value, step, timestamp in rows:
        number = float("inf") * value if abs(value) > _INFINITY else value
        if not points or points[-1].step != step or key in points[-1].values:
            points.append(Scalars(step, timestamp / 1000, {}))
        points[-1].values[key] = number
    return points
