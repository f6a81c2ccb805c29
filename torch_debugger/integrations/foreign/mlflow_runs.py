"""Runs of MLflow on this machine: its SQLite file, or the folders of an older `mlruns`."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote, urlsplit

from torch_debugger.errors import UsageError
from torch_debugger.integrations.foreign.foreign_run import ForeignRun
from torch_debugger.records import Scalars

_RUNS = "select run_uuid, name, status, artifact_uri from runs where lifecycle_stage = 'active'"
_METRICS = "select key, value, step, timestamp, is_nan from metrics where run_uuid = ? order by step, timestamp"
_OUTCOMES = {"FINISHED": "finished", "FAILED": "crashed", "KILLED": "killed"}
_OUTCOMES |= {"3": "finished", "4": "crashed", "5": "killed"}  # in a file store
_LARGEST_RESULT_BYTES = 64_000_000
_INFINITY = 1.7e308  # MLflow keeps the largest float for it


def read_mlflow_database(path: Path) -> list[ForeignRun]:
    try:
        return _read_database(path)
    except sqlite3.Error as error:
        raise UsageError(f"{path} is no database of MLflow's that can be read: {error}.") from error


def _read_database(path: Path) -> list[ForeignRun]:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as store:
        return [_from_database(store, *row) for row in store.execute(_RUNS).fetchall()]


def _from_database(
    store: sqlite3.Connection, number: str, name: str | None, status: str, artifacts: str | None
) -> ForeignRun:
    hparams = dict(store.execute("select key, value from params where run_uuid = ?", [number]))
    rows = [
        (key, float("nan") if is_nan else value, step, timestamp)
        for key, value, step, timestamp, is_nan in store.execute(_METRICS, [number])
    ]
    outcome, result = _OUTCOMES.get(status, ""), _result(_local_path(artifacts or ""))
    return ForeignRun(f"mlflow-{number}", name or number, _points(rows), hparams, outcome, result)


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
    status = re.search(r"^status: *(\w+)", (folder / "meta.yaml").read_text(), re.MULTILINE)
    return ForeignRun(
        f"mlflow-{folder.name}",
        name,
        _points(sorted(rows, key=lambda row: row[2:])),
        dict(hparams),
        _OUTCOMES.get(status[1], "") if status else "",
        _result(folder / "artifacts"),
    )


def find_mlflow_folders(folder: Path) -> list[Path]:
    """Runs, which have metrics beside their meta.yaml; experiments have not."""
    return sorted(path.parent for path in folder.rglob("meta.yaml") if (path.parent / "metrics").is_dir())


def _local_path(uri: str) -> Path | None:
    parts = urlsplit(uri)
    return Path(unquote(parts.path)) if parts.scheme in ("", "file") and parts.path else None


def _result(artifacts: Path | None) -> str:
    """What torch-debugger left there when the run was its own."""
    path = artifacts / "result.json" if artifacts is not None else None
    is_there = path is not None and path.is_file() and path.stat().st_size <= _LARGEST_RESULT_BYTES
    return path.read_text("utf-8", "replace") if path is not None and is_there else ""


def _points(rows: Iterable[tuple[str, float, int, int]]) -> list[Scalars]:
    """One record a step and moment, as they were logged."""
    points: list[Scalars] = []
    for key, value, step, timestamp in rows:
        number = float("inf") * value if abs(value) > _INFINITY else value
        if not points or points[-1].step != step or key in points[-1].values:
            points.append(Scalars(step, timestamp / 1000, {}))
        points[-1].values[key] = number
    return points
