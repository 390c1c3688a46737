"""Every draw is held to a reference in unbounded integers, to scipy's quantiles and to its own neighbours."""

import hashlib

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from tutelage import draws
from tutelage.errors import TutelageError

WORD = 1 << 64
GOLDEN, MIX_1, MIX_2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
SEEDS = [0, 1, 7, 2**31, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1]
NAMES = ["batches", "train", "", "name with spaces", "Grüße"]
COUNTERS = [0, 1, 2, 1000, 2**31, 2**40 + 1, 2**62, 2**63 - 1, -1, -(2**63)]

seeds = st.integers(0, 2**64 - 1)


def reference_mix(z: int) -> int:
    z %= WORD
    z = (z ^ (z >> 30)) * MIX_1 % WORD
    z = (z ^ (z >> 27)) * MIX_2 % WORD
    return z ^ (z >> 31)


def reference_key(seed: int, name: str) -> int:
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return reference_mix(reference_mix(seed + GOLDEN) + int.from_bytes(digest, "little"))


def reference_bits(key: int, counter: int) -> int:
    return reference_mix(key + reference_mix(key + counter * GOLDEN))


def unsigned(values: torch.Tensor) -> list[int]:
    return [value % WORD for value in values.flatten().tolist()]


def counter_of(key: int, wanted: int) -> int:
    """The counter at which a stream gives the wanted bits, by running the formula backwards."""

    def unshift(z: int, by: int) -> int:
        x = z
        for _ in range(64 // by):
            x = z ^ (x >> by)
        return x

    def unmix(z: int) -> int:
        z = unshift(z % WORD, 31) * pow(MIX_2, -1, WORD) % WORD
        z = unshift(z, 27) * pow(MIX_1, -1, WORD) % WORD
        return unshift(z, 30)

    counter = (unmix(unmix(wanted) - key) - key) * pow(GOLDEN, -1, WORD) % WORD
    return counter - WORD if counter >> 63 else counter


def test_mix_is_the_published_splitmix64():
    """The first outputs of SplitMix64 from state 1234567, as printed with its reference implementations."""
    states = torch.tensor([draws.signed(1234567 + k * GOLDEN) for k in range(1, 6)])
    published = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert unsigned(draws.mix(states)) == published


@pytest.mark.parametrize("name", NAMES)
def test_keys_equal_the_reference(name):
    assert unsigned(draws.keys(SEEDS, name)) == [reference_key(seed, name) for seed in SEEDS]


def test_keys_of_a_tensor_of_seeds_are_those_of_the_integers():
    assert torch.equal(draws.keys(torch.tensor([3, 4]), "x"), draws.keys([3, 4], "x"))


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint64, np.float64])
def test_keys_of_numpy_seeds_are_those_of_the_integers(kind):
    assert torch.equal(draws.keys(np.array([3, 4], kind), "x"), draws.keys([3, 4], "x"))
    assert torch.equal(draws.keys([kind(3)], "x"), draws.keys([3], "x"))


@pytest.mark.parametrize("seed", [0.5, float("nan"), 2**64, 2**70, -1, -(2**63) - 1, "a", "7", None])
def test_a_seed_that_would_be_another_one_is_an_error(seed):
    with pytest.raises(TutelageError, match=r"a seed must be a whole number from 0 to 2\^64 - 1, got"):
        draws.keys([0, seed], "x")


@pytest.mark.parametrize("given", [5, None, torch.tensor(5), np.array(5)])
def test_a_bare_seed_is_an_error(given):
    with pytest.raises(TutelageError, match="seeds must be a list"):
        draws.keys(given, "x")


def test_a_tensor_of_seeds_with_fractions_is_an_error():
    with pytest.raises(TutelageError, match="a seed must be a whole number"):
        draws.keys(torch.tensor([0.5]), "x")


@pytest.mark.parametrize("name", NAMES[:2])
def test_bits_equal_the_reference(name):
    drawn = draws.bits(draws.keys(SEEDS, name), torch.tensor(COUNTERS))
    assert drawn.shape == (len(SEEDS), len(COUNTERS))
    assert unsigned(drawn) == [reference_bits(reference_key(seed, name), c) for seed in SEEDS for c in COUNTERS]


