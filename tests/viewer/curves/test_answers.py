"""What the page is told of curves, from logs that were written."""

from __future__ import annotations

import base64
import csv
import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from torch_debugger.log.writer import LogWriter
from torch_debugger.records import BatchLook, HparamsFact, LoaderFact, Place, RunFact, Scalars
from torch_debugger.system.errors import DebuggerError
from torch_debugger.viewer.questions import File, Query, find_answer
from torch_debugger.viewer.shown_runs import ShownRuns

STARTED = 1.7e9


def write(folder: Path, curves: dict[str, list[float]], *records: Any) -> None:
    writer = LogWriter(folder, on_fault=print)
    writer.add(RunFact("train.py", (), "", 1, STARTED, "3", "2", "cpu", "0", 0.02, False))
    for record in records:
        writer.add(record)
    for step in range(max(map(len, curves.values()))):
        values = {tag: values[step] for tag, values in curves.items() if step < len(values)}
        writer.add(Scalars(step, STARTED + 10 + step / 2, values))
    writer.close()


def ask(root: Path, question: str, **given: str) -> Any:
    answer = find_answer(question)
    assert answer is not None
    return answer(Query(ShownRuns({"": str(root)}), given))


def unpack(packed: dict[str, str]) -> np.ndarray[Any, Any]:
    ((kind, text),) = packed.items()
    return np.frombuffer(base64.b64decode(text), f"<{kind}")


def test_every_number_of_a_small_curve_comes_as_it_was_logged(tmp_path: Path) -> None:
    values = [0.1, math.nan, 3.0, math.inf, -math.inf, 1e-30]
    write(tmp_path / "a", {"loss": values, "other": [1.0]})
    answer = ask(tmp_path, "scalars", run="a", tags="loss,nowhere")
    (curve,) = answer["curves"]
    assert unpack(curve["x"]).tolist() == [0, 1, 2, 3, 4, 5]
    np.testing.assert_array_equal(unpack(curve["y"]), np.array(values, np.float32))
    assert curve["notfinite"] == {"nan": 1, "inf": 1, "-inf": 1}
    assert (curve["points"], curve["extent"]) == (6, [0.0, 5.0])
    assert curve["values"] == pytest.approx([1e-30, 3.0])


def test_a_large_curve_comes_in_what_fits_the_picture(tmp_path: Path) -> None:
    values = np.sin(np.arange(20_000) / 100).tolist()
    values[777] = math.nan
    write(tmp_path / "a", {"loss": values})
    (whole,) = ask(tmp_path, "scalars", run="a", tags="loss", width="50")["curves"]
    assert len(unpack(whole["x"])) <= 50 * 7
    assert math.nan in [pytest.approx(each, nan_ok=True) for each in unpack(whole["y"]).tolist()]
    assert len(unpack(whole["means"]["x"])) <= 50
    (part,) = ask(tmp_path, "scalars", run="a", tags="loss", width="50", **{"from": "700", "to": "800"})["curves"]
    assert unpack(part["x"]).tolist() == list(range(699, 802))
    assert "means" not in part
    assert part["values"] == whole["values"] == pytest.approx([-1, 1], abs=1e-3)  # also of what is not in sight


def test_runs_are_overlaid_and_one_that_is_gone_is_told(tmp_path: Path) -> None:
    write(tmp_path / "a", {"loss": [1.0]})
    write(tmp_path / "b,c", {"loss": [2.0]})
    answer = ask(tmp_path, "scalars", runs='["a","b,c","gone"]', tags="loss")
    assert [(curve["run"], unpack(curve["y"]).tolist()) for curve in answer["curves"]] == [
        ("a", [1]),
        ("b,c", [2]),
    ]
    assert answer["missing"] == ["gone"]
    with pytest.raises(DebuggerError, match="gone"):
        ask(tmp_path, "scalars", run="gone", tags="loss")


@pytest.mark.parametrize("tags", ["[1]", "[", '{"a": 1}', "[null]"])
def test_a_list_that_is_none_is_refused_or_finds_nothing(tmp_path: Path, tags: str) -> None:
    write(tmp_path / "a", {"loss": [1.0]})
    if tags.startswith("["):
        with pytest.raises(DebuggerError, match="list of names"):
            ask(tmp_path, "scalars", run="a", tags=tags)
    else:
        assert ask(tmp_path, "scalars", run="a", tags=tags)["curves"] == []


def x_of(root: Path, kind: str) -> list[float]:
    (curve,) = ask(root, "scalars", run="a", tags="loss", x=kind)["curves"]
    return unpack(curve["x"]).tolist()


def axes(root: Path) -> list[str]:
    return [axis["kind"] for axis in ask(root, "tags", run="a")["axes"]]


def test_time_is_told_since_the_start_and_by_the_clock(tmp_path: Path) -> None:
    write(tmp_path / "a", {"loss": [1.0, 2.0, 3.0]})
    assert axes(tmp_path) == ["step", "relative", "time"]
    assert x_of(tmp_path, "relative") == [10, 10.5, 11]
    assert x_of(tmp_path, "time") == [STARTED + 10, STARTED + 10.5, STARTED + 11]
    with pytest.raises(DebuggerError, match="epoch"):
        x_of(tmp_path, "epoch")


