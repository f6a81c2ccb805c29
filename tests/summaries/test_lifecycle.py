"""A writer from its first file to its last, also where a script forgets, forks or goes on after the end."""

from __future__ import annotations

import gc
import io
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import fsspec
import pytest
import torch
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from torch.utils.data import DataLoader, Dataset

from tests.summaries.peers import accumulated, events
from torch_debugger import SummaryWriter


def steps(folder: Path, tag: str) -> list[int]:
    return [point.step for point in accumulated(folder).Scalars(tag)]


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*tfevents*"))


FORGETFUL = """
import atexit, sys
sys.modules["tensorboard"] = None
late = []
atexit.register(lambda: [late[0].add_scalar("last", 0.9, step) for step in range(3)])
import torch
from torch_debugger import SummaryWriter

model, before = torch.nn.Linear(2, 2), torch.get_rng_state()
with SummaryWriter("all") as writer:
    writer.add_histogram("h", torch.ones(5), 1)
    writer.add_image("p", torch.ones(3, 4, 4), 1)
    writer.add_graph(model, torch.ones(1, 2))
    writer.add_embedding(torch.eye(3))
    writer.add_hparams({"lr": 0.1}, {"accuracy": 1.0})
print(torch.equal(before, torch.get_rng_state()) or "changed")
print(*(name for name in ("google.protobuf", "tensorboard.compat") if name in sys.modules))

late.append(SummaryWriter("late"))
late[0].add_scalar("loss", 1.0, 1)
never_closed = SummaryWriter("run")
for step in range(1000):
    never_closed.add_scalar("loss", 0.5, step)
never_closed.add_image("p", [[[0.5] * 4] * 4] * 3, 0)
raise SystemExit(3)
"""


