"""Makes logs of ours from runs of other trackers, so that everything that reads logs reads them too."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from torch_debugger.errors import UsageError
from torch_debugger.integrations.foreign.foreign_run import ForeignRun
from torch_debugger.integrations.foreign.inside import Inside, reason_of
from torch_debugger.integrations.foreign.mlflow_runs import read_mlflow_database, read_mlflow_folder
from torch_debugger.integrations.foreign.wandb_runs import read_wandb_run
from torch_debugger.records import EndFact, HparamsFact
from torch_debugger.runlog.writer import LogWriter

_MOST_TOLD = 20
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
    for path, read in _readers(source, Inside(root, damaged)):
        try:
            found += read(root, path)
        except UsageError as error:
            damaged.append(str(error))
        except OSError as error:
            damaged.append(f"{path} is left out: {reason_of(error)}.")
    damaged += [each for run in found for each in run.faults()]
    # Once each: a link is met by the walk for runs and by that for their files. Names may move the cursor.
    damaged = [each if each.isprintable() else ascii(each)[1:-1] for each in dict.fromkeys(damaged)]
    sentences = damaged[:_MOST_TOLD]
    if len(damaged) > _MOST_TOLD:
        sentences.append(f"and {len(damaged) - _MOST_TOLD:,} more that are damaged.")
    if not found:
        searched = "" if damaged else ": neither *.wandb files, nor an mlflow.db, nor mlruns"
        raise UsageError("\n".join([*sentences, f"{source} holds no runs that can be read{searched}."]))
    for each in sentences:
        tell(each)
    return found


def _readers(source: Path, inside: Inside) -> Iterator[tuple[Path, Callable[[Path, Path], list[ForeignRun]]]]:
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
