"""Makes logs of ours from runs of other trackers, so that everything that reads logs reads them too."""

from __future__ import annotations

import hashlib
import io
import itertools
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from torch_debugger.integrations.import_wandb import read_wandb_run
from torch_debugger.integrations.imported_run import (
    NO_STEP,
    ForeignRun,
    ImportedFolder,
    NoStepError,
    reason_of,
    refuse_irregular,
    step_of,
)
from torch_debugger.log.writer import LogWriter
from torch_debugger.records import EndFact, HparamsFact, Scalars
from torch_debugger.records.run import HparamValue
from torch_debugger.system.errors import UsageError

_MOST_SENTENCES = 20
_LONGEST_MARK_BYTES = 120  # file names may have 255; a mark ends that of a log
_LONGEST_NAME_BYTES = 200
_WRITTEN_TOGETHER = 10_000  # records


def find_foreign_runs(source: Path, tell: Callable[[str], None]) -> list[ForeignRun]:
    """Those of a wandb folder or file, of an mlruns folder, or of an mlflow.db. What is damaged is told of, and
    the others are read."""
    if not source.exists():
        raise UsageError(f"There is no {source} to take runs from.")
    root = source if source.is_dir() else source.resolve().parent
    damaged: list[str] = []
    found: list[ForeignRun] = []
    for path, read in _readers(source, ImportedFolder(root, damaged)):
        try:
            found += read(root, path)
        except UsageError as error:
            damaged.append(str(error))
        except OSError as error:
            damaged.append(f"{path} is left out: {reason_of(error)}.")
    damaged += [each for run in found for each in run.faults()]
    # Once each: a link is met by the walk for runs and by that for their files. Names may move the cursor.
    damaged = [each if each.isprintable() else ascii(each)[1:-1] for each in dict.fromkeys(damaged)]
    sentences = damaged[:_MOST_SENTENCES]
    if len(damaged) > _MOST_SENTENCES:
        sentences.append(f"and {len(damaged) - _MOST_SENTENCES:,} more that are damaged.")
    if not found:
        searched = "" if damaged else ": neither *.wandb files, nor an mlflow.db, nor mlruns"
        raise UsageError("\n".join([*sentences, f"{source} holds no runs that can be read{searched}."]))
    for each in sentences:
        tell(each)
    return found


def _readers(source: Path, inside: ImportedFolder) -> Iterator[tuple[Path, Callable[[Path, Path], list[ForeignRun]]]]:
    for path in inside.files(source) if source.is_dir() else [source.resolve()]:
        if path == source / "mlflow.db" or (path.suffix == ".db" and not source.is_dir()):
            yield path, read_mlflow_database
        elif path.suffix == ".wandb":
            yield path, lambda root, path: [read_wandb_run(root, path)]
        elif path.name == "meta.yaml" and os.path.lexists(path.with_name("metrics")):  # experiments have none
            yield path.parent, lambda root, path: [read_mlflow_folder(root, path)]


def adopt(run: ForeignRun, into: Path, tell: Callable[[str], None]) -> Path:
    """The folder of its log: one of its own below `into`, named as the run is. A run that was taken in before
    is in the same folder, as it is now."""
    mark = re.sub(r"[^\w-]", "_", run.identity)
    if len(mark.encode()) > _LONGEST_MARK_BYTES:
        mark = hashlib.sha256(mark.encode()).hexdigest()
    before = sorted(into.glob(f"*/events.out.tfevents.*.{mark}"))
    folder = before[0].parent if before else _new_folder(into, run.name)
    log = LogWriter(folder, on_fault=tell, suffix=f".{mark}")
    if run.hparams:
        log.add(HparamsFact(run.hparams, "the other tracker", 0))
    for number, point in enumerate(run.points, 1):
        log.add(point)
        if number % _WRITTEN_TOGETHER == 0:
            log.flush()  # a writer that is not waited for leaves out what comes faster than it writes
    for summary in run.summaries:
        log.add(summary)
        log.flush()  # pictures are the first that a full writer leaves out
    if run.outcome:
        log.add(EndFact(run.outcome, max((point.step for point in run.points), default=0), "steps as logged"))
    log.close()
    if run.result:
        (folder / "result.json").write_text(run.result, "utf-8")
    for path in before:
        path.unlink()
    return folder


def _new_folder(into: Path, name: str) -> Path:
    allowed = re.sub(r"[^\w .()-]", "_", name).encode()[:_LONGEST_NAME_BYTES].decode("utf-8", "ignore")
    plain = allowed.strip(". ") or "run"
    names = itertools.chain([plain], (f"{plain}-{number}" for number in itertools.count(2)))
    return next(into / each for each in names if not (into / each).exists())


# Runs of MLflow on this machine: its SQLite file, or the folders of an older `mlruns`.
_RUNS = "select run_uuid, name, status, artifact_uri from runs where lifecycle_stage = 'active'"
_METRICS = "select key, value, step, timestamp, is_nan from metrics where run_uuid = ? order by step, timestamp"
_OUTCOMES = {"FINISHED": "finished", "FAILED": "crashed", "KILLED": "killed"}
_OUTCOMES |= {"3": "finished", "4": "crashed", "5": "killed"}  # in a file store
_LARGEST_RESULT_BYTES = 64_000_000
_LARGEST_TEXT_BYTES = 1_000_000  # of a name, a hyperparameter, a status
_MOST_ROWS = 2_000_000  # of a run; about 400 bytes each
_MOST_TORN = 20  # lines of a file
_INFINITY = 1.7e308  # MLflow keeps the largest float for it
Row = tuple[str, float, int, float]  # name, value, step, seconds


