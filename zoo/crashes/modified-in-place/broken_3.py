"""Next-value prediction on a long sine wave, read in chunks by a recurrent cell."""
import torch
import torch.nn as nn

torch.manual_seed(0)
wave = torch.sin(torch.linspace(0, 200, 4001))
cell = nn.GRUCell(1, 24)
readout = nn.Linear(24, 1)
optimizer = torch.optim.Adam([*cell.parameters(), *readout.parameters()], lr=5e-3)

hidden = torch.zeros(1, 24)
for chunk in range(80):
    start = chunk * 20
    loss = 0.0
    for t in range(start, start + 20):
        hidden = cell(wave[t].view(1, 1), hidden)
        loss = loss + (readout(hidden) - wave[t + 1]).pow(2).mean()
    loss = loss / 20
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
    if chunk % 20 == 0:
        print(f"chunk {chunk} loss {loss.item():.4f}")
