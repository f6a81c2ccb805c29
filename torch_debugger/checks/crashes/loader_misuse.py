"""TD936: a DataLoader is made or used as it cannot be."""

from __future__ import annotations

from torch_debugger.checks.explainers.crash_check import CrashCheck
from torch_debugger.checks.explainers.loading.loader_arguments import explain_arguments
from torch_debugger.checks.explainers.loading.loader_datasets import explain_dataset
from torch_debugger.checks.explainers.loading.loader_uses import explain_use


class LoaderMisuse(CrashCheck):
    """A DataLoader is given arguments that exclude each other, or its batches are taken for something else.

    Symptom:
        "sampler option is mutually exclusive with shuffle", "num_samples should be a positive integer",
        "'DataLoader' object is not an iterator", "too many values to unpack (expected 2)" in the loop,
        "'list' object has no attribute 'to'".
    Evidence:
        The arguments that DataLoader was called with, the methods its dataset has, the loop's own line and
        the form of the dataset's first sample, or of a batch that your collate_fn makes of the first ones,
        fetched in another process.
    Fix:
        Take out the argument that has no part in it, or take the batch apart as the finding says.
    Known limits:
        Samples of an IterableDataset are not looked at.
    """

    id = "TD936"
    name = "loader-misuse"
    title = "a DataLoader is made or used in a way it cannot work"
    explainers = (explain_arguments, explain_dataset, explain_use)
