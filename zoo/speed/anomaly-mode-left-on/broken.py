"""LSTM cell unrolled by hand, learning to remember the first of a string of symbols."""
import torch
from torch import nn

torch.manual_seed(0)
torch.autograd.set_detect_anomaly(True)


class Memory(nn.Module):
    def __init__(self, symbols=6, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(symbols, 16)
        self.cell = nn.LSTMCell(16, hidden)
        self.out = nn.Linear(hidden, symbols)

    def forward(self, ids):
        inputs = self.embed(ids)
        h = torch.zeros(len(ids), 32)
        c = torch.zeros(len(ids), 32)
        for t in range(ids.shape[1]):
            h, c = self.cell(inputs[:, t], (h, c))
        return self.out(h)


model = Memory()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(110):
    ids = torch.randint(0, 6, (64, 8))
    loss = nn.functional.cross_entropy(model(ids), ids[:, 0])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 25 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
