"""Update CloudTrail's selectors after a change of a bucket's rules, and report it."""

from bucketcast import deployment as deployed
from bucketcast.aws.clients import Aws
from bucketcast.errors import BucketcastError
from bucketcast.notifications.aws.access_events import AccessEvents, needed, widened
from bucketcast.rules import Rule, access_events
from bucketcast.terminal.output import Output


def follow(
    out: Output, bucket: str, deployment: deployed.Deployed, aws: Aws, added: Rule | None = None
) -> list[str]:
    """Let CloudTrail log exactly the calls that the rules now need; return the notes printed."""
    said = ""
    try:
        after = AccessEvents(deployment, aws).follow(bucket)
    except BucketcastError as error:
        said = f"the trail could not be updated, access events are unchanged: {error}"
    else:
        calls = access_events.required_calls([added] if added else []).calls
        if after is None and added and calls and access_events.is_logged_only(added.events):
            said = (
                f"these events come only from CloudTrail ({access_events.PRICE}); "
                f"enable them with `bucketcast bucket attach {bucket} --access-events`"
            )
        elif after is not None and not after.managed:
            said = needed(after) if calls else ""
        elif after is not None and after.changed:
            logs = ", ".join(after.logged.calls) if after.logged else "nothing"
            said = (
                f"the trail {after.trail} now logs {logs} for {bucket} ({access_events.PRICE})"
                f"{widened(after)}"
            )
    notes = [said] if said else []
    out.notes(notes)
    return notes
