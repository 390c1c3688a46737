"""A certificate says what was measured, what was needed, how far off it is and what to do."""

from tutelage.certificates import Certificate, check
from tutelage.certificates.records import Part
from tutelage.certificates.wording import summary_lines

ALIGNED = [check("boundary is found", 10.0**-k, "<=", 1e-3, f"student unit {k}", quantity="distance") for k in range(6)]
GRADIENT = check("gradient is zero", 0.024, "<=", 5.5e-5, quantity="gradient", advice="train longer")
SMALL = check("gradient is zero", 1e-6, "<=", 5.5e-5, quantity="gradient", advice="train longer")


def lines(shared, parts, **settings):
    return summary_lines(Certificate("t", "Tian 2020, Theorem 1", "It holds.", 0, shared, tuple(parts), settings))


def units(conclusions, conditions=()):
    return [Part(f"teacher unit {j}", tuple(conditions), c) for j, c in enumerate(conclusions)]


def test_a_condition_that_is_not_met_says_so_with_its_numbers():
    first, second, third = lines((GRADIENT,), units(ALIGNED))
    assert first == (
        'Not applicable for all 6 teacher units: condition "gradient is zero" is not met '
        "(gradient 0.024, needed <= 5.5e-05)."
    )
    assert second == (
        'The conclusion "boundary is found" is true all the same for 3 of these 6, worst for teacher unit 0 '
        "(distance 1, needed <= 0.001; student unit 0)."
    )
    assert third == "What to do: train longer."


def test_a_conclusion_that_is_true_for_none_is_not_called_true():
    missed = [c for c in ALIGNED if not c.holds]
    _, second, _ = lines((GRADIENT,), units(missed))
    assert second.startswith(
        f'The conclusion "boundary is found" is not true for any of these {len(missed)} either, worst'
    )


def test_parts_are_counted_by_verdict_and_the_worst_is_named():
    found = lines((SMALL,), units(ALIGNED))
    assert found[0].startswith(
        "Fails for 3 of 6 teacher units: boundary is found, worst for teacher unit 0 (distance 1,"
    )
    assert found[1].startswith("This would refute the theorem")
    assert found[2].startswith("Holds for 3 of 6 teacher units: boundary is found, worst for teacher unit 3")
    assert len(found) == 3


def test_reasons_that_differ_between_parts_are_counted():
    few = check("samples in the band", 3, ">=", 20, "teacher unit 1")
    parts = [*units(ALIGNED[4:]), Part("teacher unit 2", (few,), ALIGNED[4])]
    found = lines((SMALL,), parts)
    assert found[0] == (
        'Not applicable for 1 of 3 teacher units: condition "samples in the band" is not met '
        "(measured 3, needed >= 20; teacher unit 1)."
    )


def test_what_is_not_decided_or_vacuous_names_the_condition():
    open_ = check("observed", 1, ">=", 1, "no segment", decided=False)
    [text] = lines((SMALL,), [Part("it", (open_,), ALIGNED[5])])
    assert text == 'Not decided: condition "observed" is not decided (measured 1, needed >= 1; no segment).'
    wide = check("gradient is zero", 0.1, "<=", 9.0, vacuous=True)
    text, remark = lines((wide,), [Part("it", (), ALIGNED[5])])
    assert text.startswith(
        'Vacuous: condition "gradient is zero" says nothing, since an untrained network meets it too'
    )
    assert "choose a smaller one" in remark
