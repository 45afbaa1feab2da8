"""Servers and tenants that tests share."""

import os

import pytest
from servers import Postgres, running


@pytest.fixture(scope="session")
def postgres():
    made = Postgres()
    yield made
    made.remove()


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def service(request, tmp_path_factory):
    """One server for all tests that only add to it."""
    url = request.getfixturevalue("postgres").database() if request.param == "postgres" else None
    settings = {"rows_at_once": 5000, "job_lease": 3, "open_delay": 3600, "signal_period": 1}
    settings |= {
        "max_rows": 200_000,
        "webhook_networks": "127.0.0.0/8",
        "webhook_http": "true",
        "webhook_ports": "1-65535",
        "failures_per_minute": 100_000,
    }
    settings |= {"headers_time": 3, "body_pause": 2, "max_unpacked": 64 << 20, "max_body": 32 << 20}
    with running(tmp_path_factory.mktemp(request.param), url, **settings) as made:
        yield made


@pytest.fixture
def installation(tmp_path):
    """A server whose calendar can be set."""
    from installation import Installation

    made = Installation(tmp_path)
    made.service.start()
    yield made
    if made.service.process.poll() is None:
        made.service.stop()


_numbers = iter(range(10**9))


@pytest.fixture
def tenant(service):
    """An organisation of STANDARD tier, new for each test."""
    with service.tenant(f"Tenant {os.getpid()} {next(_numbers)}") as client:
        yield client


@pytest.fixture(scope="session")
def chromium():
    from seen_pages import browser_module

    assert browser_module.chromium(), "these tests need Chromium: apt-get install chromium"
    made = browser_module.Browser()
    yield made
    made.close()


@pytest.fixture
def browser(chromium):
    """A Chromium that is signed in nowhere."""
    chromium.call("Storage.clearCookies")
    chromium.call("Emulation.clearDeviceMetricsOverride")
    chromium.call("Emulation.setEmulatedMedia", media="", features=[])
    chromium.call("Page.setBypassCSP", enabled=False)
    return chromium


@pytest.fixture
def other(service):
    """Another organisation."""
    with service.tenant(f"Other {os.getpid()} {next(_numbers)}") as client:
        yield client


def pytest_collection_modifyitems(items):
    """A client that a test leaves open is closed by the collector, whenever that comes: not a fault of what is tested."""
    for item in items:
        if "/tests/service/" in item.path.as_posix():
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))
