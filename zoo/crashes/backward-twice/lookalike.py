"""A recurrent model that lets go of its state between chunks."""
import torch
import torch.nn as nn

torch.manual_seed(0)
rnn, head = nn.GRU(1, 24, batch_first=True), nn.Linear(24, 1)
optimizer = torch.optim.Adam([*rnn.parameters(), *head.parameters()], lr=1e-2)
wave = torch.sin(torch.linspace(0, 120, 2401)).view(1, -1, 1)
hidden = None
for start in range(0, 2400, 20):
    out, hidden = rnn(wave[:, start : start + 20], hidden)
    hidden = hidden.detach()
    loss = (head(out) - wave[:, start + 1 : start + 21]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
