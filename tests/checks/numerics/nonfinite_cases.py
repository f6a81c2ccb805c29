"""Lines that make a NaN or Inf with the record a hunt would give of them, and records of which no line can be run."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from tests.fakes import optimizer, place
from torch_debugger.records import Edit, NonFinite, Operand, OptimizerFact, Origin

NAMES: dict[str, Any] = {"torch": torch, "F": F, "nn": nn, "math": math}
INF = math.inf


@dataclass(frozen=True)
class Line:
    """One line, what it is given, and what the record says of the op that failed in it."""

    code: str
    op: str
    given: Mapping[str, torch.Tensor]
    operands: tuple[str, ...]  # expressions over what is given
    origin: Mapping[str, Any] = field(default_factory=dict)
    fact: Mapping[str, Any] = field(default_factory=dict)

    @property
    def phase(self) -> str:
        return str(self.origin.get("phase", "loss"))


def line(code: str, op: str, operands: str, *, fact: Mapping[str, Any] | None = None, **others: Any) -> Line:
    """Lists of numbers are tensors given to the line; all else is told of the origin."""
    given = {key: _tensor(value) for key, value in others.items() if isinstance(value, (list, torch.Tensor))}
    told = {key: value for key, value in others.items() if key not in given}
    return Line(code, op, given, tuple(part for part in operands.split(" | ") if part), told, fact or {})


def _tensor(value: Any) -> torch.Tensor:
    return value if isinstance(value, torch.Tensor) else torch.tensor(value)


def run(code: str, given: Mapping[str, torch.Tensor]) -> list[torch.Tensor]:
    """Runs the line and a backward through it: its result and every gradient."""
    leaves = {key: _leaf(value) for key, value in given.items()}
    held = {**NAMES, **leaves}
    exec(code.replace("return ", "result = "), held)
    made = [held[name] for name in ("result", "loss", "y", "out") if name in held and name not in given]
    made[0].float().sum().backward()
    return [made[0].detach(), *(leaf.grad for leaf in leaves.values() if leaf.grad is not None)]


def _leaf(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.clone().requires_grad_() if tensor.is_floating_point() else tensor.clone()


def is_finite(tensors: list[torch.Tensor]) -> bool:
    return all(bool(torch.isfinite(tensor).all()) for tensor in tensors)


def record(case: Line) -> NonFinite:
    """What the hunt would tell: the operands' numbers are counted here the slow, obvious way."""
    held = {**NAMES, **case.given}
    operands = tuple(count(text, eval(text, held)) for text in case.operands)
    facts: dict[str, Any] = {"phase": "loss", "module": None, "made": "nan", "place": place(31, code=case.code)}
    origin = Origin(op=case.op, operands=operands, **{**facts, **case.origin})
    what = "gradient" if case.phase == "backward" else "loss"
    told: dict[str, Any] = {"step": 12, "what": what, "value": "nan", "how": "step", **case.fact}
    return NonFinite(site=place(40, code="loss.backward()"), origin=origin, **told)


def count(name: str, tensor: torch.Tensor) -> Operand:
    values = [float(value) for value in tensor.flatten()]
    finite = [value for value in values if math.isfinite(value)]
    return Operand(
        name=name if isinstance(ast.parse(name, mode="eval").body, ast.Name | ast.Attribute) else "",
        dtype=str(tensor.dtype).removeprefix("torch."), shape=tuple(tensor.shape), low=min(finite, default=0.0),
        high=max(finite, default=0.0), zeros=values.count(0.0), negatives=sum(value < 0 for value in values),
        nans=sum(math.isnan(value) for value in values), infs=sum(math.isinf(value) for value in values),
        limit=torch.finfo(tensor.dtype).max if tensor.is_floating_point() else 0.0, elements=len(values),
    )  # fmt: skip


def applied(edit: Edit, code: str) -> str:
    assert edit.before == code
    return edit.after


