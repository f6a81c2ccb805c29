"""Embeddings as TensorBoard's projector reads them."""

from __future__ import annotations

import io
from pathlib import Path

import numpy
import pytest
import torch
from google.protobuf import text_format
from PIL import Image
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig
from torch.utils.tensorboard import SummaryWriter

from tests.summaries.boards import Board, tensorboard_over
from tests.summaries.graphs import write_log
from torch_debugger.summaries.projector import CONFIG, folder_name, write_projector
from torch_debugger.system.errors import DebuggerError

HOSTILE = 'tab\there, line\nbreak, "quotes" \\ ünï/../code:1'


def config(folder: Path) -> ProjectorConfig:
    return text_format.Parse((folder / CONFIG).read_text(), ProjectorConfig())


def served(board: Board, name: str, width: int) -> numpy.ndarray:
    data = board.get("plugin/projector/tensor", run="run", name=name)
    return numpy.frombuffer(data, "<f4").reshape(-1, width)


def test_a_real_tensorboard_serves_points_labels_and_pictures(tmp_path: Path) -> None:
    run = tmp_path / "run"
    write_log(run, b"")
    small, large = torch.randn(5, 3), torch.randn(30_000, 4)
    labels = ["a", "b\tc", "d\ne", "", "模型"]
    write_projector(str(run), "small", 0, small, labels, torch.rand(5, 3, 4, 6))
    write_projector(str(run), "large", 12, large, list(range(30_000)))
    write_projector(str(run), HOSTILE, 0, small, [(1, "x")] * 5, header=["number", "na\tme"])
    with tensorboard_over(tmp_path) as board:
        info = board.get_json("plugin/projector/info", run="run")["embeddings"]
        assert [(each["tensorName"], each["tensorShape"]) for each in info] == [
            ("small:00000", [5, 3]),
            ("large:00012", [30_000, 4]),
            (f"{HOSTILE}:00000", [5, 3]),
        ]
        assert numpy.allclose(served(board, "small:00000", 3), small.numpy(), rtol=1e-7)
        assert numpy.array_equal(served(board, "large:00012", 4), large.numpy())
        names = board.get("plugin/projector/metadata", run="run", name="small:00000").decode()
        assert names.splitlines() == ["a", "b c", "d e", "(empty)", "模型"]
        table = board.get("plugin/projector/metadata", run="run", name=f"{HOSTILE}:00000").decode()
        assert table.splitlines() == ["number\tna me", *["1\tx"] * 5]
        sprite = board.get("plugin/projector/sprite_image", run="run", name="small:00000")
    assert Image.open(io.BytesIO(sprite)).size == (18, 12)


def test_the_files_lie_where_torch_puts_them(tmp_path: Path) -> None:
    points, labels, pictures = torch.randn(4, 2), ["a", "b", "c", "d"], torch.rand(4, 3, 8, 8)
    with SummaryWriter(str(tmp_path / "torch")) as writer:
        writer.add_embedding(points, labels, pictures, 7, "nested/tag")
    write_projector(str(tmp_path / "ours"), "nested/tag", 7, points, labels, pictures)
    theirs, ours = config(tmp_path / "torch").embeddings[0], config(tmp_path / "ours").embeddings[0]
    assert list(ours.tensor_shape) == [4, 2], "which torch leaves for TensorBoard to find out"
    del ours.tensor_shape[:]
    assert ours == theirs
    for path in (ours.metadata_path, ours.sprite.image_path):
        assert (tmp_path / "ours" / path).is_file() and (tmp_path / "torch" / path).is_file()
    table = numpy.loadtxt(tmp_path / "ours" / ours.tensor_path, "float32", delimiter="\t")
    assert numpy.array_equal(table, points.numpy()), "every digit that a float32 has"
    pixels = [numpy.asarray(Image.open(tmp_path / who / ours.sprite.image_path)) for who in ("ours", "torch")]
    assert numpy.array_equal(*pixels)


def test_the_same_tag_and_step_again_takes_the_place_of_the_first(tmp_path: Path) -> None:
    for step, size in ((0, 3), (1, 3), (0, 5)):
        write_projector(str(tmp_path), 'a "tag"', step, torch.randn(size, 2))
    entries = [(entry.tensor_name, list(entry.tensor_shape)) for entry in config(tmp_path).embeddings]
    assert entries == [('a "tag":00001', [3, 2]), ('a "tag":00000', [5, 2])]


