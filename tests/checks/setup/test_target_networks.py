from __future__ import annotations

import dataclasses

from tests.fakes import end, findings_of, only, place
from torch_debugger.records import CopyLook

LOAD = place(60, code="target.load_state_dict(q.state_dict())")
WALK = place(62, code="for a, p in zip(ema.parameters(), net.parameters()):")
IDLE = place(63, code="a = 0.9 * a + 0.1 * p")
CALL = place(35, code="wanted = reward + gamma * target(following)")


def look(step: int = 118, name: str = "ema", **others: object) -> CopyLook:
    """A copy that has stayed as it was."""
    before = CopyLook(step, name, "net", "Net", step, True, True, False, False, False, place(20), (), (), place(40))
    return dataclasses.replace(before, **others)  # type: ignore[arg-type]


never = findings_of("ema-never-updated")


def test_an_average_that_stays_as_it_was_made() -> None:
    (finding,) = never(look(10), look(), end())
    assert finding.message == (
        "`ema` at train.py:20 has not changed since it was made: after 118 updates of `net` it still has the "
        "weights that `net` began with."
    )
    assert finding.fix == (
        "Write `for a, p in zip(ema.parameters(), net.parameters()): a.lerp_(p, 0.01)`, under "
        "`torch.no_grad()`, after `optimizer.step()` at train.py:40."
    )
    assert (finding.severity, finding.where) == ("warning", place(20))


def test_a_loop_that_has_no_effect_is_the_line_to_edit() -> None:
    for name in ("ema", "encoder_k"):
        (finding,) = never(look(name=name, walks=(WALK,), idle=IDLE), end())
        assert finding.where == IDLE
        assert finding.fix.endswith("under `torch.no_grad()`, in place of the loop at train.py:62.")


def test_a_loop_that_would_write_and_is_never_run() -> None:
    (finding,) = never(look(name="ema.module", walks=(WALK,)), end())
    assert finding.where == WALK
    assert finding.fix == (
        "Run the loop at train.py:62, which writes to `ema.module`, after `optimizer.step()` at train.py:40: "
        "it was never run."
    )
    assert not never(look(name="ema.module", walks=(WALK,), sometimes=True), end())


def test_a_function_that_nobody_calls_is_the_line_to_edit() -> None:
    hook = place(37, code="def on_train_batch_end(self, model):")
    (finding,) = never(look(walks=(WALK,), uncalled=hook), end())
    assert finding.where == hook
    assert finding.fix == (
        "Have `def on_train_batch_end(self, model):` at train.py:37 called after `optimizer.step()` at "
        "train.py:40: no line calls it."
    )


def test_an_averaged_model_of_torch_has_a_method_for_it() -> None:
    (finding,) = never(look(name="mean", kind="AveragedModel"), end())
    assert finding.fix == "Call `mean.update_parameters(net)` after `optimizer.step()` at train.py:40."


def test_names_of_followers() -> None:
    for name in ("ema_model", "model_ema", "target_net", "q_target", "netEMA", "avg_model", "target1"):
        assert never(look(name=name), end()), name
    for name in ("teacher", "reference", "schema", "best_model", "old_policy", "targets", "cinema"):
        assert not never(look(name=name), end()), name


def test_copies_that_follow_or_need_not_are_silent() -> None:
    assert not never(look(changed=True), end())
    assert not never(look(moved=False), end())
    assert not never(look(began_equal=False), end())
    assert not never(look(loads=(LOAD,)), end())
    assert not never(look(held=True), end())
    assert not never(look(), end("crashed"))
    assert not never(look(step=60), end())
    assert not never(look(updates=20), end())


through = findings_of("gradient-through-target-network")


def reached(**others: object) -> list[CopyLook]:
    settings = {"name": "target", "gradient": True, "changed": True, "loads": (LOAD,), **others}
    return [look(step, **settings) for step in range(6, 12)]


def test_gradients_in_a_target_network() -> None:
    (finding,) = through(*reached())
    assert finding.severity == "warning"
    assert finding.message == (
        "The loss sends gradients into `target`, although it is a copy of `net` that the script keeps up to "
        "date itself at train.py:60; seen since step 6."
    )
    assert finding.fix == (
        "Call `target(...)` under `with torch.no_grad():`, or freeze it once: `target.requires_grad_(False)` "
        "after the line that makes it at train.py:20."
    )


def test_the_one_line_that_calls_the_target_network_is_the_one_to_edit() -> None:
    assert only(through(*reached(calls=(CALL,)))).where == CALL
    assert only(through(*reached(calls=(CALL, LOAD)))).where == place(20)


def test_a_target_network_that_an_optimizer_moves_is_an_error() -> None:
    (finding,) = through(*reached(held=True))
    assert finding.severity == "error"
    assert "into `target` and an optimizer holds them, although" in finding.message
    assert finding.fix.endswith(", and leave its parameters out of the optimizer.")


def test_networks_that_are_trained_together_are_silent() -> None:
    assert not through(*reached(name="document_encoder"))
    assert not through(*reached(loads=(), held=True))
    assert not through(*reached(gradient=False))
    assert not through(*reached()[:2])
