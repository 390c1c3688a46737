"""How long all certificates of one student take at the size of Tian 2020's experiments.

python benchmarks/bench_certificates.py [--members 1] [--json FILE]

Teacher of 20 units, student five times as wide, 100 inputs, 50 outputs, 10,000 samples; the best of several rounds.
"""

import argparse
import json
from pathlib import Path
from time import perf_counter, process_time

import tutelage as tt
from provenance import provenance
from tutelage.certificates import THEOREMS, certify_all
from tutelage.specialisation.certificates.scene import scenes

ROUNDS = 5


def measured(members: int) -> dict:
    """Seconds of all theorems together, and of each on a scene whose activations are known."""
    seeds = range(members)
    teacher = tt.teachers.Levels(inputs=100, hidden=20, outputs=50, polarity=1.0).build(seeds)
    inputs = tt.inputs.Gaussian(std=1.5).draw(teacher, seeds)
    students = tt.students.SmallNormal(width_factor=5, scale=0.1).build(teacher, seeds)
    wall, work = [], []
    for _ in range(ROUNDS):
        begin, worked = perf_counter(), process_time()
        names = list(certify_all(teacher, students, inputs))
        wall.append(perf_counter() - begin)
        work.append(process_time() - worked)
    each: dict[str, float] = {}
    for _ in range(ROUNDS):
        for scene in scenes(teacher[:1], students[:1], inputs.train[:1]):
            scene.gradients, scene.sample_heights, scene.size  # noqa: B018
            for name in names:
                begin = perf_counter()
                THEOREMS[name].function(scene)
                each[name] = min(each.get(name, float("inf")), perf_counter() - begin)
    return {
        "members": members,
        "widths": {"teacher": teacher.widths, "students": students.widths},
        "samples": inputs.train.shape[1],
        "seconds": round(min(wall), 4),
        "processor_seconds": round(min(work), 4),
        "each": {name: round(seconds, 4) for name, seconds in each.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--members", type=int, default=1)
    parser.add_argument("--json", type=Path, help="Where to write the numbers.")
    options = parser.parse_args()
    result = {"provenance": provenance(), **measured(options.members)}
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
