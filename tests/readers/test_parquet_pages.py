"""Pages read here are the rows that pyarrow reads; what is damaged ends in a sentence, never in a crash."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from epimeter import scan
from epimeter.core import ffi, lib
from epimeter.core import read as pointer
from epimeter.core import write as room
from epimeter.errors import ReadError
from epimeter.readers import parquet_pages as pages
from epimeter.report.scan import summarised
from epimeter.sources import parquet
from epimeter.summary_files import packed

N = 50_000

WAYS = {
    "default": {},
    "small pages": {"data_page_size": 1_000},
    "no dictionary": {"use_dictionary": False},
    "uncompressed": {"compression": "none"},
    "second page version": {"data_page_version": "2.0"},
    "second page version, uncompressed, small pages": {
        "data_page_version": "2.0",
        "compression": "none",
        "data_page_size": 3_000,
        "use_dictionary": False,
    },
    "several row groups": {"row_group_size": 7_777},
    "long dictionary": {"dictionary_pagesize_limit": 1 << 22},
}


def columns(n=N, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return {
        "double": p,
        "float": p.astype(np.float32),
        "few": rng.choice([0.1, 0.25, 0.9, 1.0], n),
        "runs": np.repeat(rng.random(n // 100), 100),
        "bool": rng.random(n) < p,
        "mostly": rng.random(n) < 0.999,
        "int32": (rng.random(n) < p).astype(np.int32),
        "int64": (rng.random(n) < p).astype(np.int64),
        "int8": (rng.random(n) < p).astype(np.int8),
    }


def read(path, name):
    """A column by way of its pages."""
    file = parquet.opened(str(path), "x")
    handle = os.open(path, os.O_RDONLY)
    found = []
    try:
        for group in range(file.footer.n_groups):
            chunk = pages.Chunk.of(file.footer, file.metadata.schema, file.schema, group, name)
            column, out = pages.Column(handle, chunk, "x"), np.empty(9_999, chunk.dtype)
            while n := column.fill(out):
                found.append(out[:n].copy())
    finally:
        os.close(handle)
    return np.concatenate(found)


@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_pages_hold_the_rows_that_pyarrow_reads(tmp_path, way, nullable):
    table = pa.table(columns())
    table = table.cast(pa.schema([pa.field(f.name, f.type, nullable=nullable) for f in table.schema]))
    pq.write_table(table, tmp_path / "x.parquet", **WAYS[way])
    for name in table.column_names:
        assert np.array_equal(read(tmp_path / "x.parquet", name), table[name].to_numpy()), name


@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["snappy", "none"])
@pytest.mark.parametrize("size", [65_000, 70_001, 1 << 20])
def test_long_pages_flow_through_in_blocks(tmp_path, size, compression, version, nullable):
    rng = np.random.default_rng(3)
    n = 200_003
    given = {
        "random": rng.random(n),
        "rounded": np.round(rng.random(n), 2),
        "constant": np.full(n, 0.75),
        "half and half": np.where(np.arange(n) < n // 2, 0.5, rng.random(n)),
        "single": rng.random(n).astype(np.float32),
    }
    table = pa.table(given)
    table = table.cast(pa.schema([pa.field(f.name, f.type, nullable=nullable) for f in table.schema]))
    options = {"use_dictionary": False, "write_batch_size": 64, "row_group_size": 150_000, "max_rows_per_page": 1 << 20}
    options |= {"compression": compression, "data_page_version": version, "data_page_size": size}
    pq.write_table(table, tmp_path / "x.parquet", **options)
    for name, values in given.items():
        assert np.array_equal(read(tmp_path / "x.parquet", name), values), name


def header(n_values, size, kind=0, encoding=0):
    """The header of a page of one of the two data kinds, by Thrift's compact protocol."""

    def number(value):
        value, made = value << 1, bytearray()
        while value > 127:
            made.append(value & 127 | 128)
            value >>= 7
        return bytes([*made, value])

    sizes = b"\x15" + number(kind) + b"\x15" + number(size) + b"\x15" + number(size)
    return sizes + b"\x2c\x15" + number(n_values) + b"\x15" + number(encoding) + b"\x15\x00\x15\x00\x00\x00"


