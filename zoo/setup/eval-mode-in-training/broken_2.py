"""Small transformer that sorts digits, wrapped in a trainer."""
import torch
import torch.nn.functional as F
from torch import nn


class Sorter(nn.Module):
    def __init__(self, symbols=10, dim=32, length=8):
        super().__init__()
        self.embed = nn.Embedding(symbols, dim)
        self.position = nn.Parameter(torch.randn(length, dim) * 0.1)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.2, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(dim, symbols)

    def forward(self, tokens):
        return self.out(self.encoder(self.embed(tokens) + self.position))


class Trainer:
    def __init__(self, net, lr=2e-3):
        self.net = net
        self.optimizer = torch.optim.AdamW(net.parameters(), lr=lr)
        self.net.eval()

    def batch(self, size):
        tokens = torch.randint(0, 10, (size, 8))
        return tokens, tokens.sort(dim=1).values

    def step(self):
        tokens, target = self.batch(32)
        loss = F.cross_entropy(self.net(tokens).transpose(1, 2), target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def run(self, steps):
        for step in range(steps):
            loss = self.step()
            if step % 20 == 0:
                print(f"step {step:3d} loss {loss:.3f}")


if __name__ == "__main__":
    torch.manual_seed(1)
    Trainer(Sorter()).run(100)
