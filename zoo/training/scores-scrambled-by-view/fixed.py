"""Next-character model on a made-up language: an LSTM over short strings."""
import torch
import torch.nn.functional as F
from torch import nn

LETTERS = 17
LENGTH = 24


def language(n, successor):
    text = [torch.randint(0, LETTERS, (n,))]
    for _ in range(LENGTH):
        jump = torch.rand(n) < 0.1
        text.append(torch.where(jump, torch.randint(0, LETTERS, (n,)), successor[text[-1]]))
    return torch.stack(text, dim=1)


class CharModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(LETTERS, 24)
        self.lstm = nn.LSTM(24, 48, batch_first=True)
        self.head = nn.Linear(48, LETTERS)

    def forward(self, letters):
        states, _ = self.lstm(self.embed(letters))
        return self.head(states)


torch.manual_seed(0)
successor = torch.randperm(LETTERS)
model = CharModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(150):
    text = language(32, successor)
    logits = model(text[:, :-1])
    loss = F.cross_entropy(logits.transpose(1, 2), text[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step}: {loss.item():.4f}")
