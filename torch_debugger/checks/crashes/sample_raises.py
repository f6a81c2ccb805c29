"""TD930: a sample of the dataset raises, or cannot be put into a batch."""

from __future__ import annotations

from torch_debugger.checks.explainers.building.absent_entries import explain_entry
from torch_debugger.checks.explainers.crash_check import CrashCheck
from torch_debugger.checks.explainers.loading.failed_batches import explain_collate_function, explain_odd_sample
from torch_debugger.checks.explainers.loading.failed_samples import explain_missing_file, explain_raising_sample


class SampleRaises(CrashCheck):
    """A sample of the dataset raises, or does not fit into a batch with the others.

    Symptom:
        The loop over a DataLoader stops: "Caught KeyError in DataLoader worker process 0", an IndexError
        in `__getitem__`, "batch must contain tensors, numpy arrays, numbers, dicts or lists; found NoneType".
    Evidence:
        The dataset's own line and the values in it, the index it was asked for, and what the samples of
        the batch hold. Of a worker only the text of its traceback arrives: its line is compared with the
        source, and the batch's samples are fetched once more, one by one, in a process of their own.
    Fix:
        Correct or leave out the samples that the finding names, or the line that fails for all of them.
    Known limits:
        A random order that is spent is kept nowhere; then as many samples of the dataset are tried as
        fit into half a second. An IterableDataset is not read again. Errors of torch itself in the main
        process are left to the checks of shapes, dtypes and devices.
    """

    id = "TD930"
    name = "sample-raises"
    title = "a sample of the dataset raises or does not fit into a batch"
    explainers = (
        explain_entry,
        explain_missing_file,
        explain_odd_sample,
        explain_raising_sample,
        explain_collate_function,
    )
