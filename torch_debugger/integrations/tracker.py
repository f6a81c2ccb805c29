"""Which tracker a run goes to: by name, as an object, or a run that is open already."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from typing import Any

from torch_debugger.system.errors import UsageError

TITLES = {"wandb": "W&B", "mlflow": "MLflow", "trackio": "Trackio"}
_DEFAULT_PROJECTS = {
    "wandb": ("WANDB_PROJECT", "torch-debugger"),
    "mlflow": ("MLFLOW_EXPERIMENT_NAME", "Default"),
    "trackio": ("TRACKIO_PROJECT", "torch-debugger"),
}


@dataclass(frozen=True)
class Tracker:
    """`Tracker("wandb", project="vision")`; for MLflow the project is its experiment.

    Everything else comes from the tracker's own environment variables (WANDB_MODE, WANDB_ENTITY,
    MLFLOW_TRACKING_URI, TRACKIO_DIR, ...).
    """

    package: str
    project: str = ""
    name: str = ""  # of the run; made from the script's where empty

    def __post_init__(self) -> None:
        if self.package not in TITLES:
            raise UsageError(f"No tracker is called {self.package!r}. There are {', '.join(TITLES)}.")
        if importlib.util.find_spec(self.package) is None:
            raise UsageError(f"{self.title} was asked for and its library is not installed: pip install {self.package}")

    @property
    def title(self) -> str:
        return TITLES[self.package]

    @property
    def chosen_project(self) -> str:
        variable, default = _DEFAULT_PROJECTS[self.package]
        return self.project or os.environ.get(variable) or default


def read_tracker(text: str) -> Tracker:
    """'wandb' or 'wandb:project'"""
    package, _, project = text.partition(":")
    return Tracker(package.strip(), project.strip())


def is_wandb_run(thing: Any) -> bool:
    """Told without importing wandb: who has a run of it has imported it."""
    kind = type(thing)
    return kind.__module__.partition(".")[0] == "wandb" and kind.__name__ == "Run"
