r"""Counter-based randomness: every draw is a pure function of (seed, stream name, counter).

A stream is a 64-bit key made from a member's seed and a name such as ``"batches"``. Its draw number c is

.. math:: \mathrm{bits}(c) = M\bigl(k + M(k + c\,\gamma)\bigr)

with M the finaliser of SplitMix64 and :math:`\gamma` the golden-ratio increment. The second round separates
members whose counters happen to meet after the first. Only wrapping integer products and correctly rounded
operations (+, -, x, /, square root) are used, so that a draw has the same bits on every engine and device, and a
member's draws do not depend on who is drawn beside it.

Every function takes keys [S] and returns an array with the member axis first.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.whole import whole

GOLDEN = 0x9E3779B97F4A7C15
MIX_1 = 0xBF58476D1CE4E5B9
MIX_2 = 0x94D049BB133111EB

_CHUNK = 1 << 17  # elements worked on at a time, so that the passes of one chunk stay in cache


def signed(value: int) -> int:
    """The 64-bit pattern of ``value`` as the signed integer torch stores."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def _shifted(z: Tensor, by: int) -> Tensor:
    """Logical right shift of a signed 64-bit pattern."""
    return (z >> by) & ((1 << (64 - by)) - 1)


def mix(z: Tensor) -> Tensor:
    """SplitMix64's finaliser, a bijection of the 64-bit patterns; int64 -> int64, any shape."""
    z = (z ^ _shifted(z, 30)) * signed(MIX_1)
    z = (z ^ _shifted(z, 27)) * signed(MIX_2)
    return z ^ _shifted(z, 31)


def keys(seeds: Sequence[int] | Tensor, stream: str, device: torch.device | str = "cpu") -> Tensor:
    """The key of each member's stream: seeds [S] -> int64 [S].

    >>> keys([0, 1], "batches").tolist() == keys([0], "batches").tolist() + keys([1], "batches").tolist()
    True
    """
    name = int.from_bytes(hashlib.blake2b(stream.encode(), digest_size=8).digest(), "little")
    patterns = torch.tensor([signed(seed) for seed in as_seeds(seeds)], dtype=torch.int64, device=device)
    return mix(mix(patterns + signed(GOLDEN)) + signed(name))


def as_seeds(seeds: Sequence[int] | Tensor) -> tuple[int, ...]:
    """Seeds as whole numbers from 0 to 2^64 - 1; an error for any other value, which would be another seed: -1 has the
    bits of 2^64 - 1.

    >>> as_seeds(range(3))
    (0, 1, 2)
    """
    try:
        values = seeds.tolist() if isinstance(seeds, Tensor) else list(seeds)
        numbers = [whole(value) for value in values]
    except TypeError:
        raise TutelageError(f"seeds must be a list of whole numbers such as range(2), got {seeds!r}") from None
    for value, seed in zip(values, numbers, strict=True):
        if seed is None or not 0 <= seed < 1 << 64:
            raise TutelageError(f"a seed must be a whole number from 0 to 2^64 - 1, got {value!r}")
    return tuple(seed for seed in numbers if seed is not None)


def substreams(key: Tensor, start: int, stop: int) -> Tensor:
    """Keys of the streams start .. stop-1 of each stream, one per step of a training: int64 [S] -> [S, stop - start].

    >>> one, several = substreams(keys([5], "x"), 7, 8), substreams(keys([4, 5], "x"), 0, 9)
    >>> bool(one[0, 0] == several[1, 7])
    True
    """
    counters = torch.arange(start, stop, dtype=torch.int64, device=key.device)
    return bits(key, counters)


def bits(key: Tensor, counters: Tensor) -> Tensor:
    """64 random bits for each key and counter: [S], [K] -> int64 [S, K]."""
    # One round would make the streams of keys k and k + c GOLDEN the same stream, shifted by c draws.
    inner = mix(key.unsqueeze(-1) + counters * signed(GOLDEN))
    return mix(key.unsqueeze(-1) + inner)


def uniforms(key: Tensor, count: int, start: int = 0) -> Tensor:
    """Draws start .. start+count-1, uniform in the open interval (0, 1): [S] -> float64 [S, count]."""
    return _in_chunks(key, count, start, _open_unit, torch.float64)


