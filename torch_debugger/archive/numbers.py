"""Field and type numbers of event files that only readers need, as TensorBoard's and TensorFlow's .proto files
give them; `runlog.events` has those that our own writer uses as well."""

from __future__ import annotations

EVENT_GRAPH, EVENT_SESSION, EVENT_META_GRAPH = 4, 7, 9
META_GRAPH_GRAPH = 2
SESSION_STATUS, SESSION_START = 1, 1
VALUE_IMAGE, VALUE_HISTOGRAM, VALUE_SOUND = 4, 5, 6

# DataType -> how numpy reads the raw content of such a tensor; bfloat16 has no dtype in numpy.
RAW_TYPES = {
    1: "<f4", 2: "<f8", 3: "<i4", 4: "u1", 5: "<i2", 6: "i1", 9: "<i8", 10: "?", 17: "<u2", 19: "<f2",
    22: "<u4", 23: "<u8",
}  # fmt: skip
BFLOAT16, HALF, TEXT = 14, 19, 7
TENSOR_FLOAT_VALUES, TENSOR_DOUBLE_VALUES, TENSOR_HALF_VALUES = 5, 6, 13
VARINT_VALUES = (7, 10, 11, 16, 17)  # int_val, int64_val, bool_val, uint32_val, uint64_val

HISTOGRAM_LEAST, HISTOGRAM_MOST, HISTOGRAM_LIMITS, HISTOGRAM_COUNTS = 1, 2, 6, 7
IMAGE_HEIGHT, IMAGE_WIDTH, IMAGE_DATA = 1, 2, 4
SOUND_RATE, SOUND_DATA, SOUND_TYPE = 1, 4, 5

HPARAMS_EXPERIMENT, HPARAMS_START, START_HPARAMS = 2, 3, 1
EXPERIMENT_METRICS, METRIC_NAME, METRIC_TAG = 5, 1, 2
ENTRY_KEY, ENTRY_VALUE = 1, 2
PLAIN_NUMBER, PLAIN_TEXT, PLAIN_TRUTH = 2, 3, 4

LAYOUT_CATEGORY, CATEGORY_TITLE, CATEGORY_CHART, CATEGORY_CLOSED = 2, 1, 2, 3
CHART_TITLE, CHART_LINES, CHART_MARGIN = 1, 2, 3
LINES_TAG, MARGIN_SERIES = 1, 1
SERIES_VALUE, SERIES_LOWER, SERIES_UPPER = 1, 2, 3
