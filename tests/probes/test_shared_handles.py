"""Files that a dataset opened before its workers were forked."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

from tests.probes.loader_training import train
from torch_debugger.records import SharedHandle

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux alone")

APART = 16384  # bytes from row to row: what Python reads ahead does not reach the next one


class Rows(Dataset[torch.Tensor]):
    def __init__(self, path: Path, way: str) -> None:
        self.path, self.way = path, way
        self.file = path.open("rb")
        self.lock = multiprocessing.get_context().Lock() if way == "lock" else None

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> torch.Tensor:
        if self.way == "pread":
            os.pread(self.file.fileno(), 16, APART * index)
        elif self.way != "never":
            self.file.seek(APART * index)
            self.file.read(16)
        return torch.ones(4)


@pytest.mark.parametrize("way", ["seek", "pread", "never", "lock"])
def test_a_file_whose_position_moves(way: str, tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_bytes(bytes(APART * 65))
    handles = train(DataLoader(Rows(path, way), batch_size=2, num_workers=2)).of(SharedHandle)
    assert len(handles) == (way == "seek")
    for handle in handles:
        assert (handle.owner, handle.attribute, handle.kind) == ("Rows", "file", "BufferedReader")
        assert handle.file == str(path)
        assert handle.moves >= 1
        assert handle.opened.code == 'self.file = path.open("rb")'
        assert handle.used.code == "os.pread(self.file.fileno(), 16, APART * index)"


def test_one_worker_or_none_shares_with_nobody(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_bytes(bytes(APART * 65))
    for workers in (0, 1):
        assert not train(DataLoader(Rows(path, "seek"), batch_size=2, num_workers=workers)).of(SharedHandle)


class Entries(Dataset[torch.Tensor]):
    def __init__(self, archive: Path, base: Path) -> None:
        self.archive = zipfile.ZipFile(archive)
        self.base = sqlite3.connect(base)

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> torch.Tensor:
        file: Any = self.archive.fp
        file.seek(index)
        self.base.execute("select 1").fetchone()
        return torch.ones(4)


def reconnect(worker: int) -> None:
    info: Any = get_worker_info()
    info.dataset.base = sqlite3.connect(":memory:")


def test_archives_and_connections(tmp_path: Path) -> None:
    archive = tmp_path / "data.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("a", bytes(100))
    dataset = Entries(archive, tmp_path / "base.db")
    handles = train(DataLoader(dataset, batch_size=2, num_workers=2)).of(SharedHandle)
    found = {(handle.kind, handle.moves >= 0) for handle in handles}
    assert found == {("Connection", False), ("ZipFile", True)}
    again = train(DataLoader(dataset, batch_size=2, num_workers=2, worker_init_fn=reconnect)).of(SharedHandle)
    assert {handle.kind for handle in again} == {"ZipFile"}
