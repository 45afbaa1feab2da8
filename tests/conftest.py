"""Made-up examples are the same in every run, no test fails because the machine was busy, and keys are opened in no time."""

import pytest
from hypothesis import HealthCheck, settings

from epimeter.trust import key_file

settings.register_profile("house", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")

_FULL, key_file._N = key_file._N, 16  # a passphrase is stretched for a quarter of a second otherwise, each time


@pytest.fixture
def full_strength(monkeypatch):
    """Passphrases stretched as users have them."""
    monkeypatch.setattr(key_file, "_N", _FULL)
