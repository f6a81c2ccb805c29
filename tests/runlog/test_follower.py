from __future__ import annotations

import shutil
from pathlib import Path

from tests.runlog.logs import event_file, faces, scalars, small_run, write
from torch_debugger.log.reader_records import LogFollower
from torch_debugger.log.writer import LogWriter
from torch_debugger.records import Notice, Record


def test_each_record_is_given_once_as_it_comes(tmp_path: Path) -> None:
    follower = LogFollower(tmp_path)
    log = LogWriter(tmp_path, on_fault=print)
    got = []
    for record in small_run():
        log.add(record)
        log.flush()
        news = follower.poll()
        assert faces(news) == faces([record])
        got += news
    log.close()
    assert follower.poll() == []
    assert faces(got) == faces(small_run())
    follower.close()


def test_a_record_half_written_waits_for_its_rest(tmp_path: Path) -> None:
    write(tmp_path / "whole", small_run())
    data = event_file(tmp_path / "whole").read_bytes()
    growing = tmp_path / "growing"
    growing.mkdir()
    follower, got = LogFollower(growing), []
    with (growing / "events.out.tfevents.1").open("wb", buffering=0) as file:
        for start in range(0, len(data), 7):
            file.write(data[start : start + 7])
            got += follower.poll()
    assert faces(got) == faces(small_run())
    follower.close()


def test_the_folder_may_come_later_and_files_after_that(tmp_path: Path) -> None:
    folder = tmp_path / "later"
    follower = LogFollower(folder)
    assert follower.poll() == []

    write(folder, [scalars(1, "loss")])
    assert faces(follower.poll()) == faces([scalars(1, "loss")])

    write(folder, [scalars(2, "loss")])
    assert faces(follower.poll()) == faces([scalars(2, "loss")])
    follower.close()


def test_a_log_deleted_in_mid_run_is_read_to_its_end(tmp_path: Path) -> None:
    folder = tmp_path / "deleted"
    log = LogWriter(folder, on_fault=lambda sentence: None)
    follower = LogFollower(folder)
    log.add(scalars(1, "loss"))
    log.flush()
    assert len(follower.poll()) == 1

    shutil.rmtree(folder)
    log.add(scalars(2, "loss"))
    log.close()

    assert faces(follower.poll()) == faces([scalars(2, "loss")])
    follower.close()


def test_a_record_larger_than_what_is_read_at_once(tmp_path: Path) -> None:
    long = Notice("x" * 5_000_000, 1)
    records: list[Record] = [scalars(0, "loss"), long, scalars(2, "loss")]
    write(tmp_path, records)
    follower = LogFollower(tmp_path)

    assert faces(follower.poll()) == faces(records)
    follower.close()


def test_damage_is_waited_at_and_never_passed(tmp_path: Path) -> None:
    write(tmp_path, small_run())
    path = event_file(tmp_path)
    sound = path.read_bytes()
    path.write_bytes(sound[:200] + bytes([sound[200] ^ 1]) + sound[201:])
    follower = LogFollower(tmp_path)

    before = follower.poll()

    assert len(before) < len(small_run())
    assert follower.poll() == []
    path.write_bytes(sound)  # as a network file system does when the data follow the size
    assert faces(before + follower.poll()) == faces(small_run())
    follower.close()