@pytest.mark.parametrize("n_values", [2**31, 2**60, 2**61, 2**62 - 1])
def test_a_page_that_claims_more_values_than_there_can_be_is_broken(tmp_path, n_values):
    values = np.array([0.25, 0.5])
    path = tmp_path / "column"
    for stated, fits in ((2, True), (n_values, False)):
        path.write_bytes(header(stated, 16) + values.tobytes())
        handle = os.open(path, os.O_RDONLY)
        try:
            chunk = pages.Chunk(0, path.stat().st_size, stated, "DOUBLE", False, False)
            column, out = pages.Column(handle, chunk, "x"), np.zeros(9)
            if fits:
                assert column.fill(out) == 2 and out[:2].tolist() == values.tolist()
            else:
                with pytest.raises(pages.Broken):
                    column.fill(out)
        finally:
            os.close(handle)


def literals(data, sizes):
    """Snappy data of stretches as they stand, of these sizes."""
    made, at = bytearray(), 0
    for shift in range(0, 28, 7):
        more = len(data) >> (shift + 7)
        made.append((len(data) >> shift & 0x7F) | (0x80 if more else 0))
        if not more:
            break
    for size in sizes:
        made += bytes([61 << 2, (size - 1) & 0xFF, (size - 1) >> 8]) + data[at : at + size]
        at += size
    return bytes(made)


def test_a_page_packed_in_another_way_than_in_blocks_is_left_to_pyarrow(tmp_path):
    rng = np.random.default_rng(4)
    said = rng.random(20_000)
    data, path = said.tobytes(), tmp_path / "x.parquet"
    column = pa.field("confidence", pa.float64(), nullable=False)
    table = pa.table({"confidence": said}, pa.schema([column])).append_column("correct", [rng.random(20_000) < said])
    pq.write_table(table, path, use_dictionary=False, data_page_size=1 << 20)
    whole = path.read_bytes()
    blocks = literals(data, (65_536, 65_536, 28_928))
    assert whole.count(blocks) == 1
    expected = scan(path).to_dict()
    path.write_bytes(whole.replace(blocks, literals(data, (60_000, 65_536, 34_464))))
    assert pq.read_table(path).equals(table)
    with pytest.raises(pages.NotPlain):
        read(path, "confidence")
    assert scan(path).to_dict() == expected


def test_what_is_not_plain_is_left_to_pyarrow(tmp_path):
    rows = columns()
    table = pa.table(
        {
            "holes": pa.array(rows["double"], mask=np.arange(N) == N - 1),
            "text": pa.array(["a"] * N),
            "list": pa.array([[0.5]] * N),
            "decimal": pa.array([1] * N, pa.decimal128(5, 2)),
            "split": rows["double"],
            "zstd": rows["double"],
            "summed": rows["double"],
        }
    )
    for name, options in {
        "holes": {},
        "text": {},
        "list": {},
        "decimal": {},
        "split": {"use_dictionary": False, "column_encoding": "BYTE_STREAM_SPLIT"},
        "zstd": {"compression": "zstd"},
        "summed": {"write_page_checksum": True},
    }.items():
        pq.write_table(table.select([name]), tmp_path / "x.parquet", **options)
        with pytest.raises(pages.NotPlain):
            read(tmp_path / "x.parquet", name)
    pair = pa.table({"pair": pa.array([{"a": 1, "b": 2}] * N), "split": rows["double"]})
    pq.write_table(pair, tmp_path / "x.parquet")
    with pytest.raises(pages.NotPlain):
        read(tmp_path / "x.parquet", "split")
    pq.write_table(table.select(["list", "split"]), tmp_path / "x.parquet")
    assert np.array_equal(read(tmp_path / "x.parquet", "split"), rows["double"])


@pytest.mark.parametrize("hole", [0, 30_000, N - 1])
def test_a_hole_after_many_rows_is_found_by_either_way(tmp_path, hole, monkeypatch):
    rows = columns()
    label = pa.array(rows["bool"], mask=np.arange(N) == hole)
    pq.write_table(pa.table({"confidence": rows["double"], "correct": label}), tmp_path / "x.parquet")
    paged = scan(tmp_path / "x.parquet", ["ece", "smece"])
    monkeypatch.setenv(pages.SWITCH, "off")
    plain = scan(tmp_path / "x.parquet", ["ece", "smece"])
    assert paged.to_dict() == plain.to_dict()
    assert paged.source["unlabelled"] == 1


