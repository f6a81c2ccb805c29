import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
VOCAB, LEN, CLASSES = 40, 12, 4


def make_split(n):
    """Label depends on the ordered pair of marker tokens in the sentence."""
    x = torch.randint(8, VOCAB, (n, LEN))
    first = torch.randint(0, 2, (n,))
    second = torch.randint(0, 2, (n,))
    p1 = torch.randint(0, LEN // 2, (n,))
    p2 = torch.randint(LEN // 2, LEN, (n,))
    rows = torch.arange(n)
    x[rows, p1] = first
    x[rows, p2] = second
    return x, first * 2 + second


class AttentivePooler(nn.Module):
    def __init__(self, dim=32, hidden=48):
        super().__init__()
        self.hidden = hidden
        self.embed = nn.Embedding(VOCAB, dim)
        self.cell = nn.GRUCell(dim, hidden)
        self.query = nn.Linear(hidden, 1)
        self.classify = nn.Sequential(nn.Linear(hidden, 48), nn.ReLU(), nn.Linear(48, CLASSES))

    def forward(self, tokens):
        emb = self.embed(tokens)
        h = emb.new_zeros(tokens.size(0), self.hidden)
        states = []
        for t in range(tokens.size(1)):
            h = self.cell(emb[:, t], h)
            states.append(h.detach())
        states = torch.stack(states, dim=1)
        weights = F.softmax(self.query(states), dim=1)
        return self.classify((weights * states).sum(1))


x_train, y_train = make_split(1280)
x_test, y_test = make_split(400)
model = AttentivePooler()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
batch_size = 64

for epoch in range(8):
    model.train()
    perm = torch.randperm(len(x_train))
    total = 0.0
    for i in range(0, len(perm), batch_size):
        idx = perm[i:i + batch_size]
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x_train[idx]), y_train[idx])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        total += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        acc = (model(x_test).argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch}: loss {total / len(perm):.4f} test acc {acc:.3f}")
