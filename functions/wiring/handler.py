"""Two custom resources of CloudFormation: a bucket's entry, and the targets that there are.

`Custom::BucketNotification` ties one bucket to the ingress queue. Properties: `Bucket`, `Id` (of
our notification entry), `QueueArn`, `Via` (`sqs` | `eventbridge`) and `Account` (of the bucket's
owner, so that a bucket name that changed hands is refused). Where the events are ours, also
`RulesTable` and `Overlap`: for how many seconds both ways are kept when the way changes. With
access events also `Trail` (ARN) and `Stack`, and the trail then logs the calls that the bucket's
rules ask for. Created and attached buckets are treated alike: what else stands in the bucket's
notifications stays, and so does what `bucketcast attach` had made where a deploy is rolled back.

`Custom::Targets` refuses a deploy that would remove a target for which something waits. Properties:
`Queues` (the URLs of queue and dead letters by ARN), `Discard` (ARNs of which it may be given up),
`Settle` (for how many seconds a queue must be seen empty) and `Patience` (how long to wait for it),
`Kinds` (for which run-time targets and topics have a function) and `RulesTable`, in which they are.

CloudFormation learns of the outcome only by an answer put to a URL, and waits when none comes: so
every error is answered, with its reason, and all waiting ends while there is time to answer in.
"""

import json
import logging
import time
import urllib.request
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from bucketcast.store.lock import Lock
from bucketcast.store.removal import Removal
from bucketcast.store.rules import Rules
from bucketcast.store.runtime.stranded import demand_functions
from bucketcast.store.runtime.table import Table
from bucketcast.store.switches import Switch, Switches
from bucketcast.store.switching import Wirer
from bucketcast.store.topics.items import Items
from bucketcast.store.trail import Trail
from bucketcast.wiring import Overlap
from functions.wiring.deadline import Deadline

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

log = logging.getLogger(__name__)

PATIENCE: Final = 60.0  # seconds for a new queue or role policy to be known everywhere
PAUSE: Final = 3.0
DELETE: Final = "Delete"
TARGETS: Final = "Custom::Targets"
REASON_LIMIT: Final = 1_000  # CloudFormation takes 4 KB of answer in all

_PATIENT = Config(connect_timeout=3, read_timeout=10, retries={"max_attempts": 3})
_s3: "S3Client" = boto3.client("s3", config=_PATIENT)


def handler(event: Mapping[str, Any], context: Any) -> None:
    status, reason = "SUCCESS", ""
    sleep = Deadline(context.get_remaining_time_in_millis() / 1_000).sleep
    try:
        if event["ResourceType"] == TARGETS:
            keep(event, sleep=sleep)
        else:
            apply(event, _s3, sleep=sleep)
            follow(event, sleep=sleep)
    except Exception as error:  # unanswered, it would block the deploy
        log.exception("wiring failed")
        status, reason = "FAILED", f"{type(error).__name__}: {error}"
    answer(event, status, reason or f"see log stream {context.log_stream_name}")


def apply(
    event: Mapping[str, Any],
    s3: "S3Client",
    client: Callable[[str], Any] = lambda name: boto3.client(name, config=_PATIENT),  # type: ignore[call-overload]
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.time,
) -> None:
    """Bring the bucket's notifications to what the request wants.

    Raises:
        Overlap: another entry takes our events.
        ClientError: S3 refused, also after `PATIENCE` seconds where waiting could have helped.
    """
    properties, before = event["ResourceProperties"], event.get("OldResourceProperties", {})
    table = properties.get("RulesTable")
    wirer = Wirer(
        s3,
        Switches(table, client("dynamodb")) if table else None,
        properties,
        patiently=lambda call: _patiently(call, sleep),
        by=event.get("RequestId", ""),
        sleep=sleep,
        now=now,
    )
    if event["RequestType"] != DELETE:
        wirer.bring(was=before.get("Via", ""))
        return
    attached = wirer.was_attached()
    try:
        if not (attached and _is_rolled_back(event, client) and _attached_again(wirer, attached)):
            wirer.remove()
    except ClientError as error:
        if error.response["Error"]["Code"] != "NoSuchBucket":
            raise


def _attached_again(wirer: Wirer, attached: Switch) -> bool:
    """Leave the bucket as the command line had attached it; False where somebody is in the way."""
    bucket = wirer.properties["Bucket"]
    try:
        wirer.attach_again(attached)
    except Overlap as error:
        log.warning("%s: cannot be attached as it was: %s", bucket, error)
        return False
    log.info("%s: stays attached", bucket)
    return True


