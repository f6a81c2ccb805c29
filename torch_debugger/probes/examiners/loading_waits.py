"""A batch that did not come in time: whose it was, and where its samples spend their time."""

from __future__ import annotations

from torch.utils.data import IterableDataset

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.probes.examiners.loading_order import batch_indices
from torch_debugger.probes.examiners.loading_refetch import fetch_again
from torch_debugger.probes.examiners.loading_scene import Loading
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence.loading import SlowBatch


def slow_batch(scene: Scene, loading: Loading) -> SlowBatch | None:
    seen = scene.innermost
    timeout_s = getattr(loading.iterator, "_timeout", 0)
    raised = seen is not None and seen.function == "_get_data" and seen.file.endswith("dataloader.py")
    if not raised or not timeout_s or "timed out" not in str(scene.error):
        return None
    batch = getattr(loading.iterator, "_rcvd_idx", None)
    info = loading.iterator._task_info.get(batch, (None,))
    indices = batch_indices(loading.iterator, batch)
    if is_a(loading.dataset, IterableDataset) or not indices:
        return SlowBatch(float(timeout_s), info[0], batch)
    again = fetch_again(loading.dataset, indices)
    waiting = again.stuck if not again.died else None
    return SlowBatch(float(timeout_s), info[0], batch, waiting, again.place)
