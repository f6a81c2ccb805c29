"""MLflow: metrics in batches, hyperparameters as params, facts and verdict as tags, the report as artifacts.

It draws no histograms: those stay in the log.
"""

from __future__ import annotations

import io
import itertools
import json
import re
from typing import Any

from torch_debugger.integrations.delivery import COLUMNS, Ending
from torch_debugger.integrations.tracker_data import Parcel
from torch_debugger.log.media import LoggedPicture
from torch_debugger.records.run import HparamValue

# What MLflow allows in one request, and in one value.
_METRICS_AT_ONCE = 1000
_SETTINGS_AT_ONCE = 100
_LONGEST_KEY = 250
_LONGEST_PARAM = 500
_LONGEST_TAG = 5000


class MlflowReceiver:
    """A run through the client alone: what `mlflow.start_run` holds in this process is left as it is."""

    takes = frozenset({LoggedPicture})

    def __init__(self, experiment: str, directory: str = "") -> None:
        self._experiment = experiment
        self._client: Any = None
        self._run: Any = None
        self._known: set[str] = set()  # params are given once; a second value would be refused

    def open(self, name: str) -> None:
        from mlflow import MlflowClient

        self._client = MlflowClient()
        experiment = self._client.get_experiment_by_name(self._experiment)
        number = experiment.experiment_id if experiment else self._client.create_experiment(self._experiment)
        tags = {"mlflow.source.name": name, "mlflow.source.type": "JOB"}
        self._run = self._client.create_run(number, run_name=name, tags=tags)

    def take(self, parcel: Parcel) -> None:
        from mlflow.entities import Metric, Param

        new = {key: value for key, value in parcel.hparams.items() if key not in self._known}
        self._known |= new.keys()
        params = [Param(_key(key), str(value)[:_LONGEST_PARAM]) for key, value in new.items()]
        for some in _portions(params, _SETTINGS_AT_ONCE):
            self._client.log_batch(self._run.info.run_id, params=some)
        self._tag(parcel.facts)
        metrics = [
            Metric(_key(tag), value, int(point.time * 1000), point.step)
            for point in parcel.points
            for tag, value in point.values.items()
        ]
        for some in _portions(metrics, _METRICS_AT_ONCE):
            self._client.log_batch(self._run.info.run_id, metrics=some)
        for tag, picture in parcel.pictures:
            from PIL import Image

            image = Image.open(io.BytesIO(picture.data)).convert("RGB")  # of a film its first frame
            moment = {"step": picture.step, "timestamp": int(picture.time * 1000)}
            self._client.log_image(self._run.info.run_id, image, key=_key(tag).replace(":", "_"), **moment)

    def _tag(self, facts: dict[str, HparamValue]) -> None:
        from mlflow.entities import RunTag

        tags = [RunTag(_key(name), str(value)[:_LONGEST_TAG]) for name, value in facts.items()]
        for some in _portions(tags, _SETTINGS_AT_ONCE):
            self._client.log_batch(self._run.info.run_id, tags=some)

    def close(self, ending: Ending) -> None:
        number = self._run.info.run_id
        self._tag({f"torch_debugger.{key}": value for key, value in ending.summary.items()})
        self._client.log_text(number, ending.report, "report.md")
        self._client.log_text(number, json.dumps(ending.result, indent=2), "result.json")
        table = {"columns": list(COLUMNS), "data": ending.rows}  # as MLflow's own log_table writes them
        self._client.log_text(number, json.dumps(table), "findings.json")
        self._client.set_terminated(number, "FINISHED" if ending.exit_code == 0 else "FAILED")

    @property
    def place(self) -> str:
        return f"experiment {self._experiment}, run {self._run.info.run_id}" if self._run is not None else ""


def _key(name: str) -> str:
    """MLflow takes letters, digits and a few signs, and no empty part between two slashes."""
    parts = [re.sub(r"[^\w .:-]", "_", part) for part in name.split("/")]
    return "/".join(part if part.strip(". ") else "_" for part in parts)[:_LONGEST_KEY]


def _portions(items: list[Any], size: int) -> list[list[Any]]:
    source = iter(items)
    return list(iter(lambda: list(itertools.islice(source, size)), []))