def read_mlflow_database(root: Path, path: Path) -> list[ForeignRun]:
    refuse_irregular(path)
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as store:
            store.text_factory = lambda text: text.decode("utf-8", "replace")
            return [_from_database(root, path, store, *row) for row in store.execute(_RUNS).fetchall()]
    except sqlite3.Error as error:
        raise UsageError(f"{path} is no database of MLflow's that can be read: {error}.") from error


def _from_database(
    root: Path, path: Path, store: sqlite3.Connection, number: str, name: str, status: str, artifacts: str
) -> ForeignRun:
    run = ForeignRun(f"mlflow-{number}", str(name or number), outcome=_OUTCOMES.get(status, ""))
    where = f"The run {run.name} in {path}"
    try:
        run.points = _points(_first_of(_stored_rows(store, number, run, where), run))
        for key, value in store.execute("select key, value from params where run_uuid = ?", [number]):
            if isinstance(value, HparamValue) and len(str(value)) <= _LARGEST_TEXT_BYTES:
                run.hparams[str(key)] = value
            else:
                run.left_out[f"{where}: hyperparameters left out, as they are no text, or too long"] += 1
        uri = urlsplit(str(artifacts or ""))
        if uri.scheme in ("", "file") and uri.path:
            run.result = _result(ImportedFolder(root, run.damaged), Path(unquote(uri.path)))
    except (sqlite3.Error, ValueError) as error:
        run.damaged.append(f"{where} is damaged: {error}.")
    return run


def _stored_rows(store: sqlite3.Connection, number: str, run: ForeignRun, where: str) -> Iterator[Row]:
    for key, value, step, timestamp, is_nan in store.execute(_METRICS, [number]):
        try:
            row = _row(str(key), "nan" if is_nan else value, step, timestamp)
        except NoStepError:
            run.left_out[f"{where}: {NO_STEP}"] += 1
        except (TypeError, ValueError, OverflowError):
            run.left_out[f"{where}: rows left out, as they are no numbers"] += 1
        else:
            yield row


def _row(key: str, value: Any, step: Any, milliseconds: Any) -> Row:
    return key, float(value), step_of(step), int(milliseconds) / 1000


def read_mlflow_folder(root: Path, folder: Path) -> ForeignRun:
    """One run of a file store: a file a metric (`timestamp value step` a line), a file a param."""
    run = ForeignRun(f"mlflow-{folder.name}", folder.name)
    inside = ImportedFolder(root, run.damaged)
    metrics = folder / "metrics"
    every = (
        row for path in inside.files(metrics) for row in _rows(inside, path, path.relative_to(metrics).as_posix(), run)
    )
    rows = _first_of(every, run)
    run.points = _points(sorted(rows, key=lambda row: row[2:]))
    run.hparams.update(_texts(inside, folder / "params"))
    run.name = dict(_texts(inside, folder / "tags")).get("mlflow.runName", "").strip() or folder.name
    meta = inside.text(folder / "meta.yaml", _LARGEST_TEXT_BYTES)
    status = re.search(r"^status: *(\w+)", meta or "", re.MULTILINE)
    run.outcome = _OUTCOMES.get(status[1], "") if status else ""
    if meta is not None and not (status and meta.endswith("\n")):  # MLflow ends it with one
        run.damaged.append(f"{folder / 'meta.yaml'} is damaged: it breaks off, or says no status.")
    run.result = _result(inside, folder / "artifacts")
    return run


def _texts(inside: ImportedFolder, folder: Path) -> Iterator[tuple[str, str]]:
    for path in inside.files(folder):
        if (text := inside.text(path, _LARGEST_TEXT_BYTES)) is not None:
            yield path.name, text


def _first_of(rows: Iterable[Row], run: ForeignRun) -> list[Row]:
    first = [*itertools.islice(rows, _MOST_ROWS + 1)]
    if len(first) > _MOST_ROWS:
        run.damaged.append(f"The run {run.name} has more than {_MOST_ROWS:,} numbers; the rest is left out.")
    return first[:_MOST_ROWS]


def _rows(inside: ImportedFolder, path: Path, key: str, run: ForeignRun) -> Iterator[Row]:
    """A line that was torn when the machine stopped is named and left out."""
    torn = 0
    for number, line in enumerate(io.BytesIO(inside.content(path) or b""), 1):
        try:
            timestamp, value, step = line.split(None, 3)[:3]
            row = _row(key, value, step, timestamp)
        except NoStepError:
            run.left_out[f"{path}: {NO_STEP}"] += 1
        except (ValueError, OverflowError):
            run.damaged.append(f"{path}:{number} is no `timestamp value step`; the line is left out.")
            torn += 1
            if torn == _MOST_TORN:
                run.damaged.append(f"{path} is not read any further: so are too many of its lines.")
                return
        else:
            yield row


def _result(inside: ImportedFolder, artifacts: Path) -> str:
    """What torch-debugger left there when the run was its own."""
    return inside.text(artifacts / "result.json", _LARGEST_RESULT_BYTES) or ""


def _points(rows: Iterable[Row]) -> list[Scalars]:
    """One record a step and moment, as they were logged."""
    points: list[Scalars] = []
    for key, value, step, time in rows:
        number = float("inf") * value if abs(value) > _INFINITY else value
        if not points or points[-1].step != step or key in points[-1].values:
            points.append(Scalars(step, time, {}))
        points[-1].values[key] = number
    return points
