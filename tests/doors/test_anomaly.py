"""detect_anomaly: the op and the line of a NaN or Inf, forward and backward; healthy code stays as it is."""

from __future__ import annotations

import runpy
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

import torch_debugger
from torch_debugger import AnomalyError, detect_anomaly, set_detect_anomaly
from torch_debugger.trials.nan_in_backward import NodeMarks


class Head(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.log(torch.relu(x))  # bad


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 4))
        self.head = Head()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x))


class SignedRoot(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x.abs().sqrt() * x.sign()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return grad / (2 * x.abs().sqrt())  # bad


def layer() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(4, 4)


def batch() -> torch.Tensor:
    torch.manual_seed(1)
    return torch.randn(6, 4)


def in_a_module() -> None:
    Net()(batch()).mean().backward()


def between_model_and_loss() -> None:
    p = torch.softmax(layer()(batch()), 1)
    q = F.relu(batch())
    ratio = q / p
    (q * ratio.log()).sum().backward()  # bad


def written_in_place() -> None:
    y = layer()(batch())
    y = y * 1
    y[:, 0] = 0
    y.abs_()
    z = y / y.view(-1)[:1]  # bad
    z.sum().backward()


def in_place_on_the_batch() -> None:
    x = batch()
    x.sub_(10)
    layer()(x.log()).sum().backward()  # bad


def in_a_view_of_it() -> None:
    y = layer()(batch()) + 100
    y.view(-1)[3:4].zero_()
    y.log().sum().backward()  # bad


def root_at_zero() -> None:
    y = layer()(batch())
    (y - y).abs().sqrt().sum().backward()  # bad


def leaf_made_here() -> None:
    v = torch.zeros(3, requires_grad=True)
    (v.sqrt().sum() + layer()(batch()).sum()).backward()  # bad


def marked_leaf() -> None:
    x = batch() * 0
    x.requires_grad_()
    layer()(x.abs().sqrt()).sum().backward()  # bad


def own_function() -> None:
    SignedRoot.apply(layer()(batch()) * 0).sum().backward()


def penalty() -> None:
    """The gradient of the input is 0, and so is its norm: its slope is not finite there."""
    net, x = layer(), batch().requires_grad_()
    y = (net(x) * 0).sum()
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    norm = slope.pow(2).sum(1).sqrt()  # bad
    (norm - 1).pow(2).mean().backward()


def last_derivative() -> None:
    net = layer()
    y = (net(batch()) * 0).abs().sqrt().sum()  # bad
    torch.autograd.grad(y, list(net.parameters()))


def by_the_function() -> None:
    torch.autograd.backward([(layer()(batch()) - 50).log().mean()])  # bad


def checkpointed() -> None:
    y = checkpoint(_block, layer()(batch()), use_reentrant=False)
    y.sum().backward()


def checkpointed_the_old_way() -> None:
    y = checkpoint(_block, layer()(batch()), use_reentrant=True)
    y.sum().backward()


def _block(x: torch.Tensor) -> torch.Tensor:
    return (x * 0).abs().sqrt()  # bad


def in_half() -> None:
    net = layer()
    with torch.autocast("cpu", torch.bfloat16):
        y = net(batch()) * 1e38
        loss = y.square().mean()  # bad
    loss.backward()


def in_eval_with_other_statistics() -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4, momentum=1.5))
    for scale in (1.0, 30.0):
        net(batch() * scale)
    y = net(batch())
    net.eval()
    with torch.no_grad():
        target = net(batch())  # bad
    net.train()
    F.mse_loss(y, target).backward()


def masked_row() -> None:
    scores = layer()(batch())
    hidden = torch.zeros(6, 4, dtype=torch.bool)
    hidden[2] = True
    scores.masked_fill(hidden, -torch.inf).softmax(dim=1).sum().backward()  # bad