def normals(key: Tensor, count: int, start: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    """Draws start .. start+count-1 from N(0, 1): [S] -> [S, count], computed in float64 and then rounded.

    >>> few, many = normals(keys([5], "x"), 3), normals(keys([4, 5], "x"), 9)
    >>> bool((few[0] == many[1, :3]).all())
    True
    """
    return _in_chunks(key, count, start, lambda z: normal_quantile(_open_unit(z)), dtype)


def indices(key: Tensor, count: int, bound: int, start: int = 0) -> Tensor:
    """Draws start .. start+count-1, uniform on 0 .. bound-1, at most 2^31 of them: [S] -> int64 [S, count]."""
    if not 1 <= bound <= 1 << 31:
        raise TutelageError(f"the number of rows to draw from must lie between 1 and 2^31, got {bound}")
    counters = torch.arange(start, start + count, dtype=torch.int64, device=key.device)
    # The upper half of a product with 32 bits, not a remainder: no division, and no index is likelier than another by
    # more than the share bound / 2^32.
    return (_shifted(bits(key, counters), 32) * bound) >> 32


def permutations(key: Tensor, size: int, number: int) -> Tensor:
    """Permutation ``number`` of 0 .. size-1 of each stream, by sorting random bits: [S] -> int64 [S, size]."""
    # Two of the sorted numbers are equal with a probability of about size^2 / 2^65; stable, so that even then the order
    # is the same on every device.
    counters = torch.arange(number * size, (number + 1) * size, dtype=torch.int64, device=key.device)
    return torch.argsort(bits(key, counters), dim=-1, stable=True)


def _open_unit(z: Tensor) -> Tensor:
    """The upper 52 bits as the middle of one of 2^52 equal cells, exact in float64 and never 0 or 1."""
    return (_shifted(z, 12).to(torch.float64) + 0.5) * 2.0**-52


def _in_chunks(key, count, start, transform, dtype):
    """Apply ``transform`` to the bits of all counters, a cache-sized chunk at a time."""
    out = torch.empty(key.shape[0], count, dtype=dtype, device=key.device)
    span = max(1, _CHUNK // max(1, key.shape[0])) if key.device.type == "cpu" else max(1, count)
    for begin in range(0, count, span):
        end = min(begin + span, count)
        counters = torch.arange(start + begin, start + end, dtype=torch.int64, device=key.device)
        out[:, begin:end] = transform(bits(key, counters))
    return out


# ----------------------------------------------------------------------------------------------------------------
# The normal quantile, algorithm AS 241 (Wichura 1988, PPND16), by correctly rounded operations alone.

_CENTRE = (
    (3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
     4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3),
)  # fmt: skip
_TAIL = (
    (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
     1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
)  # fmt: skip
_FAR_TAIL = (
    (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
     2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15),
)  # fmt: skip


def normal_quantile(p: Tensor) -> Tensor:
    """The inverse of the standard normal distribution function at p in (0, 1), relative error below 1e-15.

    >>> [round(z, 12) for z in normal_quantile(torch.tensor([0.5, 0.975], dtype=torch.float64)).tolist()]
    [0.0, 1.95996398454]
    """
    q = p - 0.5
    z = q * _rational(0.180625 - q * q, _CENTRE)
    outer = q.abs() > 0.425
    tail = p[outer]
    r = _sqrt(-_log(torch.minimum(tail, 1 - tail)))
    far = torch.where(r <= 5.0, _rational(r - 1.6, _TAIL), _rational(r - 5.0, _FAR_TAIL))
    z[outer] = torch.where(tail < 0.5, -far, far)
    return z


def _rational(r: Tensor, coefficients: tuple[tuple[float, ...], tuple[float, ...]]) -> Tensor:
    numerator, denominator = (_polynomial(r, c) for c in coefficients)
    return numerator / denominator


def _polynomial(r: Tensor, coefficients: Sequence[float]) -> Tensor:
    """Horner's rule, constant coefficient first; product and sum are rounded separately on every device."""
    value = torch.full_like(r, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        value = value.mul_(r).add_(c)
    return value


def _sqrt(x: Tensor) -> Tensor:
    """The correctly rounded square root; on a CPU torch's own is off by one bit now and then, NumPy's is not."""
    return torch.sqrt(x) if x.is_cuda else torch.from_numpy(np.sqrt(x.numpy()))


def _log(x: Tensor) -> Tensor:
    """Natural logarithm of positive float64 by its odd series in (m-1)/(m+1), m in [sqrt(1/2), sqrt(2))."""
    m, exponent = torch.frexp(x)
    low = m < 0.7071067811865476
    m = torch.where(low, 2 * m, m)
    exponent = exponent - low.to(exponent.dtype)
    s = (m - 1) / (m + 1)
    series = _polynomial(s * s, [2.0 / (2 * k + 1) for k in range(12)])
    return s * series + exponent.to(x.dtype) * 0.6931471805599453
