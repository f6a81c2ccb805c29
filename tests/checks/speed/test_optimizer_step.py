from __future__ import annotations

import dataclasses

import pytest

from tests.checks.speed.profiles import settings
from tests.checks.speed.sampled_loops import Library, Path, Users, speed_settings, steps, training
from tests.fakes import cost, judged, model, only, optimizer, run, scalars
from torch_debugger.records import Finding, OptimizerFact, Record

ZERO_GRAD = Library("Optimizer.zero_grad", "/lib/torch/optim/optimizer.py")
LINE = Users(13, "optimizer.zero_grad(set_to_none=False)")


def zeroed(paths: dict[Path, int]) -> list[Finding]:
    return judged([optimizer(name="opt"), *training(paths)], "gradients-zeroed-not-dropped")


def test_zeros_are_told_with_the_additions_to_them() -> None:
    (finding,) = zeroed({(LINE, ZERO_GRAD): 12})
    assert finding.severity == "note"
    assert finding.message == (
        "Filling gradients with zeros takes 2.4 ms of the 20 ms of each step: `optimizer.zero_grad(set_to_none=False)`."
    )
    assert finding.fix == (
        "Write `optimizer.zero_grad()`: it lets the gradients go. Expected to save about 30 % of each step (6 ms)."
    )
    assert finding.edit is not None and finding.edit.after == "optimizer.zero_grad()"


@pytest.mark.parametrize("code", ["p.grad.zero_()", "p.grad.data.zero_()", "w.grad.detach_().zero_()"])
def test_gradients_zeroed_by_hand(code: str) -> None:
    (finding,) = zeroed({(Users(13, code),): 12})
    assert finding.fix.startswith("Call `opt.zero_grad()` instead: it lets the gradients go.")
    assert finding.edit is None


def test_other_arguments_stay() -> None:
    (finding,) = zeroed({(Users(13, "clear(model, set_to_none=False)"),): 12})
    assert finding.edit is not None and finding.edit.after == "clear(model)"


def test_the_default_and_small_gradients_are_silent() -> None:
    # the default
    assert not zeroed({(Users(13, "optimizer.zero_grad()"), ZERO_GRAD): 12})
    assert not zeroed({(Users(13, "optimizer.zero_grad(set_to_none=True)"), ZERO_GRAD): 12})
    assert not zeroed({(LINE, ZERO_GRAD): 5}), "too few samples to be sure of 5 %"


NAME = "optimizer-not-fused"


def made(kind: str = "AdamW", form: str = "in lists", name: str = "optimizer") -> OptimizerFact:
    return dataclasses.replace(optimizer(kind, name=name), form=form)


def splits(update_s: float, steps: int = 200) -> list[Record]:
    return [
        scalars(step, {"split/optimizer_s": update_s, "split/forward_s": 0.01 - update_s})
        for step in range(1, steps + 1)
    ]


def found(fact: OptimizerFact, update_s: float, device: str = "cuda", steps: int = 200) -> list[Finding]:
    return judged([settings(device=device), fact, *splits(update_s, steps), cost()], NAME)


def test_the_share_and_the_edit_are_told() -> None:
    [finding] = found(made(), 0.006)
    assert finding.severity == "warning"
    assert finding.message == (
        "`optimizer.step()` takes 6 ms of the 10 ms of a step on the GPU (60 %), and AdamW was not made with "
        "`fused=True`."
    )
    assert finding.fix == (
        "Write `optimizer = torch.optim.AdamW(net.parameters(), lr=0.001, fused=True)`. That saves about 33 "
        "% of a step."
    )
    assert finding.evidence["expected_gain"] == pytest.approx(0.33)


def test_the_gain_depends_on_the_form_and_on_whose_time_it_is() -> None:
    # a loop over parameters loses more
    assert only(found(made(form="one by one"), 0.005)).evidence["expected_gain"] == pytest.approx(0.3)
    records = [settings(), made(), made("SGD", name="other"), *splits(0.006), cost()]
    assert judged(records, NAME) == [], "with two optimizers it is not known whose time it is"


