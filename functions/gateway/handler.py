"""The gateway behind Lambda function URLs: the same application as the gateway's.

Objects are not passed through, since a function takes 6 MB: a request for one names S3. Listeners
wait in a function of their own, so that they take no executions of this one.
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
        settings.stack,
        settings.state_table,
        Aws(),
        serves="listeners" if settings.listeners else "notifications",
        listen_url=settings.listen_url,
        listeners_per_user=settings.listeners,
    )
    loop = asyncio.new_event_loop()

    def handler(event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
        return loop.run_until_complete(answer(app, event))

    return handler


handler = telemetry.logger.inject_lambda_context(build(os.environ))
