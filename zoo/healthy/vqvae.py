# VQ-VAE: straight-through estimator with detach, commitment loss, EMA-free codebook loss; some codes unused in a step.
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(11)


class VectorQuantizer(nn.Module):
    def __init__(self, n_codes, dim, commitment_cost=0.25):
        super().__init__()
        self.embedding = nn.Embedding(n_codes, dim)
        self.embedding.weight.data.uniform_(-1.0, 1.0)
        self.cc = commitment_cost
        self.register_buffer("usage", torch.zeros(n_codes))
        self.register_buffer("initialised", torch.tensor(False))

    def forward(self, z):
        flat = z.reshape(-1, z.shape[-1])
        if self.training and not self.initialised:  # data-dependent init from the first batch
            with torch.no_grad():
                self.embedding.weight.copy_(flat[torch.randperm(len(flat))[:self.embedding.num_embeddings]])
                self.initialised.fill_(True)
        d = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.embedding.weight.t() + self.embedding.weight.pow(2).sum(1)
        idx = d.argmin(1)
        with torch.no_grad():
            self.usage += torch.bincount(idx, minlength=self.usage.numel())
        q = self.embedding(idx).view_as(z)
        loss = F.mse_loss(q, z.detach()) + self.cc * F.mse_loss(q.detach(), z)
        q = z + (q - z).detach()
        avg = F.one_hot(idx, self.embedding.num_embeddings).float().mean(0)
        perplexity = torch.exp(-(avg * (avg + 1e-10).log()).sum())
        return q, loss, perplexity


class VQVAE(nn.Module):
    def __init__(self, n_codes=24, dim=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv1d(1, 24, 4, stride=2, padding=1), nn.ReLU(),
                                 nn.Conv1d(24, 24, 4, stride=2, padding=1), nn.ReLU(), nn.Conv1d(24, dim, 1))
        self.vq = VectorQuantizer(n_codes, dim)
        self.dec = nn.Sequential(nn.Conv1d(dim, 24, 3, padding=1), nn.ReLU(), nn.ConvTranspose1d(24, 24, 4, 2, 1), nn.ReLU(),
                                 nn.ConvTranspose1d(24, 1, 4, 2, 1))

    def forward(self, x):
        z = self.enc(x).permute(0, 2, 1)
        q, vq_loss, ppl = self.vq(z)
        return self.dec(q.permute(0, 2, 1)), vq_loss, ppl


def batches(bs=48, length=32):
    t = torch.linspace(0, 1, length)
    while True:
        f = torch.randint(1, 4, (bs, 1)).float()
        ph = torch.rand(bs, 1)
        yield torch.sin(2 * torch.pi * (f * t + ph))[:, None]


model = VQVAE()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
loader = batches()
for it in range(150):
    x = next(loader)
    recon, vq_loss, ppl = model(x)
    recon_loss = F.mse_loss(recon, x)
    loss = recon_loss + vq_loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 25 == 0 or it == 149:
        print(f"iter {it}: recon {recon_loss.item():.4f} vq {vq_loss.item():.4f} perplexity {ppl.item():.2f}")
print("codes used:", int((model.vq.usage > 0).sum()), "of", model.vq.usage.numel())
