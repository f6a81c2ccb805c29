"""Records of which there is something to say but no line to run: data, weights, updates, and the unclear."""

from __future__ import annotations

import math
from typing import Any

import torch

from tests.checks.numerics.nonfinite_lines import INF, line, record
from tests.fakes import optimizer, place
from torch_debugger.records import NonFinite, Operand, OptimizerFact, Origin

Told = tuple[NonFinite, OptimizerFact | None]
SITE = place(40, code="loss.backward()")
ADAM = optimizer("Adam", 1e-3, source="torch.optim.Adam(net.parameters(), lr=1e-3, eps=0)")
ZEROS = torch.zeros(2, 3)


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
            (
                held("x", high=3e25),
                held("", parameter="net.fc.weight", low=-1e20),
            ),
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
    "by_graph": (
        record(line("y = torch.log(p)", "log", "p * 1", p=[0.0], made="-inf", fact={"how": "graph"})),
        None,
    ),
    "stopped": (
        record(line("y = torch.log(p)", "log", "p", p=[0.0], made="-inf", fact={"policy": "stop"})),
        None,
    ),
    "halted": (
        record(line("y = torch.log(p)", "log", "p", p=[0.0], made="-inf", fact={"policy": "break"})),
        None,
    ),
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
