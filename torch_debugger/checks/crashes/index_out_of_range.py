"""TD903: an index or a label for which there is no place."""

from __future__ import annotations

from torch_debugger.checks.explainers.crash_check import CrashCheck
from torch_debugger.checks.explainers.indices.embedding_indices import explain_embedding_indices
from torch_debugger.checks.explainers.indices.label_indices import explain_label_indices
from torch_debugger.checks.explainers.indices.picked_indices import explain_picked_indices


class IndexOutOfRange(CrashCheck):
    """An index or a class label is negative or too high for what it chooses from.

    Symptom:
        The script stops with "index out of range in self", "Target 9 is out of bounds", "index 5 is
        out of bounds for dimension 1 with size 3" or "Class values must be smaller than num_classes".
    Evidence:
        The values themselves, read on the CPU: how many are out of range, the first of them, where in
        the batch they stand, and the size they were held against: the rows of the embedding, the scores
        of the model, a dimension of a tensor. For labels also the layer that made the scores.
    Fix:
        Build the layer for one more than the highest number, count labels from 0, or name the label that
        is not to count as `ignore_index`; the finding says which, with the numbers filled in.
    Known limits:
        Only the batch that crashed is seen: other batches may hold higher numbers. Labels that count
        from 1 are told from missing zeros only in batches that are large enough. On a GPU the values
        cannot be read after the crash. An index out of range of a Python list is not explained.
    """

    id = "TD903"
    name = "index-out-of-range"
    title = "an index or a label is out of range"
    explainers = (
        explain_embedding_indices,
        explain_label_indices,
        explain_picked_indices,
    )
