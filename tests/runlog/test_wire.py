from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_debugger.log import protobuf as wire

int64 = st.integers(-(2**63), 2**63 - 1)


@given(int64)
def test_numbers_come_back(value: int) -> None:
    assert wire.signed(wire.message(wire.number_field(2, value))[2]) == value


@given(int64)
def test_numbers_are_written_as_protobuf_writes_them(value: int) -> None:
    from tensorboard.compat.proto.event_pb2 import Event

    assert wire.number_field(2, value) == Event(step=value).SerializeToString() or value == 0


@given(st.binary(max_size=60))
def test_any_bytes_parse_or_raise_value_error(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        wire.message(data)


def test_a_message_cut_inside_a_field_is_refused() -> None:
    whole = wire.bytes_field(5, b"summary")
    for end in range(1, len(whole)):
        with pytest.raises(ValueError, match="ends inside"):
            wire.message(whole[:end])
