"""Contrastive pretraining with a momentum encoder and a queue of keys."""
import copy

import torch
import torch.nn.functional as F
from torch import nn


class MoCo(nn.Module):
    def __init__(self, dim=16, size=256, momentum=0.95):
        super().__init__()
        self.momentum = momentum
        self.encoder_q = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, dim))
        self.encoder_k = copy.deepcopy(self.encoder_q)
        for p in self.encoder_k.parameters():
            p.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(size, dim), dim=1))
        self.pointer = 0

    @torch.no_grad()
    def update_key_encoder(self):
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.data.mul(self.momentum).add(q.data, alpha=1 - self.momentum)

    @torch.no_grad()
    def enqueue(self, keys):
        self.queue[self.pointer:self.pointer + len(keys)] = keys
        self.pointer = (self.pointer + len(keys)) % len(self.queue)

    def forward(self, view_q, view_k):
        q = F.normalize(self.encoder_q(view_q), dim=1)
        with torch.no_grad():
            self.update_key_encoder()
            k = F.normalize(self.encoder_k(view_k), dim=1)
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ self.queue.clone().t()], 1) / 0.2
        self.enqueue(k)
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))


torch.manual_seed(141)
mix = torch.randn(6, 24)
moco = MoCo()
opt = torch.optim.SGD([p for p in moco.parameters() if p.requires_grad], lr=0.1, momentum=0.9, weight_decay=1e-4)
for step in range(250):
    base = torch.randn(32, 6) @ mix
    loss = moco(base + 0.5 * torch.randn_like(base), base + 0.5 * torch.randn_like(base))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(step, loss.item())
