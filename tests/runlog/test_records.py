"""Records are structs of msgspec that `dataclasses` and whoever looks for dataclasses take for theirs."""

from __future__ import annotations

import dataclasses
import pickle
from pprint import pformat

import pytest

from torch_debugger import records
from torch_debugger.records import Finding, Place, Scalars, TensorSummary
from torch_debugger.records.base import BaseRecord
from torch_debugger.records.codec import to_plain

PLACE = Place("train.py", 3, "net.fc1")
FINDING = Finding("TD101", "missing-zero-grad", "error", 0.9, "m", "w", "f", PLACE, 1, 2, {"x": 1.0}, ranks=(0, 1))
ALL = [each for each in vars(records).values() if isinstance(each, type) and issubclass(each, BaseRecord)]


def test_dataclasses_takes_them() -> None:
    assert dataclasses.is_dataclass(FINDING) and dataclasses.is_dataclass(Finding)
    assert dataclasses.replace(FINDING, ranks=()).ranks == () and dataclasses.replace(FINDING) == FINDING
    assert dataclasses.asdict(FINDING) == to_plain(FINDING)
    fields = {field.name: field for field in dataclasses.fields(Finding)}
    assert list(fields) == list(Finding.__struct_fields__)
    assert fields["check"].default is dataclasses.MISSING and fields["status"].default == "stable"
    assert fields["evidence"].default_factory is dict and fields["where"].type == "Place"


def test_equal_and_hashed_by_value_printed_copied_and_never_changed() -> None:
    assert Place("train.py", 3, "net.fc1") == PLACE and hash(Place("train.py", 3, "net.fc1")) == hash(PLACE)
    assert repr(PLACE) == pformat(PLACE) == "Place(file='train.py', line=3, module='net.fc1', code=None)"
    assert pickle.loads(pickle.dumps(FINDING)) == FINDING
    with pytest.raises(AttributeError):
        PLACE.line = 4  # type: ignore[misc]
    assert Scalars(1, 2.0, {}) == Scalars(1, 2.0, {})


@pytest.mark.parametrize("record_class", ALL, ids=lambda each: each.__name__)
def test_every_class_has_its_fields(record_class: type[BaseRecord]) -> None:
    assert tuple(field.name for field in dataclasses.fields(record_class)) == record_class.__struct_fields__


def test_fields_of_the_class_it_inherits_from_come_first() -> None:
    assert [field.name for field in dataclasses.fields(TensorSummary)][:3] == ["step", "time", "tag"]
