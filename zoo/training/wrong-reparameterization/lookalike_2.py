"""A conditional VAE: the prior of the latent variables is learned, and depends on the class."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal, kl_divergence


class ConditionalVAE(nn.Module):
    def __init__(self, size=36, classes=5, latent=3):
        super().__init__()
        self.posterior = nn.Sequential(nn.Linear(size + classes, 48), nn.ReLU(), nn.Linear(48, 2 * latent))
        self.prior = nn.Embedding(classes, 2 * latent)
        self.decoder = nn.Sequential(nn.Linear(latent + classes, 48), nn.ReLU(), nn.Linear(48, size))

    def forward(self, x, label):
        label_code = F.one_hot(label, 5).float()
        mean, log_std = self.posterior(torch.cat((x, label_code), 1)).chunk(2, 1)
        prior_mean, prior_log_std = self.prior(label).chunk(2, 1)
        q, p = Normal(mean, log_std.exp()), Normal(prior_mean, prior_log_std.exp())
        return self.decoder(torch.cat((q.rsample(), label_code), 1)), kl_divergence(q, p).sum(1).mean()


torch.manual_seed(0)
patterns = (torch.rand(5, 36) < 0.4).float()
model = ConditionalVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(150):
    label = torch.randint(5, (64,))
    x = torch.roll(patterns[label], step % 3, 1)
    scores, kl = model(x, label)
    loss = F.binary_cross_entropy_with_logits(scores, x, reduction="sum") / len(x) + kl
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item(), kl.item())
