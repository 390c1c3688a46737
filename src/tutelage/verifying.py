r"""The checker of proofs about two networks: one file that needs numpy and nothing else of this library.

A proof says of two ONNX files how far their outputs differ at most, or that both have the same top class, for every
input of a box or for all inputs. ``python verifying.py PROOF A.onnx B.onnx`` works without the library. Nothing that a
proof says is believed. Why one that passes is true:

- Networks are exact functions of their stored numbers. What is rounded on the way has a bound on its error, e.
- Units in another order or times positive factors, units without weights, layers that hand on, and two layers of which
  the upper one only puts together what the lower one took apart change no function.
- Parts of a box are made here by halving it, each into two closed halves: together they are the whole box.
- On a part, values of f and of d = f - g are :math:`c + \sum_k z_k t_k + r`, with the same :math:`|t_k| \le 1` for both
  and :math:`|r| \le` error. A sum of n products is within n eps times the sum of their sizes of the exact one (Higham
  2002, section 3.1), and within half of gamma(n) times that: the other half is for the rounding of bounds.
- relu(u) is between s u and s u + max(-s low, (1 - s) high) for s in [0, 1]; relu(f) - relu(g) = z d, z in [0, 1].
"""

import gzip
import json
import struct
import sys
import zlib
from collections.abc import Iterator
from itertools import islice
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FORMAT, EPS, TINY = "tutelage-proof-1", 2.0**-52, 1e-300
_BATCH = 64  # parts at a time: neighbours bend at the same units, and other units need no column
_TYPES = {1: ("<f4", 4), 7: ("<i8", 7), 10: ("<f2", 0), 11: ("<f8", 10)}  # and the field of numbers that are not raw
_DAMAGED = (ArithmeticError, AttributeError, EOFError, LookupError, OSError, StopIteration, TypeError, ValueError)


class ProofError(ValueError):
    """A network that cannot be read, or a claim that the proof leaves open."""


def gamma(terms: int) -> float:
    return 2 * (terms + 16) * EPS


def varints(stream: Iterator[int]) -> Iterator[int]:
    """The integers of a stream of bytes."""
    value = shift = 0
    for byte in stream:
        value, shift = value | (byte & 127) << shift, shift + 7
        if byte < 128:
            yield value - (value >> 63 << 64)
            value = shift = 0


def fields(data: bytes) -> dict[int, list[Any]]:
    """The values of every field of a protobuf message: integers and bytes."""
    stream, found = iter(data), dict[int, list[Any]]()
    numbers = varints(stream)
    for key in numbers:
        value: Any = next(numbers) if key & 7 in (0, 2) else {1: 8, 5: 4}[key & 7]
        if key & 7:
            size, value = value, bytes(islice(stream, value))
            if len(value) < size:
                raise ProofError("the file ends too soon")
        found.setdefault(key >> 3, []).append(value)
    return found


def whole(values: list[Any]) -> list[int]:
    return [n for v in values for n in ([v] if isinstance(v, int) else varints(iter(v)))]


def tensor(data: bytes) -> np.ndarray:
    given = fields(data)
    kind, field = _TYPES[given[2][0]]
    if field == 7 and 9 not in given:
        numbers = np.array(whole(given.get(7, [])), kind)
    else:
        numbers = np.frombuffer(b"".join(given.get(9, given.get(field, []))), kind)
    if not np.isfinite(numbers).all() or 13 in given or 14 in given:
        raise ProofError("a tensor has numbers that are not finite, or in another file")
    return numbers.astype("i8" if field == 7 else "f8").reshape(whole(given.get(1, [])))


class StoredLayer(NamedTuple):
    """Weights and biases [out, in + 1], the biases last, and bounds on the error of each."""

    a: np.ndarray
    e: np.ndarray


class Computed(NamedTuple):
    """A value of a graph: its shape for one input, and an affine map of the last of the hidden layers so far."""

    shape: tuple[int, ...]
    map: StoredLayer
    hidden: tuple[StoredLayer, ...] = ()

    def times(self, m: np.ndarray, shape: tuple[int, ...]) -> "Computed":
        a, e = self.map
        # A sum of one product of two numbers of 24 bits is exact: what an identity and a choice of units come to.
        rounded = ((m != 0).astype(float) @ (a != 0) > 1) | (not (single(m) and single(a)))
        error = np.abs(m) @ e + rounded * (gamma(m.shape[1]) * (np.abs(m) @ np.abs(a)) + TINY)
        return Computed(shape, StoredLayer(m @ a, error * (1 + gamma(m.shape[1]))), self.hidden)

    def plus(self, c: np.ndarray) -> "Computed":
        if np.broadcast_shapes(self.shape, c.shape) != self.shape:
            raise ProofError(f"a constant of shape {c.shape} is added to a value of shape {self.shape}")
        (a, e), more = (x.copy() for x in self.map), np.broadcast_to(c, self.shape).ravel()
        rounded = (a[:, -1] != 0) & (more != 0)
        a[:, -1] += more
        e[:, -1] = np.where(rounded, (e[:, -1] + EPS * np.abs(a[:, -1])) * (1 + 8 * EPS), e[:, -1])
        return Computed(self.shape, StoredLayer(a, e), self.hidden)


