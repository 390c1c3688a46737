"""Connections that open the files they are for, and names as SQL writes them."""

import pytest

from tutelage.lab.database import identifier, literal, module, opened


@pytest.fixture
def tables(tmp_path):
    """Two Parquet files, one with a quote in its name."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name in ("it's.parquet", "other.parquet"):
        pq.write_table(pa.table({"a": [1]}), tmp_path / name)
    return tmp_path / "it's.parquet", tmp_path / "other.parquet"


def test_a_connection_reads_its_files_and_no_other(tables):
    mine, other = tables
    with opened([mine]) as connection:
        assert connection.execute(f"SELECT * FROM {literal(mine)}").fetchall() == [(1,)]
        with pytest.raises(module().PermissionException):
            connection.execute(f"SELECT * FROM {literal(other)}")
        with pytest.raises(module().Error):
            connection.execute(f"COPY (SELECT 1) TO {literal(other)}")


@pytest.mark.parametrize(
    "change",
    ["enable_external_access = true", "allowed_paths = ['/']", "memory_limit = '1TB'", "temp_directory = '/tmp'"],
)
def test_its_settings_cannot_be_changed(change):
    with opened(memory=1 << 28) as connection, pytest.raises(module().Error, match="lock"):
        connection.execute(f"SET {change}")


@pytest.mark.parametrize("text", ["a", "it's", 'a"b', "a\"\"b''c", "; --", "\\", "\x1b", "é", " "])
def test_names_and_texts_come_back_as_they_are(text):
    with opened() as connection:
        answer = connection.execute(f"SELECT {literal(text)} AS {identifier(text)}")
        assert [column[0] for column in answer.description] == [text]
        assert answer.fetchall() == [(text,)]
