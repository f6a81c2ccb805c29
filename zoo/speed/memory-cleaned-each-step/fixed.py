"""GRU that counts the ones in a string of bits."""
import torch
from torch import nn


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(1, 24, batch_first=True)
        self.out = nn.Linear(24, 1)

    def forward(self, bits):
        states, _ = self.rnn(bits)
        return self.out(states[:, -1])


torch.manual_seed(0)
model = Counter()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for step in range(60):
    bits = torch.randint(0, 2, (64, 12, 1)).float()
    target = bits.sum(dim=1) / 6 - 1
    loss = nn.functional.mse_loss(model(bits), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