def single(x: np.ndarray) -> bool:
    return bool((x.astype(np.float32) == x).all())


def identity(n: int) -> StoredLayer:
    return StoredLayer(np.eye(n, n + 1), np.zeros((n, n + 1)))


def read_network(path: str | Path, data: bytes | None = None) -> list[StoredLayer]:
    """The layers of an ONNX file of dense layers and relus, or of its content; all but the last have a relu."""
    try:
        graph = fields(fields(Path(path).read_bytes() if data is None else data)[7][0])
        known: dict[str, Any] = {fields(t)[8][0].decode(): tensor(t) for t in graph.get(5, [])}
        (given,), (output,) = [i for i in map(fields, graph[11]) if i[1][0].decode() not in known], graph[12]
        dims = fields(fields(fields(given[2][0])[1][0])[2][0]).get(1, [])
        shape = tuple(fields(d).get(1, [1])[0] or 1 for d in dims)
        known[given[1][0].decode()] = Computed(shape, identity(prod(shape)))
        for node in map(fields, graph[1]):
            if node.get(7, [b""])[0] not in (b"", b"ai.onnx"):
                raise ProofError(f"the operator {node[4][0].decode()} has a definition of its own")
            options = {o[1][0].decode(): o for o in map(fields, node.get(5, []))}
            numbers = {
                name: struct.unpack("<f", o[2][0])[0] if 2 in o else o.get(3, [0])[0] for name, o in options.items()
            }
            values = [known[name.decode()] for name in node.get(1, []) if name]
            if (operator := node[4][0].decode()) == "Constant":
                known[node[2][0].decode()] = tensor(options["value"][5][0])
            else:
                known[node[2][0].decode()] = computed(operator, numbers, *values)
        top = known[fields(output)[1][0].decode()]
        return [*top.hidden, top.map]
    except _DAMAGED as error:
        raise ProofError(f"{path} cannot be read as an ONNX file of dense layers and relus: {error}") from None


def computed(operator: str, numbers: dict[str, float], x: Any, y: Any = None, bias: Any = None) -> Computed:
    left, right = (isinstance(v, Computed) for v in (x, y))
    if operator == "MatMul" and right and not left and y.shape in ((x.shape[-1],), (x.shape[-1], 1)) and x.ndim == 2:
        return y.times(x, (len(x), *y.shape[1:]))
    if operator in ("MatMul", "Gemm") and left and not right and y.ndim == 2:
        m = y if operator == "Gemm" and numbers.get("transB", 0) else y.T
        plain = numbers.get("alpha", 1) == numbers.get("beta", 1) == 1 and not numbers.get("transA", 0)
        if plain and x.shape[-1:] == m.shape[1:] == (prod(x.shape),):
            product = x.times(m, (*x.shape[:-1], len(m)))
            return product if bias is None else product.plus(bias)
    if operator in ("Add", "Sub") and left != right and (left or operator == "Add"):
        return x.plus(y if operator == "Add" else -y) if left else y.plus(x)
    if operator == "Relu":
        return Computed(x.shape, identity(len(x.map.a)), (*x.hidden, x.map))
    if operator in ("Flatten", "Reshape") and not numbers.get("allowzero", 0):
        sizes = y.tolist() if operator == "Reshape" else (prod(x.shape[: int(numbers.get("axis", 1))]), -1)
        sizes = [x.shape[k] if size == 0 else size for k, size in enumerate(sizes)]
        return x._replace(shape=np.empty(x.shape, bool).reshape(sizes).shape)
    raise ProofError(f"the operator {operator} is not understood, or not with these shapes and attributes")


