"""Files of cProfile's: what they hold arrives, and what is none is said in a sentence."""

from __future__ import annotations

import cProfile
import marshal
import math
import os
import profile
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from tests.viewer.asking import ask
from torch_debugger.system.errors import DebuggerError, UsageError
from torch_debugger.viewer import traces as reading
from torch_debugger.viewer.read_cprofile import MOST_FUNCTIONS, MisfitError, profile_in
from torch_debugger.viewer.shown_runs import ShownRuns
from torch_debugger.viewer.traces import is_call_profile, read_call_profile

ANEW = "Make one with: python -m cProfile -o profile.prof train.py"


def work() -> int:
    time.sleep(0.01)
    return walk(12) + walk(10)


def walk(number: int) -> int:
    return number if number < 2 else walk(number - 1) + walk(number - 2)


def made(path: Path, profiler: Any) -> dict[str, Any]:
    profiler.runcall(work)
    profiler.dump_stats(str(path))
    return read_call_profile(str(path))


def named(told: dict[str, Any], name: str) -> list[Any]:
    return next(row for row in told["functions"] if row[0] == name)


@pytest.mark.parametrize("profiler", [cProfile.Profile, profile.Profile])
def test_functions_have_their_calls_times_and_places(tmp_path: Path, profiler: Any) -> None:
    told = made(tmp_path / "a.prof", profiler())
    _, file, line, primitive, calls, own_s, total_s = named(told, "walk")
    assert file == __file__ and line == walk.__code__.co_firstlineno
    assert primitive == 2 and calls == 465 + 177  # each is 2 fib(n + 1) - 1
    assert 0 < own_s <= total_s * 1.001 < told["total_s"] * 1.002
    assert told["left_out"] == 0 and told["calls"] >= calls


def test_who_called_whom_is_told_with_times(tmp_path: Path) -> None:
    told = made(tmp_path / "a.prof", cProfile.Profile())
    names = [row[0] for row in told["functions"]]
    edges = {(names[caller], names[callee]): rest for caller, callee, *rest in told["edges"]}
    calls, own_s, total_s = edges["work", "<built-in method time.sleep>"]
    assert calls == 1 and own_s >= 0.009 and total_s >= 0.009
    assert edges["work", "walk"][0] == 2 and edges["walk", "walk"][0] > 600
    assert named(told, "<built-in method time.sleep>")[1:3] == ["", 0]


def test_of_very_many_functions_the_dearest_are_kept() -> None:
    stats = {("f.py", n, f"f{n}"): (1, 1, 1.0 * n, 1.0 * n, {("f.py", 0, "f0"): (1, 1, 1.0, 1.0)}) for n in range(6000)}
    told = profile_in(stats)
    assert len(told["functions"]) == MOST_FUNCTIONS and told["left_out"] == 1000
    assert told["functions"][0][0] == "f5999" and told["edges"] == []
    assert told["total_s"] == sum(range(6000))


def test_what_python_2_wrote_is_bytes_and_reads_too() -> None:
    told = profile_in({(b"f.py", 3, b"f"): (1, 1, 0.5, 0.5, {})})
    assert told["functions"] == [["f", "f.py", 3, 1, 1, 0.5, 0.5]]


@pytest.mark.parametrize(
    ("stats", "said"),
    [
        ([1], "a list and no dictionary"),
        ({1: 2}, "a key that is 1 and not"),
        ({("f", 1): 2}, "a key that is a tuple of 2"),
        ({("f", "x", "g"): 2}, "a key whose line is of type str"),
        ({("f", True, "g"): 2}, "a key whose line is of type bool"),
        ({(None, 1, "g"): 2}, "a name that is of type NoneType"),
        ({("f", 1, "g"): 2}, "a function whose numbers are 2 and"),
        ({("f", 1, "g"): (1, 1, 0.0, 0.0, [])}, "a function whose numbers are a tuple of 5"),
        ({("f", 1, "g"): (-1, 1, 0.0, 0.0, {})}, "a count that is -1"),
        ({("f", 1, "g"): (1, 1, math.nan, 0.0, {})}, "a time that is nan"),
        ({("f", 1, "g"): (1, 1, math.inf, 0.0, {})}, "a time that is inf"),
        ({("f", 1, "g"): (1, 1, 0.0, 0.0, {("f", 1, "g"): "x"})}, "a caller whose numbers are of type str"),
    ],
)
def test_what_is_no_profile_is_named(stats: Any, said: str) -> None:
    with pytest.raises(MisfitError) as caught:
        profile_in(stats)
    assert said in str(caught.value)


