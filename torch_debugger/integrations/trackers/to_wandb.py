"""W&B: one row a step, findings as a table, the verdict in the summary, the report among the files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch_debugger.integrations.trackers.ending import COLUMNS, Ending
from torch_debugger.integrations.trackers.parcels import NAMES, Parcel
from torch_debugger.integrations.trackers.wandb_forms import histogram_form, other_form, picture_form

REPORT = "torch-debugger-report.md"
# A script that uses W&B itself may be told its run by these; ours must not write into that one.
_OF_THE_SCRIPT = (
    "WANDB_RUN_ID", "WANDB_RESUME", "WANDB_NAME", "WANDB_SERVICE", "WANDB_SWEEP_ID", "WANDB_SWEEP_PARAM_PATH",
)  # fmt: skip


class WandbReceiver:
    takes = frozenset(NAMES)

    def __init__(self, project: str, directory: str) -> None:
        self._project = project
        self._directory = os.environ.get("WANDB_DIR") or directory
        self._run: Any = None

    def open(self, name: str) -> None:
        import wandb

        for variable in _OF_THE_SCRIPT:
            os.environ.pop(variable, None)
        os.makedirs(self._directory, exist_ok=True)
        folder = os.path.abspath(self._directory)  # else tables wait in the home folder until they are sent
        os.environ.setdefault("WANDB_CACHE_DIR", folder)
        os.environ.setdefault("WANDB_DATA_DIR", os.path.join(folder, "wandb"))
        # The process that W&B would describe is not the script, and its command line may hold secrets.
        settings = wandb.Settings(
            silent=True,
            console="off",
            disable_code=True,
            disable_git=True,
            x_disable_meta=True,
            x_disable_stats=True,
            x_save_requirements=False,
        )
        self._run = wandb.init(
            project=self._project, name=name, dir=self._directory, job_type="torch-debugger", settings=settings
        )
        count_steps(self._run)

    def take(self, parcel: Parcel) -> None:
        if settings := parcel.facts | parcel.hparams:
            self._run.config.update(settings, allow_val_change=True)
        for point in parcel.points:
            self._log(point.step, point.time, point.values)
        for tag, picture in parcel.pictures:
            self._log(picture.step, picture.time, {tag: picture_form(picture)})
        for tag, histogram in parcel.histograms:
            self._log(histogram.step, histogram.time, {tag: histogram_form(histogram)})
        for tag, medium in parcel.others:
            with other_form(tag, medium) as form:
                self._log(medium.step, medium.time, {tag: form})

    def _log(self, step: int, time: float, values: Mapping[str, Any]) -> None:
        self._run.log({"step": step, "_timestamp": time, **values})

    def close(self, ending: Ending) -> None:
        show_ending(self._run, ending)
        self._run.finish(exit_code=ending.exit_code)

    @property
    def place(self) -> str:
        if not self._run.offline:
            return str(self._run.url)
        return f"offline; this sends it: wandb sync {os.path.relpath(os.path.dirname(self._run.dir))}"


def count_steps(run: Any, heading: str = "") -> None:
    """By a metric of ours: numbers may come some steps late, and W&B's own count only goes up."""
    run.define_metric(f"{heading}step", hidden=True)
    run.define_metric(f"{heading}*", step_metric=f"{heading}step")


def show_ending(run: Any, ending: Ending, heading: str = "", *, commit: bool = True) -> None:
    import wandb

    run.log({f"{heading}findings": wandb.Table(columns=list(COLUMNS), data=ending.rows)}, commit=commit)
    run.summary.update({f"{heading}{key}": told for key, told in ending.summary.items()})
    report = Path(run.dir, REPORT)
    report.write_text(ending.report, encoding="utf-8")
    run.save(str(report), base_path=run.dir, policy="end")
