"""Functions of every kind whose gradients torch's own slow mode can judge: name -> (function, inputs)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations

_GENERATOR = torch.Generator().manual_seed(7)


def r(*shape: int, above: float | None = None, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    drawn = torch.randn(*shape, generator=_GENERATOR, dtype=dtype)
    return (drawn if above is None else drawn.abs() + above).requires_grad_()


def c(*shape: int) -> torch.Tensor:
    return r(*shape, dtype=torch.complex128)


def inside(*shape: int) -> torch.Tensor:
    """Between -0.8 and 0.8."""
    return (torch.rand(*shape, generator=_GENERATOR, dtype=torch.float64) * 1.6 - 0.8).requires_grad_()


def regular(size: int) -> torch.Tensor:
    """A matrix that can be inverted."""
    return (3 * torch.eye(size, dtype=torch.float64) + 0.3 * r(size, size).detach()).requires_grad_()


def made(build: Callable[..., nn.Module], *sizes: Any, **settings: Any) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        return build(*sizes, **settings).double()


PICKED = torch.tensor([0, 2, 1])
LABELS = torch.tensor([1, 0, 3])

ELEMENTWISE = {
    "sin": (torch.sin, (r(3, 4),)),
    "exp": (torch.exp, (r(3, 4),)),
    "log": (torch.log, (r(3, 4, above=0.5),)),
    "tanh": (torch.tanh, (r(3, 4),)),
    "sigmoid": (torch.sigmoid, (r(5),)),
    "gelu": (F.gelu, (r(3, 4),)),
    "silu": (F.silu, (r(3, 4),)),
    "softplus": (F.softplus, (r(4),)),
    "relu": (F.relu, (r(3, 4),)),
    "leaky_relu": (F.leaky_relu, (r(3, 4),)),
    "elu": (F.elu, (r(3, 4),)),
    "abs": (torch.abs, (r(6),)),
    "cube": (lambda x: x**3, (r(3, 4),)),
    "pow": (torch.pow, (r(3, above=0.3), r(3))),
    "div": (torch.div, (r(3, 4), r(3, 4, above=0.5))),
    "mul, broadcast": (torch.mul, (r(3, 4), r(4))),
    "atan2": (torch.atan2, (r(4), r(4))),
    "where": (lambda x, y: torch.where(x > 0, x, y), (r(4), r(4))),
    "clamp": (lambda x: x.clamp(-0.5, 0.5), (r(3, 4),)),
    "erfinv": (torch.erfinv, (inside(5),)),
    "lgamma": (torch.lgamma, (r(5, above=0.5),)),
    "round": (torch.round, (r(4),)),
}
REDUCTIONS = {
    "sum": (torch.sum, (r(3, 4),)),
    "mean": (lambda x: x.mean(0), (r(3, 4),)),
    "std": (lambda x: x.std(1), (r(3, 4),)),
    "prod": (lambda x: x.prod(1), (r(3, 4),)),
    "max": (lambda x: x.max(1)[0], (r(3, 4),)),
    "median": (lambda x: x.median(1)[0], (r(3, 5),)),
    "logsumexp": (lambda x: x.logsumexp(1), (r(3, 4),)),
    "norm": (lambda x: x.norm(dim=1), (r(3, 4),)),
    "cumsum": (lambda x: x.cumsum(1), (r(3, 4),)),
    "cumprod": (lambda x: x.cumprod(1), (r(3, 4),)),
    "softmax": (lambda x: x.softmax(1), (r(3, 4),)),
    "log_softmax": (lambda x: x.log_softmax(1), (r(3, 4),)),
}
PRODUCTS = {
    "mm": (torch.mm, (r(3, 4), r(4, 5))),
    "bmm": (torch.bmm, (r(2, 3, 4), r(2, 4, 5))),
    "einsum": (lambda a, b: torch.einsum("bij,bjk->bk", a, b), (r(2, 3, 4), r(2, 4, 5))),
    "linear without bias": (F.linear, (r(3, 4), r(5, 4), None)),
    "conv1d": (lambda x, w: F.conv1d(x, w, padding=1), (r(2, 3, 6), r(4, 3, 3))),
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b, stride=2), (r(2, 2, 5, 5), r(3, 2, 3, 3), r(3))),
    "conv_transpose2d": (F.conv_transpose2d, (r(1, 2, 3, 3), r(2, 3, 2, 2))),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), (r(1, 2, 4, 4),)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), (r(1, 2, 4, 4),)),
    "attention": (F.scaled_dot_product_attention, (r(1, 2, 4, 3), r(1, 2, 4, 3), r(1, 2, 4, 3))),
    "cdist": (torch.cdist, (r(3, 4), r(2, 4))),
}
NORMS_AND_LOSSES = {
    "batch_norm": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), (r(5, 3), r(3), r(3))
    ),
    "layer_norm": (lambda x: F.layer_norm(x, (4,)), (r(3, 4),)),
    "group_norm": (lambda x: F.group_norm(x, 2), (r(2, 4, 3),)),
    "rms_norm": (lambda x: F.rms_norm(x, (4,)), (r(3, 4),)),
    "mse": (F.mse_loss, (r(3, 4), r(3, 4))),
    "l1": (F.l1_loss, (r(3, 4), r(3, 4))),
    "cross entropy": (F.cross_entropy, (r(3, 4), LABELS)),
    "bce with logits": (F.binary_cross_entropy_with_logits, (r(3, 4), r(3, 4).detach().sigmoid())),
    "kl_div": (
        lambda a, b: F.kl_div(a.log_softmax(1), b.softmax(1), reduction="batchmean"), (r(3, 4), r(3, 4))
    ),
    "huber": (F.huber_loss, (r(3, 4), r(3, 4))),
    "cosine": (F.cosine_similarity, (r(3, 4), r(3, 4))),
    "triplet": (F.triplet_margin_loss, (r(3, 4), r(3, 4), r(3, 4))),
}  # fmt: skip
INDEXING = {
    "index": (lambda x: x[PICKED], (r(4, 3),)),
    "gather": (lambda x: x.gather(1, LABELS[:, None]), (r(3, 4),)),
    "scatter_add": (lambda x, s: x.scatter_add(0, PICKED, s), (r(4), r(3))),
    "embedding": (lambda w: F.embedding(PICKED, w), (r(5, 3),)),
    "mask": (lambda x: x[x > 0], (r(6),)),
    "sort": (lambda x: x.sort()[0], (r(6),)),
    "topk": (lambda x: x.topk(2)[0], (r(6),)),
    "cat": (lambda a, b: torch.cat([a, b], 1), (r(2, 3), r(2, 2))),
    "pad": (lambda x: F.pad(x, (1, 2)), (r(2, 3),)),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (r(1, 1, 3, 3),)),
    "grid_sample": (
        lambda x, g: F.grid_sample(x, g, align_corners=False),
        (r(1, 1, 4, 4), inside(1, 3, 3, 2)),
    ),
}
LINEAR_ALGEBRA = {
    "inv": (torch.linalg.inv, (regular(3),)),
    "det": (torch.det, (r(3, 3),)),
    "solve": (torch.linalg.solve, (regular(3), r(3, 2))),
    "cholesky": (lambda a: torch.linalg.cholesky(a @ a.t() + torch.eye(3)), (r(3, 3),)),
    "svdvals": (torch.linalg.svdvals, (r(3, 4),)),
    "eigvalsh": (lambda a: torch.linalg.eigvalsh(a + a.t()), (r(3, 3),)),
    "matrix_exp": (torch.matrix_exp, (r(3, 3),)),
}
COMPLEX = {
    "fft": (torch.fft.fft, (r(6),)),
    "rfft": (torch.fft.rfft, (r(6),)),
    "complex ifft": (torch.fft.ifft, (c(6),)),
    "complex mul": (torch.mul, (c(4), c(4))),
    "complex abs": (torch.abs, (c(4),)),
}
# Not differentiable as they are: both must say so.
DETACHED = {
    "detach": (lambda x: x.detach() * 2, (r(3),)),
    "data": (lambda x: x + x.data, (r(3),)),
}
MODULES: dict[str, tuple[nn.Module, tuple[Any, ...]]] = {
    "Linear": (made(nn.Linear, 4, 3), (r(2, 4),)),
    "LSTMCell": (made(nn.LSTMCell, 3, 4), (r(2, 3),)),
    "GRU": (made(nn.GRU, 3, 4), (r(3, 2, 3),)),
    "Attention": (made(nn.MultiheadAttention, 4, 2), (r(2, 1, 4), r(2, 1, 4), r(2, 1, 4))),
    "TransformerEncoderLayer": (made(nn.TransformerEncoderLayer, 4, 2, 3, dropout=0.0), (r(2, 1, 4),)),
    "BatchNorm2d": (made(nn.BatchNorm2d, 3), (r(2, 3, 4, 4),)),
    "PReLU": (made(nn.PReLU), (r(4),)),
    "Bilinear": (made(nn.Bilinear, 3, 4, 2), (r(2, 3), r(2, 4))),
    "weight norm": (parametrizations.weight_norm(made(nn.Linear, 4, 3)), (r(2, 4),)),
}
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = (
    ELEMENTWISE | REDUCTIONS | PRODUCTS | NORMS_AND_LOSSES | INDEXING | LINEAR_ALGEBRA | COMPLEX | DETACHED
)
