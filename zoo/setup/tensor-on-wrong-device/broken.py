"""A small transformer encoder that learns to tell whether a sequence is sorted."""
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"


class SortedOrNot(nn.Module):
    def __init__(self, vocab=50, dim=32, max_len=16):
        super().__init__()
        self.tokens = nn.Embedding(vocab, dim)
        self.positions = nn.Embedding(max_len, dim)
        layer = nn.TransformerEncoderLayer(dim, nhead=4, dim_feedforward=64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=1)
        self.classify = nn.Linear(dim, 2)

    def forward(self, seq):
        pos = torch.arange(seq.size(1))
        x = self.tokens(seq) + self.positions(pos)
        return self.classify(self.encoder(x).mean(dim=1))


def make_batch(size):
    seq = torch.randint(0, 50, (size, 8))
    label = torch.randint(0, 2, (size,))
    seq = torch.where(label[:, None].bool(), seq.sort(dim=1).values, seq)
    return seq.to(device), label.to(device)


def main():
    torch.manual_seed(0)
    model = SortedOrNot().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    for step in range(1, 201):
        seq, label = make_batch(64)
        loss = criterion(model(seq), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print(f"step {step:3d} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
