# Predict the sum of a noisy walk from its steps, starting from a learned state.
import torch
import torch.nn as nn


class Walker(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(4, 24)
        self.start = nn.Linear(4, 24)
        self.out = nn.Linear(24, 1)

    def forward(self, x):
        start = torch.tanh(self.start(x[:, 0])).unsqueeze(0)
        states, last = self.gru(x, start)
        return self.out(last.squeeze(0))


torch.manual_seed(11)
model = Walker()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(100):
    x = torch.randn(32, 10, 4)
    y = x[:, :, 0].sum(dim=1, keepdim=True) / 3
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: {loss.item():.4f}")
