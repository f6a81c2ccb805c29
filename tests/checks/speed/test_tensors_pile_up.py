from __future__ import annotations

import dataclasses

from tests.fakes import judged, place
from torch_debugger.records import Finding, HeldByVariable, KeptGraphs, MemoryLook, PassFact, Place, Record

MB = 2**20
APPEND = place(22, code="features.append(z.detach())")


def pass_end(step: int, updates: int = 10) -> PassFact:
    return PassFact(step, 0, Place(), 10, updates, updates, (), True, step, False)


def look(step: int, entries: int, *, each: int = MB, **held: object) -> MemoryLook:
    facts: dict[str, object] = {"grown": True, "since": 2, "place": APPEND, "added": "z.detach()", **held}
    variable = HeldByVariable("features", entries * each, entries, **facts)  # type: ignore[arg-type]
    parts = {"parameters": 20 * MB, "kept": entries * each}
    return MemoryLook(step, "cpu", "after the update", parts, (), (variable,))


GROWS: list[Record] = [look(3, 2), look(10, 9), pass_end(10), look(18, 17), pass_end(20), look(61, 60)]


def check(*records: Record) -> list[Finding]:
    return judged(records, "tensors-pile-up")


def with_looks(**changes: object) -> list[Record]:
    return [
        dataclasses.replace(record, **changes) if isinstance(record, MemoryLook) else record  # type: ignore[arg-type]
        for record in GROWS
    ]


def test_a_list_that_outlives_epochs_is_named_with_its_bytes_and_its_growth() -> None:
    (finding,) = check(*GROWS)
    assert finding.severity == "warning"
    assert finding.message == (
        "`features` holds 60 tensors of 62.9 MB on the CPU, 75 % of all that is in use, and gets 1.05 MB more "
        "with every step: 2 passes over the data have ended and none of it was let go."
    )
    assert finding.fix == (
        "Empty it when an epoch is over, `features.clear()`, or keep what you compute of the tensors instead "
        "of them: that frees 62.9 MB now and 1.05 GB with every 1,000 steps to come."
    )
    assert (finding.where.line, finding.first_step, finding.last_step) == (22, 2, 61)
    assert finding.evidence["expected_gain"] == 0.75


def test_on_a_gpu_the_memory_of_the_machine_is_a_way_out() -> None:
    (finding,) = check(*with_looks(device="cuda:0"))
    assert "on cuda:0" in finding.message
    assert finding.fix.endswith("add `z.detach().cpu()`: the memory of the GPU stays free.")


def test_a_small_share_is_a_note_and_a_smaller_one_is_silent() -> None:
    found = check(*with_looks(parts={"parameters": 500 * MB, "kept": 60 * MB}))
    assert [finding.severity for finding in found] == ["note"]
    assert not check(*with_looks(parts={"parameters": 2000 * MB, "kept": 60 * MB}))


def test_what_may_be_the_list_of_one_epoch_is_silent() -> None:
    assert not check(look(3, 2), look(10, 9), look(18, 17), pass_end(20), look(61, 60)), "one pass"
    evaluations = [each if isinstance(each, MemoryLook) else pass_end(10, updates=0) for each in GROWS]
    assert not check(*evaluations)
    emptied = [look(3, 2), look(10, 9), pass_end(10), look(18, 7, since=11), pass_end(20)]
    assert not check(*emptied, look(61, 60, since=21))


def test_what_does_not_grow_all_the_time_is_silent() -> None:
    full = [look(3, 2), look(10, 60), pass_end(10), look(18, 60), pass_end(20), look(61, 60)]
    assert not check(*full), "a cache that has everything after one epoch"
    slow = [look(3, 50), look(10, 51), pass_end(10), look(18, 52), pass_end(20), look(61, 60)]
    assert not check(*slow), "one entry for many steps: checkpoints"
    assert not check(look(3, 2), pass_end(10), look(18, 17), pass_end(20), look(61, 60)), "three looks"
    bounded = [look(3, 2), look(10, 9), pass_end(10), look(18, 17), pass_end(20), look(61, 60, grown=False)]
    assert not check(*bounded), "a deque with a maxlen"


def test_little_memory_and_kept_graphs_are_none_of_its_business() -> None:
    small = [look(3, 2), look(10, 9), pass_end(10), look(18, 17), pass_end(20), look(61, 60, each=MB // 2)]
    assert not check(*small)
    assert not check(KeptGraphs("features", "container", 3, 2, False, APPEND, "z", 5), *GROWS)