HALF = torch.float16
ZEROS = torch.zeros(2, 3)
SCORES = torch.tensor([[-INF, -INF], [1.0, 2.0]])
HOT = torch.tensor([[100.0, 1.0], [2.0, 3.0]])

# Each of these is run: as it stands it gives something that is not finite, and with the edit it does not.
RUN: dict[str, Line] = {
    "log_of_zero": line("y = torch.log(p)", "log", "p", p=[0.0, 0.5], made="-inf", module="net.head"),
    "log_into_nan": line("loss = -(q * torch.log(p)).sum()", "log", "p", p=[0.0, 0.0, 0.5], q=[0.0, 1.0, 1.0],
        made="-inf", into_nan="mul", into_nan_place=place(31)),
    "log_of_method": line("y = p.log()", "log", "p", p=[0.0, 0.5], made="-inf"),
    "log_of_difference": line("y = torch.log(1 - p)", "log", "1 - p", p=[1.0, 0.5], made="-inf"),
    "log_of_grouped_difference": line("y = (1 - p).log()", "log", "1 - p", p=[1.0, 0.5], made="-inf"),
    "log_of_two_groups": line("y = torch.log((a) - (b))", "log", "(a) - (b)", a=[1.0, 2.0], b=[1.0, 0.1],
        made="-inf"),
    "log_of_float_complement": line("loss = -(t * torch.log(p) + (1.0 - t) * torch.log(1.0 - p)).mean()", "log",
        "1.0 - p", p=[0.0, 1.0], t=[1, 0], made="-inf"),
    "half_scores_squared": line("y = (((2 * q) @ k.mT) / 4096) ** 2", "matmul", "2 * q | k.mT",
        q=torch.full((2, 64), 40.0, dtype=HALF), k=torch.full((2, 64), 20.0, dtype=HALF), made="inf",
        phase="forward"),
    "log_of_counts": line("y = torch.log(visits)", "log", "visits", visits=[0.0, 3.0], made="-inf"),
    "log_in_half": line("y = torch.log(p)", "log", "p", p=torch.tensor([0.0, 0.5], dtype=HALF), made="-inf"),
    "log_of_rounding": line("y = torch.log2(p)", "log2", "p", p=[-1e-7, 0.5]),
    "cross_entropy_by_hand": line("return -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()", "log", "p",
        p=[0.0, 1.0, 0.5], y=torch.tensor([1, 0, 1]), made="-inf", into_nan="mul", into_nan_place=place(31)),
    "cross_entropy_by_hand_other_end": line("return -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()",
        "log", "1 - p", p=[0.2, 1.0, 0.5], y=torch.tensor([1, 0, 1]), made="-inf"),
    "log_of_softmax": line("loss = -torch.log(torch.softmax(x, dim=1))[:, 0].mean()", "log",
        "torch.softmax(x, dim=1)", x=[[-200.0, 100.0], [1.0, 2.0]], made="-inf"),
    "log_of_softmax_method": line("y = x.softmax(1).log()", "log", "x.softmax(1)",
        x=[[-200.0, 100.0], [1.0, 2.0]], made="-inf"),
    "log_of_sigmoid": line("y = torch.log(torch.sigmoid(x))", "log", "torch.sigmoid(x)", x=[-200.0, 1.0],
        made="-inf"),
    "log_of_one_minus_sigmoid": line("loss = F.relu(-torch.log(1 - torch.sigmoid(x))).sum()", "log",
        "1 - torch.sigmoid(x)", x=[200.0, 1.0], made="-inf"),
    "logsumexp_by_hand": line("y = torch.log(torch.exp(x).sum(1))", "exp", "x", x=HOT, made="inf"),
    "logsumexp_by_methods": line("y = x.exp().sum(dim=1).log()", "exp", "x", x=HOT, made="inf"),
    "softplus_by_hand": line("y = torch.log(1 + torch.exp(x))", "exp", "x", x=[100.0, 1.0], made="inf"),
    "softplus_by_log1p": line("y = torch.log1p(torch.exp(x))", "exp", "x", x=[100.0, 1.0], made="inf"),
    "softmax_by_hand": line("y = torch.exp(x) / torch.exp(x).sum(1, keepdim=True)", "exp", "x", x=HOT,
        made="inf", into_nan="div", into_nan_place=place(31)),
    "sigmoid_by_hand": line("y = 1 / (1 + torch.exp(-x))", "exp", "-x", x=[-100.0, 1.0], made="inf",
        phase="backward"),
    "log1p_at_minus_one": line("y = torch.log1p(x)", "log1p", "x", x=[-1.0, 0.5], made="-inf"),
    "logit_at_its_ends": line("y = torch.logit(p)", "logit", "p", p=[0.0, 1.0, 0.5], made="-inf"),
    "xlogy_at_zero": line("y = torch.xlogy(a, b)", "xlogy", "a | b", a=[1.0, 2.0], b=[0.0, 2.0], made="-inf"),
    "sqrt_at_zero": line("y = torch.sqrt(d)", "sqrt", "d", d=[0.0, 4.0], phase="backward", made="inf"),
    "sqrt_at_zero_method": line("y = d.sqrt()", "sqrt", "d", d=[0.0, 4.0], phase="backward", made="inf"),
    "sqrt_of_a_sum": line("return torch.sqrt(((a - b) ** 2).sum(dim=1))", "sqrt", "((a - b) ** 2).sum(dim=1)",
        a=ZEROS, b=ZEROS, phase="backward", module="net"),
    "sqrt_of_rounding": line("y = torch.sqrt(v)", "sqrt", "v", v=[-1e-7, 4.0]),
    "sqrt_of_log_variance": line("std = y = torch.sqrt(log_var)", "sqrt", "log_var", log_var=[-0.5, 0.3]),
    "rsqrt_at_zero": line("y = torch.rsqrt(v)", "rsqrt", "v", v=[0.0, 4.0], made="inf"),
    "power_half_at_zero": line("y = x ** 0.5", "pow", "x", x=[0.0, 4.0], phase="backward", made="inf",
        arguments=("0.5",)),
    "power_minus_one_at_zero": line("y = x.pow(-1)", "pow", "x", x=[0.0, 4.0], made="inf", arguments=("-1",)),
    "power_of_rounding": line("y = x.pow(1.5)", "pow", "x", x=[-1e-7, 4.0], arguments=("1.5",)),
    "hypot_at_zero": line("y = torch.hypot(a, b)", "hypot", "a | b", a=[0.0, 1.0], b=[0.0, 1.0],
        phase="backward"),
    "normalize_in_half": line("y = F.normalize(x, dim=1)", "normalize", "x", x=ZEROS.half(), inner="div"),
    "cosine_in_half": line("y = F.cosine_similarity(a, b, dim=1)", "cosine_similarity", "a | b", a=ZEROS.half(),
        b=ZEROS.half()),
    "quotient_by_zero": line("y = a / b", "div", "a | b", a=[1.0, 2.0], b=[0.0, 2.0], made="inf"),
    "quotient_zero_by_zero": line("y = a / b", "div", "a | b", a=[0.0, 2.0], b=[0.0, 2.0]),
    "quotient_of_both_signs": line("y = a / (b - c)", "div", "a | b - c", a=[1.0, 2.0], b=[1.0, 2.0],
        c=[1.0, 3.0]),
    "quotient_in_place": line("out = a * 1; out /= b", "div", "a * 1 | b", a=[1.0], b=[0.0], made="inf"),
    "unit_vectors_by_hand": line("y = x / x.norm(dim=1, keepdim=True)", "div",
        "x | x.norm(dim=1, keepdim=True)", x=ZEROS),
    "one_over_zero": line("y = 1 / x", "__rtruediv__", "x", x=[0.0, 2.0], made="inf", arguments=("1",)),
    "reciprocal": line("y = x.reciprocal()", "reciprocal", "x", x=[0.0, 2.0], made="inf"),
    "quotient_by_a_tiny_number": line("y = a / b", "div", "a | b", a=[10.0], b=[1e-39], made="inf"),
    "exp_of_large": line("y = torch.exp(x)", "exp", "x", x=[120.0, 1.0], made="inf"),
    "exp_of_difference": line("y = (a - b).exp()", "exp", "a - b", a=[120.0, 1.0], b=[1.0, 1.0], made="inf"),
    "exp_in_half": line("y = torch.exp(x)", "exp", "x", x=torch.tensor([12.0, 1.0], dtype=HALF), made="inf"),
    "root_divided_by": line("y = a / b.sqrt()", "div", "a | b.sqrt()", a=[0.0, 2.0], b=[0.0, 2.0]),
    "cosh_of_large": line("y = torch.cosh(x)", "cosh", "x", x=[-120.0, 1.0], made="inf"),
    "acos_at_one": line("y = torch.acos(c)", "acos", "c", c=[1.0, 0.5], phase="backward", made="-inf"),
    "acos_beyond_one": line("y = torch.acos(c)", "acos", "c", c=[1.0000001, 0.5]),
    "atanh_at_one": line("y = c.atanh()", "arctanh", "c", c=[1.0, 0.5], made="inf"),
    "acosh_at_one": line("y = torch.acosh(c)", "acosh", "c", c=[1.0, 2.0], phase="backward", made="inf"),
    "mean_of_nothing": line("loss = x[x > 5].mean()", "mean", "x[x > 5]", x=[1.0, 2.0]),
    "std_of_one": line("y = z / (z.std(dim=0) + 1e-5)", "std", "z", z=[[1.0, 2.0]], arguments=("dim=0",)),
    "layer_norm_without_eps": line("y = F.layer_norm(x, (3,), eps=0)", "layer_norm", "x", x=torch.ones(2, 3),
        arguments=("eps=0",)),
    "masked_row": line('y = torch.softmax(x.masked_fill(m, float("-inf")), dim=-1)', "softmax",
        'x.masked_fill(m, float("-inf"))', x=[[1.0, 2.0], [3.0, 4.0]], m=[[True, True], [False, True]],
        masked_row=True),
    "no_target_counts": line("loss = F.cross_entropy(logits, y)", "cross_entropy", "logits | y", logits=ZEROS,
        y=torch.tensor([-100, -100])),
    "bce_of_sigmoid_in_half": line("loss = F.binary_cross_entropy(torch.sigmoid(z), y)", "binary_cross_entropy",
        "torch.sigmoid(z) | y", z=torch.tensor([-200.0, 1.0], dtype=HALF), y=torch.ones(2, dtype=HALF),
        phase="backward", made="-inf"),
    "gaussian_nll_in_half": line("loss = F.gaussian_nll_loss(mu, t, var)", "gaussian_nll_loss", "mu | t | var",
        mu=torch.zeros(2, dtype=HALF), t=torch.full((2,), 3.0, dtype=HALF), var=torch.zeros(2, dtype=HALF),
        made="inf"),
    "poisson_nll_of_large": line("loss = F.poisson_nll_loss(x, t)", "poisson_nll_loss", "x | t", x=[100.0, 1.0],
        t=[1.0, 1.0], made="inf"),
    "ctc_of_short_input": line("loss = F.ctc_loss(x.log_softmax(-1), t, n, m)", "ctc_loss",
        "x.log_softmax(-1) | t | n | m", x=torch.zeros(2, 1, 4), t=[[1, 2, 1, 2, 1]], n=[2], m=[5], made="inf"),
    "zero_times_inf": line("y = x * mask", "mul", "x | mask", x=[-INF, 2.0], mask=[False, True],
        module="net.attn"),
    "selected_by_where": line("y = torch.where(x > 0, torch.sqrt(x), 0.0)", "sqrt", "x", x=[0.0, 4.0],
        phase="backward", selected_by="where"),
    "selected_by_where_other_branch": line("y = torch.where(x <= 0, x, torch.log(x))", "log", "x", x=[0.0, 4.0],
        phase="backward", selected_by="where"),
    "selected_by_where_divisor": line("y = torch.where(b != 0, a / b, 0.0)", "div", "a | b", a=[1.0, 4.0],
        b=[0.0, 2.0], phase="backward", selected_by="where"),
    "half_square": line("loss = (x ** 2).mean()", "pow", "x", x=torch.tensor([300.0], dtype=HALF), made="inf",
        arguments=("2",)),
    "half_sum": line("loss = x.sum()", "sum", "x", x=torch.full((100,), 1000.0, dtype=HALF), made="inf"),
    "half_mse": line("loss = F.mse_loss(a, b)", "mse_loss", "a | b", a=torch.tensor([300.0], dtype=HALF),
        b=torch.tensor([-100.0], dtype=HALF), made="inf"),
    "half_scores": line("y = q @ k.transpose(-2, -1) / math.sqrt(64)", "matmul", "q | k.transpose(-2, -1)",
        q=torch.full((2, 64), 40.0, dtype=HALF), k=torch.full((2, 64), 40.0, dtype=HALF), made="inf",
        phase="forward", module="net.attn"),
    "half_scores_by_call": line("y = torch.matmul(q, k.mT) * 64 ** -0.5", "matmul", "q | k.mT",
        q=torch.full((2, 64), 40.0, dtype=HALF), k=torch.full((2, 64), 40.0, dtype=HALF), made="inf",
        phase="forward"),
    "digamma_at_zero": line("y = torch.digamma(x)", "digamma", "x", x=[0.0, 2.0], made="-inf"),
    "custom_function": line("y = grad / (2 * root)", "SafeSqrt", "grad | 2 * root", grad=[1.0, 1.0],
        root=[0.0, 2.0], phase="backward", inner="div", made="inf"),
}  # fmt: skip