FAULTS: dict[Callable[[], None], tuple[str, str]] = {
    in_a_module: ("forward", "log"),
    between_model_and_loss: ("loss", "log"),
    written_in_place: ("loss", "div"),
    in_place_on_the_batch: ("loss", "log"),
    in_a_view_of_it: ("loss", "log"),
    root_at_zero: ("backward", "sqrt"),
    leaf_made_here: ("backward", "sqrt"),
    marked_leaf: ("backward", "sqrt"),
    own_function: ("backward", "SignedRoot"),
    penalty: ("backward", "sqrt"),
    last_derivative: ("backward", "sqrt"),
    by_the_function: ("loss", "log"),
    checkpointed: ("backward", "sqrt"),
    checkpointed_the_old_way: ("backward", "sqrt"),
    in_half: ("loss", "square"),
    in_eval_with_other_statistics: ("forward", "batch_norm"),
    masked_row: ("loss", "softmax"),
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_it_names_the_op_and_its_line(fault: Callable[[], None]) -> None:
    with pytest.raises(AnomalyError) as raised, detect_anomaly():
        fault()
    origin = raised.value.origin
    assert origin is not None, str(raised.value)
    assert (origin.phase, origin.op) == FAULTS[fault]
    assert (origin.place.code or "").endswith("# bad")
    assert raised.value.finding.where.line == origin.place.line


def test_the_text_has_the_op_its_numbers_the_change_and_the_way_there() -> None:
    with pytest.raises(AnomalyError) as raised, detect_anomaly(stacklevel=2):
        _outer()
    text = str(raised.value).splitlines()
    assert text[0].startswith("The loss became -inf: `torch.log(p)` at test_anomaly.py:")
    assert text[0].endswith("made the first -inf, because all 3 values of `p` are 0.")
    assert text[1] == "  why     log(0) is -inf."
    assert text[3:5] == ["  change  return torch.log(p).sum()", "  to      return torch.log(p.clamp_min(1e-8)).sum()"]
    assert [line.partition("  ")[2] for line in (each.strip() for each in text[-2:])][1] == "return _inner(w * 0)"
    assert len(text) == 7


def _outer() -> None:
    _middle(torch.ones(3, requires_grad=True)).backward()


def _middle(w: torch.Tensor) -> torch.Tensor:
    return _inner(w * 0)


def _inner(p: torch.Tensor) -> torch.Tensor:
    return torch.log(p).sum()


def training(steps: int) -> tuple[list[torch.Tensor], torch.Tensor]:
    """With what may differ: dropout, statistics, other random numbers, a loader, in-place, a second loss."""
    torch.manual_seed(3)
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(inplace=True), nn.Dropout(0.5), nn.Linear(8, 2))
    loader = DataLoader(TensorDataset(torch.randn(24, 4), torch.randn(24, 2)), batch_size=6, shuffle=True)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    running, losses = torch.zeros(()), []
    for _ in range(steps):
        for x, y in loader:
            x.add_(torch.randn_like(x), alpha=0.1)
            loss = F.mse_loss(F.dropout(net(x), 0.1), y)
            hidden = torch.full((6, 6), -torch.inf).triu(1)
            extra = (net[0](x) @ net[0](x).T + hidden).softmax(1).square().mean()
            optimizer.zero_grad()
            (loss + extra).backward(retain_graph=True)
            extra.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            running = 0.9 * running + 0.1 * loss.detach()
            losses.append(loss.detach())
    return [*net.state_dict().values(), *losses, running], torch.get_rng_state()


def test_a_healthy_training_is_bit_equal() -> None:
    plain, plain_rng = training(3)
    with detect_anomaly():
        watched, watched_rng = training(3)
    assert all(torch.equal(one, other) for one, other in zip(plain, watched, strict=True))
    assert torch.equal(plain_rng, watched_rng)


def test_the_look_itself_leaves_weights_gradients_and_random_numbers() -> None:
    net, x = Net(), batch()
    weights = [each.detach().clone() for each in net.parameters()]
    with detect_anomaly():
        loss = net(x).mean()
        state, buffers = torch.get_rng_state(), {name: each.clone() for name, each in net.named_buffers()}
        with pytest.raises(AnomalyError):
            loss.backward()
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(x, batch())
    assert all(torch.equal(one, other) for one, other in zip(weights, net.parameters(), strict=True))
    assert all(torch.equal(each, buffers[name]) for name, each in net.named_buffers())


def padded() -> torch.Tensor:
    x = batch()
    x[2:] = torch.nan
    return layer()(torch.nan_to_num(x)).sum()


def chosen() -> torch.Tensor:
    x = torch.relu(batch())
    return layer()(torch.where(x > 0, x.log(), 0.0)).sum()


def attended() -> torch.Tensor:
    scores = layer()(batch()) @ batch().T
    return (scores + torch.full((6, 6), -torch.inf).triu(1)).softmax(1).sum()


def best_so_far() -> torch.Tensor:
    best = torch.tensor(torch.inf)
    return torch.minimum(best, layer()(batch()).sum())