def follow(
    event: Mapping[str, Any],
    client: Callable[[str], Any] = lambda name: boto3.client(name, config=_PATIENT),  # type: ignore[call-overload]
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Let a trail log what the bucket's rules ask for, where access events are on.

    Raises:
        NotSelectableError: the trail's selectors cannot be shared.
        ClientError: AWS refused, also after `PATIENCE` seconds where waiting could have helped.
    """
    properties = event["ResourceProperties"]
    before = event.get("OldResourceProperties", {})
    if "Trail" in properties and event["RequestType"] != DELETE:
        rules = Rules(properties["RulesTable"], client("dynamodb"))
        trail = _trail(properties, client, sleep)
        _patiently(lambda: trail.follow(properties["Bucket"], rules), sleep)
    elif "Trail" in (was := {**before, **properties}):
        cloudtrail = client("cloudtrail")
        own = {"cloudtrail": cloudtrail}
        trail = _trail(was, lambda name: own.get(name) or client(name), sleep)
        try:
            _patiently(lambda: trail.forget(was["Bucket"]), sleep)
        except cloudtrail.exceptions.TrailNotFoundException:
            return  # what it logged for us is gone with it


def keep(
    event: Mapping[str, Any],
    client: Callable[[str], Any] = lambda name: boto3.client(name, config=_PATIENT),  # type: ignore[call-overload]
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Refuse to remove targets for which something waits, unless a deploy is rolled back.

    Nor is a function removed that serves run-time targets or topics.

    Raises:
        StillWaitingError: something waits.
        StrandedError: there are run-time targets or topics of a kind that would have no function.
        ClientError: AWS refused, also after `PATIENCE` seconds where waiting could have helped.
    """
    if event["RequestType"] != "Update":
        return
    if _is_rolled_back(event, client):
        return  # what is to go is what the deploy that failed had added
    before, after = event["OldResourceProperties"], event["ResourceProperties"]
    if "RulesTable" in after:
        where = after["RulesTable"], client("dynamodb")
        table, topics = Table(*where), Items(*where)
        kinds = before.get("Kinds"), after.get("Kinds", ())
        _patiently(lambda: demand_functions(table, topics, *kinds), sleep)
    settle, patience = float(after["Settle"]), float(after["Patience"])
    removal = Removal(client("sqs"), settle, patience, sleep=sleep)
    discard = after.get("Discard", ())
    _patiently(lambda: removal.demand(before["Queues"], after["Queues"], discard), sleep)


def _is_rolled_back(event: Mapping[str, Any], client: Callable[[str], Any]) -> bool:
    (stack,) = client("cloudformation").describe_stacks(StackName=event["StackId"])["Stacks"]
    return "ROLLBACK" in stack["StackStatus"]


def _trail(
    properties: Mapping[str, str], client: Callable[[str], Any], sleep: Callable[[float], None]
) -> Trail:
    partition = properties["Trail"].split(":")[1]
    lock = Lock(properties["RulesTable"], client("dynamodb"), sleep=sleep)
    return Trail(properties["Trail"], properties["Stack"], client("cloudtrail"), lock, partition)


def _patiently(call: Callable[[], object], sleep: Callable[[float], None]) -> None:
    """Do it, again and again while a right that is just given may not be known yet."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            call()
        except ClientError as error:
            if not _may_settle(error) or time.monotonic() > deadline:
                raise
            sleep(PAUSE)
        else:
            return


def _may_settle(error: ClientError) -> bool:
    """A fresh queue policy or role takes seconds to be known; until then AWS answers like this.

    S3 says `AccessDenied`, DynamoDB and CloudTrail say `AccessDeniedException`. And S3 refuses
    (`OperationAborted`) who changes a bucket's settings while somebody else does.
    """
    code, message = error.response["Error"]["Code"], error.response["Error"]["Message"]
    if code == "InvalidArgument":
        return "validate" in message
    return code.startswith("AccessDenied") or code == "OperationAborted"


def _physical_id(properties: Mapping[str, Any]) -> str:
    return "/".join(properties[key] for key in ("Bucket", "Id") if key in properties) or "targets"


def answer(event: Mapping[str, Any], status: str, reason: str) -> None:
    """Put the outcome where CloudFormation waits for it.

    Raises:
        OSError: the address could not be reached three times over.
    """
    properties = event["ResourceProperties"]
    body = json.dumps(
        {
            "Status": status,
            "Reason": reason[:REASON_LIMIT],
            "PhysicalResourceId": event.get("PhysicalResourceId") or _physical_id(properties),
            **{key: event[key] for key in ("StackId", "RequestId", "LogicalResourceId")},
        }
    ).encode()
    # The URL is signed for an empty content type.
    request = urllib.request.Request(  # noqa: S310 - CloudFormation's own URL
        event["ResponseURL"], data=body, method="PUT", headers={"Content-Type": ""}
    )
    for left in (2, 1, 0):
        try:
            with urllib.request.urlopen(request, timeout=10):  # noqa: S310
                return
        except OSError:
            if not left:
                raise
            log.warning("CloudFormation did not take the answer; trying again")
            time.sleep(PAUSE)
