"""Logs in an object store: complete there at the end, or complete here with a sentence that says so."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runlog.logs import faces, read, scalars
from tests.runlog.s3 import Server, running_server
from tests.runlog.test_faults import wait_until
from torch_debugger.log import upload as mirror
from torch_debugger.log.object_stores import Store, fetch_new, list_files
from torch_debugger.log.writer import open_log
from torch_debugger.records import Record

URL = "s3://logs/runs/one"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(mirror, "_EVERY_S", 0.05)
    monkeypatch.setattr(mirror, "_RETRY_S", 0.1)
    with running_server(monkeypatch) as server:
        yield server


def many() -> list[Record]:
    return [scalars(step, "loss") for step in range(3000)]


def watch_sending(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are sent from here on."""
    sent: list[str] = []
    write_as_before = Store.write
    monkeypatch.setattr(Store, "write", lambda self, name, data: sent.append(name) or write_as_before(self, name, data))
    return sent


@pytest.mark.usefixtures("server")
def test_a_log_on_s3_reads_like_one_in_a_folder(tmp_path: Path) -> None:
    faults: list[str] = []
    log = open_log(URL, on_fault=faults.append, rotate_bytes=30_000)
    for record in many():
        log.add(record)
        if record.step % 500 == 0:  # type: ignore[union-attr]
            log.flush()
    (Path(log.folder) / "result.json").write_text("{}")
    log.close()

    fetch_new(URL, tmp_path)
    assert faults == []
    assert faces(read(tmp_path)) == faces(many())
    assert (tmp_path / "result.json").read_text() == "{}"
    assert len([file for file in list_files(URL) if "tfevents" in file.name]) > 2
    assert not Path(log.folder).exists()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("torch_debugger")]


@pytest.mark.usefixtures("server")
def test_full_files_are_sent_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = watch_sending(monkeypatch)
    log = open_log(URL, on_fault=print, rotate_bytes=10_000)
    for record in many():
        log.add(record)
        if record.step % 300 == 299:  # type: ignore[union-attr]
            log.flush()
            wait_until(log._spool.mirror._bell.empty)  # type: ignore[attr-defined]
    log.close()

    names = [file.name for file in list_files(URL)]
    assert len(names) > 5
    assert len(sent) < 3 * len(names)


def test_a_server_that_dies_and_comes_back_gets_all(server: Server, tmp_path: Path) -> None:
    faults: list[str] = []
    log = open_log(URL, on_fault=faults.append, rotate_bytes=30_000)
    records = many()
    for record in records[:1000]:
        log.add(record)
    log.flush()
    wait_until(lambda: len(list_files(URL)) > 0)

    server.stop()
    for record in records[1000:2000]:
        log.add(record)
    log.flush()
    wait_until(lambda: len(faults) > 0)

    server.start()
    for record in records[2000:]:
        log.add(record)
    log.close()

    (fault,) = faults
    assert fault.startswith(f"{URL} could not be written to: ")
    assert fault.endswith(" It is tried again while the run goes on.")
    fetch_new(URL, tmp_path)
    assert faces(read(tmp_path)) == faces(records)


def test_a_server_that_stays_dead_leaves_the_log_here(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "CLOSE_WAIT_S", 0.5)
    faults: list[str] = []
    log = open_log(URL, on_fault=faults.append)
    server.stop()
    for record in many():
        log.add(record)
    log.close()
    log.close()

    assert faults[1:] == [
        f"Not all of the log could be sent to {URL}. It is whole in {log.folder}; send the rest with: "
        f"python -m torch_debugger.log.upload {log.folder} {URL}"
    ]
    assert faces(read(Path(log.folder))) == faces(many())
    server.start()
    monkeypatch.setattr(mirror, "CLOSE_WAIT_S", 20.0)
    assert mirror.main(log.folder, URL) == 0
    fetch_new(URL, tmp_path)
    assert faces(read(tmp_path)) == faces(many())


@pytest.mark.usefixtures("server")
def test_what_is_there_already_is_not_sent_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("events.out.tfevents.1", "events.out.tfevents.2", ".result.json.part"):
        (tmp_path / name).write_bytes(b"123")
    Store(URL).write("events.out.tfevents.1", b"123")
    sent = watch_sending(monkeypatch)

    assert mirror.main(str(tmp_path), URL) == 0

    assert sent == ["events.out.tfevents.2"]


ENDS_WITHOUT_CLOSE = """
import atexit, sys, time
from torch_debugger.log.writer import open_log

log = open_log(sys.argv[1], on_fault=print)
atexit.register(log.close)
log.add_scalar("loss", 1.0, 1, 5.0)
"""


def test_a_log_closed_while_the_interpreter_ends_arrives(server: Server, tmp_path: Path) -> None:
    command = [sys.executable, "-c", ENDS_WITHOUT_CLOSE, URL]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    fetch_new(URL, tmp_path)
    assert [record.step for record in read(tmp_path)] == [1]  # type: ignore[union-attr]


@pytest.mark.usefixtures("server")
def test_two_writers_of_one_place_keep_out_of_each_others_way(tmp_path: Path) -> None:
    logs = [open_log(URL, on_fault=print) for _ in range(2)]
    for number, log in enumerate(logs):
        log.add(scalars(number, "loss"))
    for log in logs:
        log.close()

    fetch_new(URL, tmp_path)
    assert faces(read(tmp_path)) == faces([scalars(0, "loss"), scalars(1, "loss")])


@pytest.mark.usefixtures("server")
def test_a_store_that_never_answers_holds_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror, "CLOSE_WAIT_S", 0.2)
    faults: list[str] = []
    log = open_log(URL, on_fault=faults.append)
    may_go = threading.Event()
    monkeypatch.setattr(Store, "write", lambda self, name, data: may_go.wait(60) and None)
    for record in many():
        log.add(record)
    log.close()

    assert [fault.split(".")[0] for fault in faults] == [f"Not all of the log could be sent to {URL}"]
    may_go.set()
