"""Check that ingest may read the objects that a rule's conditions need."""

from bucketcast.deployment import Deployed
from bucketcast.rules import Rule
from bucketcast.rules.grammar import texts


def missing_permission(rule: Rule, deployment: Deployed) -> str:
    """Return why the rule is not possible, with a hint; "" if it is.

    Conditions on unreadable facts count as met, so the rule would match everything.
    """
    one = next((one for one in rule.conditions if one.needs_object), None)
    if one is None or deployment.looks_into(rule.bucket):
        return ""
    hint = (
        f"[bucket.{rule.bucket}]"
        if deployment.object_facts
        else f'object_facts = "on" and [bucket.{rule.bucket}]'
    )
    return (
        f"{texts(one)[0]} is about what only the object knows, and ingest may not look at "
        f"objects of {rule.bucket}: put {hint} into bucketcast.toml and deploy; "
        'object_facts = "all" is for every bucket of the account'
    )
