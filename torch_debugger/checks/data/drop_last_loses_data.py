"""TD211: drop_last leaves out most of the data, or all of it."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.deliveries import line_of, name_of
from torch_debugger.checks.loader_call import with_keyword
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, LoaderFact, Record


class DropLastLosesData(Check):
    """A loader with drop_last=True leaves out a large part of its data, always the same one.

    Symptom:
        An epoch has far fewer batches than expected, or none: then the loop over it does nothing, without
        a word.
    Evidence:
        The number of samples, the batch size and drop_last of the loader. Where batches are shuffled every
        epoch leaves out other samples, and only a loader without any batch is reported.
    Fix:
        Leave drop_last out, or use a batch size that is small beside the number of samples.
    Known limits:
        Loaders with a batch sampler of their own, and datasets without a length, are not judged.
    """

    id = "TD211"
    name = "drop-last-loses-data"
    title = "drop_last leaves out most of the data"
    reads = (LoaderFact,)

    # Of the samples; in a fixed order these are never seen. A usual remainder is a few percent.
    lost_share = 0.3

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, LoaderFact)
        if not record.drop_last or not record.samples or not record.batch_size or record.length is None:
            return
        samples = record.samples // max(
            1, record.replicas
        )  # a DistributedSampler gives the others to other ranks
        lost = samples - record.length * record.batch_size
        always_the_same = record.shuffle is False and lost >= self.lost_share * samples
        if record.length == 0 or always_the_same:
            yield self._judge(record, lost)

    def _judge(self, fact: LoaderFact, lost: int) -> Finding:
        where, name = line_of(fact), name_of(fact)
        share = f"{lost} of {fact.samples}"
        told = (
            f"delivers no batch at all: its {fact.samples} samples do not fill one batch of {fact.batch_size}"
            if not fact.length
            else f"never delivers the last {share} samples: they do not fill a batch of {fact.batch_size}"
        )
        line = f" at {where.file}:{where.line}" if where.file else ""
        return self.finding(
            severity="error" if not fact.length else "warning",
            confidence=0.97,
            message=f"`{name}`{line} {told}, and drop_last=True leaves such a batch out.",
            why=(
                "drop_last drops the last batch of an epoch when it is not full. In a fixed order that is the "
                "same part of the data every time."
            ),
            fix=(
                f"Remove `drop_last=True`{line}, or take a batch size well below {fact.samples} "
                f"(now {fact.batch_size})."
            ),
            where=where,
            first_step=max(1, fact.step),
            last_step=max(1, fact.step),
            evidence={"lost": float(lost), "samples": float(fact.samples or 0)},
            edit=with_keyword(where, "drop_last", "False"),
        )
