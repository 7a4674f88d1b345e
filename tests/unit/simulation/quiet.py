"""Weeks are simulated in seconds, without their logs."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from bucketcast import telemetry


@contextmanager
def quiet() -> Iterator[None]:
    """Write no logs, traces or metrics."""
    level = telemetry.logger.log_level
    telemetry.logger.setLevel("CRITICAL")
    with ExitStack() as silenced:
        for name in ("measure", "trace", "report_age"):
            silenced.enter_context(patch.object(telemetry, name, lambda *_, **__: None))
        yield
    telemetry.logger.setLevel(level)
