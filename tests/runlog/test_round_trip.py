from __future__ import annotations

import json
from pathlib import Path
from typing import get_args, get_type_hints

import msgspec
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.runlog.logs import LAYERS, event_file, face, faces, read, rows, scalars, small_run, write
from torch_debugger.log.decoder_records import Decoder
from torch_debugger.log.encoder import Encoder
from torch_debugger.log.tfrecord import frame, unframe
from torch_debugger.records import LoggedSummary, Record, Scalars, Table, TensorRows, TensorSummary
from torch_debugger.records.codec import to_plain
from torch_debugger.system.redaction import redact_plain
from torch_debugger.system.secret_names import forget

JSON_KINDS = [kind for kind in get_args(Record) if kind not in (Scalars, TensorRows, LoggedSummary)]

any_float = st.floats(width=32)
any_scalars = st.builds(
    Scalars,
    step=st.integers(-(2**63), 2**63 - 1),
    time=st.floats(allow_nan=False),
    values=st.dictionaries(st.text(max_size=12), any_float, max_size=5),
)
small_tables = st.builds(
    Table,
    kind=st.text(max_size=5),
    root=st.text(max_size=5),
    names=st.lists(st.text(max_size=5), max_size=4).map(tuple),
    columns=st.lists(st.text(max_size=5), max_size=4).map(tuple),
)


@st.composite
def any_rows(draw: st.DrawFn) -> TensorRows:
    table = draw(small_tables)
    numbers = draw(st.lists(any_float, min_size=16, max_size=16))
    size = len(table.names) * len(table.columns)
    values = np.array(numbers[:size], np.float32).reshape(len(table.names), len(table.columns))
    return TensorRows(draw(st.integers(0, 2**40)), table, values)


def through_bytes(records: list[Record]) -> list[Record]:
    forget()  # one example's text may be what an earlier one had under a secret's name
    faults: list[str] = []
    encoder = Encoder(10**9, faults.append)
    data = encoder.start() + encoder.encode(records)
    payloads = unframe(data)
    decoder = Decoder()
    assert faults == []
    assert frame(payloads) == data
    return [record for payload in payloads for record in decoder.decode(payload)]


def holds_secrets(record: Record) -> bool:
    """Hypothesis takes words from our own sources, `secret` among them: such a record comes back masked."""
    forget()
    plain = to_plain(record)
    return json.dumps(redact_plain(plain)) != json.dumps(plain)


@given(st.lists(st.one_of(any_scalars, any_rows()), max_size=12))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_scalars_and_rows_come_back_in_order(records: list[Record]) -> None:
    assert faces(through_bytes(records)) == faces(records)


def test_every_other_record_comes_back() -> None:
    for kind in records_within(msgspec.Struct):
        st.register_type_strategy(kind, built)
    for kind in JSON_KINDS:
        _comes_back(kind)


def records_within(base: type) -> list[type]:
    below = [inner for kind in base.__subclasses__() for inner in (kind, *records_within(kind))]
    return [kind for kind in below if kind.__module__.startswith("torch_debugger.records")]


def built(kind: type) -> st.SearchStrategy[object]:
    """Hypothesis would take msgspec's mark for a default that is made anew, such as a dict, for the default itself."""
    hints = get_type_hints(kind)
    anew = [field.name for field in msgspec.structs.fields(kind) if field.default_factory is not msgspec.NODEFAULT]
    return st.builds(kind, **{name: st.from_type(hints[name]) for name in anew})


def _comes_back(kind: type) -> None:
    @given(st.builds(kind))
    @settings(max_examples=4, deadline=None, derandomize=True)
    def comes_back(record: Record) -> None:
        assume(not holds_secrets(record))

        (back,) = through_bytes([record])

        assert type(back) is kind
        assert face(back) == face(record)

    comes_back()


