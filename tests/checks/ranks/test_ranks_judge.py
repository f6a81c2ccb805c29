"""The judge of several ranks: what they share is told once, what one has names it, who failed first leads."""

from __future__ import annotations

from collections.abc import Iterable

from tests.fakes import scalars
from torch_debugger.checks.catalog import catalog
from torch_debugger.checks.judge import Judge, RanksJudge
from torch_debugger.checks.rank_checks import RankCheck, RankStates
from torch_debugger.records import CrashFact, Finding, Place, RankEnd, RankFact, Record, Scalars
from torch_debugger.records.ranks import ranks_in_words


def crash(line: int, kind: str = "ValueError") -> CrashFact:
    return CrashFact(kind, "bad sample", (), Place("train.py", line), None, "", 3)


def fact(rank: int, backend: str = "gloo", world: int = 2) -> RankFact:
    return RankFact(rank, rank, world, backend, "here", 100 + rank)


def test_one_process_is_judged_as_before() -> None:
    alone, judge = Judge(), RanksJudge()
    assert [each.name for each in judge.see(crash(3))] == [each.name for each in alone.see(crash(3))]
    judge.finish()
    alone.finish()
    assert judge.findings == alone.findings
    assert judge.findings[0].ranks == ()


def test_what_ranks_share_is_told_once_and_what_one_has_names_it() -> None:
    # what ranks share is told once
    judge = RanksJudge()
    news = [judge.see(crash(3), rank) for rank in range(4)]
    assert [len(each) for each in news] == [1, 0, 0, 0]
    assert news[0][0].ranks == (0,)
    (finding,) = judge.findings
    assert finding.ranks == (0, 1, 2, 3)
    # what one rank has names it
    judge = RanksJudge()
    judge.see(scalars(1, loss=0.5), 0)
    judge.see(crash(3), 1)
    assert [(each.name, each.ranks) for each in judge.findings] == [("unexplained-crash", (1,))]


def test_the_first_to_fail_is_the_verdict_and_explains_the_others() -> None:
    judge = RanksJudge()
    judge.see(crash(9), 0)
    judge.see(RankEnd(0, 1, 20.0), 0)
    judge.see(crash(3), 1)
    judge.see(RankEnd(1, 1, 19.0), 1)
    judge.finish()
    first, second = judge.findings
    assert (first.ranks, first.where.line, first.symptom_of) == ((1,), 3, None)
    assert (second.ranks, second.where.line, second.symptom_of) == ((0,), 9, "unexplained-crash")


def test_a_process_that_becomes_a_rank_in_a_log_without_one() -> None:
    judge = RanksJudge()
    judge.see(fact(0))
    judge.see(crash(3))
    judge.see(crash(3), 1)
    (finding,) = judge.findings
    assert finding.ranks == (0, 1)
    assert judge.ranks.states.keys() == {0, 1}


def test_a_backend_once_told_stays() -> None:
    ranks = RankStates()
    ranks.see(0, fact(0))
    ranks.see(0, fact(0, backend=""))
    assert ranks.facts[0].backend == "gloo"
    assert ranks.world_size == 2


class _Counting(RankCheck):
    id, name, title = "TD899", "steps-differ", "ranks at different steps"
    reads = (Scalars,)

    def see_rank(self, rank: int, record: Record, ranks: RankStates) -> Iterable[Finding]:
        assert ranks.states[rank].step == getattr(record, "step")  # noqa: B009
        return ()

    def finish_ranks(self, ranks: RankStates) -> Iterable[Finding]:
        steps = {rank: state.step for rank, state in ranks.states.items()}
        if len(set(steps.values())) > 1:
            yield self.finding(
                severity="warning", confidence=0.95, message=str(steps), why="", fix="", where=Place(),
                steps=(1, 2), evidence={},
            )  # fmt: skip


class _Failing(_Counting):
    def see_rank(self, rank: int, record: Record, ranks: RankStates) -> Iterable[Finding]:
        raise ValueError("a bug of ours")


def across(check: RankCheck) -> RanksJudge:
    judge = RanksJudge()
    judge._across.checks[:] = [check]
    judge._across._readers = {Scalars: [check]}
    return judge


def test_a_check_across_ranks_sees_every_rank() -> None:
    judge = across(_Counting())
    for rank, step in ((0, 1), (0, 2), (1, 1)):
        judge.see(scalars(step, loss=0.5), rank)
    assert [each.message for each in judge.finish()] == ["{0: 2, 1: 1}"]


def test_a_check_across_ranks_that_fails_is_retired_alone() -> None:
    judge = across(_Failing())
    judge.see(scalars(1, loss=0.5), 0)
    judge.see(scalars(2, loss=0.5), 1)
    assert [(fault.probe, fault.error) for fault in judge.faults] == [
        ("check steps-differ", "ValueError: a bug of ours")
    ]


def test_checks_across_ranks_are_in_the_catalog_and_asked_by_no_judge_of_one() -> None:
    entries = [check for check in catalog() if issubclass(check, RankCheck)]
    assert entries
    assert not any(isinstance(check, RankCheck) and not check.alone for check in Judge().checks)
    assert len(RanksJudge().checks) == len(catalog())


def test_ranks_in_words() -> None:
    assert ranks_in_words([2]) == "rank 2"
    assert ranks_in_words([3, 0, 1, 2]) == "ranks 0-3"
    assert ranks_in_words([0, 2, 5, 6, 7]) == "ranks 0, 2 and 5-7"
