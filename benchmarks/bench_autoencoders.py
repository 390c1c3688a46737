"""The twelve models of Phuong 2021, Fig. 4.3, with eight seeds each: seconds to train, seconds to judge, |I - M|.

python benchmarks/bench_autoencoders.py [--json FILE] [--seeds 8]
"""

import argparse
import json
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from provenance import provenance
from tutelage.autoencoders import Model, settled_adam
from tutelage.autoencoders.exact import evaluate
from tutelage.autoencoders.parts import categorical_models, normal_models
from tutelage.autoencoders.training import Sampler, normal_data, train_models, uniform_symbols
from tutelage.training import Training

SYMBOLS = 10


def measured(
    build: Callable[[Sequence[int]], Model],
    data: Sampler,
    targets: Sequence[float],
    seeds: int,
    settings: Training,
) -> dict:
    """Train every target with every seed in one stack, and hold the exact information against the target."""
    members = [seed for _ in targets for seed in range(seeds)]
    wanted = [target for target in targets for _ in range(seeds)]
    model = build(members)
    start = time.perf_counter()
    train_models(model, data, wanted, members, settings)
    between = time.perf_counter()
    information = evaluate(model).information.view(len(targets), seeds)
    return {
        "models": len(targets),
        "seeds": seeds,
        "steps": settings.steps,
        "batch": settings.batch,
        "seconds to train": round(between - start, 1),
        "seconds to judge": round(time.perf_counter() - between, 1),
        "median |I - M|": {
            f"{t:.4g}": round(float((row - t).abs().median()), 4) for t, row in zip(targets, information, strict=True)
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seeds", type=int, default=8)
    options = parser.parse_args()
    normal = settled_adam(1200, learning_rate=2e-3)
    categorical = settled_adam(2400, learning_rate=1e-2)
    result = {
        "provenance": provenance(),
        "normal": measured(normal_models, normal_data, (0.0, 0.4, 0.8, 1.2, 1.6, 2.0), options.seeds, normal),
        "categorical": measured(
            categorical_models,
            uniform_symbols(SYMBOLS),
            (0.0, 0.5, 1.0, 1.5, 2.0, math.log(SYMBOLS)),
            options.seeds,
            categorical,
        ),
    }
    result["seconds in all"] = round(
        sum(
            result[distribution][f"seconds to {verb}"]
            for distribution in ("normal", "categorical")
            for verb in ("train", "judge")
        ),
        1,
    )
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
