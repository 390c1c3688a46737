"""YAML of users: plain data, or a sentence; never code, never more work than the file is long."""

import pytest

from tutelage import TutelageError
from tutelage.lab.yaml_file import LARGEST, read_table


def read(folder, text):
    path = folder / "mine.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_table(path)


def test_plain_data_comes_back_as_it_is(tmp_path):
    text = "a: {b: [1, 2.5, true, null, text]}\nc: 1e-3\nd: -2.E+4\ne: '1e3'\n"
    assert read(tmp_path, text) == {"a": {"b": [1, 2.5, True, None, "text"]}, "c": 0.001, "d": -20000.0, "e": "1e3"}


def test_numbers_are_decimal_unless_they_say_otherwise(tmp_path):
    text = "a: 0\nb: 0.5\nc: 0x10\nd: 1_000\ne: '010'\nf: -0\ng: 0e3\nh: 'at 1:30'\n"
    read_back = {"a": 0, "b": 0.5, "c": 16, "d": 1000, "e": "010", "f": 0, "g": 0.0, "h": "at 1:30"}
    assert read(tmp_path, text) == read_back


def test_a_long_file_may_hold_as_many_values_as_it_writes_out(tmp_path):
    assert len(read(tmp_path, f"seeds: {list(range(20_000))}")["seeds"]) == 20_000


def test_a_few_aliases_and_merges_are_fine(tmp_path):
    text = "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: [*a, *a]\n"
    assert read(tmp_path, text)["b"] == {"x": 1, "y": 3}


def bomb(levels=10):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (bomb(), "unfolds aliases into too many values"),
        ("a: &a [*a]", "holds a value inside itself in 'a' at line 1"),
        ("\n".join(f"k{i}: &a{i} [{f'*a{i - 1}' if i else 1}]" for i in range(2000)), "unfolds aliases"),
        ("a: " + "[" * 100_000, "more than 16 deep in 'a' at line 1"),
        ("{a: " * 50_000, "more than 16 deep"),
        ("- " * 50_000, "more than 16 deep"),
        ("? " * 50_000, "more than 16 deep"),
        ("x" * (LARGEST + 1), "larger than 1 MiB"),
        ("a: !!python/object/apply:os.system ['true']", "is not valid YAML in 'a' at line 1.*not 'python/object"),
        ("a: !mine 3", "not '!mine'"),
        ("a: 2001-01-01", "not 'timestamp'"),
        ("a: !!set {b, c}", "not 'set'"),
        ("a: !!int abc", "at line 1: a value is no 'int'"),
        ("a: !!float ''", "a value is no 'float'"),
        ("a: !!bool maybe", "a value is no 'bool'"),
        ("a: " + "9" * 5000, "has a number of 5000 digits in 'a' at line 1: at most 300 are allowed"),
        ("a: [1, " + "9" * 400 + "]", "has a number of 400 digits in 'a' at line 1"),
        ('a: "\\UFFFFFFFF"', "is not valid YAML"),
        ("a: 1\nb: 2\na: 3", "has 'a' twice in one table at line 3"),
        ("a: {on: 1}", "name is not text in 'a' at line 1: put quotes"),
        ("{[1, 2]: 3}", "name is not text"),
        ("a: 1\n---\nb: 2", "holds 2 tables and must hold one, with teacher"),
        ("a: *b", "undefined alias 'b'"),
        (b"\xff\xfe\x00", "not text in UTF-8"),
        ("a: \x00", "is not valid YAML"),
        ('"two\\nlines": 1\n"two\\nlines": 2', r"has 'two\\nlines' twice"),
        ('a: "\\ud800"', "in 'a' at line 1: it contains an invalid Unicode surrogate"),
        ('"\\ud800": 1', "at line 1: it contains an invalid Unicode surrogate"),
        ("3", "must hold a table"),
        (bomb(5), "unfolds aliases into too many values"),
        ("seeds: 010", "has the value 010 in 'seeds' at line 1: a number with a leading zero"),
        ("a: {b: [1, -012]}", "has the value -012 in 'a.b' at line 1"),
        ("a: 09", "has the value 09 in 'a'"),
        ("a: 00", "has the value 00 in 'a'"),
        ("a: 1:30", "has the value 1:30 in 'a'"),
        ("a: 1:30.5", "has the value 1:30.5 in 'a'"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_anything_else_is_refused_in_one_short_line_that_names_the_file(tmp_path, text, sentence):
    with pytest.raises(TutelageError, match=rf"mine\.yaml.*{sentence}") as caught:
        read(tmp_path, text)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < len(str(tmp_path)) + 200


def test_a_folder_or_a_missing_file_cannot_be_read(tmp_path):
    for path in (tmp_path, tmp_path / "none.yaml"):
        with pytest.raises(TutelageError, match="cannot be read"):
            read_table(path)
