"""Fixtures that every test may use."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "project",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("project")

SHARED = Path(__file__).resolve().parents[1].parent / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of reference results and real data, or skip."""
    if not SHARED.is_dir():
        pytest.skip("the folder of reference results and real data is absent")
    return SHARED