@pytest.mark.parametrize(
    ("fact", "update_s", "device", "steps"),
    [
        (made(form="fused"), 0.006, "cuda", 200),
        (made(form=""), 0.006, "cuda", 200),
        (made("RMSprop"), 0.006, "cuda", 200),
        (made(), 0.0009, "cuda", 200),  # saves 4.9 %
        (made(), 0.006, "cpu", 200),
        (made(), 0.006, "cuda", 100),  # a second of training
    ],
)
def test_each_condition_is_needed(fact: OptimizerFact, update_s: float, device: str, steps: int) -> None:
    assert found(fact, update_s, device, steps) == []


SMALL = [f"net.{number}.weight" for number in range(100)]
LARGE = {"net.users.weight": (40_000, 32), "net.items.weight": (20_000, 32)}


def adam(form: str = "one by one", kind: str = "Adam", **others: object) -> OptimizerFact:
    return dataclasses.replace(optimizer(kind, parameters=SMALL, **others), form=form)  # type: ignore[arg-type]


def one_by_one(fact: OptimizerFact, *others: Record, torch: str = "2.13.0", update_s: float = 0.008) -> list[Finding]:
    split = steps(200, forward=0.008, backward=0.012 - (update_s - 0.008), optimizer=update_s)
    records = [run(torch=torch), speed_settings(), fact, *others, *split, cost()]
    return judged(records, "parameters-updated-one-by-one")


def test_the_line_gets_fused() -> None:
    (finding,) = one_by_one(adam(), update_s=0.014)
    assert finding.severity == "note"
    assert finding.message == (
        "The update of `optimizer` takes 14 ms of the 28 ms of each step: it goes through 100 parameters one "
        "by one, with several ops for each."
    )
    assert finding.fix == (
        "Write `optimizer = torch.optim.Adam(net.parameters(), lr=0.001, fused=True)`: one kernel then updates "
        "all 100 parameters. Expected to save about 32 % of each step (9.1 ms)."
    )
    assert finding.edit is not None and finding.edit.line == 28
    assert finding.evidence["expected_gain"] == pytest.approx(0.325)


def test_the_gain_depends_on_the_share_of_the_optimizer() -> None:
    # half as much is told too
    assert only(one_by_one(adam())).evidence["expected_gain"] == pytest.approx(0.65 * 8 / 28)
    # with two optimizers the largest is told with its part
    second = dataclasses.replace(adam(name="other"), form="fused")
    assert only(one_by_one(adam(), second, update_s=0.014)).evidence["expected_gain"] == pytest.approx(0.325 / 2)
    # sgd needs momentum to gain
    assert one_by_one(adam(kind="SGD", momentum=0.9), update_s=0.014)
    assert not one_by_one(adam(kind="SGD"), update_s=0.014)


def test_a_few_large_parameters_count_too_and_small_ones_do_not() -> None:
    few = dataclasses.replace(adam(), parameters=tuple(LARGE))
    (finding,) = one_by_one(few, model({"net": "Net"}, LARGE))
    assert finding.evidence["expected_gain"] == pytest.approx(0.4 * 8 / 28)
    assert not one_by_one(few, model({"net": "Net"}, dict.fromkeys(LARGE, (400, 32))))


@pytest.mark.parametrize("form", ["fused", "in lists", ""])
def test_other_forms_are_silent(form: str) -> None:
    assert not one_by_one(adam(form))


def test_other_optimizers_versions_and_short_updates_are_silent() -> None:
    # other kinds and older versions
    assert not one_by_one(adam(kind="RMSprop"))
    assert not one_by_one(adam(), torch="2.3.1")
    assert one_by_one(adam(), torch="2.4.0+cpu")
    assert not one_by_one(adam(), speed_settings("cuda")), "on cuda nothing is said"
    # a small share and a short update
    assert not one_by_one(adam(), update_s=0.005)
    short = steps(20_000, forward=0.0008, optimizer=0.0009)
    assert not judged([run(), speed_settings(), adam(), *short[:4000], cost()], "parameters-updated-one-by-one")