@pytest.mark.parametrize("by", [None, "model"])
@pytest.mark.parametrize("label", ["bool", "int32", "int64", "int8"])
@pytest.mark.parametrize("said", ["double", "float", "few"])
def test_both_ways_give_the_same_report(tmp_path, monkeypatch, said, label, by):
    rows = columns()
    model = np.random.default_rng(1).choice(["x", "y", "z"], N)
    table = pa.table({"confidence": rows[said], "correct": rows[label], "model": model})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=17_000)
    used = []
    true_fill = pages.Column.fill
    monkeypatch.setattr(pages.Column, "fill", lambda self, out: used.append(1) or true_fill(self, out))
    paged = scan(tmp_path / "x.parquet", by=by)
    assert used
    monkeypatch.setenv(pages.SWITCH, "off")
    plain = scan(tmp_path / "x.parquet", by=by)
    for value in [None] if by is None else plain:
        one, other = (paged, plain) if by is None else (paged[value], plain[value])
        assert one.to_dict() == other.to_dict()


def test_snappy_unpacks_what_pyarrow_packs():
    rng = np.random.default_rng(0)
    codec = pa.Codec("snappy")
    for data in (
        rng.bytes(100_000),
        b"ab" * 5_000,
        b"\0" * 70_000,
        bytes(rng.integers(0, 4, 9_000, np.uint8)),
        b"x",
        b"the same words, the same words, the same words again" * 40,
    ):
        packed = np.frombuffer(codec.compress(data, asbytes=True), np.uint8)
        out = np.zeros(len(data), np.uint8)
        assert lib.epi_snappy(pointer(packed), len(packed), room(out), len(data))
        assert out.tobytes() == data
        assert not lib.epi_snappy(pointer(packed), len(packed) - 1, room(out), len(data))
        assert not lib.epi_snappy(pointer(packed), len(packed), room(out), len(data) - 1)


def hybrid(data, width, n, out):
    return lib.epi_hybrid(pointer(np.ascontiguousarray(data)), len(data), width, n, room(out))


def test_runs_and_packed_groups_are_read_as_they_are_written():
    out = np.empty(24, np.int32)
    assert hybrid(np.array([16, 5], np.uint8), 3, 8, out) == 8 and (out[:8] == 5).all()
    packed = np.array([3, 0b10001000, 0b11000110, 0b11111010], np.uint8)  # the example of the format: 0 to 7 in 3 bits
    assert hybrid(packed, 3, 8, out) == 8 and out[:8].tolist() == list(range(8))
    assert hybrid(packed[:3], 3, 8, out) == 0
    assert hybrid(np.array([5, *packed[1:]], np.uint8), 3, 8, out) == 0  # says two groups and holds one: damage
    assert hybrid(np.array([1, *packed], np.uint8), 3, 8, out) == 0  # a run of no groups
    assert hybrid(np.zeros(0, np.uint8), 0, 9, out) == 9


@pytest.mark.parametrize("seed", range(8))
def test_damaged_pages_never_crash(tmp_path, seed):
    rng = np.random.default_rng(seed)
    rows = columns(6_000, seed)
    way = list(WAYS)[seed]
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({name: rows[name] for name in ("double", "few", "bool")}), path, **WAYS[way])
    sound = path.read_bytes()
    file = parquet.opened(str(path), "x")
    end = len(sound) - file.metadata.serialized_size - 8
    for _ in range(60):
        damaged = bytearray(sound)
        for place in rng.integers(4, end, rng.integers(1, 9)):
            damaged[place] = rng.integers(0, 256)
        path.write_bytes(damaged)
        handle = os.open(path, os.O_RDONLY)
        for name in ("double", "few", "bool"):
            for group in range(file.footer.n_groups):
                try:
                    chunk = pages.Chunk.of(file.footer, file.metadata.schema, file.schema, group, name)
                    column = pages.Column(handle, chunk, "x")
                    out = np.empty(1_000, column.chunk.dtype)
                    while column.fill(out):
                        pass
                except (pages.NotPlain, pages.Broken):
                    pass
        os.close(handle)


