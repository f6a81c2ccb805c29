"""TD807: BatchNorm takes its statistics from the few samples of one rank."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.rank_check import RankCheck
from torch_debugger.checks.rank_states import RankStates
from torch_debugger.records import BatchNormLook, Finding, GradientAverage, Place, RankDigest, Record


class BatchnormPerRank(RankCheck):
    """Gradients are averaged over all ranks, but BatchNorm normalises by the few samples of its own rank.

    Symptom:
        A model that trains well with one large batch is worse with the same batch over many GPUs; evaluation is
        noisier than training.
    Evidence:
        The number of samples that BatchNorm layers normalise over on every rank, at all deep steps, and a
        DistributedDataParallel around the model.
    Fix:
        `model = nn.SyncBatchNorm.convert_sync_batchnorm(model)` before it goes into DistributedDataParallel (on
        GPUs), or GroupNorm, which does not look at other samples.
    Known limits:
        A piece of advice: whether it matters depends on the task. Layers with many values for each sample
        (images) have more to go by than the number of samples says.
    """

    id = "TD807"
    name = "batchnorm-per-rank"
    title = "BatchNorm sees only the few samples of its rank"
    reads = (BatchNormLook, RankDigest)

    # With so few the means of a batch are off by a third of a deviation and more.
    fewest_samples = 8
    # Below that the layer is useless with any number of ranks, which batchnorm-tiny-batch says.
    least_samples = 2
    looks_needed = 3
    steps_needed = 50

    def __init__(self) -> None:
        self._looks: dict[tuple[int, str], list[int]] = {}  # by rank and layer: samples of each look
        self._average: GradientAverage | None = None

    def see_rank(self, rank: int, record: Record, ranks: RankStates) -> Iterable[Finding]:
        if isinstance(record, RankDigest):
            average = record.average
            if average is not None and average.kind == "DistributedDataParallel":
                self._average = average
            return ()
        assert isinstance(record, BatchNormLook)
        self._looks.setdefault((rank, record.name), []).append(record.shape[0])
        return ()

    def finish_ranks(self, ranks: RankStates) -> Iterable[Finding]:
        first = min(ranks.states, default=0)
        if self._average is None or self._average.ranks < 2 or ranks.states[first].step < self.steps_needed:
            return
        names = [name for rank, name in self._looks if rank == first and self._is_small(name, ranks)]
        if names:
            yield self._tell(names, ranks.states[first].step, first, ranks)

    def _is_small(self, name: str, ranks: RankStates) -> bool:
        for rank, state in ranks.states.items():
            samples, module = self._looks.get((rank, name), []), state.module(name)
            if len(samples) < self.looks_needed or (module is not None and module.kind == "SyncBatchNorm"):
                return False
            if max(samples) >= self.fewest_samples or max(samples) < self.least_samples:
                return False
        return True

    def _tell(self, names: list[str], step: int, first: int, ranks: RankStates) -> Finding:
        assert self._average is not None
        name, wrapper = names[-1], self._average.name or "model"  # met on the way back from the loss
        samples = max(self._looks[first, name])
        module = ranks.states[first].module(name)
        made = module.place if module is not None else Place()
        more = f", as {len(names) - 1} more layers do" if len(names) > 1 else ""
        return self.finding(
            severity="note",
            confidence=0.8,
            message=f"`{name}` normalises over the {samples} samples of its own rank{more}, although "
            f"{samples * self._average.ranks} are trained on together.",
            why="DistributedDataParallel averages gradients, not the means and variances of BatchNorm: each "
            f"rank takes them from its own {samples} samples, which is a noisy guess.",
            fix=f"Convert the model before it goes into `{wrapper}`: "
            "`nn.SyncBatchNorm.convert_sync_batchnorm(net)` (it needs GPUs), or use `nn.GroupNorm`.",
            where=Place(made.file, made.line, name, made.code),
            first_step=1,
            last_step=step,
            evidence={
                "samples": float(samples),
                "ranks": float(self._average.ranks),
                "layers": float(len(names)),
            },
        )