def laughs() -> bytes:
    """A key of some hundred bytes that takes ages to hash."""
    value: Any = "x"
    for _ in range(60):
        value = (value, value)
    return b"{" + marshal.dumps(value) + b"N0"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "this file is empty"),
        (b'{"traceEvents": []}', "this begins like JSON"),
        (b"\x1f\x8b\x08aaaa", "this begins like a gzip file"),
        (b"PK\x03\x04aaaa", "this begins like a zip archive, such as torch.save writes"),
        (b"\x80\x04aaaa", "this begins like a pickle"),
        (b"import torch\n", "this is text"),
        (b"\x01\x02\x03\x04\x05", "this begins with the bytes 01 02 03 04"),
        (marshal.dumps({1: 2}), "this holds a key that is 1"),
        (marshal.dumps({}), "without a single function"),
        (b"\xfb(\x01\x00\x00\x00\x02", "cannot read it"),
        (b"{" + b")\x01" * 100_000, "cannot read it"),
        (b"{(\xff\xff\xff\x7fN", "was not read"),
    ],
)
def test_a_file_of_another_kind_is_told_with_what_to_do(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "a.prof"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read_call_profile(str(path))
    assert said in str(caught.value) and str(caught.value).endswith(ANEW)
    assert str(path) in str(caught.value)


def test_a_truncated_file_is_told_as_one(tmp_path: Path) -> None:
    path = tmp_path / "a.prof"
    made(path, cProfile.Profile())
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(UsageError) as caught:
        read_call_profile(str(path))
    assert "ends in the middle: a profile as cProfile writes it" in str(caught.value)


def test_bytes_of_another_python_name_this_one(tmp_path: Path) -> None:
    path = tmp_path / "a.prof"
    path.write_bytes(b"{(\x03\x00\x00\x00" + b"\x03")
    with pytest.raises(UsageError) as caught:
        read_call_profile(str(path))
    assert "another version of Python wrote it: open it with that one" in str(caught.value)
    assert "begins like a profile, but Python 3." in str(caught.value)


def test_a_file_that_never_ends_reading_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_PATIENCE_S", 1.0)
    path = tmp_path / "a.prof"
    path.write_bytes(laughs())
    with pytest.raises(UsageError) as caught:
        read_call_profile(str(path))
    assert "was not read: a process with limits on time and memory" in str(caught.value)


def test_too_large_a_file_is_not_even_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.prof"
    made(path, cProfile.Profile())
    monkeypatch.setattr(reading, "_MOST_BYTES", 10)
    with pytest.raises(UsageError, match="profiles of up to 0 MB are opened"):
        read_call_profile(str(path))


def test_profiles_are_known_by_name_or_content(tmp_path: Path) -> None:
    (tmp_path / "a.prof").write_text("anything")
    (tmp_path / "stats").write_bytes(marshal.dumps({("f", 1, "g"): (1, 1, 0.0, 0.0, {})}))
    (tmp_path / "train.py").write_text("{}")
    (tmp_path / "events").write_bytes(b"{" + bytes(7) + b"abcd")  # 123 bytes long, says TensorBoard
    os.mkdir(tmp_path / "folder.prof")
    known = [name for name in sorted(os.listdir(tmp_path)) if is_call_profile(str(tmp_path / name))]
    assert known == ["a.prof", "stats"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.prof"
    path.write_bytes(b"{")
    path.chmod(stat.S_IWUSR)
    with pytest.raises(UsageError, match="cannot be read"):
        read_call_profile(str(path))


def test_the_page_asks_for_one_of_those_that_are_shown(tmp_path: Path) -> None:
    shown_runs = ShownRuns({})
    shown_runs.call_profiles["a.prof"] = made(tmp_path / "a.prof", cProfile.Profile())
    assert ask(shown_runs, "session")["profiles"] == ["a.prof"]
    told = ask(shown_runs, "calls", profile="a.prof")
    assert told["file"] == "a.prof" and named(told, "work")
    with pytest.raises(DebuggerError, match=r"no profile 'b\.prof' among what is shown"):
        ask(shown_runs, "calls", profile="b.prof")
