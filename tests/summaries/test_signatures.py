"""Whoever calls torch's or tensorboardX's writer can call ours the same way."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
import tensorboardX
from torch.utils.tensorboard import SummaryWriter as TorchWriter

from torch_debugger import SummaryWriter

PEERS = [TorchWriter, tensorboardX.SummaryWriter]
# tensorboardX hands these to another service, which is off unless a script turns it on.
OTHER_DEFAULTS = {("__init__", "comet_config")}


def public_methods(writer: Any) -> list[str]:
    named = inspect.getmembers(writer, inspect.isfunction)
    return [name for name, _ in named if not name.startswith("_") or name == "__init__"]


def parameters(writer: Any, name: str) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(getattr(writer, name)).parameters) if hasattr(writer, name) else {}


@pytest.mark.parametrize("peer", PEERS)
def test_every_parameter_has_its_name_and_default(peer: Any) -> None:
    missing, other = [], []
    for name in public_methods(peer):
        ours, torchs = parameters(SummaryWriter, name), parameters(TorchWriter, name)
        for parameter in parameters(peer, name).values():
            if parameter.name not in ours:
                missing.append((name, parameter.name))
                continue
            default = torchs.get(parameter.name, parameter).default
            if (name, parameter.name) in OTHER_DEFAULTS or default is parameter.empty:
                continue
            if ours[parameter.name].default != default:
                other.append((name, parameter.name, default))
    assert len(public_methods(peer)) > 20
    assert (missing, other) == ([], [])


def test_parameters_stand_where_torch_has_them() -> None:
    theirs = {name: list(parameters(TorchWriter, name)) for name in public_methods(TorchWriter)}
    ours = {name: list(parameters(SummaryWriter, name))[: len(theirs[name])] for name in theirs}

    assert ours == theirs


@pytest.mark.parametrize("peer", PEERS)
def test_the_public_attributes_of_a_writer_are_there(peer: Any, tmp_path: Path) -> None:
    theirs, ours = peer(str(tmp_path / "theirs")), SummaryWriter(str(tmp_path / "ours"))
    names = {name for name in vars(theirs) if not name.startswith("_")} - {"kwargs", "scalar_dict"}

    assert all(hasattr(ours, name) for name in names)
    assert ours.default_bins == theirs.default_bins
    assert ours.get_logdir() == ours.file_writer.get_logdir() == str(tmp_path / "ours")
    for writer in (ours, theirs):
        writer.close()


def test_arguments_in_the_places_of_tensorboardx_mean_the_same(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path), "", None, 10, 120, ".x", True, None) as writer:
        writer.add_hparams({"lr": 0.1}, {"accuracy": 0.5}, "named")
        writer.add_image_with_boxes("p", [[[0.5] * 4] * 4] * 3, [[0, 0, 2, 2]], 1, None, "CHW")

    assert (tmp_path / "named").is_dir()
    assert [path.name[-2:] for path in tmp_path.glob("*tfevents*")] == [".x"]
