"""Events that are sound, bear our tags or a plugin's, and hold something else."""

from __future__ import annotations

import dataclasses
import json
import typing
from pathlib import Path
from typing import Any

import pytest

from tests.archive.test_hostile import look_at_everything, run_of
from tests.runlog.logs import scalars
from torch_debugger import records
from torch_debugger.log import decoder_values as tensors
from torch_debugger.log.protobuf import (
    RECORD_TAG,
    bytes_field,
    event_time,
    number_field,
    plugin_metadata,
    string_tensor,
    tensor_event,
)
from torch_debugger.log.scalar_events import scalar_events
from torch_debugger.log.tfrecord import frame
from torch_debugger.records import LoggedSummary, Notice, Scalars, TensorRows
from torch_debugger.records.codec import from_plain, to_plain

KINDS = [kind for kind in vars(records).values() if isinstance(kind, type) and dataclasses.is_dataclass(kind)]
GOOD = scalar_events([scalars(1, "loss")])


def plugin_event(plugin: bytes, content: bytes) -> bytes:
    metadata = bytes_field(9, bytes_field(1, bytes_field(1, plugin), content))
    return event_time(1.0) + bytes_field(5, bytes_field(1, bytes_field(1, b"tag") + metadata))


@pytest.mark.parametrize("value", ["x", 5, [], {}, None, [5], float("-inf"), {"a": 5}], ids=repr)
def test_records_with_fields_of_the_wrong_kind_harm_nothing(tmp_path: Path, value: Any) -> None:
    events = [
        tensor_event(1.0, 1, RECORD_TAG + kind.__name__, string_tensor(text.encode()), plugin_metadata())
        for kind in KINDS
        for text in [json.dumps({field.name: value for field in dataclasses.fields(kind)})]
    ]
    run = run_of(tmp_path, frame([*GOOD, *events]))

    look_at_everything(run)

    assert len(run.scalars("loss")) == 1


@pytest.mark.parametrize(
    "content",
    [
        bytes_field(2, b"\xff\xff\xff"),
        number_field(2, 7),
        bytes_field(2, bytes_field(3, bytes_field(1, bytes_field(1, b"lr"), bytes_field(2, number_field(2, 7))))),
    ],
    ids=["noise", "a number", "a number of the wrong width"],
)
def test_hyperparameters_that_are_none_are_left_out(tmp_path: Path, content: bytes) -> None:
    run = run_of(tmp_path, frame([plugin_event(b"hparams", content), *GOOD]))

    look_at_everything(run)

    assert run.hparams == {} and run.status == "unknown"


def test_a_record_of_the_wrong_kind_is_refused() -> None:
    for plain in ({"text": 5, "step": 1}, {"text": "x", "step": None}, {"text": "x", "step": 1.5}, [], None):
        with pytest.raises(TypeError):
            from_plain("Notice", plain)
    assert from_plain("HparamsFact", {"values": {"a": 1, "b": 0.5, "c": "x"}, "origin": "args", "step": 1})
    assert from_plain("AutogradNode", {"op": "n", "inputs": [None, 1], "shape": [], "saved": {"dim": 1}})
    assert from_plain("Notice", {"text": "x", "step": 1.0, "of a newer version": []}) == Notice("x", 1)


@pytest.mark.parametrize("kind", [Scalars, TensorRows, *LoggedSummary.__subclasses__()])
def test_what_has_a_form_of_its_own_is_not_read_from_json(kind: type) -> None:
    assert from_plain(kind.__name__, {}) is None


def made_up(hint: Any) -> Any:
    """Some value of this type."""
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        names = [field.name for field in dataclasses.fields(hint) if field.name != "causes"]
        return typing.cast(Any, hint)(**{name: made_up(hints[name]) for name in names})
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        return (made_up(inner[0]),)
    if origin is dict:
        return {"key": made_up(inner[1])}
    return made_up(inner[0]) if inner else hint(1)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not issubclass(kind, (Scalars, TensorRows, LoggedSummary))])
def test_every_record_is_still_one_after_json(kind: Any) -> None:
    record = made_up(kind)

    again = from_plain(kind.__name__, json.loads(json.dumps(to_plain(record))))

    assert type(again) is kind and to_plain(again) == to_plain(record)


def test_a_tensor_of_absurdly_many_dimensions_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dimensions = b"".join([bytes_field(2, number_field(1, (1 << 63) - 1))] * 20_000)
    tensor = number_field(1, 1) + bytes_field(2, dimensions)
    event = event_time(1.0) + bytes_field(5, bytes_field(1, bytes_field(1, b"x") + bytes_field(8, tensor)))
    multiplied: list[int] = []
    product = tensors.math.prod
    monkeypatch.setattr(tensors.math, "prod", lambda sizes: multiplied.append(len(sizes)) or product(sizes))

    run = run_of(tmp_path, frame([event, *GOOD]))

    assert run.tags == {"scalars": ["loss"]}
    assert max(multiplied, default=0) <= 254
    assert "holds 1 events that are none of TensorBoard's" in run.damage[0]
