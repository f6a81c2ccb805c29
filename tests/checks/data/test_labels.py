from __future__ import annotations

from tests.checks.data.looks import batch, loader, target
from tests.fakes import findings_of, judged, losses, optimizer, place
from torch_debugger.records import Record, ShuffledPair

IN_ORDER = loader(shuffle=False, made=place(11, code="train_loader = DataLoader(data, batch_size=8)"))


def looks(labels: list[list[int]], **others: int) -> list[Record]:
    return [
        batch(range(100 * index, 100 * index + len(each)), each, step=index + 1, index=index, **others)
        for index, each in enumerate(labels)
    ]


constant = findings_of("labels-constant")
in_order = findings_of("unshuffled-sorted-labels")
ONE_CLASS = [target(step, labels={"0": 8}) for step in (1, 2, 3)]


def test_one_label_for_all() -> None:
    [finding] = constant(loader(length=12), *ONE_CLASS, *looks([[0] * 8] * 12))
    assert finding.severity == "error"
    assert finding.message == (
        "All 96 labels seen from `train_loader` at train.py:11 are 0: the model is never shown another class."
    )
    assert "train.py:25 as 0 only" in finding.fix


def test_a_class_that_comes_later_in_a_fixed_order() -> None:
    assert not constant(loader(shuffle=False, length=40), *ONE_CLASS, *looks([[0] * 8] * 12))
    assert constant(loader(shuffle=False, length=12), *ONE_CLASS, *looks([[0] * 8] * 12))


def test_labels_that_the_loss_does_not_use_or_that_differ_are_silent() -> None:
    # labels that the loss does not use
    assert not constant(loader(length=12), *looks([[0] * 8] * 12))
    others = [target(step, labels={"1": 8}) for step in (1, 2, 3)]
    assert not constant(loader(length=12), *others, *looks([[0] * 8] * 12))
    # one other label is enough
    assert not constant(loader(), *ONE_CLASS, *looks([[0] * 8] * 9 + [[0] * 7 + [1]] + [[0] * 8] * 12))


def test_a_rare_class_may_be_missing_from_a_part_of_the_data() -> None:
    assert not constant(loader(length=200), *ONE_CLASS, *looks([[0] * 8] * 40))
    assert constant(loader(length=2000), *ONE_CLASS, *looks([[0] * 64] * 40))


SORTED = [[0] * 8, [0] * 8, [0] * 4 + [1] * 4, [1] * 8, [2] * 8]


def test_one_class_after_the_other() -> None:
    [finding] = in_order(IN_ORDER, target(1), *looks(SORTED))
    assert finding.message == (
        "`train_loader` at train.py:11 is sorted by class and not shuffled: 4 of 5 batches hold one class "
        "only, from class 0 to class 2."
    )
    assert finding.edit and finding.edit.after == "train_loader = DataLoader(data, batch_size=8, shuffle=True)"


def test_sorted_labels_that_do_no_harm_are_silent() -> None:
    # in order is no fault by itself
    mixed = [[0, 1, 2, 1, 0, 2, 1, 1]] * 12
    runs = [[0] * 8, [1] * 8, [0] * 8, [2] * 8, [1] * 8]
    assert not in_order(IN_ORDER, target(1), *looks(mixed))
    assert not in_order(IN_ORDER, target(1), *looks(runs))
    # shuffled validation and regression are left alone
    assert not in_order(loader(), target(1), *looks(SORTED))
    assert not in_order(IN_ORDER, target(1), *looks(SORTED, trained=False))
    assert not in_order(IN_ORDER, target(1, labels={}), *looks(SORTED))
    # slices that are mixed or one class on purpose
    assert not in_order(*(target(step) for step in range(9)))
    assert not in_order(*(target(step, labels={"0": 8}) for step in range(9)))
    assert not in_order(*(target(step, labels={str(step % 2): 1}, shape=(1,)) for step in range(9)))
    binary = "BinaryCrossEntropyWithLogits"
    assert not in_order(*(target(step, labels={str(step % 2): 8}, op=binary) for step in range(9)))


def test_slices_of_sorted_arrays() -> None:
    steps = [target(step, labels={label: 8}) for step, label in enumerate("0001122")]
    [finding] = in_order(*steps)
    assert finding.message == (
        "7 of 7 steps that were looked at trained on a single class each, 3 different ones in all: the loss at "
        "train.py:25 is given sorted data."
    )
    assert "randperm" in finding.fix


NAME = "labels-shuffled-apart"
GUESSING = losses([1.2, 1.15, 1.12, *[1.1] * 60])
LEARNING = losses([1.2 * 0.97**step for step in range(60)])


def pair(both: bool = False, index: str = "") -> ShuffledPair:
    return ShuffledPair("x", "y", both, place(18, code="rng.shuffle(x)"), 1, index)


def test_one_array_is_shuffled_alone_and_nothing_is_learned() -> None:
    (finding,) = judged([optimizer(), pair(), *GUESSING], NAME)
    assert finding.message == (
        "`x` is shuffled, and `y`, which is read side by side with it, is not: samples get the labels of "
        "others. Since its beginning the loss has fallen by 0%."
    )
    assert finding.fix == (
        "Draw one order and use it for both: `order = torch.randperm(len(x))`, then `x[order]` and `y[order]`."
    )
    assert (finding.severity, finding.where.line) == ("error", 18)


def test_two_orders_and_a_shuffled_index() -> None:
    (finding,) = judged([optimizer(), pair(both=True), *GUESSING], NAME)
    assert "are shuffled in two different orders" in finding.message
    (finding,) = judged([optimizer(), pair(index="rows"), *GUESSING], NAME)
    assert finding.fix == "Read both with the same index, in one order: `y[rows]`."


def test_a_loss_that_falls_several_optimizers_and_short_runs_are_silent() -> None:
    assert not judged([optimizer(), pair(), *LEARNING], NAME)
    assert not judged([optimizer(name="d"), optimizer(name="g"), pair(), *GUESSING], NAME)
    assert not judged([optimizer(), pair(), *GUESSING[:20]], NAME)
    assert not judged([optimizer(), *GUESSING], NAME)
