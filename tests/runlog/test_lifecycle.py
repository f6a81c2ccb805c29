"""What a writer leaves behind: a file, and nothing else."""

from __future__ import annotations

import multiprocessing
import os
import threading
from pathlib import Path

import psutil
import pytest

from tests.runlog.logs import event_file, faces, read, scalars, small_run, write
from torch_debugger.log.reader_records import LogFollower
from torch_debugger.log.writer import LogWriter

fork_only = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def test_thread_and_file_are_gone_after_close(tmp_path: Path) -> None:
    threads, files = threading.enumerate(), psutil.Process().num_fds()
    log = LogWriter(tmp_path, on_fault=print)
    log.add(scalars(1, "loss"))
    assert len(threading.enumerate()) == len(threads) + 1
    assert log._thread.daemon

    log.close()

    assert threading.enumerate() == threads
    assert psutil.Process().num_fds() == files


def test_a_follower_closes_its_files(tmp_path: Path) -> None:
    write(tmp_path, small_run())
    files = psutil.Process().num_fds()
    follower = LogFollower(tmp_path)
    follower.poll()
    assert psutil.Process().num_fds() == files + 1

    follower.close()

    assert psutil.Process().num_fds() == files


def test_close_twice_and_use_after_close_do_nothing(tmp_path: Path) -> None:
    log = LogWriter(tmp_path, on_fault=print)
    log.add(scalars(1, "loss"))
    log.close()
    log.close()
    log.add(scalars(2, "loss"))
    log.flush()

    assert faces(read(tmp_path)) == faces([scalars(1, "loss")])
    assert not log._waiting


def test_what_is_added_is_written_without_being_asked(tmp_path: Path) -> None:
    log = LogWriter(tmp_path, on_fault=print)
    follower = LogFollower(tmp_path)
    log.add(scalars(1, "loss"))
    pause = threading.Event()
    for _ in range(200):
        if got := follower.poll():
            break
        pause.wait(0.05)

    assert faces(got) == faces([scalars(1, "loss")])
    log.close()
    follower.close()


def test_the_threads_time_is_counted(tmp_path: Path) -> None:
    log = LogWriter(tmp_path, on_fault=print)
    for step in range(5000):
        log.add(scalars(step, "loss"))
    log.close()

    assert 0 < log.cpu_s < 60


def test_two_writers_in_one_folder_have_a_file_each(tmp_path: Path) -> None:
    one, two = (LogWriter(tmp_path, on_fault=print) for _ in range(2))
    for step in range(50):
        one.add(scalars(step, "one"))
        two.add(scalars(step, "two"))
    one.close()
    two.close()

    assert len(list(tmp_path.iterdir())) == 2
    expected = [scalars(step, name) for name in ("one", "two") for step in range(50)]
    assert faces(read(tmp_path)) == faces(expected)


def test_adding_from_several_threads_loses_nothing(tmp_path: Path) -> None:
    log = LogWriter(tmp_path, on_fault=print)

    def add_many(name: str) -> None:
        for step in range(3000):
            log.add(scalars(step, name))

    threads = [threading.Thread(target=add_many, args=(name,)) for name in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()

    records = read(tmp_path)
    for name in ("a", "b", "c"):
        own = [record for record in records if name in record.values]  # type: ignore[union-attr]
        assert faces(own) == faces([scalars(step, name) for step in range(3000)])


def use_in_fork(log: LogWriter) -> None:
    for step in range(100, 200):
        log.add(scalars(step, "of the fork"))
    assert not log._waiting  # what nobody will write must not pile up
    log.flush()
    log.close()
    assert not log._closing


@fork_only
def test_a_forked_process_never_touches_the_log(tmp_path: Path) -> None:
    log = LogWriter(tmp_path, on_fault=print)
    log.add(scalars(1, "loss"))
    log.flush()
    size = event_file(tmp_path).stat().st_size
    child = multiprocessing.get_context("fork").Process(target=use_in_fork, args=(log,))
    child.start()
    child.join(20)
    assert child.exitcode == 0
    assert event_file(tmp_path).stat().st_size == size

    log.add(scalars(2, "loss"))
    log.close()

    assert faces(read(tmp_path)) == faces([scalars(1, "loss"), scalars(2, "loss")])


@fork_only
def test_records_waiting_at_a_fork_are_written_once(tmp_path: Path) -> None:
    log = LogWriter(tmp_path, on_fault=print)
    expected = [scalars(step, "loss") for step in range(2000)]
    for record in expected:
        log.add(record)
        if record.step % 400 == 0:
            child = multiprocessing.get_context("fork").Process(target=log.close)
            child.start()
            child.join(20)
            assert child.exitcode == 0
    log.close()

    assert faces(read(tmp_path)) == faces(expected)