def test_a_log_gives_back_what_was_added(tmp_path: Path) -> None:
    assert write(tmp_path, small_run()) == []

    assert faces(read(tmp_path)) == faces(small_run())


def test_order_is_kept_across_forms_and_batches(tmp_path: Path) -> None:
    records = [record for step in range(1500) for record in (scalars(step, "loss"), scalars(step, "a", "b"))]
    records[700:700] = [rows(700), *small_run()]

    write(tmp_path, records)

    assert faces(read(tmp_path)) == faces(records)


def test_events_of_one_length_with_other_tags_are_told_apart(tmp_path: Path) -> None:
    tags = [(f"loss/{letter}", "lr/0") for letter in "abcdefghijkl"] + [("lr/0", "loss/a")]
    records = [scalars(step, *tags[step % len(tags)]) for step in range(100)]

    write(tmp_path, records)

    assert faces(read(tmp_path)) == faces(records)


def test_a_number_too_large_for_float32_stays_finite_and_is_said_once_a_tag(tmp_path: Path) -> None:
    large = Scalars(1, 0.0, {"loss": 1e300, "low": -1e300, "inf": float("inf")})
    faults = write(tmp_path, [large])
    faults += write(tmp_path / "more", [large, large])

    (back,) = read(tmp_path)

    largest = float(np.finfo(np.float32).max)
    assert isinstance(back, Scalars)
    assert back.values == {"loss": largest, "low": -largest, "inf": float("inf")}
    assert faults == 2 * [
        "The log holds 3.4e+38 for numbers of the tag 'loss' that are larger, such as 1e+300: files of "
        "TensorBoard have no room for them.",
        "The log holds -3.4e+38 for numbers of the tag 'low' that are smaller, such as -1e+300: files of "
        "TensorBoard have no room for them.",
    ]


def test_rows_cost_little_more_than_their_floats() -> None:
    table = Table("activation", "net", tuple(f"net.block{i}.fc.weight" for i in range(64)), tuple("abcdefgh"))
    encoder = Encoder(10**9, lambda fault: None)
    records = [TensorRows(step, table, np.zeros((64, 8), np.float32)) for step in range(100)]

    assert len(encoder.encode(records)) / (100 * 64 * 8) <= 4.5


def test_the_name_is_one_that_tensorboard_looks_for(tmp_path: Path) -> None:
    write(tmp_path / "made" / "on the way", [scalars(1, "loss")])

    name = event_file(tmp_path / "made" / "on the way").name
    assert name.startswith("events.out.tfevents.")
    assert ".torch_debugger" in name


def test_a_record_of_a_newer_version_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, small_run())
    monkeypatch.delattr("torch_debugger.records.Notice")

    kinds = [type(record).__name__ for record in read(tmp_path)]

    assert "Notice" not in kinds
    assert len(kinds) == len(small_run()) - 2


def test_wrong_values_cost_their_own_record_only(tmp_path: Path) -> None:
    bad = Scalars(2, 0.0, {"loss": "high"})  # type: ignore[dict-item]

    faults = write(tmp_path, [scalars(1, "loss"), bad, scalars(3, "loss")])

    assert faces(read(tmp_path)) == faces([scalars(1, "loss"), scalars(3, "loss")])
    (fault,) = faults
    assert fault.startswith("A record of kind Scalars was left out of the log: ")


def test_rows_read_back_know_their_names(tmp_path: Path) -> None:
    write(tmp_path, [rows(1), rows(2)])

    last = read(tmp_path)[-1]

    assert isinstance(last, TensorRows)
    assert last.table == LAYERS
    assert list(last.by_name("max")) == list(LAYERS.names)


def test_a_scalar_that_is_a_tensor_of_float64_is_read(tmp_path: Path) -> None:
    write(tmp_path, [TensorSummary(1, 5.0, "loss", np.array(1e300), "scalars")])

    (back,) = read(tmp_path)

    assert isinstance(back, Scalars)
    assert back.values == {"loss": 1e300}
