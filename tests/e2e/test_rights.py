"""The roles of functions and jobs allow their calls: the local AWS would allow everything."""

from collections.abc import Callable

from tests.e2e import iam
from tests.e2e.arrivals import posted
from tests.e2e.system import RETURN_SECONDS, System
from tests.servers.receiver import Answer

FORBIDDEN = iam.Call("Bucketcast-ingest", "s3", "DeleteObject", {"Bucket": "uploads", "Key": "a"})


def test_all_recorded_calls_are_allowed_by_the_roles(
    system: System, prefix: str, rule: Callable[..., None]
) -> None:
    """All that comes after this is judged when the run ends."""
    rule("webhook.primary", "webhook.flaky")
    flaky = system.consumers.flaky
    flaky.answer(Answer(status=503, headers={"Retry-After": "1"}, match=prefix))
    system.put("uploads", f"{prefix}photo.jpg")
    system.until(
        "a refusal",
        flaky.requests,
        lambda seen: any(each.status == 503 and prefix.encode() in each.body for each in seen),
    )
    flaky.answer()
    system.until(
        "the put at both",
        lambda: [
            len(posted(server, f"uploads/{prefix}")) for server in (system.consumers.webhook, flaky)
        ],
        lambda seen: min(seen) >= 1,
        within=RETURN_SECONDS,
    )
    system.until_settled()
    assert system.beyond_their_rights() == []
    calls = iam.recorded(system.local.calls)
    made = {(call.function, call.operation) for call in calls}
    assert ("Bucketcast-custom-resources", "PutBucketNotificationConfiguration") in made
    assert ("Bucketcast-ingest", "SendMessageBatch") in made
    # What was refused goes back as a message of its own, or is seen again later.
    back = {"ChangeMessageVisibilityBatch", "SendMessageBatch"}
    assert back & {name for function, name in made if function == "Bucketcast-webhook-flaky"}


def test_check_of_rights_reports_a_call_without_one(system: System) -> None:
    calls = [FORBIDDEN, FORBIDDEN._replace(function="Bucketcast-scan")]
    assert system.refused(calls) == [
        "Bucketcast-ingest may not s3:DeleteObject on arn:aws:s3:::uploads/a",
        "Bucketcast-scan may not s3:DeleteObject on arn:aws:s3:::uploads/a",
    ]
