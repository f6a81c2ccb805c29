"""Remember the first symbol of a long sequence with a plain recurrent network."""
import torch
import torch.nn as nn


class Memory(nn.Module):
    def __init__(self, symbols=6, width=48):
        super().__init__()
        self.rnn = nn.RNN(symbols, width, batch_first=True)
        self.head = nn.Linear(width, symbols)
        nn.init.normal_(self.rnn.weight_hh_l0, std=0.45)

    def forward(self, x):
        states, _ = self.rnn(x)
        return self.head(states[:, -1])


torch.manual_seed(0)
model = Memory()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(150):
    symbols = torch.randint(0, 6, (32, 40))
    x = nn.functional.one_hot(symbols, 6).float()
    loss = criterion(model(x), symbols[:, -3])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        norm = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5
        print(f"{step:3d} loss {loss.item():.3f} gradient {norm:.3g}")
