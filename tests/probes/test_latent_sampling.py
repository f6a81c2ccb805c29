"""What is sampled beside what the divergence assumes, in as many writings as users have for it."""

from __future__ import annotations

import types
from collections.abc import Callable

import torch
from torch import nn
from torch.distributions import Normal, kl_divergence
from torch.nn import functional as F

from tests.fakes import judged
from torch_debugger.probes.loss_graph import nodes_behind
from torch_debugger.probes.model.variational import LatentSamplings
from torch_debugger.records import LatentSampling
from torch_debugger.stats.transfer import Transfer

CHECKS = ("wrong-reparameterization", "wrong-kl-term")
Loss = Callable[[torch.Tensor, torch.Tensor, "VAE"], torch.Tensor]


class VAE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.heads = nn.Linear(20, 16), nn.Linear(16, 8)
        self.decoder, self.prior = nn.Linear(4, 20), nn.Embedding(5, 8)
        self.x = torch.randn(32, 20)

    def encode(self) -> tuple[torch.Tensor, torch.Tensor]:
        mean, spread = self.heads(self.body(self.x).tanh()).chunk(2, 1)
        return mean, spread

    def error(self, z: torch.Tensor) -> torch.Tensor:
        return F.mse_loss(self.decoder(z), self.x.expand(*z.shape[:-1], 20), reduction="sum") / 32


def looked(loss: Loss) -> list[LatentSampling]:
    """Two looks at the loss of a small model."""
    torch.manual_seed(0)
    model, told = VAE(), []
    watch = types.SimpleNamespace(transfer=Transfer(), step=1, emit=told.append)
    probe = LatentSamplings(watch, types.SimpleNamespace(alive=lambda: [("vae", model)]))  # type: ignore[arg-type]
    for _ in range(2):
        total = loss(*model.encode(), model)
        with torch.no_grad():
            probe.look(total.grad_fn, nodes_behind(total.grad_fn), {}, None)
        total.backward()  # the looks have let nothing go
    return told


def findings(loss: Loss) -> list[str]:
    told = looked(loss)
    return [f"{finding.name}: {finding.evidence['fault']}" for name in CHECKS for finding in judged(told, name)]


def kl(mean: torch.Tensor, log_var: torch.Tensor) -> torch.Tensor:
    return -0.5 * (1 + log_var - mean.pow(2) - log_var.exp()).sum(1).mean()


def noise(like: torch.Tensor) -> torch.Tensor:
    return torch.randn_like(like)