def made_one(layers: list[StoredLayer], at: int) -> list[StoredLayer]:
    """Two layers as one where every unit above is c relu(u) with c > 0, or b + c relu(u) + d relu(v) with c u = d v and
    c d < 0, which is b + c u since relu(u) - relu(-u) = u."""
    low, up = layers[at], layers[at + 1]
    w, b, rows, used = up.a[:, :-1], up.a[:, -1], np.arange(len(up.a)), up.a[:, :-1] != 0
    first, last = used.argmax(1), w.shape[1] - 1 - used[:, ::-1].argmax(1)
    c, d = w[rows, first], w[rows, last]
    a = c[:, None] * low.a[first]
    alone = (used.sum(1) == 1) & (c > 0) & (b == 0)
    pair = (used.sum(1) == 2) & ((c > 0) != (d > 0)) & (a == d[:, None] * low.a[last]).all(1)
    exact = single(low.a) and single(w) and not (low.e.any() or up.e.any())
    if not (0 <= at < len(layers) - 2 and exact and (alone | pair).all()):
        raise ProofError(f"layer {at + 1} does not only put together what layer {at} took apart")
    return [*layers[:at], Computed((len(a),), StoredLayer(a, 0 * a)).plus(b).map, *layers[at + 2 :]]


def rewritten(layers: list[StoredLayer], how: dict[str, Any]) -> list[StoredLayer]:
    """A network with layers made one, layers that hand on below the top one, and its hidden units in places: every unit
    of a layer once, times a positive factor, and -1 for none."""
    for at in how["made_one"]:
        layers = made_one(layers, at)
    for _ in range(len(how["units"]) + 1 - len(layers) if len(layers) > 1 else 0):
        layers = [*layers[:-1], identity(layers[-1].a.shape[1] - 1), layers[-1]]
    ends, new = (layers[0].a.shape[1] - 1, len(layers[-1].a)), []
    orders = [np.array(order, int) for order in (range(ends[0]), *how["units"], range(ends[1]))]
    scales = [np.array(scale, float) for scale in (np.ones(ends[0]), *how["factors"], np.ones(ends[1]))]
    for layer, below, here, by, scale in zip(layers, orders[:-1], orders[1:], scales[:-1], scales[1:], strict=True):
        once = np.array_equal(np.sort(here[here >= 0]), range(len(layer.a))) and scale.shape == here.shape
        if not (once and (here >= -1).all() and ((scale > 1e-60) & (scale < 1e60)).all()):
            raise ProofError("every hidden unit must have one place and a factor above 0")
        columns = np.append(np.where(below < 0, -2, below), -1)  # the last two of a row: nothing, and the bias
        a, e = (np.insert(np.pad(x, ((0, 1), (0, 0))), -1, 0.0, 1)[here][:, columns] for x in layer)
        a, e = (x * scale[:, None] / np.append(by, 1.0) for x in (a, e))
        powers = all((np.frexp(s)[0] == 0.5).all() for s in (by, scale))  # of two, which multiply exactly
        exact = powers and ((layer.a == 0) | (np.abs(layer.a) > 1e-150)).all()
        new.append(StoredLayer(a, e if exact else (e + 4 * EPS * np.abs(a)) * (1 + 8 * EPS) + TINY))
    return new


def joined(f: list[StoredLayer], g: list[StoredLayer]) -> list[StoredLayer]:
    """Both networks as one: rows of f above those of d = f - g, which is g d + (f - g) f in every layer."""
    if [x.a.shape for x in f] != [x.a.shape for x in g]:
        raise ProofError("the proof gives the networks other numbers of layers or units")
    pair: list[StoredLayer] = []
    for p, q in zip(f, g, strict=True):
        d = [x[:, :-1] if pair else x[:, :0] for x in q]  # the inputs do not differ
        blocks = zip(p, d, (p.a - q.a, p.e + q.e + EPS * np.abs(p.a - q.a)), strict=True)
        rows = ([[x[:, :-1], 0 * y, x[:, -1:]], [z[:, :-1], y, z[:, -1:]]] for x, y, z in blocks)
        pair.append(StoredLayer(*map(np.block, rows)))
    return pair


