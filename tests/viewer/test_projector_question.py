"""Embeddings as three writers leave them, what is computed of them, and folders that are out for harm."""

from __future__ import annotations

import base64
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorboardX
import torch
import torch.utils.tensorboard
from google.protobuf import text_format
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

import torch_debugger
from tests.viewer.asking import ask
from torch_debugger.log.embeddings import CONFIG, parse, read_embeddings
from torch_debugger.system.errors import DebuggerError
from torch_debugger.viewer.embeddings import answer_sprite as sprite
from torch_debugger.viewer.embeddings import components_of
from torch_debugger.viewer.questions import File, Query
from torch_debugger.viewer.shown_runs import ShownRuns

WRITERS = [
    torch.utils.tensorboard.SummaryWriter,
    tensorboardX.SummaryWriter,
    torch_debugger.SummaryWriter,
]
POINTS = torch.randn(9, 4, generator=torch.Generator().manual_seed(0))
WORDS = [f"w<{each}>" for each in range(9)]


@pytest.fixture(params=WRITERS, ids=["torch", "tensorboardX", "ours"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    writer = request.param(str(tmp_path))
    writer.add_scalar("loss", 1.0, 0)
    writer.add_embedding(POINTS, WORDS, torch.rand(9, 3, 5, 5), 0, "über/words")
    writer.add_embedding(POINTS * 2, WORDS, torch.rand(9, 3, 5, 5), 20, "über/words")
    table = [[word, str(place)] for place, word in enumerate(WORDS)]
    writer.add_embedding(POINTS, table, global_step=3, tag="table", metadata_header=["word", "number"])
    writer.close()
    return tmp_path


def shown_runs_of(folder: Path) -> ShownRuns:
    return ShownRuns({"": str(folder)}, of_others=True)


def answered(folder: Path, question: str = "embeddings", **given: str) -> Any:
    return ask(shown_runs_of(folder), question, run=".", **given)


def floats(text: str) -> np.ndarray[Any, Any]:
    return np.frombuffer(base64.b64decode(text), "<f4").astype(np.float64)


def test_the_config_is_read_as_protobuf_reads_it(folder: Path) -> None:
    text = (folder / CONFIG).read_text()
    theirs = text_format.Parse(text, ProjectorConfig())
    ours = read_embeddings(str(folder))

    assert len(ours) == len(theirs.embeddings) == 3
    for one, other in zip(ours, theirs.embeddings, strict=True):
        assert other.tensor_name == f"{one.tag}:{one.step:05d}"
        assert (one.points, one.labels, one.sprite) == (
            other.tensor_path,
            other.metadata_path,
            other.sprite.image_path,
        )
        assert list(one.thumbnail) == (list(other.sprite.single_image_dim) or [0, 0])


def test_points_labels_and_pictures_of_every_writer(folder: Path) -> None:
    assert answered(folder, "about")["has"]["projector"]
    listed = answered(folder)
    assert {each["tag"]: each["steps"] for each in listed["embeddings"]} == {
        "über/words": [0, 20],
        "table": [3],
    }
    shown = answered(folder, tag="über/words", step="20")

    assert (shown["points"], shown["dimensions"], shown["kept"], shown["whole"]) == (9, 4, 4, True)
    assert shown["columns"] == [{"name": "", "labels": WORDS, "of": list(range(9))}]
    assert shown["sprite"] == {"width": 5, "height": 5, "columns": 3} and shown["remarks"] == []
    file = sprite(Query(shown_runs_of(folder), {"run": ".", "tag": "über/words", "step": "20"}))
    assert isinstance(file, File) and file.kind == "image/png"
    table = answered(folder, tag="table", step="3")
    assert [each["name"] for each in table["columns"]] == ["word", "number"]
    assert table["columns"][1]["labels"] == [str(place) for place in range(9)] and table["sprite"] is None


def test_components_are_those_of_numpy_and_neighbours_those_of_all_dimensions(folder: Path) -> None:
    shown = answered(folder, tag="table", step="3")
    points = POINTS.numpy().astype(np.float64)
    centred = points - points.mean(axis=0)
    values = np.linalg.svd(centred, compute_uv=False)
    vectors = floats(shown["vectors"]).reshape(9, 4)

    assert np.allclose((vectors**2).sum(axis=0), values**2, rtol=1e-4)
    assert np.allclose(shown["shares"], values**2 / (values**2).sum(), atol=1e-5)
    whole = vectors + floats(shown["centre"])
    assert np.allclose(whole @ whole.T, points @ points.T, atol=1e-4), "angles and lengths are as they were"
    for by in ("euclidean", "cosine"):
        found = answered(folder, "neighbours", tag="table", step="3", point="2", by=by, count="4")["neighbours"]
        expected = sorted((distance(points[2], points[row], by), row) for row in range(9) if row != 2)[:4]
        assert [row for row, _ in found] == [row for _, row in expected]
        assert [far for _, far in found] == pytest.approx([far for far, _ in expected], rel=1e-4)


def distance(one: Any, other: Any, by: str) -> float:
    if by == "euclidean":
        return math.dist(one, other)
    return float(1 - one @ other / math.sqrt((one @ one) * (other @ other)))


@pytest.mark.parametrize("shape", [(50, 20), (700, 650), (30, 2000), (5, 3), (4, 1), (2, 9)])
def test_components_of_every_shape(shape: tuple[int, int]) -> None:
    random = np.random.default_rng(1)
    spread = 0.9 ** np.arange(shape[1])
    points = (random.normal(size=shape) * spread + 3).astype(np.float32)
    found = components_of(points, 10)
    centred = points.astype(np.float64) - points.mean(axis=0, dtype=np.float64)
    values = np.linalg.svd(centred, compute_uv=False)[: found.places.shape[1]]

    assert np.allclose(np.sqrt((found.places**2).sum(axis=0)), values, rtol=1e-3, atol=1e-6 * values[0])
    assert found.whole == (found.places.shape[1] == shape[1]), "two points leave out where zero is"


def test_points_that_are_all_the_same_have_no_components() -> None:
    found = components_of(np.ones((6, 3), np.float32), 50)
    assert np.isfinite(found.places).all() and not found.shares.any()


def test_very_many_points_are_thinned_and_what_is_not_finite_is_left_out(tmp_path: Path) -> None:
    writer = torch_debugger.SummaryWriter(str(tmp_path))
    points = torch.arange(50_000.0)[:, None].repeat(1, 3)
    writer.add_embedding(points, [str(place) for place in range(50_000)], tag="many")
    writer.close()
    (tmp_path / "00000" / "odd.tsv").write_text("1\t2\nnan\t3\n4\t5\ninf\t0\n")
    add_entry(tmp_path, 'tensor_name: "odd" tensor_path: "00000/odd.tsv"')

    many, odd = answered(tmp_path, tag="many", step="0"), answered(tmp_path, tag="odd", step="0")

    assert many["points"] == 20_000 and many["places"][0] == 0 and many["places"][-1] == 49_999
    assert many["columns"][0]["labels"][7] == str(many["places"][7])
    assert "Of 50,000 points 20,000 are shown, evenly chosen." in many["remarks"]
    assert odd["places"] == [0, 2]
    assert odd["remarks"] == ["2 points with NaN or infinite coordinates are not shown."]


def add_entry(folder: Path, text: str) -> None:
    with (folder / CONFIG).open("a") as file:
        file.write(f"embeddings {{ {text} }}\n")


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    run = tmp_path / "run"
    writer = torch_debugger.SummaryWriter(str(run))
    writer.add_embedding(POINTS, WORDS, tag="sound")
    writer.close()
    (tmp_path / "secret.tsv").write_text("1\t2\n3\t4\n")
    (tmp_path / "secret.png").write_bytes(b"\x89PNG")
    return run


OUTSIDE = ["../secret.tsv", "00000/../../secret.tsv", "{}/secret.tsv", "link.tsv", "linked/secret.tsv", "."]


@pytest.mark.parametrize("path", [*OUTSIDE, "fifo", "missing.tsv", "x" * 5000, "a\\000b"])
def test_nothing_outside_of_the_folder_is_read(plain: Path, path: str) -> None:
    os.symlink(plain.parent / "secret.tsv", plain / "link.tsv")
    os.symlink(plain.parent, plain / "linked")
    os.mkfifo(plain / "fifo")
    said = path.format(plain.parent)
    add_entry(plain, f'tensor_name: "evil" tensor_path: "{said}"')
    add_entry(plain, f'tensor_name: "words" tensor_path: "00000/sound/tensors.tsv" metadata_path: "{said}"')
    sprites = f'sprite {{ image_path: "{said}" single_image_dim: 2 single_image_dim: 2 }}'
    add_entry(plain, f'tensor_name: "pictures" tensor_path: "00000/sound/tensors.tsv" {sprites}')

    assert [each["tag"] for each in answered(plain)["embeddings"]] == ["sound", "evil", "words", "pictures"]
    with pytest.raises(DebuggerError, match=r"not read|not in the run's folder|cannot be read"):
        answered(plain, tag="evil", step="0")
    words, pictures = answered(plain, tag="words", step="0"), answered(plain, tag="pictures", step="0")
    assert words["columns"] == [] and len(words["remarks"]) == 1
    assert pictures["sprite"] is None and len(pictures["remarks"]) == 1
    with pytest.raises(DebuggerError):
        sprite(Query(shown_runs_of(plain), {"run": ".", "tag": "pictures", "step": "0"}))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1\t2\n3\n", "is no table of numbers"),
        ("a\tb\n", "is no table of numbers"),
        ("\n\n", "holds no points"),
        ("nan\tnan\n", "finite coordinates"),
    ],
)
def test_points_that_cannot_be_read_say_why(plain: Path, text: str, why: str) -> None:
    (plain / "points.tsv").write_text(text)
    add_entry(plain, 'tensor_name: "bad" tensor_path: "points.tsv"')
    with pytest.raises(DebuggerError, match=why):
        answered(plain, tag="bad", step="0")