@pytest.mark.parametrize("healthy", [padded, chosen, attended, best_so_far])
def test_what_is_put_there_on_purpose_stays_silent(healthy: Callable[[], torch.Tensor]) -> None:
    with detect_anomaly():
        healthy().backward()
    with detect_anomaly():
        kept = healthy()
    assert torch.isfinite(kept)


def test_a_mask_that_is_left_over_is_no_anomaly() -> None:
    with detect_anomaly():
        mask = torch.zeros(4, 4).masked_fill(torch.ones(4, 4).triu(1).bool(), -torch.inf)
        best = torch.tensor(torch.inf)
        gap = batch().masked_fill(torch.ones(4).bool(), torch.nan)
        padding = batch()
        padding[3:] = torch.nan
    assert mask.isinf().any() and best.isinf() and gap.isnan().all() and padding.isnan().any()


def test_without_a_backward_the_results_are_looked_at() -> None:
    with pytest.raises(AnomalyError, match=r"The result became inf: `1 / x` at test_anomaly\.py"):
        _reciprocal(torch.zeros(3))


@detect_anomaly()
def _reciprocal(x: torch.Tensor) -> float:
    with torch.no_grad():
        return float((1 / x).sum())


@pytest.mark.parametrize(("numbers", "word"), [(-1.0, "nan"), (0.0, "inf")])
def test_what_is_not_minded_passes(numbers: float, word: str) -> None:
    with detect_anomaly(check_nan=word != "nan", check_inf=word != "inf"):
        torch.full((3,), numbers, requires_grad=True).sqrt().sum().backward()
    with pytest.raises(AnomalyError), detect_anomaly(check_nan=word == "nan", check_inf=word == "inf"):
        torch.full((3,), numbers, requires_grad=True).sqrt().sum().backward()


def test_as_a_function_it_lasts_until_it_is_switched_off() -> None:
    set_detect_anomaly(True)
    try:
        with pytest.raises(AnomalyError):
            root_at_zero()
        with set_detect_anomaly(False):
            root_at_zero()
        with pytest.raises(AnomalyError):
            root_at_zero()
    finally:
        set_detect_anomaly(False)
    root_at_zero()


def test_regions_in_regions() -> None:
    with detect_anomaly():
        y = layer()(batch()) * 0
        with pytest.raises(AnomalyError, match="sqrt"), detect_anomaly(check_inf=False):
            y.abs().sqrt().sum().backward()
        with pytest.raises(AnomalyError, match="log"):
            (layer()(batch()) - 50).log().mean().backward()


def test_a_scaled_loss_may_overflow() -> None:
    net = layer()
    scaler = torch.amp.GradScaler("cpu", init_scale=1e38)
    with detect_anomaly():
        scaler.scale((net(batch()) * 100).square().mean()).backward()
    assert not all(torch.isfinite(each.grad).all() for each in net.parameters() if each.grad is not None)
    with pytest.raises(AnomalyError, match="sqrt"), detect_anomaly():
        scaler.scale((layer()(batch()) * 0).abs().sqrt().mean()).backward()


def test_two_losses_of_one_forward() -> None:
    """As in a GAN: the first backward must not take from the second what it needs."""
    generator, critic = layer(), layer()
    with detect_anomaly():
        fake = generator(batch())
        critic(fake.detach()).mean().backward()
        with pytest.raises(AnomalyError, match="log"):
            (critic(fake) - 50).log().mean().backward()


def test_the_users_own_errors_pass_and_leave_nothing() -> None:
    call = nn.Module.__call__
    with pytest.raises(RuntimeError, match="mat1 and mat2"), detect_anomaly():
        layer()(torch.randn(2, 3))
    with detect_anomaly():
        loss = layer()(batch()).square().mean()
        loss.backward()
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()
    assert nn.Module.__call__ is call
    assert torch._C._len_torch_function_stack() == 0


def test_what_does_not_repeat_is_said_to() -> None:
    values = iter([0.0, 1.0, 1.0, 1.0])

    class Fickle(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x * next(values)).log()

    with pytest.raises(AnomalyError, match="it was run again and gave finite numbers") as raised, detect_anomaly():
        Fickle()(torch.ones(3, requires_grad=True)).sum().backward()
    assert raised.value.origin is None


def test_what_was_computed_before_is_said_to_be() -> None:
    loss = (layer()(batch()) - 50).log().mean()
    with pytest.raises(AnomalyError, match="or before `detect_anomaly` was on"), detect_anomaly():
        loss.backward()


