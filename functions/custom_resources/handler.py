"""The stack's custom resources: the notifications of its buckets (`bucket`).

CloudFormation learns of the outcome only by a response put to a URL, and waits when none comes: so
every error is reported with its reason, and all waiting ends while there is time to respond.
"""

from collections.abc import Mapping
from typing import Any

from bucketcast.notifications.aws.deployed_bucket import CHECK
from bucketcast.telemetry import logger
from functions.custom_resources import bucket
from functions.custom_resources.response import respond, sleep_until

_s3 = bucket.client("s3")


@logger.inject_lambda_context
def handler(event: Mapping[str, Any], context: Any) -> None:
    status, reason = "SUCCESS", ""
    sleep = sleep_until(context.get_remaining_time_in_millis() / 1_000)
    if event.get("RequestType") == CHECK:
        bucket.apply(event, _s3, sleep=sleep)  # its error is what the alarm counts
        return
    try:
        bucket.apply(event, _s3, sleep=sleep)
    except Exception as error:  # noqa: BLE001 - unreported, it would block the deploy
        logger.exception("custom resource failed")
        status, reason = "FAILED", f"{type(error).__name__}: {error}"
    respond(event, status, reason or f"see log stream {context.log_stream_name}")