Told = tuple[NonFinite, OptimizerFact | None]
SITE = place(40, code="loss.backward()")
ADAM = optimizer("Adam", 1e-3, source="torch.optim.Adam(net.parameters(), lr=1e-3, eps=0)")


def fact(origin: Origin | None, what: str = "loss", step: int = 7, value: str = "nan", **others: Any) -> Told:
    return NonFinite(step, what, value, SITE, origin, **{"how": "step", **others}), None


def of_line(code: str, op: str, operands: str, **others: Any) -> Told:
    return record(line(code, op, operands, **others)), None


def held(name: str = "x", nans: int = 0, infs: int = 0, dtype: str = "float32", **others: Any) -> Operand:
    facts = {"high": 1.0, "limit": 3.4e38, "elements": 640, **others}
    return Operand(name, dtype, (64, 10), nans=nans, infs=infs, **facts)


def update(dtype: str = "float32", made_by: OptimizerFact | None = ADAM, **settings: float) -> Told:
    origin = Origin("weights", None, None, operands=(held("", nans=3, dtype=dtype),))
    site, names = place(42, code="optimizer.step()"), ("net.fc.weight", "net.fc.bias")
    found = NonFinite(7, "weight", "nan", site, origin, names, "step", optimizer="optimizer", update=settings)
    return found, made_by


