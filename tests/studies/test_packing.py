"""A study travels as one file: what comes out is what went in, and nothing else can be brought in."""

import json
import zipfile

import pytest

from tutelage import TutelageError
from tutelage.studies import packing, reproduce
from tutelage.studies.packing import pack, rerun, unpack

STUDY = "strong-monotonicity"  # seconds at smoke scale


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return reproduce(STUDY, "smoke", tmp_path_factory.mktemp("reproduced"))[0].folder


@pytest.fixture
def file(folder, tmp_path):
    pack(folder, tmp_path / "one.zip")
    return tmp_path / "one.zip"


def rewritten(file, change):
    """Write an archive again with its entries, pairs of ZipInfo and content, changed."""
    with zipfile.ZipFile(file) as archive:
        entries = [(entry, archive.read(entry)) for entry in archive.infolist()]
    with zipfile.ZipFile(file, "w") as archive:
        for entry, content in change(entries):
            archive.writestr(entry, content)


def test_a_study_travels_whole_and_the_same_study_makes_the_same_bytes(folder, file, tmp_path):
    packed = unpack(file, tmp_path / "there")
    assert (packed.study, packed.scale) == (STUDY, "smoke")
    assert packed.folder == tmp_path / "there" / "smoke" / STUDY
    written = {path.name: path.read_bytes() for path in packed.folder.iterdir()}
    assert {name: written[name] for name in packing._STORED} == {
        path.name: path.read_bytes() for path in folder.iterdir()
    }
    assert packed.command in written["commands.txt"].decode()
    assert "numpy==" in written["environment.txt"].decode()
    pack(folder, tmp_path / "two.zip")
    assert (tmp_path / "two.zip").read_bytes() == file.read_bytes()
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["one.zip", "there", "two.zip"]


def test_a_packed_study_is_computed_again_and_compared(file, tmp_path):
    packed = unpack(file, tmp_path)
    again = rerun(packed, tmp_path / "rerun")
    assert again.agrees
    assert again.equal == again.values > 0
    assert again.largest == 0


def test_what_differs_is_found(file, tmp_path):
    packed = unpack(file, tmp_path)
    claims = json.loads((packed.folder / "claims.json").read_text())
    claims[0]["verdict"] = "fails" if claims[0]["verdict"] != "fails" else "holds"
    (packed.folder / "claims.json").write_text(json.dumps(claims))
    (packed.folder / "settings.yaml").write_text("kind: other\n")
    again = rerun(packed, tmp_path / "rerun")
    assert not again.settings
    assert len(again.verdicts) == 1
    assert claims[0]["claim"] in again.verdicts[0]
    assert not again.agrees


def test_gaps_are_relative_to_the_largest_value_of_a_claim():
    nan = float("nan")
    both = {("a", "", 0): (2.0, 2.0), ("a", "", 1): (1.0, 1.5), ("b", "", 0): (nan, nan), ("b", "", 1): (nan, 1.0)}
    assert packing._gaps(both) == (2, 0.25)


def outside(entries):
    return [*entries, (zipfile.ZipInfo("../outside"), b"text")]


def absolute(entries):
    return [*entries, (zipfile.ZipInfo("/tmp/outside"), b"text")]


def inside_a_folder(entries):
    return [*entries, (zipfile.ZipInfo("folder/claims.json"), b"text")]


def pickled(entries):
    return [*entries, (zipfile.ZipInfo("data.pkl"), b"text")]


def twice(entries):
    return [*entries, entries[0]]


def without_one(entries):
    return [entry for entry in entries if entry[0].filename != "values.parquet"]


def without_contents(entries):
    return [entry for entry in entries if entry[0].filename != "contents.json"]


def changed(entries):
    return [(entry, data + b" " if entry.filename == "claims.json" else data) for entry, data in entries]


def of_another_place(entries):
    return [
        (entry, data.replace(b'"smoke"', b'"../.."') if entry.filename == "contents.json" else data)
        for entry, data in entries
    ]


def renamed(entries):
    return [
        (entry, data.replace(STUDY.encode(), b"l-shape") if entry.filename == "contents.json" else data)
        for entry, data in entries
    ]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (outside, "which is not a file of a packed study"),
        (absolute, "which is not a file of a packed study"),
        (inside_a_folder, "which is not a file of a packed study"),
        (pickled, "which is not a file of a packed study"),
        (twice, "which is not a file of a packed study"),
        (without_one, "lacks values.parquet"),
        (without_contents, "has no contents.json that can be read"),
        (changed, "holds another claims.json than was packed"),
        (of_another_place, "is of no study and scale"),
        (renamed, "is of another study"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_not_as_it_was_packed_leaves_nothing(file, tmp_path, change, why):
    rewritten(file, change)
    with pytest.raises(TutelageError, match=why):
        unpack(file, tmp_path / "there")
    assert not [path for path in (tmp_path / "there").rglob("*") if path.is_file()]
    assert not (tmp_path / "outside").exists()


def test_a_file_that_unfolds_to_more_than_the_limit_is_not_read(file, tmp_path, monkeypatch):
    monkeypatch.setattr(packing, "LARGEST", 1000)
    with pytest.raises(TutelageError, match="has more than 1,000 bytes"):
        unpack(file, tmp_path / "there")


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99], ids=str)
def test_half_an_archive_is_one_sentence(file, tmp_path, share):
    data = file.read_bytes()
    file.write_bytes(data[: int(share * len(data))])
    with pytest.raises(TutelageError, match="is not a complete archive"):
        unpack(file, tmp_path / "there")


def test_every_flipped_byte_is_found_or_changes_nothing(file, folder, tmp_path):
    data = file.read_bytes()
    for place in range(0, len(data), max(1, len(data) // 400)):
        file.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
        try:
            packed = unpack(file, tmp_path / "there")
        except TutelageError:
            continue
        assert all((packed.folder / path.name).read_bytes() == path.read_bytes() for path in folder.iterdir())


def test_a_study_that_was_not_reproduced_is_one_sentence(tmp_path):
    with pytest.raises(TutelageError, match="tutelage reproduce"):
        pack(tmp_path / "quick" / "l-shape", tmp_path / "one.zip")
    with pytest.raises(TutelageError, match="cannot be read"):
        unpack(tmp_path / "one.zip", tmp_path)
