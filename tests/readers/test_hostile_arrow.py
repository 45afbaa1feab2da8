"""Arrow files that stand for more than the machine holds."""

import os

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc

from epimeter.cli import main
from epimeter.readers import read


def written(path, rows, whole):
    table = pa.table({"confidence": np.zeros(rows), "correct": np.zeros(rows, bool)})
    make = ipc.new_file if whole else ipc.new_stream
    with make(path, table.schema, options=ipc.IpcWriteOptions(compression="zstd")) as out:
        out.write_table(table, max_chunksize=100_000)
    return path


@pytest.mark.parametrize("whole", [True, False])
def test_an_arrow_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch, capsys, whole):
    path = written(str(tmp_path / "x.arrow"), 3_000_000, whole)
    assert os.path.getsize(path) < 200_000
    assert len(read(path).y_prob) == 3_000_000
    real = os.sysconf
    monkeypatch.setattr(os, "sysconf", lambda name: 1_000 if name == "SC_PHYS_PAGES" else real(name))  # 4 MB

    def unpacked(*_):
        raise AssertionError("a batch was unpacked")

    monkeypatch.setattr("epimeter.readers.columnar._sound", unpacked)
    with pytest.raises(SystemExit, match="2"):
        main(["evaluate", path])
    assert "memory" in capsys.readouterr().err


@pytest.mark.parametrize("whole", [True, False])
def test_a_file_whose_headers_are_damaged_ends_in_a_sentence(tmp_path, capsys, whole):
    written(str(tmp_path / "x.arrow"), 1000, whole)
    data = (tmp_path / "x.arrow").read_bytes()
    for place in range(8, len(data), 23):
        damaged = bytearray(data)
        damaged[place] ^= 0x55
        (tmp_path / "y.arrow").write_bytes(damaged)
        with pytest.raises(SystemExit, match="[012]"):
            main(["evaluate", str(tmp_path / "y.arrow"), "--metrics", "ece"])
        assert "Traceback" not in capsys.readouterr().err
