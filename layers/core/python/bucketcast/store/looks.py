"""Whether ingest may look at the objects that a rule turns on."""

from bucketcast.rules import Rule
from bucketcast.store.deployed import Deployed
from bucketcast.wording import texts


def blind(rule: Rule, there: Deployed) -> str:
    """Why the rule cannot be, and the cure; "" where it can.

    What nobody may look at would count as met, and the rule would match everything.
    """
    one = next((one for one in rule.conditions if one.about_object), None)
    if one is None or there.looks_into(rule.bucket):
        return ""
    cure = (
        f"[bucket.{rule.bucket}]"
        if there.object_facts
        else f'object_facts = "on" and [bucket.{rule.bucket}]'
    )
    return (
        f"{texts(one)[0]} is about what only the object knows, and ingest may not look at "
        f"objects of {rule.bucket}: put {cure} into bucketcast.toml and deploy; "
        'object_facts = "all" is for every bucket of the account'
    )
