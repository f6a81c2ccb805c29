# Classification by class centres that follow the embeddings of each batch.
import torch
from torch import nn
import torch.nn.functional as F


class CentreNet(nn.Module):
    def __init__(self, classes=4, dim=8):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, dim))
        self.register_buffer("centres", torch.randn(classes, dim))

    def forward(self, x):
        return -torch.cdist(self.embed(x), self.centres)

    @torch.no_grad()
    def follow(self, x, labels):
        codes = self.embed(x)
        for label in labels.unique():
            self.centres[label] = 0.9 * self.centres[label] + 0.1 * codes[labels == label].mean(dim=0)


def main():
    torch.manual_seed(1)
    places = torch.randn(4, 12)
    net = CentreNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    for step in range(150):
        labels = torch.randint(0, 4, (32,))
        x = places[labels] + 0.4 * torch.randn(32, 12)
        loss = F.cross_entropy(net(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        net.follow(x, labels)
    copy = CentreNet()
    copy.load_state_dict({key: value.clone() for key, value in net.state_dict().items()})
    with torch.no_grad():
        print("trained", F.cross_entropy(net(x), labels).item(), "copied", F.cross_entropy(copy(x), labels).item())


main()
