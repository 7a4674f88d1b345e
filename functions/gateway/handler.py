"""The gateway behind a Lambda function URL: the same application as the gateway's.

Objects are not passed through, since a function takes 6 MB: a request for one names S3.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import Any

from bucketcast import telemetry
from bucketcast.aws.clients import Aws
from bucketcast.gateway.factory import create_app
from bucketcast.settings.environment import GatewaySettings
from functions.gateway.url import answer

Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]


def build(environ: Mapping[str, str]) -> Handler:
    """Return the handler for these settings; the application lives as long as the process."""
    settings = GatewaySettings.from_environ(environ)
    app = create_app(
        settings.stack, settings.state_table, Aws(), objects=False, audit=settings.audit
    )
    loop = asyncio.new_event_loop()

    def handler(event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
        return loop.run_until_complete(answer(app, event))

    return handler


handler = telemetry.logger.inject_lambda_context(build(os.environ))
