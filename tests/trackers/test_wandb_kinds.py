"""Every kind that a SummaryWriter logs beside numbers, carried to W&B's own offline client and read back."""

from __future__ import annotations

import io
import json
import wave
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from matplotlib.figure import Figure
from PIL import Image

import torch_debugger
from tests.trackers.runs import ending
from tests.trackers.test_wandb import go_offline
from tests.trackers.wandb_file import WandbRun, offline_runs
from torch_debugger.integrations.delivery import TrackerProcess as CourierProcess
from torch_debugger.integrations.delivery import conclude
from torch_debugger.integrations.import_runs import adopt, find_foreign_runs
from torch_debugger.integrations.tracker import Tracker
from torch_debugger.log.run import Run

TABLE = "| word | score |\n| --- | --- |\n| a\\|b | 1 |\n| c | 2.5 |"


class Sent(NamedTuple):
    folder: Path
    run: WandbRun
    said: list[str]

    def value(self, tag: str) -> dict[str, Any]:
        """What the client has written of one tag: by field, without the tag."""
        (row,) = [row for row in self.run.rows if f"{tag}/_type" in row]
        return {name.removeprefix(f"{tag}/"): row[name] for name in row if name.startswith(f"{tag}/")}

    def file(self, tag: str) -> Path:
        (path,) = self.folder.rglob(f"files/{self.value(tag)['path']}")
        return path


def write_everything(folder: Path) -> None:
    figure = Figure(figsize=(2, 1))
    figure.subplots().plot([1, 2, 3])
    with torch_debugger.SummaryWriter(str(folder)) as writer:
        writer.add_scalar("loss", 0.5, 3)
        writer.add_scalars("both", {"train": 1.0, "valid": 2.0}, 3)
        writer.add_image("digit", torch.full((3, 4, 6), 0.5), 3)
        writer.add_figure("curve", figure, 3)
        writer.add_video("film", torch.zeros(1, 3, 3, 4, 6), 3)
        writer.add_histogram("weights", torch.arange(100.0), 3)
        writer.add_audio("tone", torch.sin(torch.arange(800) / 5).view(1, -1), 3, sample_rate=8000)
        writer.add_text("notes", "see <b>line 3</b>", 3)
        writer.add_text("answers", TABLE, 3)
        writer.add_tensor("matrix", torch.arange(6.0).view(2, 3), 3)
        writer.add_pr_curve("pr", torch.tensor([0, 1, 1, 0]), torch.tensor([0.1, 0.8, 0.6, 0.3]), 3)
        writer.add_mesh("shape", torch.rand(1, 4, 3), global_step=3)
        writer.add_graph(torch.nn.Linear(2, 2), torch.ones(1, 2))
        writer.add_hparams({"lr": 0.1, "name": "resnet"}, {"accuracy": 0.9})


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> Sent:
    above = tmp_path_factory.mktemp("kinds")
    with pytest.MonkeyPatch.context() as patch:
        go_offline(patch, above)
        write_everything(above / "log")
        said: list[str] = []
        courier = CourierProcess(Tracker("wandb"), str(above / "log"), str(above), "train", said.append)
        conclude([courier], ending(), said.append)
        (run,) = offline_runs(above)
        return Sent(above, run, [sentence for sentence in said if "W&B" in sentence and "waiting" not in sentence])


def test_numbers_of_inner_folders_and_settings(sent: Sent) -> None:
    assert sent.run.series("loss") == [(3, 0.5)]
    assert (sent.run.series("both/train"), sent.run.series("both/valid")) == ([(3, 1.0)], [(3, 2.0)])
    assert (sent.run.config["lr"], sent.run.config["name"]) == (0.1, "resnet")
    assert [value for _, value in sent.run.series("accuracy")] == [pytest.approx(0.9)]
    assert sent.run.summary["outcome"] == "finished"


def test_pictures_figures_and_films(sent: Sent) -> None:
    assert (sent.value("digit")["_type"], sent.value("curve")["_type"]) == ("image-file", "image-file")
    assert Image.open(sent.file("digit")).size == (6, 4)
    assert Image.open(sent.file("curve")).size == (200, 100)
    assert sent.value("film")["_type"] == "video-file"
    film: Any = Image.open(sent.file("film"))
    assert (film.format, film.size) == ("GIF", (6, 4))


def test_histograms_and_sounds(sent: Sent) -> None:
    weights = sent.value("weights")
    assert (weights["_type"], sum(weights["values"])) == ("histogram", 100)
    assert sent.value("tone")["_type"] == "audio-file"
    with wave.open(str(sent.file("tone"))) as tone:
        assert (tone.getnframes(), tone.getframerate()) == (800, 8000)


def test_texts_tables_tensors_and_curves(sent: Sent) -> None:
    assert sent.value("notes")["_type"] == "html-file"
    assert "see &lt;b&gt;line 3&lt;/b&gt;" in sent.file("notes").read_text("utf-8"), "its letters, and no HTML"
    answers = json.loads(sent.file("answers").read_text("utf-8"))
    assert (answers["columns"], answers["data"]) == (["word", "score"], [["a|b", "1"], ["c", "2.5"]])
    assert json.loads(sent.file("matrix").read_text("utf-8"))["data"] == [[0, 1, 2], [3, 4, 5]]
    (path,) = sent.folder.rglob("files/media/table/pr_table*.json")
    curve = json.loads(path.read_text("utf-8"))
    assert curve["columns"] == ["threshold", "precision", "recall"]
    assert curve["data"][0][1:] == [pytest.approx(0.5), 1.0]


def test_what_it_has_no_form_for_is_said(sent: Sent) -> None:
    assert sent.said[0].startswith(
        "W&B has the run without what only the log can show (1 of the kind part of a mesh, "
        "1 of the kind graph): offline; this sends it: wandb sync "
    ), sent.said


def test_all_of_it_can_be_taken_in_again(sent: Sent, tmp_path: Path) -> None:
    said: list[str] = []
    (found,) = find_foreign_runs(sent.folder / "wandb", said.append)
    run = Run(adopt(found, tmp_path / "runs", said.append))
    assert not said
    digit, film = (Image.open(io.BytesIO(run.pictures(tag)[0].data)) for tag in ("digit", "film"))
    assert (digit.size, digit.getpixel((0, 0))) == ((6, 4), (127, 127, 127))
    assert (film.format, film.size) == ("GIF", (6, 4))
    assert Image.open(io.BytesIO(run.pictures("curve")[0].data)).size == (200, 100)
    assert run.histograms("weights")[0].counts.sum() == 100
    with wave.open(io.BytesIO(run.sounds("tone")[0].data)) as tone:
        assert (tone.getnframes(), tone.getframerate()) == (800, 8000)
    assert run.texts("notes")[0].text == "see <b>line 3</b>"
    assert run.texts("answers")[0].text == TABLE
    assert run.texts("matrix")[0].text.splitlines()[2] == "| 0.0 | 1.0 | 2.0 |"
    assert run.scalars("both/valid").values.tolist() == [2.0]
