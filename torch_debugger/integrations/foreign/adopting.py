"""Makes logs of ours from runs of other trackers, so that everything that reads logs reads them too."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from torch_debugger.errors import UsageError
from torch_debugger.integrations.foreign.foreign_run import ForeignRun
from torch_debugger.integrations.foreign.inside import is_regular
from torch_debugger.integrations.foreign.mlflow_runs import (
    find_mlflow_folders,
    read_mlflow_database,
    read_mlflow_folder,
)
from torch_debugger.integrations.foreign.wandb_runs import find_wandb_files, read_wandb_run
from torch_debugger.records import EndFact, HparamsFact
from torch_debugger.runlog.writer import LogWriter

_MOST_TOLD = 20


def find_foreign_runs(source: Path, tell: Callable[[str], None]) -> list[ForeignRun]:
    """Those of a wandb folder or file, of an mlruns folder, or of an mlflow.db. What is damaged is told of, and
    the others are read."""
    if not source.exists():
        raise UsageError(f"There is no {source} to take runs from.")
    root = source if source.is_dir() else source.resolve().parent
    damaged: list[str] = []
    found: list[ForeignRun] = []
    for path, read in _readers(source, root):
        try:
            found += read(path)
        except (OSError, UsageError) as error:
            reason = str(error) if isinstance(error, UsageError) else f"{path} is left out: {error}."
            damaged.append(reason)
    damaged += [each for run in found for each in run.damaged]
    if not found:
        reasons = damaged or [
            f"{source} holds no runs that can be read: neither *.wandb files, nor an mlflow.db, nor mlruns."
        ]
        raise UsageError("\n".join(reasons))
    for each in damaged[:_MOST_TOLD]:
        tell(each)
    if len(damaged) > _MOST_TOLD:
        tell(f"and {len(damaged) - _MOST_TOLD:,} more that are damaged.")
    return found


def _readers(source: Path, root: Path) -> Iterator[tuple[Path, Callable[[Path], list[ForeignRun]]]]:
    databases = [source.resolve()] if source.suffix == ".db" else [root / "mlflow.db"]
    yield from ((path, lambda path: read_mlflow_database(root, path)) for path in databases if is_regular(path))
    yield from ((path, lambda path: [read_wandb_run(root, path)]) for path in find_wandb_files(source))
    yield from ((path, lambda path: [read_mlflow_folder(root, path)]) for path in find_mlflow_folders(source))


def adopt(run: ForeignRun, into: Path, tell: Callable[[str], None]) -> Path:
    """The folder of its log: one of its own below `into`, named as the run is. A run that was taken in before
    is in the same folder, as it is now."""
    mark = re.sub(r"[^\w-]", "_", run.identity)
    before = sorted(into.glob(f"*/events.out.tfevents.*.{mark}"))
    folder = before[0].parent if before else _new_folder(into, run.name)
    log = LogWriter(folder, on_fault=tell, suffix=f".{mark}")
    if run.hparams:
        log.add(HparamsFact(run.hparams, "the other tracker", 0))
    for point in run.points:
        log.add(point)
    if run.outcome:
        log.add(EndFact(run.outcome, max((point.step for point in run.points), default=0), "steps as logged"))
    log.close()
    if run.result:
        (folder / "result.json").write_text(run.result, "utf-8")
    for path in before:
        path.unlink()
    return folder


def _new_folder(into: Path, name: str) -> Path:
    plain = re.sub(r"[^\w .()-]", "_", name).strip(". ") or "run"
    names = itertools.chain([plain], (f"{plain}-{number}" for number in itertools.count(2)))
    return next(into / each for each in names if not (into / each).exists())
