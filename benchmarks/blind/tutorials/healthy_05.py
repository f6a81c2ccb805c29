"""VQ-VAE, codebook updated with moving averages."""
import torch
from torch import nn
import torch.nn.functional as F

from toy_pictures import gaussian_blobs


class EMAQuantizer(nn.Module):
    def __init__(self, codes=32, dim=8, decay=0.95, eps=1e-5, commitment=0.25):
        super().__init__()
        self.codes, self.decay, self.eps, self.commitment = codes, decay, eps, commitment
        book = torch.randn(codes, dim) * 0.5
        self.register_buffer("book", book)
        self.register_buffer("count", torch.ones(codes))
        self.register_buffer("total", book.clone())
        self.register_buffer("ready", torch.tensor(False))

    @torch.no_grad()
    def start_from_data(self, flat):
        pick = flat[torch.randperm(len(flat))[:self.codes]]
        self.book.copy_(pick)
        self.total.copy_(pick)
        self.ready.fill_(True)

    @torch.no_grad()
    def revive(self, flat, floor=0.05):
        """Codes that are hardly used any more move to a random encoder output."""
        dead = self.count < floor
        if dead.any():
            fresh = flat[torch.randint(len(flat), (int(dead.sum()),))]
            self.book[dead] = fresh
            self.total[dead] = fresh
            self.count[dead] = 1.0

    def forward(self, h):
        flat = h.permute(0, 2, 3, 1).reshape(-1, h.shape[1])
        if self.training and not self.ready:
            self.start_from_data(flat)
        idx = torch.cdist(flat.detach(), self.book).argmin(1)
        quant = self.book[idx]
        if self.training:
            with torch.no_grad():
                onehot = F.one_hot(idx, self.codes).type_as(flat)
                self.count.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
                self.total.mul_(self.decay).add_(onehot.t() @ flat, alpha=1 - self.decay)
                n = self.count.sum()
                smooth = (self.count + self.eps) / (n + self.codes * self.eps) * n
                self.book.copy_(self.total / smooth.unsqueeze(1))
                self.revive(flat)
        commit = self.commitment * F.mse_loss(flat, quant.detach())
        quant = flat + (quant - flat).detach()
        b, c, hh, ww = h.shape
        return quant.view(b, hh, ww, c).permute(0, 3, 1, 2), commit, idx


class VQVAE(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, 16, 4, 2, 1), nn.ReLU(),
                                 nn.Conv2d(16, dim, 1))
        self.vq = EMAQuantizer(dim=dim)
        self.dec = nn.Sequential(nn.Conv2d(dim, 16, 3, 1, 1), nn.ReLU(), nn.ConvTranspose2d(16, 16, 4, 2, 1), nn.ReLU(),
                                 nn.ConvTranspose2d(16, 1, 4, 2, 1))

    def forward(self, x):
        q, commit, idx = self.vq(self.enc(x))
        return self.dec(q), commit, idx


torch.set_num_threads(1)
torch.manual_seed(13)
model = VQVAE()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
data = gaussian_blobs(960)
for epoch in range(8):
    used = set()
    rec_sum = 0.0
    for x in data[torch.randperm(len(data))].split(48):
        recon, commit, idx = model(x)
        rec = F.mse_loss(recon, x)
        loss = rec + commit
        opt.zero_grad()
        loss.backward()
        opt.step()
        rec_sum += rec.item()
        used.update(idx.unique().tolist())
    print(f"epoch {epoch} mse {rec_sum / 20:.4f} codes used {len(used)}")
