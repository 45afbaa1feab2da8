"""A calendar for the commands, so that an issuer can be watched over months."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pandas
import pytest

from epimeter.cli import main, trusted
from epimeter.trust import key_file


class Calendar:
    """A calendar `days` after the present."""

    days = 0.0

    @classmethod
    def now(cls, zone=UTC):
        return datetime.now(zone) + timedelta(days=cls.days)


@pytest.fixture
def calendar(tmp_path, monkeypatch):
    """An empty folder to work in, the passphrase in the environment, and a calendar that can be turned."""
    monkeypatch.setattr(key_file, "_N", 16)
    monkeypatch.setattr(trusted, "datetime", Calendar)
    monkeypatch.setattr(Calendar, "days", 0.0)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EPIMETER_PASSPHRASE", "correct horse")
    return Calendar


@pytest.fixture
def typed(capsys):
    """Type a command: its exit code, what it printed, what it said on standard error."""

    def typed(*words):
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main([*map(str, words)])
        return end.value.code or 0, *capsys.readouterr()

    return typed


@pytest.fixture
def written(calendar, tmp_path):
    """Write a file of predictions whose last one was made now."""

    def written(name, *, seed=1, rows=1500, days=14.0, over=0.0, **columns):
        rng = np.random.default_rng(seed)
        confidence = rng.random(rows)
        end = calendar.now().replace(microsecond=0)
        times = [end - timedelta(days=days * (rows - 1 - row) / (rows - 1)) for row in range(rows)]
        frame = pandas.DataFrame({
            "id": [f"r{number}" for number in range(rows)],
            "timestamp": [time.isoformat() for time in times],
            "confidence": confidence,
            "correct": (rng.random(rows) < confidence - over).astype(int),
            **columns,
        })  # fmt: skip
        frame.to_csv(tmp_path / name, index=False)
        return name

    return written
