"""
A code with the information you ask for
=======================================

How much should a code say about the data? A VAE may say nothing; ask for it in nats (Phuong 2021, chapter 4).

Sixteen words, all equally likely (log 16 = 2.77 nats), one code. The decoder can do without the code, so a plain VAE
ignores it; a mutual autoencoder is told how much to say. Half of the signs of I - M are wrong once it has arrived: with
none wrong it is still on its way and needs more steps.
"""

import tempfile
from pathlib import Path

import torch
from torch import nn

from tutelage.autoencoders import MutualAutoencoder
from tutelage.errors import TutelageError
from tutelage.training import Settle

WORDS = 16
words = torch.arange(WORDS).unsqueeze(1)  # one word per sample
data = words.repeat(64, 1)


class Encoder(nn.Module):
    """Mean and log-variance of the code: a row of a table for every word."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(WORDS, 2)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean, log_variance = self.table(x[:, 0]).chunk(2, dim=1)
        return mean, log_variance


def decoder() -> nn.Module:
    """Logits over the words, for one word per sample."""
    return nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, WORDS), nn.Unflatten(1, (1, WORDS)))


print("target  estimate  wrong signs    KL  the word again  information of the model")
for target in (None, 1.0, 2.0):
    torch.manual_seed(0)
    model = MutualAutoencoder(Encoder(), decoder(), target, kind="categorical", gradient="sum")
    model.fit(data, steps=1200, batch=128, learning_rate=2e-2, schedule=Settle())
    last, asked = model.log[-1], "none" if target is None else f"{target:.1f}"
    again = float((model.reconstruct(data) == data).float().mean())
    collapsed = "  (collapsed)" if last.collapsed else ""
    numbers = f"{last.estimate:8.2f}  {last.wrong_signs:11.0%}  {last.kl:.2f}  {again:14.1%}"
    print(f"{asked:6s}  {numbers}  {model.bounds()}{collapsed}")

print(model.information(data))

with tempfile.TemporaryDirectory() as folder:
    model.save(Path(folder) / "words.safetensors")
    read = MutualAutoencoder.load(Path(folder) / "words.safetensors", Encoder(), decoder())
    same = torch.equal(read.encode(words)[0], model.encode(words)[0])
    print(f"read again, asked for {read.target} nats; the same codes: {same}")

try:
    MutualAutoencoder(Encoder(), decoder(), target=5.0, kind="categorical").fit(data)
except TutelageError as refusal:
    print("rejected:", refusal)