class Enclosure(NamedTuple):
    """c [B, n] + z [B, n, K] t + r with |t| <= 1 and |r| <= error [B, n]."""

    c: np.ndarray
    z: np.ndarray
    error: np.ndarray

    def size(self) -> np.ndarray:
        return (np.abs(self.c) + np.abs(self.z).sum(2) + self.error) * (1 + gamma(self.z.shape[2]))

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        reach = np.abs(self.z).sum(2) + self.error + gamma(self.z.shape[2]) * self.size()
        return self.c - reach, self.c + reach

    def into(self, layer: StoredLayer) -> "Enclosure":
        (w, b), (e_w, e_b) = ((x[:, :-1], x[:, -1]) for x in layer)
        size, g = self.size(), gamma(w.shape[1])
        met = size @ np.abs(w).T + np.abs(b)
        some = (size > 0) @ ((w != 0) | (e_w != 0)).T.astype(float) + (b != 0)  # terms, which may have underflowed
        error = (self.error @ np.abs(w).T + size @ e_w.T + e_b + g * met) * (1 + g) + TINY * (some > 0)
        return Enclosure(self.c @ w.T + b, w @ self.z, error)


def line(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """s and h with relu(u) within s u + h +- h."""
    s = np.where(low >= 0, 1.0, np.clip(high / np.where(high > low, high - low, 1.0), 0.0, 1.0))
    return s, np.where((low < 0) & (high > 0), np.maximum(-s * low, (1 - s) * high) * (0.5 + 8 * EPS) + TINY, 0.0)


def bent(x: Enclosure) -> Enclosure:
    """relu(f), and relu(f) - relu(g) from both lines or as half of d with a noise of its own."""
    n = x.c.shape[1] // 2
    f, d = (Enclosure(*(v[:, rows] for v in x)) for rows in (slice(n), slice(n, None)))
    room = 4 * EPS * (f.size() + d.size())
    g = Enclosure(f.c - d.c, f.z - d.z, (f.error + d.error) * (1 + 4 * EPS) + room)
    (low, high), (low_g, high_g), (low_d, high_d) = f.ends(), g.ends(), d.ends()
    low, high = np.maximum(low, low_g + low_d - room), np.minimum(high, high_g + high_d + room)
    low_g, high_g = np.maximum(low_g, low - high_d - room), np.minimum(high_g, high - low_d + room)
    (s, h), (t, k), half = line(low, high), line(low_g, high_g), np.maximum(high_d, -low_d) * (0.5 + 8 * EPS)
    both = t[..., None] * d.z + (s - t)[..., None] * f.z
    lines = np.abs(both).sum(2) + h + k <= 0.5 * np.abs(d.z).sum(2) + half
    p, q, shared, own = (np.where(lines, *v) for v in ((t, 0.5), (s - t, 0.0), (h, 0.0), (k, half)))
    z = np.concatenate([s[..., None] * f.z, np.where(lines[..., None], both, 0.5 * d.z)], 1)
    c = np.concatenate([s * f.c + h, p * d.c + q * f.c + np.where(lines, h - k, 0.0)], 1)
    met = np.concatenate([s * f.size() + h, p * d.size() + np.abs(q) * f.size() + h + k], 1)
    error = np.concatenate([s * f.error, p * d.error + np.abs(q) * f.error], 1) * (1 + 8 * EPS) + 8 * EPS * met
    noise = [np.concatenate(v, 1)[..., None] for v in ((h, shared), (0 * h, own))]
    # A column for every unit that has noise on some box: the same row of f and of d.
    more = [np.tile(np.eye(n)[:, np.any(v.reshape(-1, 2, n), (0, 1))], (2, 1)) * v for v in noise]
    some = np.concatenate([f.size() > 0, (d.size() > 0) | (q != 0) | (own > 0)], 1)
    return Enclosure(c, np.concatenate([z, *more], 2), error + TINY * some)


def outputs(pair: list[StoredLayer], low: np.ndarray, high: np.ndarray) -> Enclosure:
    """The outputs of f and of f - g on boxes [B, d]."""
    centre = 0.5 * low + 0.5 * high
    radius = np.maximum(high - centre, centre - low) * (1 + 4 * EPS)
    x = Enclosure(centre, np.eye(len(low[0]))[:, radius.any(0)] * radius[..., None], TINY * (radius > 0))
    for layer in pair[:-1]:
        x = bent(x.into(layer))
    return x.into(pair[-1])


def missing(claim: dict[str, Any], x: Enclosure) -> np.ndarray:
    """How much is missing for a proof of the claim on each box: [B], at most 0 where it is proved."""
    n = x.c.shape[1] // 2
    if "at_most" in claim:
        low, high = (end[:, n:] for end in x.ends())
        return np.max([np.maximum(-low, high)[:, k] - m for k, m in enumerate(claim["at_most"]) if m is not None], 0)
    one, other = np.nonzero(~np.eye(n, dtype=bool))
    a, none = np.eye(n)[one] - np.eye(n)[other], np.zeros((len(one), n + 1))
    rows = np.block([[a, none], [-a, a, none[:, :1]], [none[:, 1:], a, none[:, :1]]])
    # f_c - f_j, g_j - g_c and d_c - d_j. Where f leads by the margin for c, g_c - g_j is at least margin - (d_c - d_j).
    sure, above, apart = x.into(StoredLayer(rows, 0 * rows)).ends()[1].reshape(len(x.c), 3, n, n - 1).swapaxes(0, 1)
    leads = ~(sure < claim["margin"]).any(2)
    return np.where(leads, np.minimum(above, apart - claim["margin"]).max(2), -np.inf).max(1)


def parts(cuts: list[int], low: np.ndarray, high: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The parts of a box: every cut is the side to halve, the lower half first, or -1 to leave a part as it is."""
    waiting = [(low, high)]
    for side in cuts:
        if not waiting or not -1 <= side < len(low):
            raise ProofError("the cuts go on after the last part, or name a side that there is not")
        a, b = waiting.pop()
        if side == -1:
            yield a, b
        else:
            left, right = b.copy(), a.copy()
            left[side] = right[side] = min(max(0.5 * a[side] + 0.5 * b[side], a[side]), b[side])
            waiting += [(right, b), (a, left)]
    if waiting:
        raise ProofError("the cuts end before the box is covered")


def everywhere(pair: list[StoredLayer]) -> np.ndarray:
    """Bounds [C] on the differences over all inputs x, divided by max(1, |x|): no unit is steeper than 1."""
    size = np.ones(pair[0].a.shape[1] - 1)
    for a, e in pair:
        some, size = ((a != 0) | (e != 0)).astype(float), np.append(size, 1.0)
        size = (np.abs(a) + e) @ size * (1 + gamma(a.shape[1])) + TINY * (some @ (size > 0))
    return size[len(size) // 2 :]


def check(proof: dict[str, Any], a: str | Path, b: str | Path) -> str:
    """Check a proof about two files: the claim in words, or a ProofError that says what is not proved."""
    claim, count = proof["claim"], 0
    pair = joined(*(rewritten(read_network(path), proof["networks"][name]) for path, name in ((a, "a"), (b, "b"))))
    limits = claim["at_most"] if "at_most" in claim else [None] * (len(pair[-1].a) // 2)
    words = "; ".join(f"output {k} differs by at most {m!r}" for k, m in enumerate(limits) if m is not None)
    words = words if len(set(limits)) > 1 else f"no output differs by more than {limits[0]!r}"
    words = (
        words if "at_most" in claim else f"both have the same top class wherever A leads by {claim['margin']!r} or more"
    )
    if proof["box"] is None:
        if not all(d <= m for d, m in zip(everywhere(pair), limits, strict=True)):
            raise ProofError("the weights leave larger differences possible than the claim says")
        return f"{words}, times max(1, |x|), for all inputs x"
    low, high = (np.array(end, float) for end in proof["box"])
    if not (len(limits) * 2 == len(pair[-1].a) and low.shape == high.shape == (pair[0].a.shape[1] - 1,)):
        raise ProofError("the claim is about another number of inputs or outputs")
    if not ((low <= high).all() and np.isfinite(high - low).all()):
        raise ProofError("the box must have finite ends, with no high below its low")
    waiting = parts(proof["cuts"], low, high)
    while some := list(islice(waiting, _BATCH)):
        left = ~(missing(claim, outputs(pair, *map(np.array, zip(*some, strict=True)))) <= 0)
        if left.any():
            raise ProofError(f"the bounds on part {count + int(left.argmax())} leave the claim open")
        count += len(some)
    return f"{words}, for every input of the box ({count:,} parts)"


def verified(path: str | Path, a: str | Path, b: str | Path) -> tuple[bool, str]:
    """Whether a file (JSON, compressed where its name ends in .gz) proves its claim about two networks; the claim in
    words, or why not."""
    try:
        data = Path(path).read_bytes()
        proof = json.loads(gzip.decompress(data) if str(path).endswith(".gz") else data)
        if proof["format"] != FORMAT:
            raise ProofError(f"{path} must have the format {FORMAT}, got {proof['format']}")
        with np.errstate(all="ignore"):
            return True, check(proof, a, b)
    except (*_DAMAGED, zlib.error, struct.error) as error:
        return False, str(error) if isinstance(error, ProofError) else f"{path} is no proof that can be read: {error}"


if __name__ == "__main__":
    proved, words = verified(*sys.argv[1:4])
    print(f"{'verified' if proved else 'not verified'}: {words}")
    sys.exit(not proved)
