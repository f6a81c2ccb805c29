"""Runs of MLflow on this machine: its SQLite file, or the folders of an older `mlruns`."""

from __future__ import annotations

import io
import itertools
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote, urlsplit

from torch_debugger.errors import UsageError
from torch_debugger.integrations.foreign.foreign_run import ForeignRun
from torch_debugger.integrations.foreign.inside import NotInsideError, files_below, is_regular, read_inside
from torch_debugger.records import Scalars

_RUNS = "select run_uuid, name, status, artifact_uri from runs where lifecycle_stage = 'active'"
_METRICS = "select key, value, step, timestamp, is_nan from metrics where run_uuid = ? order by step, timestamp"
_OUTCOMES = {"FINISHED": "finished", "FAILED": "crashed", "KILLED": "killed"}
_OUTCOMES |= {"3": "finished", "4": "crashed", "5": "killed"}  # in a file store
_LARGEST_RESULT_BYTES = 64_000_000
_LARGEST_TEXT_BYTES = 1_000_000  # of a name, a hyperparameter, a status
_MOST_ROWS = 2_000_000  # of a run; about 400 bytes each
_MOST_TORN = 20  # lines of a file
_INFINITY = 1.7e308  # MLflow keeps the largest float for it
Row = tuple[str, float, int, int]  # name, value, step, milliseconds


def read_mlflow_database(root: Path, path: Path) -> list[ForeignRun]:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as store:
            return [_from_database(root, store, *row) for row in store.execute(_RUNS).fetchall()]
    except sqlite3.Error as error:
        raise UsageError(f"{path} is no database of MLflow's that can be read: {error}.") from error


def _from_database(
    root: Path, store: sqlite3.Connection, number: str, name: str | None, status: str, artifacts: str | None
) -> ForeignRun:
    run = ForeignRun(f"mlflow-{number}", name or number, outcome=_OUTCOMES.get(status, ""))
    run.result = _result(root, _local_path(artifacts or ""))
    try:
        run.hparams = dict(store.execute("select key, value from params where run_uuid = ?", [number]))
        rows = (
            (key, float("nan") if is_nan else float(value), int(step), int(timestamp))
            for key, value, step, timestamp, is_nan in store.execute(_METRICS, [number])
        )
        run.points = _points(_first_of(rows, run))
    except (sqlite3.Error, TypeError, ValueError) as error:
        run.damaged.append(f"The run {run.name} is damaged in the database: {error}.")
    return run


def read_mlflow_folder(root: Path, folder: Path) -> ForeignRun:
    """One run of a file store: a file a metric (`timestamp value step` a line), a file a param."""

    def read(path: Path) -> str:
        return read_inside(root, path, _LARGEST_TEXT_BYTES).decode("utf-8", "replace")

    run = ForeignRun(f"mlflow-{folder.name}", folder.name)
    metrics, named = folder / "metrics", folder / "tags" / "mlflow.runName"
    rows = _first_of(_all_rows(root, metrics, run), run)
    run.points = _points(sorted(rows, key=lambda row: row[2:]))
    run.hparams = {path.name: read(path) for path in files_below(folder / "params")}
    run.name = read(named).strip() if is_regular(named) else folder.name
    status = re.search(r"^status: *(\w+)", read(folder / "meta.yaml"), re.MULTILINE)
    run.outcome = _OUTCOMES.get(status[1], "") if status else ""
    run.result = _result(root, folder / "artifacts")
    return run


def _first_of(rows: Iterable[Row], run: ForeignRun) -> list[Row]:
    first = [*itertools.islice(rows, _MOST_ROWS + 1)]
    if len(first) > _MOST_ROWS:
        run.damaged.append(f"The run {run.name} has more than {_MOST_ROWS:,} numbers; the rest is left out.")
    return first[:_MOST_ROWS]


def _all_rows(root: Path, metrics: Path, run: ForeignRun) -> Iterator[Row]:
    for path in files_below(metrics):
        with io.BytesIO(read_inside(root, path)) as lines:
            yield from _rows(path, path.relative_to(metrics).as_posix(), lines, run)


def _rows(path: Path, key: str, lines: Iterable[bytes], run: ForeignRun) -> Iterator[Row]:
    """A line that was torn when the machine stopped is named and left out."""
    torn = 0
    for number, line in enumerate(lines, 1):
        try:
            timestamp, value, step = line.split(None, 3)[:3]
            row = key, float(value), int(step), int(timestamp)
        except ValueError:
            run.damaged.append(f"{path}:{number} is no `timestamp value step`; the line is left out.")
            torn += 1
            if torn == _MOST_TORN:
                run.damaged.append(f"{path} is not read any further: so are too many of its lines.")
                return
        else:
            yield row


def find_mlflow_folders(folder: Path) -> list[Path]:
    """Runs, which have metrics beside their meta.yaml; experiments have not."""
    found = (path.parent for path in files_below(folder) if path.name == "meta.yaml")
    return [each for each in found if (each / "metrics").is_dir()]


def _local_path(uri: str) -> Path | None:
    parts = urlsplit(uri)
    return Path(unquote(parts.path)) if parts.scheme in ("", "file") and parts.path else None


def _result(root: Path, artifacts: Path | None) -> str:
    """What torch-debugger left there when the run was its own."""
    if artifacts is None or not is_regular(artifacts / "result.json"):
        return ""
    try:
        return read_inside(root, artifacts / "result.json", _LARGEST_RESULT_BYTES).decode("utf-8", "replace")
    except NotInsideError:
        return ""


def _points(rows: Iterable[Row]) -> list[Scalars]:
    """One record a step and moment, as they were logged."""
    points: list[Scalars] = []
    for key, value, step, timestamp in rows:
        number = float("inf") * value if abs(value) > _INFINITY else value
        if not points or points[-1].step != step or key in points[-1].values:
            points.append(Scalars(step, timestamp / 1000, {}))
        points[-1].values[key] = number
    return points
