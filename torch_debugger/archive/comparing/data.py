"""What differs in the data: the loaders, the shape of batches, and which samples they held."""

from __future__ import annotations

from torch_debugger.archive.comparing.evidence import RunEvidence
from torch_debugger.archive.comparing.plain_values import differences
from torch_debugger.records import BatchFact, BatchLook, LoaderFact
from torch_debugger.records.comparison_of_runs import Difference, Topic

SAMPLES = "samples that were looked at"


def compare_data(first: RunEvidence, second: RunEvidence) -> Topic:
    ours, theirs = _facts(first), _facts(second)
    if not ours and not theirs:
        return Topic("data", unseen="no DataLoader was seen")
    order = _order(first, second)
    return Topic("data", differences(ours, theirs) + ((order,) if order else ()))


def _facts(run: RunEvidence) -> dict[str, object]:
    found: dict[str, object] = {}
    for fact in run.facts(LoaderFact):
        kept = {"dataset": fact.dataset, "samples": fact.samples, "batch size": fact.batch_size}
        kept |= {"batches": fact.length, "shuffled": fact.shuffle, "drop_last": fact.drop_last}
        kept |= {"workers": fact.workers}
        found |= {f"loader {fact.number}: {key}": value for key, value in kept.items()}
    return found | _batches(run)


def _batches(run: RunEvidence) -> dict[str, object]:
    """The tensors of the first batch."""
    steps = sorted(step for kind, step in run.looks if kind is BatchFact)
    facts = run.looks_at(BatchFact, steps[0]) if steps else []
    return {f"first {fact.name}": f"{'x'.join(map(str, fact.shape))} {fact.dtype}" for fact in facts}


def _order(first: RunEvidence, second: RunEvidence) -> Difference | None:
    """Only where batches that were looked at in both runs held other samples, or in another order.

    Looks are rationed by time, so two runs look at other batches: those of one run alone tell nothing.
    """
    ours, theirs = _samples(first), _samples(second)
    both = [batch for batch in ours if batch in theirs]
    if all(ours[batch] == theirs[batch] for batch in both):
        return None
    mine, others = ({sample for batch in both for sample in run[batch]} for run in (ours, theirs))
    alike = "the same ones in another order" if mine == others else f"{len(mine & others)} of them in both runs"
    return Difference(SAMPLES, f"{len(mine)}", f"{len(others)}, {alike}")


_Batch = tuple[int, int, int, str, tuple[int, ...]]  # loader, iteration, place in it, tensor, shape


def _samples(run: RunEvidence) -> dict[_Batch, tuple[int, ...]]:
    steps = sorted(step for kind, step in run.looks if kind is BatchLook)
    looks = [look for step in steps for look in run.looks_at(BatchLook, step) if look.trained]
    return {
        (look.loader, look.iteration, look.index, tensor.name, tensor.shape): tensor.samples
        for look in looks
        for tensor in look.tensors
        if tensor.samples
    }
