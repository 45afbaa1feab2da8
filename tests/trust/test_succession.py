"""Keys of an offline issuer over the months, by the commands that its operator types."""

from datetime import UTC, datetime, timedelta

pytest_plugins = ("issuer_calendar",)


def test_an_offline_issuer_is_told_at_every_command_and_recovers(calendar, typed, tmp_path):
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