RIGHT: dict[str, Loss] = {
    "exp of half": lambda m, s, v: v.error(m + torch.exp(0.5 * s) * noise(m)) + kl(m, s),
    "half inside": lambda m, s, v: v.error(m + noise(m) * (s / 2).exp()) + kl(m, s),
    "root of exp": lambda m, s, v: v.error(m + s.exp().sqrt() * noise(m)) + kl(m, s),
    "in place": lambda m, s, v: v.error(noise(m).mul_(s.mul(0.5).exp_()).add_(m)) + kl(m, s),
    "addcmul": lambda m, s, v: v.error(torch.addcmul(m, (0.5 * s).exp(), noise(m))) + kl(m, s),
    "minus": lambda m, s, v: v.error(m - (0.5 * s).exp() * noise(m)) + kl(m, s),
    "beta 4": lambda m, s, v: v.error(m + (0.5 * s).exp() * noise(m)) + 4 * kl(m, s),
    "beta of zero": lambda m, s, v: v.error(m + (0.5 * s).exp() * noise(m)) + 0.0 * kl(m, s),
    "capacity": lambda m, s, v: v.error(m + (0.5 * s).exp() * noise(m)) + 10 * (kl(m, s) - 5).abs(),
    "log-deviation": lambda m, s, v: (
        v.error(m + s.exp() * noise(m)) + (0.5 * (m**2 + (2 * s).exp() - 1) - s).sum(1).mean()
    ),
    "softplus": lambda m, s, v: (
        v.error(m + F.softplus(s) * noise(m))
        + (0.5 * (m**2 + F.softplus(s) ** 2 - 1) - F.softplus(s).log()).sum(1).mean()
    ),
    "variance": lambda m, s, v: (
        v.error(m + F.softplus(s).sqrt() * noise(m))
        + 0.5 * (m**2 + F.softplus(s) - 1 - F.softplus(s).log()).sum(1).mean()
    ),
    "sigmoid": lambda m, s, v: v.error(m + s.sigmoid() * noise(m)) + kl(m, 2 * s.sigmoid().log()),
    "distributions": lambda m, s, v: (
        v.error(Normal(m, s.exp()).rsample()) + kl_divergence(Normal(m, s.exp()), Normal(0.0, 1.0)).sum() / 32
    ),
    "learned prior": lambda m, s, v: _learned_prior(m, s, v),
    "other prior": lambda m, s, v: v.error(m + (0.5 * s).exp() * noise(m)) + kl(m / 2, s - 1.386),
    "free bits": lambda m, s, v: (
        v.error(m + (0.5 * s).exp() * noise(m)) + (0.5 * (m**2 + s.exp() - 1 - s)).mean(0).clamp(min=0.02).sum()
    ),
    "estimated": lambda m, s, v: _estimated(m, s, v),
    "several samples": lambda m, s, v: v.error(m + (0.5 * s).exp() * torch.randn(3, 32, 4)) + kl(m, s),
    "scaled noise": lambda m, s, v: v.error(m + (0.5 * s).exp() * (0.1 * noise(m))) + kl(m, s),
    "half the deviation": lambda m, s, v: v.error(m + 0.5 * (0.5 * s).exp() * noise(m)) + kl(m, s),
    "half of a log-deviation's": lambda m, s, v: v.error(m + 0.5 * s.exp() * noise(m)) + kl(m, 2 * s),
    "clamped": lambda m, s, v: _clamped(m, s, v),
    "noise of a fixed size": lambda m, s, v: v.error(m + 0.1 * noise(m)) + m.square().mean(),
    "no noise": lambda m, s, v: v.error(m) + kl(m, s),
    "dropout": lambda m, s, v: v.error(m + F.dropout(s, 0.5)) + m.square().mean() + s.exp().mean(),
    "only the means": lambda m, s, v: v.error(m + s.exp() * noise(m)) + m.square().mean(),
    "scale and shift": lambda m, s, v: v.error(m * s.exp() + 1.0) + s.square().mean(),
}
WRONG: dict[str, tuple[str, Loss]] = {
    "log-variance": ("deviation", lambda m, s, v: v.error(m + s * noise(m)) + kl(m, s)),
    "variance": ("deviation", lambda m, s, v: v.error(m + s.exp() * noise(m)) + kl(m, s)),
    "half": ("deviation", lambda m, s, v: v.error(m + 0.5 * s * noise(m)) + kl(m, s)),
    "sign": ("deviation", lambda m, s, v: v.error(m + (-0.5 * s).exp() * noise(m)) + kl(m, s)),
    "softplus": ("deviation", lambda m, s, v: v.error(m + F.softplus(s) * noise(m)) + kl(m, s)),
    "variance of distributions": (
        "deviation",
        lambda m, s, v: v.error(Normal(m, s.exp()).rsample()) + kl(m, s),
    ),
    "deviation as log-variance": (
        "deviation",
        lambda m, s, v: v.error(m + s.exp() * noise(m)) + kl(m, s.exp()),
    ),
    "variance as deviation": (
        "deviation",
        lambda m, s, v: (
            v.error(m + F.softplus(s) * noise(m)) + 0.5 * (m**2 + F.softplus(s) - 1 - F.softplus(s).log()).sum(1).mean()
        ),
    ),
    "uniform": ("noise", lambda m, s, v: v.error(m + (0.5 * s).exp() * torch.rand_like(m)) + kl(m, s)),
    "scaled": ("order", lambda m, s, v: v.error(m * (0.5 * s).exp() + noise(m)) + kl(m, s)),
    "exchanged": ("order", lambda m, s, v: v.error((0.5 * s).exp() + m * noise(m)) + kl(m, s)),
    "twice a log-deviation": (
        "deviation",
        lambda m, s, v: v.error(m + 2 * s * noise(m)) + kl(m, 2 * s),
    ),
}
WRONG_KL: dict[str, tuple[str, Loss]] = {
    "mean": ("sign of the mean", lambda m, s, v: -0.5 * (1 + s + m**2 - s.exp()).sum()),
    "variance": ("sign of the variance", lambda m, s, v: -0.5 * (1 + s - m**2 + s.exp()).sum()),
    "logarithm": ("sign of the logarithm", lambda m, s, v: -0.5 * (1 - s - m**2 - s.exp()).sum()),
    "no variance": ("no variance", lambda m, s, v: -0.5 * (1 + s - m**2).sum()),
    "no logarithm": ("no logarithm", lambda m, s, v: -0.5 * (1 - m**2 - s.exp()).sum()),
}


