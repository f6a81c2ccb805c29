"""Hyperparameters and the metrics they are compared by, for TensorBoard's HParams tab.

It wants three things of a run: what the experiment varies and measures, what this run began with, and
that it has ended.
"""

from __future__ import annotations

from torch_debugger.records import HparamsSummary
from torch_debugger.records.surroundings import HparamValue
from torch_debugger.runlog.events import text
from torch_debugger.runlog.summaries.values import double_field, event, metadata, value
from torch_debugger.runlog.wire import bytes_field, number_field

_TAG = "_hparams_/"
_EXPERIMENT, _SESSION_START, _SESSION_END = 2, 3, 4  # of HParamsPluginData
_EXPERIMENT_HPARAM, _EXPERIMENT_METRIC = 4, 5
_HPARAM_NAME, _HPARAM_TYPE, _HPARAM_CHOICES = 1, 4, 5
_METRIC_NAME, _NAME_TAG = 1, 2
_START_HPARAM, _START_TIME = 1, 5
_END_STATUS, _END_TIME = 1, 2
_STATUS_SUCCESS = 1
_TYPE_STRING, _TYPE_BOOL, _TYPE_NUMBER = 1, 2, 3
_VALUE_NUMBER, _VALUE_STRING, _VALUE_BOOL = 2, 3, 4  # of google.protobuf.Value


def hparams_events(record: HparamsSummary) -> list[bytes]:
    contents = {
        "experiment": bytes_field(_EXPERIMENT, _experiment(record)),
        "session_start_info": bytes_field(_SESSION_START, _start(record)),
        "session_end_info": bytes_field(
            _SESSION_END, number_field(_END_STATUS, _STATUS_SUCCESS), double_field(_END_TIME, record.time)
        ),
    }
    return [event(record, value(_TAG + name, metadata("hparams", body))) for name, body in contents.items()]


def _experiment(record: HparamsSummary) -> bytes:
    hparams = (
        bytes_field(
            _EXPERIMENT_HPARAM,
            bytes_field(_HPARAM_NAME, text(name)),
            number_field(_HPARAM_TYPE, _type(one)),
            _choices(record.choices.get(name, ())),
        )
        for name, one in record.values.items()
    )
    metrics = (
        bytes_field(_EXPERIMENT_METRIC, bytes_field(_METRIC_NAME, bytes_field(_NAME_TAG, text(tag))))
        for tag in record.metrics
    )
    return b"".join([*hparams, *metrics])


def _choices(choices: tuple[HparamValue, ...]) -> bytes:
    return bytes_field(_HPARAM_CHOICES, *(bytes_field(1, _value(one)) for one in choices)) if choices else b""


def _start(record: HparamsSummary) -> bytes:
    entries = (
        bytes_field(_START_HPARAM, bytes_field(1, text(name)), bytes_field(2, _value(one)))
        for name, one in record.values.items()
    )
    return b"".join(entries) + double_field(_START_TIME, record.time)


def _type(one: HparamValue) -> int:
    if isinstance(one, str):
        return _TYPE_STRING
    return _TYPE_BOOL if isinstance(one, bool) else _TYPE_NUMBER


def _value(one: HparamValue) -> bytes:
    if isinstance(one, str):
        return bytes_field(_VALUE_STRING, text(one))
    return number_field(_VALUE_BOOL, one) if isinstance(one, bool) else double_field(_VALUE_NUMBER, float(one))
