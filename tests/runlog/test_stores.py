from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from tests.runlog.logs import faces, read, small_run
from torch_debugger.log.object_stores import Store, fetch_new, is_url, list_files
from torch_debugger.log.reader_records import LogFollower
from torch_debugger.log.upload import Spool
from torch_debugger.log.writer import LogWriter, open_log
from torch_debugger.system.errors import DebuggerError

URL = "memory://bucket/runs/one"


@pytest.fixture(autouse=True)
def empty_memory() -> Iterator[None]:
    yield
    fsspec.filesystem("memory").store.clear()


def test_urls_are_told_from_folders() -> None:
    assert all(map(is_url, ("s3://bucket/runs", "gs://b", "memory://x", "file:///tmp/x", "abfs+x://y")))
    assert not any(map(is_url, ("runs", "/tmp/runs", Path("runs"), "C:\\runs", "C://runs", "odd:name", "")))


def test_a_place_where_nothing_was_written_is_empty() -> None:
    assert list_files(URL) == []


def test_files_are_listed_by_their_names_below_the_url() -> None:
    store = Store(URL + "/")
    store.write("b/events.out.tfevents.1", b"12345")
    store.write("a.json", b"{}")
    Store("memory://bucket/runs/one-more").write("other", b"")

    assert [(file.name, file.size) for file in list_files(URL)] == [
        ("a.json", 2),
        ("b/events.out.tfevents.1", 5),
    ]


def test_only_what_is_new_is_fetched(tmp_path: Path) -> None:
    store = Store(URL)
    store.write("a.json", b"{}")
    store.write("one/events.out.tfevents.1", b"12345")

    assert fetch_new(URL, tmp_path) == ["a.json", "one/events.out.tfevents.1"]
    assert fetch_new(URL, tmp_path) == []
    store.write("a.json", b"[]")
    assert fetch_new(URL, tmp_path) == ["a.json"]
    assert (tmp_path / "a.json").read_bytes() == b"[]"


def test_of_an_event_file_that_has_grown_only_the_rest_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(URL)
    store.write("events.out.tfevents.1", b"12345")
    fetch_new(URL, tmp_path)
    asked = []
    read_as_before = Store.read
    monkeypatch.setattr(
        Store, "read", lambda self, name, start=0: asked.append(start) or read_as_before(self, name, start)
    )
    store.write("events.out.tfevents.1", b"1234567")
    fetch_new(URL, tmp_path)

    assert asked == [5]
    assert (tmp_path / "events.out.tfevents.1").read_bytes() == b"1234567"


def test_a_copy_is_followed_while_it_grows(tmp_path: Path) -> None:
    log = open_log(URL, on_fault=print)
    assert isinstance(log, LogWriter)
    follower, got = LogFollower(tmp_path), []
    for record in small_run():
        log.add(record)
        LogWriter.flush(log)
        log._spool.mirror._send_changed()  # type: ignore[attr-defined]
        fetch_new(URL, tmp_path)
        got += follower.poll()
    log.close()
    follower.close()

    assert faces(got) == faces(small_run())


def test_a_name_that_leads_out_of_the_folder_is_left_alone(tmp_path: Path) -> None:
    fsspec.filesystem("memory").store["/bucket/runs/one/../../evil"] = fsspec.filesystem("memory").open(
        "memory://x", "wb"
    )

    assert fetch_new(URL, tmp_path / "copy") == []
    assert not (tmp_path / "evil").exists()


def test_a_torn_list_of_what_was_fetched_only_costs_time(tmp_path: Path) -> None:
    Store(URL).write("a.json", b"{}")
    fetch_new(URL, tmp_path)
    (tmp_path / ".fetched.json").write_text('{"a.js')

    assert fetch_new(URL, tmp_path) == ["a.json"]


def test_a_missing_library_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(DebuggerError) as refused:
        Spool("gs://bucket/run", print)

    assert str(refused.value) == (
        "gs://bucket/run needs the library gcsfs, which is not installed. Get it with `pip install gcsfs`."
    )


def test_an_unknown_protocol_is_refused() -> None:
    with pytest.raises(DebuggerError, match=r"^nowhere://x is no place that fsspec knows: Protocol not known"):
        Store("nowhere://x")


def test_a_folder_is_written_as_ever(tmp_path: Path) -> None:
    log = open_log(tmp_path, on_fault=print, suffix=".mine")
    for record in small_run():
        log.add(record)
    log.close()

    assert faces(read(tmp_path)) == faces(small_run())
