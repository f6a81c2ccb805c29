"""One trunk, a classification and a regression head, losses weighted by learned uncertainty."""
import torch
import torch.nn as nn


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(15, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.kind = nn.Linear(48, 4)
        self.amount = nn.Linear(48, 1)
        self.log_var = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        h = self.trunk(x)
        return {"kind": self.kind(h), "amount": self.amount(h).squeeze(-1)}

    def loss(self, out, kind, amount):
        losses = torch.stack([
            nn.functional.cross_entropy(out["kind"], kind),
            nn.functional.mse_loss(out["amount"], amount),
        ])
        return (losses * torch.exp(-self.log_var) + 0.5 * self.log_var).sum(), losses


torch.manual_seed(16)
w = torch.randn(15, 4)
v = torch.randn(15) / 3
model = TwoHeads()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-3)
for it in range(1, 251):
    x = torch.randn(64, 15)
    loss, parts = model.loss(model(x), (x @ w).argmax(1), x @ v)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 0 or it == 1:
        print(f"it {it}: total {loss.item():.3f} kind {parts[0].item():.3f} amount {parts[1].item():.3f}")
