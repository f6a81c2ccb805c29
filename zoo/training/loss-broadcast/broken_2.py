# Fit a noisy two-dimensional surface, loss written out by hand.
import numpy as np
import torch

rng = np.random.default_rng(3)
torch.manual_seed(3)

xy = rng.uniform(-1, 1, size=(800, 2)).astype(np.float32)
z = (np.sin(3 * xy[:, 0]) * np.cos(2 * xy[:, 1])).astype(np.float32)
xy, z = torch.from_numpy(xy), torch.from_numpy(z)


class Surface(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = torch.nn.Linear(2, 48)
        self.l2 = torch.nn.Linear(48, 48)
        self.l3 = torch.nn.Linear(48, 1)

    def forward(self, p):
        p = torch.tanh(self.l1(p))
        p = torch.tanh(self.l2(p))
        return self.l3(p)


net = Surface()
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

for step in range(400):
    batch = torch.randint(0, 800, (100,))
    guess = net(xy[batch])
    loss = ((guess - z[batch]) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(step, "loss = %.5f" % loss.item())
