"""Hyperparameters, as TensorBoard's own HParams backend reads them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tensorboard.plugins.hparams import metadata
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
from torch.utils.tensorboard import SummaryWriter as TorchWriter

from tests.summaries.peers import accumulated, events, plain_events
from torch_debugger import SummaryWriter

HPARAMS = {"lr": 0.01, "batch_size": 64, "optimizer": "adam", "absent": None}
METRICS = {"hparam/accuracy": 0.92, "hparam/loss": 0.03}


def parts(folder: Path) -> dict[str, HParamsPluginData]:
    (path,) = folder.glob("*tfevents*")
    return {
        value.tag: HParamsPluginData.FromString(value.metadata.plugin_data.content)
        for event in events(path)
        for value in event.summary.value
        if value.metadata.plugin_data.plugin_name == metadata.PLUGIN_NAME
    }


def without_times(part: HParamsPluginData) -> HParamsPluginData:
    part.session_start_info.ClearField("start_time_secs")
    part.session_end_info.ClearField("end_time_secs")
    return part


def both(tmp_path: Path, *arguments: Any, **keywords: Any) -> tuple[Path, Path]:
    for folder, writer_class in (("ours", SummaryWriter), ("theirs", TorchWriter)):
        with writer_class(str(tmp_path / folder)) as writer:
            writer.add_hparams(*arguments, run_name="hp", **keywords)
    return tmp_path / "ours" / "hp", tmp_path / "theirs" / "hp"


def test_the_experiment_and_the_session_are_those_that_torch_writes(tmp_path: Path) -> None:
    ours, theirs = both(tmp_path, HPARAMS, METRICS, {"optimizer": ["adam", "sgd"]}, global_step=5)

    assert {tag: str(without_times(part)) for tag, part in parts(ours).items()} == {
        tag: str(without_times(part)) for tag, part in parts(theirs).items()
    }
    scalars = [one for one in plain_events(ours) if one[3] == "simple_value"]
    assert scalars == [one for one in plain_events(theirs) if one[3] == "simple_value"]
    assert len(scalars) == 2


def test_yes_and_no_stay_yes_and_no(tmp_path: Path) -> None:
    """torch's writer makes numbers of them."""
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams(
            {"nesterov": True, "width": np.int64(3), "layers": [2, 3], "t": torch.tensor(0.5)},
            {},
            run_name="hp",
        )

    started = parts(tmp_path / "hp")[metadata.SESSION_START_INFO_TAG].session_start_info.hparams

    assert started["nesterov"].bool_value is True
    assert (started["width"].number_value, started["t"].number_value) == (3.0, 0.5)
    assert started["layers"].string_value == "[2, 3]"


def test_parsed_arguments_can_be_given_as_they_are(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams(argparse.Namespace(lr=0.1, name="x"), {"accuracy": float("nan")}, run_name="hp")

    started = parts(tmp_path / "hp")[metadata.SESSION_START_INFO_TAG].session_start_info.hparams

    assert set(started) == {"lr", "name"}
    assert np.isnan(accumulated(tmp_path / "hp").Scalars("accuracy")[0].value)


def test_without_a_name_the_run_has_the_time(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.1}, {"accuracy": 0.5})

    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())

    assert float(folder.name) > 1e9
