"""No file is bad enough to raise, and what could not be read is told."""

from __future__ import annotations

import gzip
import os
import random
from pathlib import Path

import pytest

from tests.runlog.logs import event_file, scalars, write
from torch_debugger.log.protobuf import RECORD_TAG, ROWS_TAG, bytes_field, plugin_metadata, string_tensor, tensor_event
from torch_debugger.log.run import Run
from torch_debugger.log.runs import runs
from torch_debugger.log.scalar_events import scalar_events
from torch_debugger.log.tfrecord import frame
from torch_debugger.records import EndFact, Notice, RunFact, Scalars

NAME = "events.out.tfevents.1"


def run_of(folder: Path, data: bytes) -> Run:
    folder.mkdir(exist_ok=True)
    (folder / NAME).write_bytes(data)
    return Run(folder)


def look_at_everything(run: Run) -> None:
    """Every public answer, asked for."""
    for kind, tags in run.tags.items():
        for tag in tags:
            reader = getattr(run, kind, None)
            if callable(reader):
                reader(tag)
    _ = run.findings, run.verdict, run.status, run.steps, run.hparams, run.facts, run.ranks, run.damage
    _ = run.rows("activation"), list(run.records()), run.duration_s, run.to_pandas(), repr(run), run.poll()


@pytest.mark.parametrize(
    "data",
    [gzip.compress(b"x" * 500), b"<html>not found</html>" * 9, bytes(4096), random.Random(1).randbytes(9999)],
    ids=["gzip", "a page", "zeros", "noise"],
)
def test_another_kind_of_file_with_the_name_of_an_event_file(tmp_path: Path, data: bytes) -> None:
    run = run_of(tmp_path, data)

    look_at_everything(run)

    assert run.tags == {}
    assert run.damage == [f"{NAME} is no event file in spite of its name; nothing was read from it."]


def test_an_empty_file_is_fine(tmp_path: Path) -> None:
    run = run_of(tmp_path, b"")

    look_at_everything(run)

    assert run.tags == {} and run.damage == [] and run.status == "unknown"


def test_a_torn_tail_is_told_and_read_when_the_rest_comes(tmp_path: Path) -> None:
    data = frame(scalar_events([scalars(step, "loss") for step in range(20)]))
    run = run_of(tmp_path, data[:-5])

    assert len(run.scalars("loss")) == 19
    (sentence,) = run.damage
    assert sentence.startswith(f"{NAME} ends in the middle of an event: its last ")

    (tmp_path / NAME).write_bytes(data)
    assert run.poll()
    assert len(run.scalars("loss")) == 20 and run.damage == []


def test_damage_is_told_with_its_place(tmp_path: Path) -> None:
    one = frame(scalar_events([scalars(1, "loss")]))
    run = run_of(tmp_path, one * 3 + bytes(50) + one)

    assert len(run.scalars("loss")) == 3
    assert run.damage == [
        f"{NAME} is damaged at byte {3 * len(one)} of {4 * len(one) + 50}: a checksum does not fit. "
        "What stands before it was read, nothing behind it."
    ]


def test_events_that_are_none_are_counted(tmp_path: Path) -> None:
    dice = random.Random(0)
    noise = frame([dice.randbytes(size) for size in [40] * 50 + [1, 2, 3]])
    run = run_of(tmp_path, noise + frame(scalar_events([scalars(1, "loss")])))

    look_at_everything(run)

    assert len(run.scalars("loss")) == 1
    assert run.damage and "are none of TensorBoard's" in run.damage[0]


@pytest.mark.parametrize("count", [1, 20], ids=["alone", "in columns"])
@pytest.mark.parametrize(
    "tag",
    [
        "a\nb",
        "\x1b[31mred",
        "../../etc/passwd",
        "x" * 100_000,
        "\u202egnp",
        "",
        f"{ROWS_TAG}0",
        f"{RECORD_TAG}RunFact",
    ],
)
def test_hostile_tags_are_tags(tmp_path: Path, tag: str, count: int) -> None:
    run = run_of(tmp_path, frame(scalar_events([Scalars(step, 1.0, {tag: 2.0}) for step in range(count)])))

    look_at_everything(run)

    assert run.tags == {"scalars": [tag]}
    assert run.scalars(tag).values.tolist() == [2.0] * count


def test_tags_that_are_no_text_stay_apart(tmp_path: Path) -> None:
    payloads = [
        event.replace(b"XX", odd) for odd in (b"\xff\xfe", b"\xff\xfd") for event in scalar_events([scalars(1, "XX")])
    ]
    run = run_of(tmp_path, frame(payloads * 15))

    look_at_everything(run)

    assert len(run.tags["scalars"]) == 2
    assert [len(run.scalars(tag)) for tag in run.tags["scalars"]] == [15, 15]