def test_a_file_cut_off_while_it_is_read_is_a_sentence(tmp_path):
    rows = columns()
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"confidence": rows["double"], "correct": rows["bool"]}), path)
    file = parquet.opened(str(path), "x.parquet")
    wanted = parquet.columns_of([file], None, None, frozenset())
    path.write_bytes(path.read_bytes()[:100_000])
    with pytest.raises(ReadError, match=r"row group 0 of x\.parquet is damaged or was cut off"):
        list(parquet.decoded(file, 0, wanted, 0, 0))


SLICE_WAYS = {
    **WAYS,
    "a dictionary that is given up": {"dictionary_pagesize_limit": 500, "data_page_size": 3_000},
    "zstd": {"compression": "zstd"},
}


@pytest.mark.parametrize("kind", ["text", "large text", "categories", "with holes", "numbers", "days"])
@pytest.mark.parametrize("way", SLICE_WAYS)
def test_slices_straight_from_pages_are_those_of_pyarrow(tmp_path, way, kind, monkeypatch):
    monkeypatch.setattr(parquet, "GROUPED", 20_000)
    rng, rows = np.random.default_rng(4), columns()
    code = rng.integers(0, 90, N)
    words = np.array([f"modèle-{k}" for k in range(90)])[code]
    by = {
        "text": lambda: pa.array(words),
        "large text": lambda: pa.array(words, pa.large_string()),
        "categories": lambda: pa.array(words).dictionary_encode(),
        "with holes": lambda: pa.array(words, mask=code == 17),
        "numbers": lambda: pa.array(code),
        "days": lambda: pa.array(code.astype("int32"), pa.date32()),
    }[kind]()
    table = pa.table({"confidence": rows["double"], "correct": rows["bool"], "model": by})
    pq.write_table(table, tmp_path / "x.parquet", **SLICE_WAYS[way])
    found, sound = (
        packed(summarised(tmp_path / "x.parquet", ["ece"], by="model", skip_damaged=skip)) for skip in (False, True)
    )
    monkeypatch.setenv(pages.SWITCH, "off")
    expected = summarised(tmp_path / "x.parquet", ["ece"], by="model")
    assert len(expected.slices) == 90 and found == sound == packed(expected)


def test_a_dictionary_that_names_a_slice_twice_is_one_slice():
    rng, rows = np.random.default_rng(5), columns()
    twice = pa.DictionaryArray.from_arrays(rng.integers(0, 3, N).astype(np.int32), pa.array(["a", "b", "a"]))
    table = pa.table({"confidence": rows["double"], "correct": rows["bool"], "model": twice})
    plain = table.set_column(2, "model", twice.cast(pa.string()))
    found, expected = scan(table, by="model"), scan(plain, by="model")
    assert {value: found[value].to_dict() for value in found} == {value: expected[value].to_dict() for value in found}


@pytest.mark.parametrize("octets", [b"\x05\0\0\0abc", b"\x02\0\0\0ab\x09", b"\xff\xff\xff\xffabcd"])
def test_a_dictionary_that_ends_within_a_word_is_broken(octets):
    column = pages.Column.__new__(pages.Column)
    column.dictionary = np.frombuffer(octets, np.uint8)
    column.state = ffi.new("epi_parquet_column *")
    column.state.octets, column.state.entries = len(octets), 2
    with pytest.raises(pages.Broken):
        column.words()


@pytest.mark.parametrize("width", range(1, 32))
def test_packed_integers_of_every_width_come_back(width):
    rng = np.random.default_rng(width)
    for groups in (1, 2, 3, 63):
        n = 8 * groups
        values = rng.integers(0, 1 << width, n)
        bits = ((values[:, None] >> np.arange(width)) & 1).astype(np.uint8).ravel()
        data = np.concatenate([np.array([groups << 1 | 1], np.uint8), np.packbits(bits, bitorder="little")])
        out = np.full(n + 1, -7, np.int32)
        assert hybrid(data, width, n, out) == n and out[:n].tolist() == values.tolist()
        assert out[n] == -7
        assert hybrid(data, width, n - 3, out) == n - 3
        assert hybrid(data[:-1], width, n, out) == 0