def test_of_what_was_computed_before_the_node_is_named() -> None:
    """The root's slope is inf at the row of zeros; torch names the power behind it, where that became NaN."""
    net, x = layer(), batch()
    x[2] = 0
    with torch.no_grad():
        net.bias.zero_()
    loss = net(x).pow(2).sum(1).sqrt().sum()
    with pytest.raises(AnomalyError) as raised, detect_anomaly():
        loss.backward()
    origin = raised.value.origin
    assert origin is not None
    assert (origin.op, origin.made, origin.into_nan) == ("sqrt", "inf", "pow")


@pytest.mark.parametrize(("more", "line"), [("", 3), ("y = x.acos()", None)])
def test_its_line_is_said_where_only_one_can_have_made_it(tmp_path: Path, more: str, line: int | None) -> None:
    lines = [
        "import torch, torch_debugger",
        "x = torch.zeros(3, requires_grad=True)",
        "loss = (x * 0 + 1).acos().sum()",
    ]
    lines += [more, "with torch_debugger.detect_anomaly():", "    loss.backward()"]
    script = tmp_path / "script.py"
    script.write_text("\n".join(lines))
    with pytest.raises(AnomalyError) as raised:
        runpy.run_path(str(script))
    assert raised.value.origin is not None
    assert raised.value.origin.place.line == line


def masked_root(x: torch.Tensor) -> torch.Tensor:
    kept = x > 0
    zero = torch.zeros_like(x)
    return torch.where(kept, torch.where(kept, x, zero).sqrt(), zero).sum()


@pytest.mark.parametrize("before", [False, True])
def test_a_nan_that_a_mask_keeps_from_the_weights(before: bool) -> None:
    """As autograd's own anomaly mode has it; no gradient of a leaf shows it."""
    x = torch.tensor([1.0, -1.0], requires_grad=True)
    loss = masked_root(x) if before else None
    with pytest.raises(AnomalyError) as raised, detect_anomaly():
        (loss if loss is not None else masked_root(x)).backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert raised.value.origin is not None
    assert raised.value.origin.op == "sqrt"


def test_a_masked_nan_is_none_without_check_nan() -> None:
    with detect_anomaly(check_nan=False):
        masked_root(torch.tensor([1.0, -1.0], requires_grad=True)).backward()


def test_the_graph_keeps_no_hook_of_ours() -> None:
    x = torch.ones(3, requires_grad=True)
    loss = x.sqrt().sum()
    root = loss.grad_fn.next_functions[0][0]  # type: ignore[union-attr]
    with detect_anomaly():
        loss.backward(retain_graph=True)
    calls: list[Any] = []
    marks = NodeMarks([loss])
    marks.take_off()
    root.register_hook(lambda *_: calls.append(1))
    loss.backward()
    assert calls == [1]
    assert marks.tensors() == []


def test_bad_data_and_bad_weights_are_told_from_ops() -> None:
    x, net = batch(), layer()
    x[3, 1] = torch.nan
    with pytest.raises(AnomalyError, match="1 of 24 values of `x` is NaN, in row 3"), detect_anomaly():
        net(x).sum().backward()
    with torch.no_grad():
        net.weight[0, 0] = torch.inf
    with pytest.raises(AnomalyError, match=r"`net\.weight` was not finite before this step"), detect_anomaly():
        net(batch()).sum().backward()


def test_another_thread_is_left_alone() -> None:
    raised: list[BaseException] = []

    def other() -> None:
        try:
            root_at_zero()
        except BaseException as error:
            raised.append(error)

    with detect_anomaly():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert not raised


def test_a_compiled_model_runs_as_compiled_and_is_traced_eagerly() -> None:
    graphs: list[Any] = []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph

    torch._dynamo.reset()
    net = torch.compile(Head(), backend=backend)
    with detect_anomaly():
        net(batch().abs().requires_grad_() + 1).sum().backward()
    net(batch().abs().requires_grad_() + 1).sum().backward()
    assert len(graphs) == 1
    with pytest.raises(AnomalyError) as raised, detect_anomaly():
        net(batch().requires_grad_() * 1).sum().backward()
    assert raised.value.origin is not None and raised.value.origin.op == "log"


def test_public_names() -> None:
    assert {"AnomalyError", "detect_anomaly", "set_detect_anomaly", "find_nan"} <= set(torch_debugger.__all__)
    assert issubclass(AnomalyError, RuntimeError)
