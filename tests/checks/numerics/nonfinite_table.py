"""The families of ops that make a NaN or Inf, one or more lines of each."""

from __future__ import annotations

import torch

from tests.checks.numerics.nonfinite_lines import INF, Line, line
from tests.fakes import place

HALF = torch.float16
ZEROS = torch.zeros(2, 3)
SCORES = torch.tensor([[-INF, -INF], [1.0, 2.0]])
HOT = torch.tensor([[100.0, 1.0], [2.0, 3.0]])

# Each of these is run: as it stands it gives something that is not finite, and with the edit it does not.
RUN: dict[str, Line] = {
    "log_of_zero": line("y = torch.log(p)", "log", "p", p=[0.0, 0.5], made="-inf", module="net.head"),
    "log_into_nan": line(
        "loss = -(q * torch.log(p)).sum()",
        "log",
        "p",
        p=[0.0, 0.0, 0.5],
        q=[0.0, 1.0, 1.0],
        made="-inf",
        into_nan="mul",
        into_nan_place=place(31),
    ),
    "log_of_method": line("y = p.log()", "log", "p", p=[0.0, 0.5], made="-inf"),
    "log_of_difference": line("y = torch.log(1 - p)", "log", "1 - p", p=[1.0, 0.5], made="-inf"),
    "log_of_grouped_difference": line("y = (1 - p).log()", "log", "1 - p", p=[1.0, 0.5], made="-inf"),
    "log_of_two_groups": line(
        "y = torch.log((a) - (b))", "log", "(a) - (b)", a=[1.0, 2.0], b=[1.0, 0.1], made="-inf"
    ),
    "log_of_float_complement": line(
        "loss = -(t * torch.log(p) + (1.0 - t) * torch.log(1.0 - p)).mean()",
        "log",
        "1.0 - p",
        p=[0.0, 1.0],
        t=[1, 0],
        made="-inf",
    ),
    "half_scores_squared": line(
        "y = (((2 * q) @ k.mT) / 4096) ** 2",
        "matmul",
        "2 * q | k.mT",
        q=torch.full((2, 64), 40.0, dtype=HALF),
        k=torch.full((2, 64), 20.0, dtype=HALF),
        made="inf",
        phase="forward",
    ),
    "log_of_counts": line("y = torch.log(visits)", "log", "visits", visits=[0.0, 3.0], made="-inf"),
    "log_in_half": line("y = torch.log(p)", "log", "p", p=torch.tensor([0.0, 0.5], dtype=HALF), made="-inf"),
    "log_of_rounding": line("y = torch.log2(p)", "log2", "p", p=[-1e-7, 0.5]),
    "cross_entropy_by_hand": line(
        "return -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()",
        "log",
        "p",
        p=[0.0, 1.0, 0.5],
        y=torch.tensor([1, 0, 1]),
        made="-inf",
        into_nan="mul",
        into_nan_place=place(31),
    ),
    "cross_entropy_by_hand_other_end": line(
        "return -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()",
        "log",
        "1 - p",
        p=[0.2, 1.0, 0.5],
        y=torch.tensor([1, 0, 1]),
        made="-inf",
    ),
    "log_of_softmax": line(
        "loss = -torch.log(torch.softmax(x, dim=1))[:, 0].mean()",
        "log",
        "torch.softmax(x, dim=1)",
        x=[[-200.0, 100.0], [1.0, 2.0]],
        made="-inf",
    ),
    "log_of_softmax_method": line(
        "y = x.softmax(1).log()", "log", "x.softmax(1)", x=[[-200.0, 100.0], [1.0, 2.0]], made="-inf"
    ),
    "log_of_sigmoid": line(
        "y = torch.log(torch.sigmoid(x))", "log", "torch.sigmoid(x)", x=[-200.0, 1.0], made="-inf"
    ),
    "log_of_one_minus_sigmoid": line(
        "loss = F.relu(-torch.log(1 - torch.sigmoid(x))).sum()",
        "log",
        "1 - torch.sigmoid(x)",
        x=[200.0, 1.0],
        made="-inf",
    ),
    "logsumexp_by_hand": line("y = torch.log(torch.exp(x).sum(1))", "exp", "x", x=HOT, made="inf"),
    "logsumexp_by_methods": line("y = x.exp().sum(dim=1).log()", "exp", "x", x=HOT, made="inf"),
    "softplus_by_hand": line("y = torch.log(1 + torch.exp(x))", "exp", "x", x=[100.0, 1.0], made="inf"),
    "softplus_by_log1p": line("y = torch.log1p(torch.exp(x))", "exp", "x", x=[100.0, 1.0], made="inf"),
    "softmax_by_hand": line(
        "y = torch.exp(x) / torch.exp(x).sum(1, keepdim=True)",
        "exp",
        "x",
        x=HOT,
        made="inf",
        into_nan="div",
        into_nan_place=place(31),
    ),
    "sigmoid_by_hand": line(
        "y = 1 / (1 + torch.exp(-x))", "exp", "-x", x=[-100.0, 1.0], made="inf", phase="backward"
    ),
    "log1p_at_minus_one": line("y = torch.log1p(x)", "log1p", "x", x=[-1.0, 0.5], made="-inf"),
    "logit_at_its_ends": line("y = torch.logit(p)", "logit", "p", p=[0.0, 1.0, 0.5], made="-inf"),
    "xlogy_at_zero": line("y = torch.xlogy(a, b)", "xlogy", "a | b", a=[1.0, 2.0], b=[0.0, 2.0], made="-inf"),
    "sqrt_at_zero": line("y = torch.sqrt(d)", "sqrt", "d", d=[0.0, 4.0], phase="backward", made="inf"),
    "sqrt_at_zero_method": line("y = d.sqrt()", "sqrt", "d", d=[0.0, 4.0], phase="backward", made="inf"),
    "sqrt_of_a_sum": line(
        "return torch.sqrt(((a - b) ** 2).sum(dim=1))",
        "sqrt",
        "((a - b) ** 2).sum(dim=1)",
        a=ZEROS,
        b=ZEROS,
        phase="backward",
        module="net",
    ),
    "sqrt_of_rounding": line("y = torch.sqrt(v)", "sqrt", "v", v=[-1e-7, 4.0]),
    "sqrt_of_log_variance": line("std = y = torch.sqrt(log_var)", "sqrt", "log_var", log_var=[-0.5, 0.3]),
    "rsqrt_at_zero": line("y = torch.rsqrt(v)", "rsqrt", "v", v=[0.0, 4.0], made="inf"),
    "power_half_at_zero": line(
        "y = x ** 0.5", "pow", "x", x=[0.0, 4.0], phase="backward", made="inf", arguments=("0.5",)
    ),
    "power_minus_one_at_zero": line("y = x.pow(-1)", "pow", "x", x=[0.0, 4.0], made="inf", arguments=("-1",)),
    "power_of_rounding": line("y = x.pow(1.5)", "pow", "x", x=[-1e-7, 4.0], arguments=("1.5",)),
    "hypot_at_zero": line(
        "y = torch.hypot(a, b)", "hypot", "a | b", a=[0.0, 1.0], b=[0.0, 1.0], phase="backward"
    ),
    "normalize_in_half": line("y = F.normalize(x, dim=1)", "normalize", "x", x=ZEROS.half(), inner="div"),
    "cosine_in_half": line(
        "y = F.cosine_similarity(a, b, dim=1)", "cosine_similarity", "a | b", a=ZEROS.half(), b=ZEROS.half()
    ),
    "quotient_by_zero": line("y = a / b", "div", "a | b", a=[1.0, 2.0], b=[0.0, 2.0], made="inf"),
    "quotient_zero_by_zero": line("y = a / b", "div", "a | b", a=[0.0, 2.0], b=[0.0, 2.0]),
    "quotient_of_both_signs": line(
        "y = a / (b - c)", "div", "a | b - c", a=[1.0, 2.0], b=[1.0, 2.0], c=[1.0, 3.0]
    ),
    "quotient_in_place": line("out = a * 1; out /= b", "div", "a * 1 | b", a=[1.0], b=[0.0], made="inf"),
    "unit_vectors_by_hand": line(
        "y = x / x.norm(dim=1, keepdim=True)", "div", "x | x.norm(dim=1, keepdim=True)", x=ZEROS
    ),
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
    "layer_norm_without_eps": line(
        "y = F.layer_norm(x, (3,), eps=0)", "layer_norm", "x", x=torch.ones(2, 3), arguments=("eps=0",)
    ),
    "masked_row": line(
        'y = torch.softmax(x.masked_fill(m, float("-inf")), dim=-1)',
        "softmax",
        'x.masked_fill(m, float("-inf"))',
        x=[[1.0, 2.0], [3.0, 4.0]],
        m=[[True, True], [False, True]],
        masked_row=True,
    ),
    "no_target_counts": line(
        "loss = F.cross_entropy(logits, y)",
        "cross_entropy",
        "logits | y",
        logits=ZEROS,
        y=torch.tensor([-100, -100]),
    ),
    "bce_of_sigmoid_in_half": line(
        "loss = F.binary_cross_entropy(torch.sigmoid(z), y)",
        "binary_cross_entropy",
        "torch.sigmoid(z) | y",
        z=torch.tensor([-200.0, 1.0], dtype=HALF),
        y=torch.ones(2, dtype=HALF),
        phase="backward",
        made="-inf",
    ),
    "gaussian_nll_in_half": line(
        "loss = F.gaussian_nll_loss(mu, t, var)",
        "gaussian_nll_loss",
        "mu | t | var",
        mu=torch.zeros(2, dtype=HALF),
        t=torch.full((2,), 3.0, dtype=HALF),
        var=torch.zeros(2, dtype=HALF),
        made="inf",
    ),
    "poisson_nll_of_large": line(
        "loss = F.poisson_nll_loss(x, t)", "poisson_nll_loss", "x | t", x=[100.0, 1.0], t=[1.0, 1.0], made="inf"
    ),
    "ctc_of_short_input": line(
        "loss = F.ctc_loss(x.log_softmax(-1), t, n, m)",
        "ctc_loss",
        "x.log_softmax(-1) | t | n | m",
        x=torch.zeros(2, 1, 4),
        t=[[1, 2, 1, 2, 1]],
        n=[2],
        m=[5],
        made="inf",
    ),
    "zero_times_inf": line(
        "y = x * mask", "mul", "x | mask", x=[-INF, 2.0], mask=[False, True], module="net.attn"
    ),
    "selected_by_where": line(
        "y = torch.where(x > 0, torch.sqrt(x), 0.0)",
        "sqrt",
        "x",
        x=[0.0, 4.0],
        phase="backward",
        selected_by="where",
    ),
    "selected_by_where_other_branch": line(
        "y = torch.where(x <= 0, x, torch.log(x))",
        "log",
        "x",
        x=[0.0, 4.0],
        phase="backward",
        selected_by="where",
    ),
    "selected_by_where_divisor": line(
        "y = torch.where(b != 0, a / b, 0.0)",
        "div",
        "a | b",
        a=[1.0, 4.0],
        b=[0.0, 2.0],
        phase="backward",
        selected_by="where",
    ),
    "half_square": line(
        "loss = (x ** 2).mean()", "pow", "x", x=torch.tensor([300.0], dtype=HALF), made="inf", arguments=("2",)
    ),
    "half_sum": line("loss = x.sum()", "sum", "x", x=torch.full((100,), 1000.0, dtype=HALF), made="inf"),
    "half_mse": line(
        "loss = F.mse_loss(a, b)",
        "mse_loss",
        "a | b",
        a=torch.tensor([300.0], dtype=HALF),
        b=torch.tensor([-100.0], dtype=HALF),
        made="inf",
    ),
    "half_scores": line(
        "y = q @ k.transpose(-2, -1) / math.sqrt(64)",
        "matmul",
        "q | k.transpose(-2, -1)",
        q=torch.full((2, 64), 40.0, dtype=HALF),
        k=torch.full((2, 64), 40.0, dtype=HALF),
        made="inf",
        phase="forward",
        module="net.attn",
    ),
    "half_scores_by_call": line(
        "y = torch.matmul(q, k.mT) * 64 ** -0.5",
        "matmul",
        "q | k.mT",
        q=torch.full((2, 64), 40.0, dtype=HALF),
        k=torch.full((2, 64), 40.0, dtype=HALF),
        made="inf",
        phase="forward",
    ),
    "digamma_at_zero": line("y = torch.digamma(x)", "digamma", "x", x=[0.0, 2.0], made="-inf"),
    "custom_function": line(
        "y = grad / (2 * root)",
        "SafeSqrt",
        "grad | 2 * root",
        grad=[1.0, 1.0],
        root=[0.0, 2.0],
        phase="backward",
        inner="div",
        made="inf",
    ),
}