def _learned_prior(m: torch.Tensor, s: torch.Tensor, v: VAE) -> torch.Tensor:
    prior_mean, prior = v.prior(torch.arange(32) % 5).chunk(2, 1)
    return v.error(m + s.exp() * noise(m)) + kl_divergence(Normal(m, s.exp()), Normal(prior_mean, prior.exp())).sum()


def _estimated(m: torch.Tensor, s: torch.Tensor, v: VAE) -> torch.Tensor:
    posterior = Normal(m, (0.5 * s).exp())
    z = posterior.rsample()
    return v.error(z) + (posterior.log_prob(z) - Normal(0.0, 1.0).log_prob(z)).sum(1).mean()


def _clamped(m: torch.Tensor, s: torch.Tensor, v: VAE) -> torch.Tensor:
    s = s.clamp(-0.3, 0.3)
    return v.error(m + (0.5 * s).exp() * noise(m)) + kl(m, s)


def test_right_samplings_are_silent() -> None:
    assert {name: found for name, loss in RIGHT.items() if (found := findings(loss))} == {}


def test_wrong_samplings_are_found() -> None:
    found = {name: findings(loss) for name, (_, loss) in WRONG.items()}
    assert found == {name: [f"wrong-reparameterization: {fault}"] for name, (fault, _) in WRONG.items()}


def test_wrong_divergences_are_found() -> None:
    def sampled(loss: Loss) -> Loss:
        return lambda m, s, v: v.error(m + (0.5 * s).exp() * noise(m)) + loss(m, s, v)

    found = {name: findings(sampled(loss)) for name, (_, loss) in WRONG_KL.items()}
    assert found == {name: [f"wrong-kl-term: {fault}"] for name, (fault, _) in WRONG_KL.items()}


def test_the_weights_of_both_terms() -> None:
    def loss(m: torch.Tensor, s: torch.Tensor, v: VAE) -> torch.Tensor:
        output = v.decoder(m + (0.5 * s).exp() * noise(m))
        return F.mse_loss(output, v.x) + kl(m, s)

    look = looked(loss)[-1]
    assert (look.error_op, look.error_shape, look.error_mean) == ("MseLoss", (32, 20), True)
    assert abs(look.agreement.first / look.error_weight / 20 - 1) < 1e-5


def test_the_gradients_stay_as_they_were() -> None:
    def gradients(watched: bool) -> list[torch.Tensor | None]:
        torch.manual_seed(0)
        model = VAE()
        loss = RIGHT["exp of half"](*model.encode(), model)
        if watched:
            told: list[LatentSampling] = []
            watch = types.SimpleNamespace(transfer=Transfer(), step=1, emit=told.append)
            probe = LatentSamplings(watch, types.SimpleNamespace(alive=list))  # type: ignore[arg-type]
            with torch.no_grad():
                probe.look(loss.grad_fn, nodes_behind(loss.grad_fn), {}, None)
            assert told and all(parameter.grad is None for parameter in model.parameters())
        loss.backward()
        return [parameter.grad for parameter in model.parameters() if parameter.grad is not None]

    for plain, watched in zip(gradients(False), gradients(True), strict=True):
        assert plain is not None and watched is not None and torch.equal(plain, watched)