@pytest.fixture(scope="module")
def forgetful(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a script that closes nothing, and what it printed. An interpreter of its own: this is about
    how it ends and what it imports."""
    folder = tmp_path_factory.mktemp("forgetful")
    (folder / "train.py").write_text(FORGETFUL)
    done = subprocess.run(
        [sys.executable, "train.py"], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stderr) == (3, "")
    return folder, done.stdout


def test_without_a_folder_it_is_named_after_date_and_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with SummaryWriter(comment="_lr0.1") as writer:
        writer.add_scalar("loss", 1.0, 0)

    (folder,) = Path("runs").iterdir()

    assert re.fullmatch(rf"\w{{3}}\d\d_\d\d-\d\d-\d\d_{re.escape(socket.gethostname())}_lr0\.1", folder.name)
    assert writer.log_dir == writer.logdir == str(folder)


@pytest.mark.parametrize("name", ["log_dir", "logdir"])
def test_the_folder_has_the_names_of_both_peers(name: str, tmp_path: Path) -> None:
    with SummaryWriter(**{name: tmp_path / "run"}, filename_suffix=".mine"):
        pass

    (file,) = files(tmp_path / "run")
    assert file.name.endswith(".mine")


def test_a_flush_brings_everything_to_the_file(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path)
    writer.add_scalar("loss", 1.0, 0)
    writer.add_text("note", "hello", 0)
    writer.flush()

    tags = accumulated(tmp_path).Tags()
    writer.close()

    assert (tags["scalars"], tags["tensors"]) == (["loss"], ["note/text_summary"])


def test_after_a_close_the_writer_opens_another_file(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path)
    writer.add_scalar("loss", 1.0, 0)
    writer.close()
    writer.close()
    assert writer.file_writer is writer.all_writers is None
    writer.add_scalar("loss", 2.0, 1)
    writer.add_histogram("w", torch.ones(3), 1)
    writer.close()

    assert len(files(tmp_path)) == 2
    assert steps(tmp_path, "loss") == [0, 1]


def test_a_script_that_never_closes_loses_nothing(forgetful: tuple[Path, str]) -> None:
    folder, _ = forgetful
    assert len(steps(folder / "run", "loss")) == 1000
    assert accumulated(folder / "run").Tags()["images"] == ["p"]


def test_handlers_that_run_after_ours_can_still_log(forgetful: tuple[Path, str]) -> None:
    folder, _ = forgetful
    assert (steps(folder / "late", "loss"), steps(folder / "late", "last")) == ([1], [0, 1, 2])
    assert len(files(folder / "late")) == 2


def test_a_writer_draws_no_random_number_and_needs_no_tensorboard(forgetful: tuple[Path, str]) -> None:
    folder, printed = forgetful
    assert printed.split() == ["True"]
    tags = accumulated(folder / "all").Tags()
    assert (tags["histograms"], tags["images"], tags["graph"]) == (["h"], ["p"], True)


def test_a_writer_that_nobody_holds_is_closed(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path)
    writer.add_scalar("loss", 1.0, 0)
    del writer
    gc.collect()

    assert steps(tmp_path, "loss") == [0]


def test_a_run_that_begins_again_takes_back_what_came_later(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        for step in range(6):
            writer.add_scalar("loss", 1.0, step)
    with SummaryWriter(tmp_path, purge_step=3, filename_suffix=".again") as writer:
        writer.add_scalar("loss", 2.0, 3)

    assert steps(tmp_path, "loss") == [0, 1, 2, 3]


class Logged(Dataset[int]):
    def __init__(self, writer: SummaryWriter) -> None:
        self.writer = writer

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> int:
        self.writer.add_scalar("sample", float(index), index)
        return index


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_workers_of_a_loader_write_files_of_their_own(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path)
    writer.add_scalar("loss", 1.0, 0)
    list(DataLoader(Logged(writer), batch_size=2, num_workers=2, multiprocessing_context="fork"))
    writer.add_scalar("loss", 1.0, 1)
    writer.close()

    assert len(files(tmp_path)) == 3
    assert steps(tmp_path, "loss") == [0, 1]
    assert sorted(steps(tmp_path, "sample")) == list(range(8))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_that_ends_at_once_leaves_the_file_whole(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path)
    writer.add_scalar("loss", 1.0, 0)
    child = os.fork()
    if not child:
        writer.add_scalar("child", 1.0, 0)
        writer.close()
        os._exit(0)
    os.waitpid(child, 0)
    writer.add_scalar("loss", 1.0, 1)
    writer.close()

    assert steps(tmp_path, "loss") == [0, 1]
    assert steps(tmp_path, "child") == [0]


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = io.StringIO()
    monkeypatch.setattr(sys, "__stderr__", said)
    (tmp_path / "file").write_text("in the way")
    with SummaryWriter(tmp_path / "file" / "run") as writer:
        writer.add_scalar("loss", 1.0, 0)
        writer.add_histogram("w", torch.ones(3), 0)

    sentence = said.getvalue()
    assert sentence.startswith("torch-debugger: SummaryWriter keeps nothing: a log in '")
    assert "file/run' cannot be written (" in sentence
    assert sentence.count("\n") == 1


def test_nothing_is_written_where_the_disk_is_not_wanted(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path / "run", write_to_disk=False) as writer:
        writer.add_scalar("loss", 1.0, 0)
        writer.add_scalars("both", {"a": 1.0}, 0)
        writer.flush()

    assert not (tmp_path / "run").exists()


def test_steps_and_times_may_be_given_for_many_calls(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        with writer.use_metadata(global_step=7, walltime=12.5):
            writer.add_scalar("loss", 1.0)
            writer.add_text("note", "hello")
        writer.add_scalar("loss", 1.0, 8, walltime=13.5)
        writer.add_scalar("late", 1.0)

    points = accumulated(tmp_path).Scalars("loss")
    assert [(point.step, point.wall_time) for point in points] == [(7, 12.5), (8, 13.5)]
    (note,) = accumulated(tmp_path).Tensors("note/text_summary")
    assert (note.step, note.wall_time) == (7, 12.5)
    assert steps(tmp_path, "late") == [0]


def test_scalars_of_several_runs_can_be_exported(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path / "run") as writer:
        writer.add_scalars("main", {"a": 0.5, "b": 2.0}, 1, walltime=3.0)
        writer.add_scalars("main", {"a": 0.25}, 2, walltime=4.0)
        writer.export_scalars_to_json(tmp_path / "all.json")

    folder = str(tmp_path / "run")
    assert json.loads((tmp_path / "all.json").read_text()) == {
        f"{folder}/main_a": [[3.0, 1, 0.5], [4.0, 2, 0.25]],
        f"{folder}/main_b": [[3.0, 1, 2.0]],
    }


def test_protobufs_of_a_script_are_taken_as_they_are(tmp_path: Path) -> None:
    summary = Summary(value=[Summary.Value(tag="mine", simple_value=0.5)])
    with SummaryWriter(tmp_path) as writer:
        assert writer.file_writer is not None
        writer.file_writer.add_summary(summary, 4, walltime=9.0)
        writer.file_writer.add_event(Event(summary=summary), step=5, walltime=10.0)

    written = events(files(tmp_path)[0])[1:]
    assert [(one.step, one.wall_time) for one in written] == [(4, 9.0), (5, 10.0)]
    assert all(one.summary == summary for one in written)


def test_a_picture_that_cannot_be_encoded_does_not_end_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch_debugger.log import summary_events as pictures

    def fail(record: object) -> bytes:
        raise OSError("no room for a palette")

    said = io.StringIO()
    monkeypatch.setattr(sys, "__stderr__", said)
    monkeypatch.setattr(pictures, "_png", fail)
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("p", torch.zeros(3, 4, 4), 3)
        writer.add_scalar("loss", 1.0, 4)

    assert "The picture 'p' of step 3 is not in the log: OSError('no room for a palette')." in said.getvalue()
    assert steps(tmp_path, "loss") == [4]


def test_a_log_may_lie_in_an_object_store() -> None:
    with SummaryWriter("memory://summaries/run") as writer:
        writer.add_scalar("loss", 1.0, 0)
        writer.add_scalars("both", {"a": 1.0}, 0)
        writer.add_embedding(torch.eye(3))

    found = fsspec.filesystem("memory").find("/summaries/run")
    folders = {path.rpartition("/")[0].removeprefix("/summaries/run") for path in found}

    assert folders == {"", "/both_a", "/00000/default"}
