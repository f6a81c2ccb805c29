"""torch-debugger view profile.prof: the command, and what it says of files that are none."""

from __future__ import annotations

import cProfile
from pathlib import Path

import pytest

from tests.cli.test_view import ask, port_in, started, view
from tests.viewer.serving import make_run
from torch_debugger.cli.view import read_profiles
from torch_debugger.system.errors import UsageError


def profile_at(path: Path) -> Path:
    profiler = cProfile.Profile()
    profiler.runcall(sorted, range(100))
    path.parent.mkdir(exist_ok=True)
    profiler.dump_stats(path)
    return path


def test_a_profile_is_shown_instead_of_runs(tmp_path: Path) -> None:
    profile_at(tmp_path / "a.prof")
    make_run(tmp_path / "runs" / "one")
    with started("view", "a.prof", "--no-open") as process:
        port = port_in(process.stdout)
        assert ask(port, "session")["profiles"] == ["a.prof"]
        assert ask(port, "names")["runs"] == []
        names = [row[0] for row in ask(port, "calls?profile=a.prof")["functions"]]
        assert "<built-in method builtins.sorted>" in names
        assert "no profile" in ask(port, "calls?profile=../a.prof")["error"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"torch", "a.prof is no profile: a profile as cProfile writes it"),
        (b"{(\x01\x00\x00\x00", "a.prof ends in the middle"),
        (b"{(\xff\xff\xff\x7fN", "a.prof was not read: a process with limits"),
    ],
)
def test_what_is_no_profile_is_said_in_one_line(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "a.prof").write_bytes(content)
    done = view("a.prof")
    assert done.returncode == 2
    assert sentence in done.stderr and done.stderr.count("\n") == 1


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    done = view("gone.prof")
    assert done.returncode == 2 and "There is no folder gone.prof" in done.stderr


def test_several_profiles_keep_apart(tmp_path: Path) -> None:
    one, other, third = (profile_at(tmp_path / name) for name in ("x/a.prof", "y/a.prof", "z/b.prof"))
    assert list(read_profiles([str(one), str(other), str(third)])) == [str(one), str(other), "b.prof"]
    assert read_profiles([str(tmp_path)]) == {}


def test_profiles_and_runs_are_not_mixed(tmp_path: Path) -> None:
    one = str(profile_at(tmp_path / "a.prof"))
    with pytest.raises(UsageError, match="a page shows profiles or runs"):
        read_profiles([one, "runs"])
