"""A VAE over word counts of short texts about a few topics."""
import torch
from torch import nn


class TopicVAE(nn.Module):
    def __init__(self, words=50, topics=5):
        super().__init__()
        self.read = nn.Sequential(nn.Linear(words, 64), nn.Softplus())
        self.loc, self.log_scale = nn.Linear(64, topics), nn.Linear(64, topics)
        self.write = nn.Linear(topics, words)

    def forward(self, counts):
        hidden = self.read(counts)
        loc, log_scale = self.loc(hidden), self.log_scale(hidden)
        scale = log_scale.exp()
        noise = torch.randn(loc.size())
        theta = loc * scale + noise
        return self.write(theta).log_softmax(1), loc, log_scale


torch.manual_seed(2)
topics = torch.distributions.Dirichlet(torch.full((50,), 0.1)).sample((5,))
model = TopicVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for step in range(150):
    weights = torch.distributions.Dirichlet(torch.full((5,), 0.3)).sample((64,))
    counts = torch.distributions.Multinomial(40, weights @ topics).sample()
    log_words, loc, log_scale = model(counts)
    error = -(counts * log_words).sum(1)
    divergence = (0.5 * (loc**2 + (2 * log_scale).exp() - 1) - log_scale).sum(1)
    loss = (error + divergence).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, round(loss.item(), 2))