def test_the_generator_is_still_the_one_that_made_earlier_results():
    """These literals change only if every stored result is to change with them."""
    assert draws.keys([0, 1, 2**64 - 1], "batches").tolist() == [
        2760110381387007394,
        -1591673694360320707,
        5286571566811335313,
    ]
    assert draws.bits(draws.keys([0, 12345], "train"), torch.arange(3)).tolist() == [
        [-2946171104725569282, 8570705709556664081, -2276422013674820784],
        [-5073464947438770479, -832379845140262872, -2994423670991887191],
    ]
    assert draws.indices(draws.keys([3], "batches"), 6, 10_000).tolist() == [[9840, 3735, 1630, 678, 6532, 2128]]
    assert draws.permutations(draws.keys([3], "batches"), 8, 2).tolist() == [[3, 1, 0, 5, 2, 4, 7, 6]]


def test_names_of_streams_and_seeds_all_give_different_keys():
    every = torch.cat([draws.keys([*range(500), *range(2**64 - 500, 2**64)], name) for name in NAMES])
    assert len(set(every.tolist())) == 1000 * len(NAMES)


@given(st.lists(seeds, min_size=1, max_size=6), st.data())
def test_a_member_does_not_depend_on_who_is_drawn_beside_it(stack, data):
    member = data.draw(st.integers(0, len(stack) - 1))
    together, alone = draws.keys(stack, "x"), draws.keys([stack[member]], "x")
    assert torch.equal(draws.normals(together, 33)[member], draws.normals(alone, 33)[0])
    assert torch.equal(draws.uniforms(together, 33)[member], draws.uniforms(alone, 33)[0])
    assert torch.equal(draws.indices(together, 33, 1000)[member], draws.indices(alone, 33, 1000)[0])
    assert torch.equal(draws.permutations(together, 9, 4)[member], draws.permutations(alone, 9, 4)[0])


@given(st.integers(0, 2**61), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_draws_may_be_taken_in_any_pieces(start, first, second, third):
    key = draws.keys([1, 2], "x")
    pieces, begin = [], start
    for count in (first, second, third):
        pieces.append(draws.normals(key, count, start=begin))
        begin += count
    assert torch.equal(torch.cat(pieces, dim=1), draws.normals(key, first + second + third, start=start))


@pytest.mark.parametrize(("members", "count"), [(1, 300_000), (3, 100_001), (150_000, 2)])
def test_large_requests_equal_their_small_parts(members, count):
    """Sizes beyond what is worked on at a time, cut along either axis."""
    key = draws.keys(range(members), "x")
    large = draws.normals(key, count)
    part = slice(members // 2, members // 2 + 2)
    last = min(5, count)
    assert torch.equal(large[part, -last:], draws.normals(key[part], last, start=count - last))


def test_float32_normals_are_the_rounded_float64_ones():
    key = draws.keys(range(3), "x")
    assert torch.equal(draws.normals(key, 5000, dtype=torch.float32), draws.normals(key, 5000).to(torch.float32))


def test_nothing_asked_gives_nothing():
    assert draws.normals(draws.keys([1, 2], "x"), 0).shape == (2, 0)
    assert draws.uniforms(draws.keys([], "x"), 4).shape == (0, 4)


def test_uniforms_are_the_upper_bits():
    """Within 2^-53 of bits / 2^64, the spacing of the values kept."""
    key = draws.keys([11, 2**64 - 3], "x")
    exact = np.array([b / WORD for b in unsigned(draws.bits(key, torch.arange(4000)))])
    assert np.abs(draws.uniforms(key, 4000).flatten().numpy() - exact).max() <= 2.0**-52


@pytest.mark.parametrize("wanted", [0, 1, 2**63 - 1, 2**63, 2**64 - 1])
def test_uniforms_lie_strictly_inside_the_unit_interval_even_for_extreme_bits(wanted):
    key = draws.keys([0], "x")
    counter = counter_of(unsigned(key)[0], wanted)
    assert unsigned(draws.bits(key, torch.tensor([counter]))) == [wanted]
    assert 0 < draws.uniforms(key, 1, start=counter).item() < 1


@pytest.mark.parametrize(("wanted", "least"), [(0, -9.0), (2**64 - 1, 8.0)])
def test_normals_of_extreme_bits_are_extreme(wanted, least):
    """The most extreme of 2^52 equally likely values lies beyond eight standard deviations."""
    key = draws.keys([0], "x")
    value = draws.normals(key, 1, start=counter_of(unsigned(key)[0], wanted)).item()
    assert least < value < least + 1


def test_the_quantile_equals_scipy_from_the_far_tail_to_the_other():
    lower = np.concatenate([np.logspace(-300, -1, 20_000), np.linspace(0.01, 0.5, 20_000)])
    upper = 1 - np.concatenate([np.logspace(-16, -1, 20_000), np.linspace(0.01, 0.5, 20_000)])
    p = np.concatenate([lower, upper])
    expected = special.ndtri(p)
    measured = draws.normal_quantile(torch.from_numpy(p)).numpy()
    # both sides are good to a few roundings; where p is near 1/2 the quantile is small and scipy's error absolute
    np.testing.assert_allclose(measured, expected, rtol=1e-14, atol=1e-16)


def test_the_quantile_is_odd_about_one_half():
    p = torch.arange(1, 1 << 16, dtype=torch.float64) / (1 << 16)  # 1 - p is exact
    assert torch.equal(draws.normal_quantile(p), -draws.normal_quantile(1 - p))


def test_the_quantile_rises_across_the_joints_of_its_three_pieces():
    for joint in (0.075, 0.925, np.exp(-25.0), 0.5):
        p = joint * (1 + np.arange(-2000, 2001) * 1e-12)
        rise = np.diff(draws.normal_quantile(torch.from_numpy(p)).numpy())
        assert (rise > 0).all()


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 5, 2**63])
def test_normals_have_the_moments_of_the_normal_law(seed):
    count = 100_000
    x = draws.normals(draws.keys([seed], "moments"), count)[0]
    for power, (moment, variance) in {1: (0, 1), 2: (1, 2), 3: (0, 15), 4: (3, 96)}.items():
        assert abs(x.pow(power).mean().item() - moment) < 5 * (variance / count) ** 0.5


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 5, 2**63])
def test_normals_and_uniforms_pass_kolmogorov_and_smirnov(seed):
    key = draws.keys([seed], "distribution")
    assert stats.kstest(draws.normals(key, 100_000)[0].numpy(), "norm").pvalue > 1e-3
    assert stats.kstest(draws.uniforms(key, 100_000)[0].numpy(), "uniform").pvalue > 1e-3