@pytest.mark.parametrize(
    "text",
    [
        b"", b"null", b"[]", b"{}", b"not json", b'{"outcome": {}, "steps": "many", "counted": 7}',
        b'{"outcome":"finished","steps":"nine","counted":"x"}', b"[" * 100_000,
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", [EndFact, RunFact, Notice])
def test_strangers_with_our_tags_are_no_facts(tmp_path: Path, kind: type, text: bytes) -> None:
    event = tensor_event(1.0, 1, RECORD_TAG + kind.__name__, string_tensor(text), plugin_metadata())
    rows = tensor_event(1.0, 1, f"{ROWS_TAG}0", string_tensor(text), plugin_metadata(text))
    run = run_of(tmp_path, frame([event, rows]))

    look_at_everything(run)

    assert run.facts.run is None and run.facts.end is None
    assert run.status == "unknown"


def test_wrong_kinds_in_a_run_fact_are_no_process(tmp_path: Path) -> None:
    plain = (
        b'{"script":"a.py","arguments":[],"folder":"/","pid":"1","started":"now","python":"3","torch":"2",'
        b'"device":"cpu","debugger":"1","budget":0.1,"names_accelerator":false}'
    )
    run = run_of(tmp_path, frame([tensor_event(1.0, 1, f"{RECORD_TAG}RunFact", string_tensor(plain))]))

    look_at_everything(run)

    assert run.facts.run is None


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"findings": 3, "outcome": 1}', '{"findings":[{"name":1}],"outcome":"x"}']
)
def test_a_result_that_is_none_is_not_believed(tmp_path: Path, text: str) -> None:
    write(tmp_path, [Notice("hello", 1), EndFact("finished", 3, "optimizer steps")])
    (tmp_path / "result.json").write_text(text)
    run = Run(tmp_path)

    look_at_everything(run)

    assert run.status == "finished" and run.steps == 3


def test_a_file_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    long, short = (
        frame(scalar_events([Scalars(step, 1.0, {tag: step}) for step in range(count)]))
        for tag, count in [("old", 50), ("new", 20)]
    )
    run = run_of(tmp_path, long)
    assert len(run.scalars("old")) == 50

    (tmp_path / NAME).write_bytes(short)  # shorter, in the same place

    assert run.poll()
    assert run.tags == {"scalars": ["new"]}

    (tmp_path / NAME).write_bytes(long + short)  # longer, with another beginning
    assert run.poll()
    assert run.tags == {"scalars": ["old", "new"]}


def test_a_file_that_was_emptied_has_nothing_left(tmp_path: Path) -> None:
    run = run_of(tmp_path, frame(scalar_events([scalars(1, "loss")])))
    assert run.tags == {"scalars": ["loss"]}

    (tmp_path / NAME).write_bytes(b"")

    assert run.poll()
    assert run.tags == {} and run.damage == []


@pytest.mark.parametrize("count", [1, 20], ids=["alone", "in columns"])
def test_a_tag_twice_in_an_event_is_its_last_value(tmp_path: Path, count: int) -> None:
    (event,) = scalar_events([Scalars(1, 1.0, {"aa": 1.0, "bb": 2.0})])
    run = run_of(tmp_path, frame([event.replace(b"bb", b"aa")] * count))

    assert run.scalars("aa").values.tolist() == [2.0] * count


def test_a_file_that_is_gone_keeps_what_was_read(tmp_path: Path) -> None:
    write(tmp_path, [scalars(1, "loss")])
    run = Run(tmp_path)
    assert len(run.scalars("loss")) == 1

    event_file(tmp_path).unlink()

    assert not run.poll()
    assert len(run.scalars("loss")) == 1
    assert "cannot be read" in run.damage[0]
    look_at_everything(run)


def test_a_file_that_may_not_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object, **options: object) -> object:
        raise PermissionError(13, "Permission denied")

    run = run_of(tmp_path, frame(scalar_events([scalars(1, "loss")])))
    with monkeypatch.context() as patch:
        patch.setattr("builtins.open", refuse)
        assert run.tags == {}
    assert run.damage == [f"{NAME} cannot be read (Permission denied)."]
    assert run.poll() and len(run.scalars("loss")) == 1


def test_what_is_no_plain_file_is_never_opened(tmp_path: Path) -> None:
    """A pipe would wait for its writer for ever."""
    os.mkfifo(tmp_path / NAME)
    (tmp_path / "events.out.tfevents.2").symlink_to("events.out.tfevents.2")
    (tmp_path / "events.out.tfevents.3").mkdir()
    run = Run(tmp_path)

    look_at_everything(run)

    assert run.tags == {} and len(runs(tmp_path)) == 0


def test_a_claim_of_more_bytes_than_there_are_waits(tmp_path: Path) -> None:
    from torch_debugger.log.tfrecord import _head

    run = run_of(tmp_path, frame(scalar_events([scalars(1, "loss")])) + _head(2**62) + b"x" * 100)

    look_at_everything(run)

    assert len(run.scalars("loss")) == 1
    assert run.damage[0].startswith(f"{NAME} ends in the middle of an event")


def test_a_summary_with_a_wrong_kind_of_field_is_left_out(tmp_path: Path) -> None:
    odd = bytes_field(5, bytes_field(1, bytes_field(1, b"tag"), bytes_field(2, b"12345")))
    run = run_of(tmp_path, frame([odd] * 20))

    look_at_everything(run)

    assert run.tags == {}
    assert "20 events" in run.damage[0]
