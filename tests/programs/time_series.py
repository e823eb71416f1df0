"""Waves by an LSTM of cells, in float64 with LBFGS, predicted beyond their end."""

import argparse

import numpy as np
import torch
from torch import nn, optim


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1 = nn.LSTMCell(1, 13)
        self.lstm2 = nn.LSTMCell(13, 13)
        self.linear = nn.Linear(13, 1)

    def forward(self, input, future=0):
        outputs = []
        h1, c1, h2, c2 = (torch.zeros(input.size(0), 13, dtype=torch.double) for _ in range(4))
        for value in input.split(1, dim=1):
            h1, c1 = self.lstm1(value, (h1, c1))
            h2, c2 = self.lstm2(h1, (h2, c2))
            output = self.linear(h2)
            outputs += [output]
        for _ in range(future):
            h1, c1 = self.lstm1(output, (h1, c1))
            h2, c2 = self.lstm2(h1, (h2, c2))
            output = self.linear(h2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=3)
    opt = parser.parse_args()
    np.random.seed(2)
    torch.manual_seed(0)
    x = np.empty((12, 40), "int64")
    x[:] = np.array(range(40)) + np.random.randint(-80, 80, 12).reshape(12, 1)
    torch.save(np.sin(x / 1.0 / 8).astype("float64"), "traindata.pt")
    data = torch.from_numpy(torch.load("traindata.pt", weights_only=False))
    input, target = data[3:, :-1], data[3:, 1:]
    seq = Sequence().double()
    criterion = nn.MSELoss()
    optimizer = optim.LBFGS(seq.parameters(), lr=0.8, max_iter=6)
    for step in range(opt.steps):

        def closure():
            optimizer.zero_grad()
            loss = criterion(seq(input), target)
            print("closure loss", round(loss.item(), 6))
            loss.backward()
            return loss

        optimizer.step(closure)
        with torch.no_grad():
            pred = seq(data[:3, :-1], future=10)
            print("STEP", step, "test loss", round(criterion(pred[:, :-10], data[:3, 1:]).item(), 6))
    print("beyond", pred.shape, np.round(pred[0, -3:].detach().numpy(), 2).tolist())


if __name__ == "__main__":
    main()
