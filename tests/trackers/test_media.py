"""Pictures and histograms that lie in the folder of a log, whoever wrote them, go along."""

from __future__ import annotations

import io
from pathlib import Path

import numpy
import pytest
import torch
from PIL import Image
from torch.utils.tensorboard import SummaryWriter

import torch_debugger
from torch_debugger.integrations.tracker_data import MediaDecoder, Packer, Parcel, counts_and_edges
from torch_debugger.log.media import Histogram
from torch_debugger.log.reader_records import LogFollower

WRITERS = [pytest.param(SummaryWriter, id="torch"), pytest.param(torch_debugger.SummaryWriter, id="ours")]


def read(folder: Path) -> Parcel:
    packer = Packer()
    log = LogFollower(folder, lambda: MediaDecoder(packer.see_medium))
    for record in log.poll():
        packer.see(record)
    log.close()
    return packer.take()


@pytest.mark.parametrize("writer_class", WRITERS)
def test_pictures_histograms_and_hyperparameters_are_found_among_scalars(
    writer_class: type[SummaryWriter], tmp_path: Path
) -> None:
    with writer_class(str(tmp_path)) as writer:
        writer.add_scalar("loss", 0.5, 3)
        writer.add_image("digits", torch.zeros(3, 4, 6), 3)
        writer.add_histogram("weights", torch.arange(100.0), 3)
        writer.add_text("notes", "hello", 3)
    parcel = read(tmp_path)
    assert [(point.step, point.values) for point in parcel.points] == [(3, {"loss": 0.5})]
    ((tag, picture),) = parcel.pictures
    assert (tag, picture.step, Image.open(io.BytesIO(picture.data)).size) == ("digits", 3, (6, 4))
    ((tag, histogram),) = parcel.histograms
    assert (tag, histogram.step, histogram.counts.sum()) == ("weights", 3, 100)


@pytest.mark.parametrize("writer_class", WRITERS)
def test_hyperparameters_of_the_script_s_own_writer_are_hyperparameters(
    writer_class: type[SummaryWriter], tmp_path: Path
) -> None:
    with writer_class(str(tmp_path)) as writer:
        writer.add_hparams({"lr": 0.1, "name": "resnet"}, {"accuracy": 0.9}, run_name=".")
    assert read(tmp_path).hparams == {"lr": 0.1, "name": "resnet"}


@pytest.mark.parametrize("bins", [1, 2, 511, 512, 513, 1549, 5000])
def test_a_histogram_keeps_its_counts_and_its_ends_in_at_most_512_bins(bins: int) -> None:
    edges = numpy.linspace(-3.0, 5.0, bins + 1)
    given = Histogram(1, 0.0, edges[:-1], edges[1:], numpy.arange(bins, dtype=numpy.float64))
    counts, joined = counts_and_edges(given)
    assert len(counts) <= 512 and len(joined) == len(counts) + 1
    assert counts.sum() == given.counts.sum() and (joined[0], joined[-1]) == (-3.0, 5.0)
    assert (numpy.diff(joined) > 0).all()
    if bins <= 512:
        numpy.testing.assert_array_equal(counts, given.counts)
