"""What a step finds, and who never steps: four checks that read an optimizer's cycle."""

from __future__ import annotations

from tests.fakes import end, findings_of, only, optimizer, place, rows
from torch_debugger.records import Edit, IdleOptimizer, Place, Record, StepCycle

STEP = place(42, code="optimizer.step()")
BACKWARD = place(40, code="loss.backward()")
CLEAR = place(41, code="optimizer.zero_grad()")


def cycle(step: int, gradients: str, backwards: int = 1, name: str = "optimizer", **others: object) -> StepCycle:
    backward = BACKWARD if backwards else Place()
    return StepCycle(step, name, STEP, gradients, backwards, backward, **others)  # type: ignore[arg-type]


def cycles(gradients: str, steps: tuple[int, ...] = (1, 2, 3), **others: object) -> list[Record]:
    return [cycle(step, gradients, **others) for step in steps]  # type: ignore[arg-type]


zero_grad = findings_of("zero-grad-before-step")


def test_a_zero_grad_between_backward_and_step() -> None:
    (finding,) = zero_grad(*cycles("none", cleared=CLEAR))
    assert finding.message == (
        "`optimizer.zero_grad()` at train.py:41 clears the gradients after backward() and before "
        "`optimizer.step()` at train.py:42: since step 1 the step has found no gradients."
    )
    assert finding.fix == (
        "Move `optimizer.zero_grad()` at train.py:41 before `loss.backward()` at train.py:40, or after the "
        "step; remove it where they are cleared there already."
    )
    assert (finding.severity, finding.where) == ("error", CLEAR)


def test_zeros_are_as_bad_as_none() -> None:
    assert only(zero_grad(*cycles("zero", cleared=CLEAR))).message.endswith("the step has found zeros only.")


def test_a_zero_grad_that_costs_the_step_nothing_is_silent() -> None:
    assert not zero_grad(*cycles("nonzero", cleared=CLEAR))
    assert not zero_grad(*cycles("none"))
    assert not zero_grad(*cycles("none", cleared=CLEAR, steps=(1, 2)))
    skipped = [cycle(1, "none", cleared=CLEAR), cycle(2, "nonzero"), *cycles("none", (3, 4), cleared=CLEAR)]
    assert not zero_grad(*skipped)


backward = findings_of("backward-missing")


def test_steps_without_a_backward() -> None:
    (finding,) = backward(*cycles("none", backwards=0, losses=("error",)))
    assert finding.message == (
        "`optimizer.step()` at train.py:42 has found no gradients since step 1: backward() was not called before it."
    )
    assert finding.fix == "Put `error.backward()` before `optimizer.step()` at train.py:42."
    assert finding.edit == Edit("train.py", 42, "optimizer.step()", "error.backward()\noptimizer.step()")


def test_a_loss_that_leads_to_the_parameters_and_has_no_backward_of_its_own() -> None:
    unspent = cycles("none", unspent="value_loss")
    (finding,) = backward(*unspent, end())
    assert finding.message.endswith(
        "has found no gradients since step 1: `value_loss.backward()` was not called before it."
    )
    assert finding.fix == "Put `value_loss.backward()` before `optimizer.step()` at train.py:42."
    assert not backward(*unspent, cycle(4, "nonzero"), end())  # its training began late
    late = rows(90, "parameter", ("grad_norm",), {"net.weight": [1.0]}, root="optimizer")
    assert not backward(*unspent, late, end())


def test_a_backward_without_its_parentheses_is_the_line_to_edit() -> None:
    bare = place(40, code="loss.backward")
    (finding,) = backward(*cycles("none", backwards=0, uncalled=bare))
    assert finding.where == bare
    assert finding.edit == Edit("train.py", 40, "loss.backward", "loss.backward()")
    assert "parentheses are missing" in finding.why


def test_the_gradients_of_the_step_before() -> None:
    (finding,) = backward(cycle(1, "nonzero"), *cycles("stale", (2, 3, 4), backwards=0))
    assert (finding.first_step, finding.confidence) == (2, 0.9)
    assert "the gradients of the step before since step 2" in finding.message


def test_a_backward_that_is_not_missing_is_silent() -> None:
    # a script that skips batches
    fresh = cycles("nonzero", (1, 2), backwards=0)
    assert not backward(*fresh, *cycles("none", tuple(range(3, 12)), backwards=0))
    assert backward(*fresh, *cycles("none", tuple(range(3, 13)), backwards=0))
    assert not backward(*cycles("none", backwards=0, trained=False)), "steps that only turn a scheduler"
    # gradients that backward made are not missing
    assert not backward(*cycles("none", backwards=1))
    assert not backward(*cycles("nonzero", backwards=0))


stale = findings_of("optimizer-holds-stale-parameters")