def test_what_another_writer_entered_stays(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_embedding(torch.randn(3, 2), tag="theirs")
    write_projector(str(tmp_path), "ours", 0, torch.randn(3, 2))
    assert [entry.tensor_name for entry in config(tmp_path).embeddings] == ["theirs:00000", "ours:00000"]


def test_numbers_that_cannot_be_shown_become_zero_and_that_is_said(tmp_path: Path) -> None:
    points = torch.tensor([[1.0, float("nan")], [float("inf"), -2.0]])
    assert write_projector(str(tmp_path), "bad", 0, points) == [
        "the embedding `bad` holds NaN or infinite numbers (2 of 4): "
        "they were written as 0, since the projector cannot show them."
    ]
    table = numpy.loadtxt(tmp_path / "00000/bad/tensors.tsv", delimiter="\t")
    assert table.tolist() == [[1.0, 0.0], [0.0, -2.0]]


def test_numbers_that_look_like_text_are_written_as_text(tmp_path: Path) -> None:
    """TensorBoard would take a file of zeros for a table, and fail."""
    for name, points in (("zeros", torch.zeros(60_000, 2)), ("halves", torch.full((60_000, 2), 0.5))):
        write_projector(str(tmp_path), name, 0, points)
        assert config(tmp_path).embeddings[-1].tensor_path == f"00000/{name}/tensors.tsv"
    write_projector(str(tmp_path), "random", 0, torch.randn(60_000, 2))
    assert config(tmp_path).embeddings[-1].tensor_path == "00000/random/tensors.bytes"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e5m2, torch.float64, torch.int32, torch.bool])
def test_points_of_any_type_are_taken(tmp_path: Path, dtype: torch.dtype) -> None:
    points = torch.tensor([[0.0, 1.0], [1.0, 0.0]]).to(dtype).requires_grad_(dtype == torch.float64)
    assert write_projector(str(tmp_path), "points", 0, points) == []
    table = numpy.loadtxt(tmp_path / "00000/points/tensors.tsv", delimiter="\t")
    assert table.tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_shapes_and_counts_that_do_not_fit_are_mended_and_said(tmp_path: Path) -> None:
    remarks = write_projector(str(tmp_path), "odd", 0, numpy.ones((2, 3, 4)), ["a", "b", "c"], torch.rand(5, 3, 4, 4))
    assert remarks == [
        "the embedding `odd` should be [points, dimensions], but is [2, 3, 4]: written as [2, 12].",
        "the embedding `odd` has 2 points, but the number of labels is 3: the last labels were left out.",
        "the embedding `odd` should have pictures of shape [2, channels, height, width], "
        "but got [5, 3, 4, 4]: they were left out.",
    ]
    assert write_projector(str(tmp_path), "few", 0, torch.ones(3), ["a"]) == [
        "the embedding `few` should be [points, dimensions], but is [3]: written as [3, 1].",
        "the embedding `few` has 3 points, but the number of labels is 1: the last points have empty ones.",
    ]
    assert (tmp_path / "00000/few/metadata.tsv").read_text() == "a\n(empty)\n(empty)\n"
    with pytest.raises(DebuggerError, match=r"an embedding needs points, but its shape is \[0, 4\]"):
        write_projector(str(tmp_path), "none", 0, torch.ones(0, 4))


def test_labels_in_columns_fit_their_header(tmp_path: Path) -> None:
    labels = [(torch.tensor(1), "x", "too many"), ("alone",), 3]
    write_projector(str(tmp_path), "table", 0, torch.ones(3, 2), labels, header=["a", "b"])
    rows = (tmp_path / "00000/table/metadata.tsv").read_text().splitlines()
    assert rows == ["a\tb", "1\tx", "alone\t(empty)", "3\t(empty)"]
    write_projector(str(tmp_path), "one", 0, torch.ones(2, 2), [["x"], ["y"]], header=["only"])
    assert (tmp_path / "00000/one/metadata.tsv").read_text() == "x\ny\n", "TensorBoard shows no header of one column"


def test_many_pictures_shrink_to_what_a_browser_can_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch_debugger.summaries.projector._LARGEST", 64)
    pictures = torch.zeros(16, 1, 32, 8, dtype=torch.uint8)
    pictures[5] = 200
    write_projector(str(tmp_path), "many", 0, torch.ones(16, 2), pictures=pictures)
    sprite = Image.open(tmp_path / "00000/many/sprite.png")
    assert sprite.size == (32, 64)
    assert list(config(tmp_path).embeddings[0].sprite.single_image_dim) == [8, 16]
    assert sprite.getpixel((8 + 4, 16 + 8)) == (200, 200, 200), "the sixth is the second of the second row"


@pytest.mark.parametrize("tag", ["..", "a/b", "a\\b", "", ".hidden", "x" * 400, "é" * 300, "a:b\0c", "100%"])
def test_no_tag_leads_out_of_the_folder(tmp_path: Path, tag: str) -> None:
    write_projector(str(tmp_path), tag, 3, torch.ones(2, 2))
    [table] = tmp_path.rglob("tensors.tsv")
    assert table.parent.parent == tmp_path / "00003"
    assert config(tmp_path).embeddings[0].tensor_name == f"{tag}:00003"
    assert folder_name("a/b") != folder_name("a%b")


def test_an_object_store_takes_the_same_files() -> None:
    import fsspec

    store = fsspec.filesystem("memory")
    write_projector("memory://bucket/run", "tag", 0, torch.ones(2, 2), ["a", "b"])
    write_projector("memory://bucket/run", "tag", 1, torch.ones(2, 2))
    assert store.cat_file("/bucket/run/00000/tag/metadata.tsv") == b"a\nb\n"
    text = store.cat_file(f"/bucket/run/{CONFIG}").decode()
    assert len(text_format.Parse(text, ProjectorConfig()).embeddings) == 2
