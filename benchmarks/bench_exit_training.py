"""Images a second in training of the CIFAR network with exits on a GPU: alone and side by side, in either precision.

python benchmarks/bench_exit_training.py [--members 1 5 10 25] [--json FILE]
"""

import argparse
import json
import time
from pathlib import Path

import torch
from torch.utils.flop_counter import FlopCounterMode

from provenance import provenance
from tutelage.exits.msdnet import CIFAR
from tutelage.exits.stacked import pupils
from tutelage.exits.training import PAPER_SGD, ExitTask, train_side_by_side
from tutelage.training import Training

IMAGES, BATCH = 1000, 64  # of CIFAR(150)


def multiply_rate(dtype: torch.dtype, size: int = 8192, turns: int = 20) -> float:
    """Measured operations a second of a large matrix product."""
    a, b = (torch.randn(size, size, device="cuda").to(dtype) for _ in range(2))
    for turn in range(turns + 3):
        if turn == 3:
            torch.cuda.synchronize()
            start = time.perf_counter()
        a @ b
    torch.cuda.synchronize()
    return turns * 2 * size**3 / (time.perf_counter() - start)


def operations() -> float:
    """Additions and multiplications of one image's step, forwards and backwards."""
    with FlopCounterMode(display=False) as counter:
        sum(z.sum() for z in CIFAR.build(10, seed=None)(torch.zeros(2, 3, 32, 32))).backward()
    return counter.get_total_flops() / 2


def images_a_second(members: int, mixed: bool, epochs: int = 6) -> float:
    """From the end of the first epoch on, in which kernels are compiled and steps recorded."""
    x, y = torch.randn(IMAGES, 3, 32, 32, device="cuda"), torch.arange(IMAGES, device="cuda") % 10
    settings = Training(epochs=epochs, batch=BATCH, learning_rate=0.1, optimiser=PAPER_SGD, mixed_precision=mixed)
    model = CIFAR.build(10, seed=None).cuda()
    ends: list[float] = []

    def tell(share: float) -> None:
        torch.cuda.synchronize()
        ends.append(time.perf_counter())

    train_side_by_side([ExitTask(model, x, y, settings, seed=m) for m in range(members)], progress=tell)
    return members * (epochs - 1) * (IMAGES // BATCH) * BATCH / (ends[-1] - ends[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--members", type=int, nargs="+", default=[1, 5, 10, 25])
    parser.add_argument("--precision", nargs="+", default=["tf32", "bf16"])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.backends.cudnn.benchmark = True  # as in a long training
    torch.backends.cuda.matmul.allow_tf32 = True
    pupils._FEW = 0  # short trainings stand for long ones, which share their kernels
    work = operations()
    result: dict = {"provenance": provenance(), "operations an image": work}
    for name, dtype in (("tf32", torch.float32), ("bf16", torch.bfloat16)):
        if name not in options.precision:
            continue
        rate = multiply_rate(dtype)
        found: dict = {"rate of a large product, TFLOP/s": round(rate / 1e12)}
        for members in options.members:
            speed = images_a_second(members, name == "bf16")
            found[f"{members} side by side"] = {
                "images a second": round(speed),
                "share of that rate": round(speed * work / rate, 4),
            }
        result[name] = found
        print(name, json.dumps(found), flush=True)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
