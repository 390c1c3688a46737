"""Experiments that stop at random parts and go on from their checkpoints: the bytes of one that never stopped."""

import numpy as np

from tutelage.lab import Context, Experiment

TYPES = ["float64", "float32", "float16", "int64", "int32", "int8", "uint8", "bool"]


class Stopped(Exception):
    pass


class Random(Experiment, kind="attack-parts", numerics=1):
    """Parts with arrays of random names, types and shapes, in a random order."""

    draw: int
    seeds: tuple[int, ...] = (0, 1, 2)

    def parts(self):
        random = np.random.default_rng(self.draw)
        for number in range(random.integers(1, 5)):
            names = [f"{letter}{number}" for letter in random.permutation(list("abcdefXYZ_"))[: random.integers(1, 8)]]
            shapes = [(3, *random.integers(0, 4, random.integers(0, 3)).tolist()) for _ in names]
            yield {n: random.normal(size=s).astype(random.choice(TYPES)) for n, s in zip(names, shapes, strict=True)}

    def run(self, context, stop=None):
        out = {}
        for number, arrays in enumerate(self.parts()):
            if number == stop:
                raise Stopped
            out |= context.part(f"part {number}", lambda arrays=arrays: arrays)
        return out


def test_resumed_experiments_have_the_same_bytes(attack, tmp_path):
    random, resumed = attack.generator(8), 0
    for place in attack.rounds(30):
        experiment = Random(draw=int(random.integers(2**31)))
        whole = experiment.encode(experiment.run(Context()))
        context = Context(scratch=tmp_path / str(place))
        for stop in sorted(random.integers(0, 5, 2)):
            try:
                experiment.run(context, stop)
            except Stopped:
                resumed += 1
        assert experiment.encode(experiment.run(context)) == whole
        assert experiment.encode(experiment.run(context)) == whole, "from checkpoints of every part"
        context.forget()
    assert resumed