def test_a_model_that_was_made_after_its_optimizer() -> None:
    later = place(30, code="net = build()")
    (finding,) = stale(optimizer(), *cycles("none", twin="net", twin_place=later))
    assert finding.message == (
        "`optimizer` at train.py:28 holds the parameters of another object than `net`: since step 1 backward() "
        "has given gradients to `net`, and none to what the optimizer moves."
    )
    assert finding.fix == (
        "Make `optimizer` at train.py:28 after `net` is made at train.py:30, or put the new weights into the "
        "old object with `load_state_dict`."
    )
    assert (finding.where.line, finding.where.module) == (28, "net")


def test_without_a_model_of_the_same_shapes_nothing_is_stale() -> None:
    assert not stale(optimizer(), *cycles("none"))
    assert not stale(optimizer(), *cycles("none", steps=(1, 2), twin="net"), cycle(3, "nonzero"))


def idle(backwards: int = 64, zero_grads: int = 63, stepped: bool = False, **others: object) -> IdleOptimizer:
    facts: dict[str, object] = {"optimizer": "optimizer", "kind": "Adam", "place": place(28), "step": 1}
    facts |= {"backward": BACKWARD, "uncalled": Place(), **others}
    return IdleOptimizer(backwards=backwards, zero_grads=zero_grads, stepped=stepped, **facts)  # type: ignore[arg-type]


step_missing = findings_of("optimizer-step-missing")


def test_an_optimizer_that_never_steps() -> None:
    (finding,) = step_missing(idle(), end(counted="backward passes"))
    assert finding.message == (
        "`optimizer` (Adam, made at train.py:28) never steps: its parameters get gradients from "
        "`loss.backward()` at train.py:40 and have kept their first values over 64 or more backward passes."
    )
    assert finding.fix == "Put `optimizer.step()` after `loss.backward()` at train.py:40."
    assert finding.edit == Edit("train.py", 40, "loss.backward()", "loss.backward()\noptimizer.step()")


def test_a_step_without_its_parentheses() -> None:
    bare = place(41, code="optimizer.step")
    (finding,) = step_missing(idle(uncalled=bare), end())
    assert (finding.where, finding.fix) == (bare, "Write `optimizer.step()` at train.py:41.")


def test_gradients_collected_over_many_batches_are_silent() -> None:
    assert not step_missing(idle(zero_grads=1), idle(zero_grads=1, stepped=True), end())
    assert not step_missing(idle(backwards=32), end(outcome="stopped"))
    assert not step_missing(idle(backwards=4), end())


def test_without_zero_grad_it_is_a_warning_and_only_if_nobody_steps() -> None:
    (finding,) = step_missing(idle(zero_grads=0), end())
    assert (finding.severity, finding.confidence) == ("warning", 0.7)
    assert not step_missing(optimizer(name="other"), idle(zero_grads=0), end())


def test_a_step_under_a_condition_that_is_never_true() -> None:
    never = place(44, code="if (i + 1) % 32 == 0:")
    (finding,) = step_missing(idle(condition=never), end())
    assert finding.where == never
    assert finding.fix == (
        "Change `if (i + 1) % 32 == 0:` at train.py:44: it was not true once, so `optimizer.step()` inside was "
        "never reached."
    )
    assert finding.edit is None


check = findings_of("momentum-out-of-range")


def test_momentum_without_end() -> None:
    (finding,) = check(optimizer("SGD", lr=0.02, momentum=1.0))
    assert finding.severity == "error"
    assert finding.message == "`optimizer` (SGD at train.py:28) has a momentum of 1."
    assert finding.fix == "Set `momentum=0.9` in `optimizer` at train.py:28."
    assert finding.edit is None


def test_rates_in_the_wrong_place_are_set_right() -> None:
    # swapped betas
    call = "torch.optim.Adam(net.parameters(), betas=(0.999, 0.9))"
    (finding,) = check(optimizer("Adam", source=call, beta1=0.999, beta2=0.9))
    assert finding.severity == "warning"
    assert finding.message == "`optimizer` (Adam at train.py:28) has betas of (0.999, 0.9)."
    assert finding.fix == "Set `betas=(0.9, 0.999)` in `optimizer` at train.py:28."
    assert finding.edit and finding.edit.after == "optimizer = torch.optim.Adam(net.parameters(), betas=(0.9, 0.999))"
    # a rate in the place of the momentum
    (finding,) = check(optimizer("SGD", lr=0.9, momentum=0.01))
    assert finding.message.endswith("has a learning rate of 0.9 and a momentum of 0.01.")
    assert finding.fix == "Set `lr=0.01, momentum=0.9` in `optimizer` at train.py:28."


def test_settings_that_people_use_are_silent() -> None:
    for settings in ({"momentum": 0.99}, {"momentum": 0.0}, {"momentum": 0.9}):
        assert not check(optimizer("SGD", lr=0.1, **settings))
    assert not check(optimizer("SGD", lr=0.9, momentum=0.9))
    for first, second in ((0.9, 0.999), (0.0, 0.9), (0.5, 0.999), (0.9, 0.9), (0.95, 0.9), (0.9, 0.95)):
        assert not check(optimizer("Adam", beta1=first, beta2=second))
