"""What a user may do with a topic that is there."""

import json

import pytest

from bucketcast.state.items import Topic
from bucketcast.topics.permissions import is_allowed
from bucketcast.topics.policy import DELETE, PUBLISH
from bucketcast.users import User

USERS = {
    "ann": User("1", "ann", "acme", ()),
    "another ann": User("2", "ann", "acme", ()),
    "alf": User("3", "alf", "acme", ()),
    "bob": User("4", "bob", "other", ()),
    "root": User("5", "root", "", (), admin=True),
}


def policy(effect: str, action: str, *users: str) -> str:
    principal = {"AWS": [f"arn:aws:iam::{user}" for user in users]}
    statement = {"Effect": effect, "Principal": principal, "Action": action, "Resource": "*"}
    return json.dumps({"Statement": [statement]})


@pytest.mark.parametrize(
    ("policy", "allowed"),
    [
        ("", ["ann", "root"]),
        (policy("Allow", PUBLISH, "acme:user/alf"), ["ann", "alf", "root"]),
        (policy("Allow", PUBLISH, "other:user/bob"), ["ann", "bob", "root"]),
        (policy("Allow", DELETE, "acme:user/alf", "other:user/bob"), ["ann", "root"]),
        (policy("Deny", DELETE, "acme:user/ann"), ["ann", "root"]),
        (policy("Deny", PUBLISH, "acme:user/ann"), ["root"]),
    ],
)
def test_topic_of_ann_may_be_published_to_by(policy: str, allowed: list[str]) -> None:
    given = {"Policy": policy}
    arn = "arn:aws:sns:r:acme:t"
    topic = Topic(arn=arn, kind="", id="1", owner="ann", owner_id="1", attributes=given)
    found = [name for name, user in USERS.items() if is_allowed(user, PUBLISH, topic)]
    assert found == allowed
