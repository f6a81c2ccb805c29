# Mixture of experts with noisy top-k gating and a load-balancing loss; experts that get no token in a step have grad None.
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(14)


class Expert(nn.Sequential):
    def __init__(self, d, h):
        super().__init__(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, d))


class MoE(nn.Module):
    def __init__(self, d, n_exp=6, k=2):
        super().__init__()
        self.experts = nn.ModuleList(Expert(d, 24) for _ in range(n_exp))
        self.gate, self.k = nn.Linear(d, n_exp, bias=False), k
        self.register_buffer("counts", torch.zeros(n_exp), persistent=False)

    def forward(self, x):
        logits = self.gate(x)
        if self.training:
            logits = logits + 0.3 * torch.randn_like(logits)
        val, idx = logits.topk(self.k, -1)
        w = val.softmax(-1)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            row, slot = (idx == e).nonzero(as_tuple=True)
            if row.numel() == 0:
                continue  # nobody chose this expert now
            out = out.index_add(0, row, expert(x[row]) * w[row, slot, None])
        probs = logits.softmax(-1).mean(0)
        load = F.one_hot(idx, len(self.experts)).float().sum(1).mean(0) / self.k
        with torch.no_grad():
            self.counts += load
        return out, len(self.experts) * (probs * load.detach()).sum()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp, self.moe, self.norm, self.out = nn.Linear(4, 32), MoE(32), nn.LayerNorm(32), nn.Linear(32, 1)

    def forward(self, x):
        h = self.inp(x)
        m, aux = self.moe(h)
        return self.out(self.norm(h + m)).squeeze(-1), aux


def data(bs=8):  # small batches: an expert often gets nothing
    while True:
        x = torch.randn(bs, 4).clamp(-1.5, 1.5)
        q = (x[:, 0] > 0).long() * 2 + (x[:, 1] > 0).long()
        y = torch.stack([x[:, 2], -x[:, 2], x[:, 3] ** 2, x[:, 2] * x[:, 3]], 1).gather(1, q[:, None]).squeeze(1)
        yield x, y


model = Model()
opt = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.01)
avg, idle = None, 0
for step, (x, y) in zip(range(160), data()):
    pred, aux = model(x)
    mse = F.mse_loss(pred, y)
    loss = mse + 0.1 * aux
    opt.zero_grad(set_to_none=True)
    loss.backward()
    idle += sum(e[0].weight.grad is None for e in model.moe.experts)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    avg = mse.item() if avg is None else 0.95 * avg + 0.05 * mse.item()
    if step % 40 == 0 or step == 159:
        print(f"step {step} mse {mse.item():.4f} (avg {avg:.4f}) aux {aux.item():.3f} idle expert-steps {idle}")
print("load", (model.moe.counts / model.moe.counts.sum()).tolist())
