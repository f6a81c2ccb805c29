"""log_softmax in the model and cross_entropy outside: taking it twice changes nothing."""
import torch
import torch.nn.functional as F

torch.manual_seed(19)
x = torch.randn(600, 10)
y = (x @ torch.randn(10, 4)).argmax(dim=1)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(10, 32)
        self.b = torch.nn.Linear(32, 4)

    def forward(self, x):
        return F.log_softmax(self.b(F.relu(self.a(x))), dim=1)


net = Net()
sgd = torch.optim.SGD(net.parameters(), lr=0.2)
for epoch in range(10):
    for chunk in torch.randperm(600).split(50):
        sgd.zero_grad()
        loss = F.cross_entropy(net(x[chunk]), y[chunk])
        loss.backward()
        sgd.step()
    print("epoch %2d loss %.4f" % (epoch, loss.item()))
