"""Intent classification from bag-of-words vectors."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 19
np.random.seed(SEED)
torch.manual_seed(SEED)

VOCAB, INTENTS = 200, 15
topic = np.random.dirichlet(np.full(VOCAB, 0.12), size=INTENTS)


def utterances(n):
    y = np.random.randint(0, INTENTS, n)
    x = np.stack([np.random.multinomial(7, 0.75 * topic[c] + 0.25 / VOCAB) for c in y])
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


class IntentNet(nn.Module):
    def __init__(self, hidden=96):
        super().__init__()
        self.fc1 = nn.Linear(VOCAB, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, INTENTS)

    def forward(self, x):
        x = F.dropout(x, 0.3)
        x = F.relu(self.fc1(x))
        x = F.dropout(x, 0.6)
        x = F.relu(self.fc2(x))
        x = F.dropout(x, 0.6)
        return self.fc3(x)


xtr, ytr = utterances(2400)
xte, yte = utterances(1000)
net = IntentNet()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(6):
    net.train()
    tot = 0.0
    for idx in torch.randperm(len(xtr)).split(48):
        opt.zero_grad()
        loss = F.cross_entropy(net(xtr[idx]), ytr[idx])
        loss.backward()
        opt.step()
        tot += loss.item()
    net.eval()
    with torch.no_grad():
        out = net(xte)
    print(f"epoch {epoch + 1}: train loss {tot / 50:.3f} test loss {F.cross_entropy(out, yte):.3f} "
          f"test acc {(out.argmax(1) == yte).float().mean():.3f}")