def test_streams_of_neighbouring_seeds_names_and_counters_are_uncorrelated():
    count = 20_000
    streams = [draws.normals(draws.keys(range(20), name), count) for name in ("a", "b")]
    streams.append(draws.normals(draws.keys(range(20), "a"), count, start=1))
    off_diagonal = torch.corrcoef(torch.cat(streams)).fill_diagonal_(0)
    assert off_diagonal.abs().max() < 5.5 / count**0.5  # 1,770 pairs: five and a half standard errors


@pytest.mark.parametrize("bound", [1, 2, 7, 10_000, 2**31 - 1])
def test_indices_equal_the_reference(bound):
    drawn = draws.indices(draws.keys([4, 2**64 - 4], "batches"), 50, bound, start=17)
    reference = [
        ((reference_bits(reference_key(seed, "batches"), counter) >> 32) * bound) >> 32
        for seed in (4, 2**64 - 4)
        for counter in range(17, 67)
    ]
    assert drawn.dtype == torch.int64
    assert drawn.flatten().tolist() == reference


@pytest.mark.parametrize("bound", [2, 37, 1000])
def test_indices_are_uniform_by_chi_square(bound):
    drawn = draws.indices(draws.keys([8], "batches"), 100_000, bound)[0]
    counts = torch.bincount(drawn, minlength=bound)
    assert len(counts) == bound
    assert stats.chisquare(counts.numpy()).pvalue > 1e-3


@pytest.mark.parametrize("bound", [2**31 + 1, 2**33, 0, -5])
def test_indices_refuse_a_bound_they_cannot_serve(bound):
    with pytest.raises(TutelageError, match=str(bound)):
        draws.indices(draws.keys([0], "x"), 5, bound)


@given(seeds, st.integers(1, 60), st.integers(0, 10**6))
def test_a_permutation_holds_every_index_once(seed, size, number):
    assert draws.permutations(draws.keys([seed], "x"), size, number)[0].sort().values.tolist() == list(range(size))


def test_permutations_differ_between_numbers_and_members():
    key = draws.keys(range(5), "x")
    drawn = [tuple(row) for number in range(20) for row in draws.permutations(key, 12, number).tolist()]
    assert len(set(drawn)) == 100  # a repeat among 100 of 12! has probability 1e-5


def test_permutations_are_uniform_by_chi_square():
    drawn = draws.permutations(draws.keys(range(12_000), "x"), 3, 5)
    _, counts = torch.unique(drawn, dim=0, return_counts=True)
    assert len(counts) == 6
    assert stats.chisquare(counts.numpy()).pvalue > 1e-3


def test_a_permutation_sorts_the_bits_of_its_own_counters():
    key = draws.keys([6], "x")
    bits = draws.bits(key, torch.arange(3 * 10, 4 * 10))[0].tolist()
    assert draws.permutations(key, 10, 3)[0].tolist() == sorted(range(10), key=bits.__getitem__)
