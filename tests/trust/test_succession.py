"""Keys of an offline issuer over the months, by the commands that its operator types."""

from datetime import UTC, datetime, timedelta

import pytest

from epimeter.cli import main, trusted
from epimeter.trust import key_file


class Calendar:
    """A calendar for the commands: `days` after the present."""

    days = 0.0

    @classmethod
    def now(cls, zone):
        return datetime.now(zone) + timedelta(days=cls.days)


@pytest.fixture
def calendar(tmp_path, monkeypatch):
    monkeypatch.setattr(key_file, "_N", 16)
    monkeypatch.setattr(trusted, "datetime", Calendar)
    monkeypatch.setattr(Calendar, "days", 0.0)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EPIMETER_PASSPHRASE", "correct horse")
    return Calendar


def run(*words):
    with pytest.raises(SystemExit) as end:
        main([*map(str, words)])
    return end.value.code or 0


def test_an_offline_issuer_is_told_at_every_command_and_recovers(calendar, tmp_path, capsys):
    def typed(*words):
        capsys.readouterr()
        code = run(*words)
        return code, *capsys.readouterr()

    assert typed("keys", "init", "shop", "--issuer", "https://registry.example")[0] == 0
    publish = ("log", "publish", "--issuer", "shop", "web")
    assert typed(*publish)[2] == ""
    calendar.days = 78.5
    code, _, err = typed(*publish)
    assert code == 0 and "in 11 days; run: epimeter keys rotate shop issuer" in err
    calendar.days = 100
    code, _, err = typed(*publish)
    assert code == 2 and "Traceback" not in err and "run: epimeter keys rotate shop issuer" in err
    assert "expired" in typed("keys", "list", "shop")[1]
    assert typed("keys", "rotate", "shop", "issuer")[0] == 0
    assert typed("keys", "rotate", "shop")[1].count("its successor") == 1
    code, _, err = typed(*publish)
    assert (code, err) == (0, "")
    names = {"trust-root.json", "trust-root-1.json", "trust-root-2.json", "trust-root-3.json"}
    assert {path.name for path in (tmp_path / "web").glob("trust-root*")} == names
    assert "no key is due" in typed("keys", "rotate", "shop")[1]
    first = datetime.now(UTC) + timedelta(days=calendar.days)
    assert f"in force until {first + timedelta(days=90):%Y-%m-%d}" in typed("keys", "list", "shop")[1]
