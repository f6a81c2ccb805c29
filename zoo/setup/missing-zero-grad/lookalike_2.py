"""Logistic regression and an MLP, both with gradients cleared by hand as in the old tutorials."""
import torch
import torch.nn.functional as F

torch.manual_seed(11)
x = torch.randn(400, 8)
y = (x[:, 0] * x[:, 1] + 0.5 * x[:, 2] > 0).float()

net = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.5)

for epoch in range(150):
    loss = F.binary_cross_entropy_with_logits(net(x).squeeze(1), y)
    for p in net.parameters():
        if p.grad is not None:
            p.grad.data.zero_()
    loss.backward()
    optimizer.step()
    if epoch % 25 == 0:
        print("mlp epoch", epoch, "loss", round(loss.item(), 4))

linear = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(linear.parameters(), lr=0.3, momentum=0.5)
target = x @ torch.arange(8.0)
for epoch in range(100):
    loss = F.mse_loss(linear(x)[:, 0], target)
    loss.backward()
    optimizer.step()
    for p in linear.parameters():
        p.grad = None
    if epoch % 25 == 0:
        print("linear epoch", epoch, "loss", round(loss.item(), 4))
