"""Update CloudTrail's selectors after a change of a bucket's rules, and report it."""

from bucketcast import deployment as deployed
from bucketcast.aws.clients import Aws
from bucketcast.errors import BucketcastError
from bucketcast.notifications.aws.access_events import AccessEvents, describe_excess, owners_task
from bucketcast.rules import Rule, access_events
from bucketcast.terminal.output import Output


def follow(
    out: Output, bucket: str, deployment: deployed.Deployed, aws: Aws, added: Rule | None = None
) -> list[str]:
    """Let CloudTrail log the calls that the rules now need; print and return notes about it."""
    note = ""
    try:
        logged = AccessEvents(deployment, aws).follow(bucket)
    except BucketcastError as error:
        note = f"the trail could not be updated, access events are unchanged: {error}"
    else:
        calls = access_events.required_calls([added] if added else []).calls
        if logged is None and added and calls and access_events.is_logged_only(added.events):
            note = (
                f"these events come only from CloudTrail ({access_events.PRICE}); "
                f"enable them with `bucketcast bucket attach {bucket} --access-events`"
            )
        elif logged is not None and not logged.managed:
            note = owners_task(logged) if calls else ""
        elif logged is not None and logged.changed:
            logs = ", ".join(logged.logged.calls) if logged.logged else "nothing"
            note = (
                f"the trail {logged.trail} now logs {logs} for {bucket} ({access_events.PRICE})"
                f"{describe_excess(logged)}"
            )
    notes = [note] if note else []
    out.notes(notes)
    return notes