def test_labels_that_do_not_fit_leave_the_points(plain: Path) -> None:
    (plain / "labels.tsv").write_text("a\nb\n")
    add_entry(plain, 'tensor_name: "short" tensor_path: "00000/sound/tensors.tsv" metadata_path: "labels.tsv"')
    shown = answered(plain, tag="short", step="0")
    assert shown["points"] == 9 and shown["remarks"] == ["labels.tsv has 2 labels for 9 points, so none are shown."]


def test_an_embedding_in_a_checkpoint_says_so(plain: Path) -> None:
    add_entry(plain, 'tensor_name: "of_tensorflow"')
    with pytest.raises(DebuggerError, match="TensorFlow checkpoint"):
        answered(plain, tag="of_tensorflow", step="0")


TEXTS = [
    "",
    'embeddings { tensor_name: "a\\303\\274\\x41\\n" "b" tensor_shape: [3, 4] }',
    "embeddings < tensor_name: 'q\"' tensor_shape: 3; tensor_shape: 4, > # why",
    "embeddings: { sprite { image_path: 's' single_image_dim: [1,2] } } model_checkpoint_path: 'x'",
]


@pytest.mark.parametrize("text", TEXTS)
def test_every_way_to_write_the_config(text: str) -> None:
    theirs = text_format.Parse(text, ProjectorConfig())
    ours = parse(text).get("embeddings", [])
    assert [each.get("tensor_name", [""])[0] for each in ours] == [each.tensor_name for each in theirs.embeddings]
    assert [[int(size) for size in each.get("tensor_shape", [])] for each in ours] == [
        list(each.tensor_shape) for each in theirs.embeddings
    ]


@pytest.mark.parametrize(
    "text", ["embeddings {", "}", "a: [1", 'a: "x', "a:", "a { " * 50, "\x00", "5: 3", "a: }", "a: ["]
)
def test_a_broken_config_is_a_sentence_on_the_page(plain: Path, text: str) -> None:
    (plain / CONFIG).write_text(text)
    listed = answered(plain)
    assert listed["embeddings"] == [] and listed["fault"].startswith(f"{CONFIG} cannot be read: ")
