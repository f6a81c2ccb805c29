"""Tabular regression with a learned scale per output."""
import torch


class Tabular(torch.nn.Module):
    def __init__(self, columns, outputs):
        super().__init__()
        self.hidden = torch.nn.Linear(columns, 48)
        self.out = torch.nn.Linear(48, outputs)
        self.scale = torch.nn.Parameter(torch.ones(outputs))

    def forward(self, table):
        return self.out(torch.relu(self.hidden(table)))


torch.manual_seed(12)
truth = torch.randn(9, 4) * torch.tensor([1.0, 2.0, 5.0, 10.0])
model = Tabular(9, 4)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(300):
    table = torch.randn(64, 9)
    loss = (model(table) - table @ truth).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(step, round(loss.item(), 3))
