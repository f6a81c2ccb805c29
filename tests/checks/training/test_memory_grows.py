from __future__ import annotations

from tests.fakes import findings_of, only, place
from torch_debugger.records import KeptGraphs

APPEND = place(19, code="losses.append(loss)")


def kept(step: int, count: int, since: int = 2, form: str = "container", **others: object) -> KeptGraphs:
    facts: dict[str, object] = {"name": "losses", "place": APPEND, "added": "loss", "scalar": True, **others}
    return KeptGraphs(form=form, count=count, since=since, step=step, **facts)  # type: ignore[arg-type]


check = findings_of("memory-grows")


def test_a_list_of_losses_is_named_with_its_line_and_its_edit() -> None:
    (finding,) = check(*[kept(step, step - 1) for step in (3, 8, 13, 20)])
    assert finding.message == (
        "`losses` keeps the autograd graphs of past steps: 2 tensors with a graph at step 3, 19 at step 20, "
        "so memory grows with every step."
    )
    assert finding.fix == "Write `losses.append(loss.item())`: it adds the number without the graph."
    assert finding.edit is not None and finding.edit.after == "losses.append(loss.item())"
    assert (finding.severity, finding.where.line, finding.first_step, finding.last_step) == ("warning", 19, 2, 20)


def test_a_tensor_that_is_no_scalar_is_detached() -> None:
    outputs = place(9, code="outputs.append(model(x))")
    (finding,) = check(*[kept(s, s, name="outputs", place=outputs, added="model(x)", scalar=False) for s in (3, 8, 13)])
    assert finding.edit is None
    assert "put `.detach()` behind each tensor that goes into `outputs`" in finding.fix


def test_a_sum_grows_by_the_same_number_every_step() -> None:
    line = place(20, code="total = total + loss")
    grows = [kept(step, step - 1, form="sum", name="total", place=line) for step in (3, 8, 14)]
    assert only(check(*grows)).fix.startswith("Write `total = total + loss.item()`")
    episodes = [kept(step, count, form="sum") for step, count in ((3, 9), (8, 14), (14, 27), (20, 30))]
    assert not check(*episodes), "an episode that gets longer is added up anew in every step"


def test_a_list_that_is_emptied_or_kept_short_is_silent() -> None:
    assert not check(*[kept(step, step, since=step - 1) for step in (3, 8, 13, 20, 40)])
    assert not check(*[kept(step, 10) for step in (3, 8, 13, 20, 40)])
    assert not check(kept(3, 2), kept(4, 3), kept(5, 4)), "three steps may be one accumulated batch"


def test_a_state_that_is_carried_on_with_its_graph_is_cut_off_from_it() -> None:
    line = place(24, code="h = cell(x, h)")
    chain = [kept(step, step, form="chain", name="h", added="h", place=line, scalar=False) for step in (3, 10, 30)]
    (finding,) = check(*chain)
    assert "3 steps in its graph at step 3, 30 at step 30" in finding.message
    assert finding.edit is not None and finding.edit.after == "h = cell(x, h.detach())"
    assert finding.fix == (
        "Write `h = cell(x, h.detach())`: it goes on with the value, without the graph of the steps before."
    )
    twice = place(24, code="h = h + cell(x, h)")
    (finding,) = check(*[kept(step, step, form="chain", name="h", added="h", place=twice) for step in (3, 10, 30)])
    assert finding.edit is None and finding.fix.startswith("Go on with `h.detach()`")
    assert not check(*[kept(step, 4, form="chain", name="h", place=line) for step in (3, 10, 30)])