DATA = Origin("input", None, None, operands=(held(nans=3),), given="x", rows=(2,), samples=(417,))

TOLD: dict[str, Told] = {
    "log_of_negative": of_line("y = torch.log(x)", "log", "x", x=[-0.3, 0.0, 0.5]),
    "log_of_positive_proves_nothing": of_line("y = torch.log(x)", "log", "x", x=[0.1, 0.5]),
    "sqrt_of_negative": of_line("y = torch.sqrt(x)", "sqrt", "x", x=[-0.3, 0.5]),
    "exp_summed": of_line("y = torch.exp(x).sum(1)", "exp", "x", x=[100.0, 1.0], made="inf"),
    "sqrt_of_difference": of_line("y = torch.sqrt(a - b)", "sqrt", "a - b", a=[1.0, 2.0], b=[1.5, 1.0]),
    "square_of_nan": of_line("e = x.square()", "square", "x", x=[math.nan, 1.0], phase="backward"),
    "batch_norm_of_negative_variance": fact(
        Origin(
            "forward",
            "net.1",
            "batch_norm",
            made="nan",
            operands=(held(), held("", low=-5.3, negatives=30, parameter="net.1.running_var")),
        )
    ),
    "power_of_negative": of_line("y = x ** 0.5", "pow", "x", x=[-0.3, 0.5], arguments=("0.5",)),
    "power_by_exponent": of_line("y = x ** p", "pow", "x | p", x=[-0.3, 0.5], p=[2.0, 3.0], phase="backward"),
    "norm_at_zero": of_line("y = x.norm(dim=1)", "norm", "x", x=ZEROS, phase="backward"),
    "norm_of_another_kind": of_line("y = torch.norm(x, p=3)", "norm", "x", x=ZEROS, phase="backward"),
    "atan2_at_origin": of_line("y = torch.atan2(a, b)", "atan2", "a | b", a=[0.0], b=[0.0, 1.0], phase="backward"),
    "product_with_zero": of_line("y = x.prod(dim=1)", "prod", "x", x=ZEROS, phase="backward"),
    "std_of_equal_values": of_line("y = x.std()", "std", "x", x=torch.ones(4), phase="backward"),
    "quotient_by_a_number": of_line("y = x / n", "div", "x", x=[1.0, 2.0], arguments=("0",), made="inf"),
    "quotient_in_half": of_line("y = a / b", "div", "a | b", a=ZEROS.half(), b=ZEROS.half()),
    "quotient_elsewhere": of_line("y = self.scale(a) / b", "div", "a * 1 | b * 1", a=[1.0], b=[0.0], made="inf"),
    "two_logs_that_cannot_be_told_apart": of_line(
        "y = torch.log(f(a)) + torch.log(f(b))", "log", "a * 1", a=[0.0, 1.0], b=[1.0], made="-inf"
    ),
    "a_part_of_a_statement": of_line("* torch.log(p) + (", "log", "p", p=[0.0, 1.0], made="-inf"),
    "a_module_of_the_users": of_line("y = self.softmax(x)", "softmax", "x", x=[[-INF, -INF]], masked_row=True),
    "masked_row_elsewhere": of_line(
        "w = F.softmax(scores, dim=-1)",
        "softmax",
        "scores",
        scores=[[-INF, -INF]],
        masked_row=True,
        phase="forward",
        module="net.attn",
    ),
    "masked_row_of_attention": of_line(
        "y = F.scaled_dot_product_attention(q, k, v, mask)",
        "scaled_dot_product_attention",
        "q | k | v | mask",
        q=ZEROS,
        k=ZEROS,
        v=ZEROS,
        mask=[[-INF, -INF]],
        masked_row=True,
    ),
    "logsumexp_of_masked_row": of_line(
        "y = torch.logsumexp(x, 1)", "logsumexp", "x", x=[[-INF, -INF]], masked_row=True, phase="backward"
    ),
    "target_masked": of_line(
        "loss = F.cross_entropy(logits, y)",
        "cross_entropy",
        "logits | y",
        logits=[[-INF, 1.0], [1.0, 2.0]],
        y=[0, 1],
        made="inf",
    ),
    "smoothed_target_masked": of_line(
        "loss = F.cross_entropy(logits, y, label_smoothing=0.1)",
        "cross_entropy",
        "logits | y",
        logits=[[-INF, 1.0], [1.0, 2.0]],
        y=[1, 1],
        made="inf",
        arguments=("label_smoothing=0.1",),
    ),
    "loss_of_nothing": of_line(
        "loss = F.mse_loss(pred[m], y[m])", "mse_loss", "pred[m] | y[m]", pred=[1.0], y=[1.0], m=[False]
    ),
    "std_of_one_by_keyword": of_line(
        "y = z.std(0, unbiased=True)", "std", "z", z=[[1.0, 2.0]], arguments=("0", "unbiased=True")
    ),
    "bce_of_probabilities": of_line(
        "loss = bce(p, y)", "binary_cross_entropy", "p | y", p=[0.0, 1.0], y=[1.0, 1.0], phase="backward"
    ),
    "kl_div_of_minus_inf": of_line(
        "loss = F.kl_div(q, p)", "kl_div", "q | p", q=[-INF, -1.0], p=[0.5, 0.5], made="inf"
    ),
    "kl_div_of_logs": of_line("loss = F.kl_div(q, p)", "kl_div", "q | p", q=[-1.0], p=[-0.5, -0.5]),
    "kl_div_of_log_target": of_line(
        "loss = F.kl_div(q, p, log_target=True)",
        "kl_div",
        "q | p",
        q=[-1.0],
        p=[-INF, -0.5],
        arguments=("log_target=True",),
    ),
    "inf_minus_inf": of_line("y = a - b", "sub", "a | b", a=[-INF, 1.0], b=[-INF, 1.0]),
    "sum_of_infinities": of_line("y = a.sum()", "sum", "a", a=[-INF, INF]),
    "zero_times_inf_of_floats": of_line("y = a * b", "mul", "a | b", a=[0.0, 0.5], b=[INF, 1.0]),
    "svd_of_identity": of_line("u = torch.linalg.svd(w)[0]", "linalg_svd", "w", w=torch.eye(3), phase="backward"),
    "logdet_of_singular": of_line("y = torch.logdet(w)", "logdet", "w", w=ZEROS, made="-inf"),
    "nan_written": of_line('y = x * float("nan")', "mul", "x", x=[1.0, 2.0], arguments=("nan",)),
    "empty_memory": of_line("buffer = torch.empty(4, 4)", "empty", "", phase="forward"),
    "growth_of_weights": fact(
        Origin(
            "forward",
            "net.fc",
            "linear",
            place(18, code="return self.fc(x)"),
            (held("x", high=3e25), held("", parameter="net.fc.weight", low=-1e20)),
            made="inf",
        ),
        value="inf",
    ),
    "growth_of_values": of_line("loss = F.mse_loss(a, b)", "mse_loss", "a | b", a=[1e25], b=[1.0], made="inf"),
    "half_in_the_model": of_line(
        "return self.fc(x)",
        "linear",
        "x | x * 2",
        x=torch.full((2, 64), 80.0, dtype=torch.float16),
        made="inf",
        phase="forward",
        module="net.fc",
    ),
    "half_by_autocast": of_line(
        "return self.fc(x)", "linear", "x | x * 2", x=torch.full((2, 64), 80.0), made="inf", phase="forward"
    ),
    "linear_that_fits_proves_nothing": of_line(
        "return self.fc(x)", "linear", "x | x * 2", x=torch.ones(2, 4), made="inf", phase="forward"
    ),
    "cast_to_half": of_line("x = x.half()", "half", "x", x=[1e5], made="inf", phase="forward"),
    "selected_elsewhere": of_line(
        "r = torch.sqrt(x)", "sqrt", "x", x=[0.0, 4.0], phase="backward", selected_by="where"
    ),
    "selected_negative_elsewhere": of_line(
        "r = torch.log(x)", "log", "x", x=[-3.0, 4.0], phase="backward", selected_by="masked_fill"
    ),
    "custom_function_unclear": of_line(
        "return grad * ctx.scale", "Scale", "grad", grad=[1.0], phase="backward", inner="mul"
    ),
    "unknown_op": of_line("y = fancy(x, w)", "fancy", "x | w", x=[1.0, 0.0], w=[2.0], inner="tan", module="net.f"),
    "unknown_op_without_operands": of_line("y = fancy()", "fancy", ""),
    "by_graph": (record(line("y = torch.log(p)", "log", "p * 1", p=[0.0], made="-inf", fact={"how": "graph"})), None),
    "stopped": (record(line("y = torch.log(p)", "log", "p", p=[0.0], made="-inf", fact={"policy": "stop"})), None),
    "halted": (record(line("y = torch.log(p)", "log", "p", p=[0.0], made="-inf", fact={"policy": "break"})), None),
    "nan_in_the_data": fact(DATA),
    "nan_in_many_rows": fact(
        Origin(
            "input",
            None,
            None,
            operands=(held(nans=30, infs=2),),
            given="x",
            rows=(1, 2, 3, 4),
            samples=(10, 20, 30, 40),
        )
    ),
    "nan_in_two_rows": fact(Origin("input", None, None, operands=(held(infs=2),), given="batch['x']", rows=(1, 5))),
    "nan_in_a_flat_tensor": fact(
        Origin("input", None, None, operands=(Operand("r", "float32", (9,), nans=1, elements=9),), given="r")
    ),
    "nan_in_the_labels": fact(
        Origin("input", None, None, operands=(held("y", nans=1),), given="y", rows=(3,), samples=(88,))
    ),
    "nan_in_an_unknown_tensor": fact(Origin("input", None, None)),
    "weights_from_the_start": fact(
        Origin(
            "weights",
            "net",
            None,
            place(9, code="self.scale = nn.Parameter(torch.empty(64, 10))"),
            (held("", nans=640, parameter="net.scale"),),
        ),
        step=1,
        parameters=("net.scale",),
    ),
    "weights_from_the_start_unclear": fact(Origin("weights", None, None), step=1, parameters=("net.a", "net.b")),
    "weights_of_an_earlier_update": fact(
        Origin("weights", None, None), step=300, parameters=("net.a", "net.b", "net.c")
    ),
    "update_without_eps": update(lr=1e-3, eps=0.0),
    "update_in_half": update(lr=1e-3, eps=1e-8, dtype="float16", made_by=optimizer("Adam", 1e-3)),
    "update_with_lr_nan": update(lr=math.nan, eps=1e-8),
    "update_with_lr_inf": update(lr=math.inf),
    "update_with_huge_lr": update(lr=1e20, eps=1e-8),
    "update_unclear": update(lr=1e-3, eps=1e-8, made_by=None),
    "update_before_the_loss": (
        NonFinite(
            8,
            "loss",
            "nan",
            place(42),
            Origin("weights", "net", None, made="nan"),
            ("net.a", "net.b"),
            "step",
            optimizer="opt",
            update={"lr": math.inf},
        ),
        None,
    ),
    "by_graph_without_a_line": fact(Origin("loss", None, "log", operands=(held("", zeros=2, low=0.0),)), how="graph"),
    "module_only": fact(Origin("forward", "net.head", None), how="model"),
    "module_of_gradient": fact(Origin("backward", "net.head", None), what="gradient", parameters=("net.a", "net.b")),
    "phase_only": fact(Origin("loss", None, None)),
    "late": fact(None, how="late", what="gradient", parameters=("net.a", "net.b", "net.c")),
    "late_loss": fact(Origin("forward", "net.3", None), how="late", parameters=("net.a",)),
    "not_reproduced": fact(None),
    "not_reproduced_by_the_model": fact(None, how="model", what="weight"),
    "nothing_found": fact(None, how="", value="inf"),
}
