"""A network in functional style: weights are plain tensors in a list, forward is a function."""
import torch
import torch.nn.functional as F

torch.manual_seed(0)
sizes = [64, 256, 256, 256, 10]
params = []
for n_in, n_out in zip(sizes[:-1], sizes[1:]):
    params.append(torch.randn(n_out, n_in, requires_grad=True))
    params.append(torch.zeros(n_out, requires_grad=True))


def forward(x):
    for i in range(0, len(params) - 2, 2):
        x = F.relu(F.linear(x, params[i], params[i + 1]))
    return F.linear(x, params[-2], params[-1])


centres = torch.randn(10, 64)
optimizer = torch.optim.Adam(params, lr=1e-3)
for step in range(250):
    y = torch.randint(10, (64,))
    x = centres[y] + 1.5 * torch.randn(64, 64)
    loss = F.cross_entropy(forward(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
