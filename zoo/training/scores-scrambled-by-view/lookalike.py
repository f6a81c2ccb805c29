"""Views that only flatten: tokens for the loss, a pooled feature map for the classifier."""
import torch
import torch.nn.functional as F
from torch import nn


class Reader(nn.Module):
    """A convolution over the picture gives the class, a GRU over its rows gives a tag for each row."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 10, 8)
        self.rows = nn.GRU(8, 16, batch_first=True)
        self.tag = nn.Linear(16, 5)

    def forward(self, image):
        whole = self.conv(image).view(-1, 10)
        tags = self.tag(self.rows(image.squeeze(1))[0])
        return whole, tags


torch.manual_seed(2)
net = Reader()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
patterns = torch.randn(10, 1, 8, 8)
for step in range(150):
    label = torch.randint(0, 10, (32,))
    image = patterns[label] + 0.3 * torch.randn(32, 1, 8, 8)
    brightest = image.squeeze(1)[..., :5].argmax(-1)
    whole, tags = net(image)
    loss = F.cross_entropy(whole, label) + F.cross_entropy(tags.view(-1, 5), brightest.view(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(step, round(loss.item(), 4))