def test_epochs_come_from_a_tag_of_that_name(tmp_path: Path) -> None:
    write(tmp_path / "a", {"loss": [1.0] * 6, "user/time/epoch": [0.0, 0, 1, 1, 2, 2], "loss_epoch": [9.0]})
    assert "epoch" in axes(tmp_path)
    assert x_of(tmp_path, "epoch") == [0, 0.5, 1, 1.5, 2, 2.5]


def test_a_loss_per_epoch_is_no_epoch(tmp_path: Path) -> None:
    write(tmp_path / "a", {"loss": [1.0] * 4, "train_loss_epoch": [1.0, 2, 3, 4], "epoch": [3.0, 1, 2, 0]})
    assert "epoch" not in axes(tmp_path)


def test_epochs_and_samples_come_from_the_loader_that_trains(tmp_path: Path) -> None:
    here = Place("train.py", 1)
    loaders = [
        LoaderFact("D", 4, 32, 0, True, here, 0, number=1),
        LoaderFact("V", 1, 99, 0, False, here, 0, number=2),
    ]
    looks = [BatchLook(1, 1 + step // 4, step % 4, True, (), step) for step in (0, 1, 4, 8)]
    write(tmp_path / "a", {"loss": [1.0] * 9}, *loaders, *looks)
    assert axes(tmp_path) == ["step", "epoch", "relative", "time", "samples"]
    assert x_of(tmp_path, "samples")[:3] == [0, 32, 64]
    assert x_of(tmp_path, "epoch") == pytest.approx([step / 4 for step in range(9)])


def test_runs_are_grouped_by_what_they_differ_in(tmp_path: Path) -> None:
    for name, rate, values in (("a", 0.1, [1.0, 3.0]), ("b", 0.1, [3.0, math.nan]), ("c", 0.5, [9.0, 9.0])):
        write(tmp_path / name, {"loss": values}, HparamsFact({"lr": rate, "layers": 3}, "args", 0))
    assert ask(tmp_path, "grouped", runs="a,b,c")["by"] == {"lr": ["0.1", "0.5"]}
    slow, quick = ask(tmp_path, "grouped", runs="a,b,c", tags="loss", by="lr")["groups"]
    assert (slow["value"], slow["runs"]) == ("0.1", ["a", "b"])
    assert unpack(slow["x"]).tolist() == [0, 1]
    assert unpack(slow["mean"]).tolist() == [2, 3]
    assert unpack(slow["std"]).tolist() == [1, 0]
    assert unpack(slow["count"]).tolist() == [2, 1]
    assert unpack(quick["mean"]).tolist() == [9, 9]


def test_groups_of_long_runs_have_as_many_points_as_the_picture(tmp_path: Path) -> None:
    for name, rate in (("a", 1.0), ("b", 2.0)):
        write(tmp_path / name, {"loss": [rate] * 5000}, HparamsFact({"lr": rate}, "args", 0))
    first, second = ask(tmp_path, "grouped", runs="a,b", tags="loss", by="lr", width="100")["groups"]
    assert len(unpack(first["x"])) == 100
    assert set(unpack(first["mean"]).tolist()) == {1.0}
    assert set(unpack(second["mean"]).tolist()) == {2.0}


def test_the_table_has_every_point_with_every_digit(tmp_path: Path) -> None:
    values = [0.1, math.nan, -math.inf, 1 / 3]
    write(tmp_path / "a", {'we"ird/\r\nname': values})
    file = ask(tmp_path, "points", run="a", tag='we"ird/\r\nname')
    assert isinstance(file, File)
    assert file.headers["Content-Disposition"] == 'attachment; filename="a-we-ird-name.csv"'
    head, *rows = csv.reader(io.StringIO(file.content.decode()))
    assert head == ["step", "seconds_since_1970", "value"]
    np.testing.assert_array_equal([float(row[2]) for row in rows], np.array(values, np.float32))
    assert [int(row[0]) for row in rows] == [0, 1, 2, 3]


def test_the_table_of_an_overlay_names_the_run_of_each_row(tmp_path: Path) -> None:
    write(tmp_path / "a", {"loss": [1.0, 2.0]})
    write(tmp_path / "b,c", {"loss": [3.0]})
    write(tmp_path / "without", {"other": [4.0]})
    file = ask(tmp_path, "points", runs='["a","b,c","without","gone"]', tag="loss")
    assert file.headers["Content-Disposition"] == 'attachment; filename="4-runs-loss.csv"'
    head, *rows = csv.reader(io.StringIO(file.content.decode()))
    assert head == ["run", "step", "seconds_since_1970", "value"]
    assert [(row[0], row[1], row[3]) for row in rows] == [
        ("a", "0", "1.0"),
        ("a", "1", "2.0"),
        ("b,c", "0", "3.0"),
    ]
