"""The control plane behind a Lambda function URL: the same application as the gateway's.

Objects are not passed through, since a function takes 6 MB: who asks is told that they are at S3.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import Any

from bucketcast.control.assembly import assemble
from bucketcast.settings import ControlSettings
from bucketcast.store.access import Aws
from functions.control.url import answered

Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]


def build(environ: Mapping[str, str]) -> Handler:
    """The handler for these settings; the application and its loop live as long as the process."""
    settings = ControlSettings.from_environ(environ)
    app = assemble(settings.stack, settings.rules_table, Aws(), objects=False)
    loop = asyncio.new_event_loop()

    def handler(event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
        return loop.run_until_complete(answered(app, event))

    return handler


handler = build(os.environ)
