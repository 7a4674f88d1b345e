"""After a change of a bucket's rules: CloudTrail logs what they ask for, and that is said."""

from bucketcast import access
from bucketcast.cli.screen import Screen
from bucketcast.errors import BucketcastError
from bucketcast.rules import Rule
from bucketcast.store import deployed
from bucketcast.store.access import Aws
from bucketcast.store.access_events import AccessEvents


def follow(
    screen: Screen, bucket: str, there: deployed.Deployed, aws: Aws, added: Rule | None = None
) -> list[str]:
    """Let CloudTrail log what the rules now ask for, and nothing else; give what is to be said."""
    said = ""
    try:
        before = AccessEvents(there, aws).follow(bucket)
    except BucketcastError as error:
        said = f"the trail could not be changed, so access events are as before: {error}"
    else:
        calls = access.asked([added] if added else []).calls
        if before is None and added and calls and access.is_logged_only(added.events):
            said = (
                f"these come from CloudTrail only ({access.PRICE}): "
                f"`bucketcast attach {bucket} --access-events` switches them on"
            )
        elif before is not None and not before.is_so:
            logs = ", ".join(before.asked.calls) or "nothing"
            said = f"the trail {before.trail} now logs {logs} of {bucket} ({access.PRICE})"
    if said and not screen.json:
        screen.note(f"note: {said}")
    return [said] if said else []
