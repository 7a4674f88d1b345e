"""Weeks are simulated in seconds, without their logs."""

from collections.abc import Iterator

import pytest

from bucketcast import telemetry


@pytest.fixture(autouse=True, scope="module")
def quiet() -> Iterator[None]:
    level = telemetry.logger.log_level
    telemetry.logger.setLevel("CRITICAL")
    with pytest.MonkeyPatch.context() as silenced:
        for name in ("measure", "trace", "report_age"):
            silenced.setattr(telemetry, name, lambda *_, **__: None)
        yield
    telemetry.logger.setLevel(level)
