"""Ceph's PubSub API on the wire: who may do what, pages, acknowledgements and refusals."""

import json
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from bucketcast.aws.topics.stored_events import Stored, StoredEvents
from bucketcast.aws.topics.subscriptions import Subscriptions
from bucketcast.control.app import build
from bucketcast.control.authentication import Authenticator
from bucketcast.control.pubsub.api import Pubsub
from bucketcast.control.secure import secure
from bucketcast.control.user_topics import UserTopics
from bucketcast.topics.subscription import MOST_OF_A_TOPIC
from bucketcast.users import Account as UserAccount
from tests.unit.control.requests import REGION
from tests.unit.control.sns_calls import URL, USERS, Server, _nothing
from tests.unit.runtime_targets import Account
from tests.unit.test_aws_stored_events import make_events_table

READ = {"Effect": "Allow", "Principal": "*", "Action": "sns:GetTopicAttributes", "Resource": "*"}


class Calls(Server):
    """The application with the PubSub API, and a switch for it."""

    def __init__(self, account: Account) -> None:
        super().__init__(account)
        self.is_on = True
        self.most = 0

        async def find(access_key: str) -> UserAccount | None:
            user = USERS.get(access_key)
            return UserAccount(user, access_key * 2) if user else None

        self.events = StoredEvents(make_events_table(account.dynamodb), account.dynamodb, 7)
        self.subscriptions = Subscriptions(account.table_name, account.dynamodb)
        topics = UserTopics(self.items, self.topics, REGION, lambda: self.most)
        none: Any = None
        options: Any = SimpleNamespace(pull=lambda: self.is_on, events=lambda: self.events)
        pubsub = Pubsub(
            Authenticator(find, REGION),
            secure("never"),
            _nothing,
            topics=topics,
            subscriptions=self.subscriptions,
            buckets=none,
            options=options,
        )
        self.app = build(pubsub)

    def __call__(self, method: str, path: str, *, user: str = "ANN", **given: str) -> Any:
        """The answer's status and document."""
        named = {name.replace("_", "-"): text for name, text in given.items()}
        target = f"/{path}?{urlencode(named, quote_via=quote)}" if named else f"/{path}"
        request = AWSRequest(method, f"{URL}{target}")
        if user:
            S3SigV4Auth(Credentials(user, user * 2), "s3", REGION).add_auth(request)
        status, _, body = self.call(method, target, dict(request.headers.items()), b"")
        return status, json.loads(body) if body.startswith(b"{") else body

    def refused(self, method: str, path: str, **given: str) -> tuple[int, str]:
        status, document = self(method, path, **given)
        assert document["RequestId"]
        return status, document["Code"]

    def store(self, name: str, count: int, tenant: str = "acme") -> list[str]:
        """Store so many events for a subscription; their ids."""
        found = self.subscriptions.find(tenant, name)
        assert found
        ids = [f"1800000{number:03}.000000.ab" for number in range(count)]
        rows = [Stored(each, json.dumps({"eventId": each}).encode()) for each in ids]
        self.events.store([found.partition], rows)
        return ids


@pytest.fixture
def calls(rules_table: str) -> Calls:
    return Calls(Account(rules_table))


@pytest.fixture
def subscribed(calls: Calls) -> Calls:
    """Ann has a topic and a subscription."""
    arn = "arn:aws:sns:us-east-1:acme:t1"
    assert calls("PUT", "topics/t1") == (200, {"arn": arn})
    assert calls("PUT", "subscriptions/s1", topic="t1") == (200, b"")
    return calls


def test_a_topic_is_made_shown_listed_and_deleted(subscribed: Calls) -> None:
    status, answer = subscribed("GET", "topics/t1")
    assert (status, answer["topic"]["name"], answer["subs"]) == (200, "t1", ["s1"])
    assert answer["topic"]["user"] == "acme$ann"
    assert subscribed("GET", "topics") == (200, {"topics": [answer]})
    assert subscribed("DELETE", "topics/t1")[0] == 200
    assert subscribed.refused("GET", "topics/t1") == (404, "NoSuchKey")
    assert subscribed("GET", "topics") == (200, {"topics": []})


def test_a_subscription_is_shown_in_cephs_fields(subscribed: Calls) -> None:
    status, answer = subscribed("GET", "subscriptions/s1")
    assert (status, list(answer)) == (200, ["user", "name", "topic", "dest", "s3_id"])
    assert (answer["user"], answer["name"], answer["topic"]) == ("acme$ann", "s1", "t1")
    assert list(answer["dest"]) == [
        "bucket_name",
        "oid_prefix",
        "push_endpoint",
        "push_endpoint_args",
        "push_endpoint_topic",
    ]


def test_events_are_read_in_pages_and_acknowledged(subscribed: Calls) -> None:
    ids = subscribed.store("s1", 5)
    status, page = subscribed("GET", "subscriptions/s1", events="", max_entries="3")
    assert (status, page["next_marker"], page["is_truncated"]) == (200, ids[2], True)
    assert [each["eventId"] for each in page["Records"]] == ids[:3]
    _, rest = subscribed("GET", "subscriptions/s1", events="", marker=ids[2])
    assert rest == {
        "next_marker": "",
        "is_truncated": False,
        "Records": [{"eventId": each} for each in ids[3:]],
    }
    assert subscribed("POST", "subscriptions/s1", ack="", event_id=ids[0]) == (200, b"")
    _, page = subscribed("GET", "subscriptions/s1", events="")
    assert [each["eventId"] for each in page["Records"]] == ids[1:]


def test_acknowledging_what_is_not_there_is_no_error_as_with_ceph(subscribed: Calls) -> None:
    (id_,) = subscribed.store("s1", 1)
    for event_id in (id_, id_, "1800000000.000000.none"):
        assert subscribed("POST", "subscriptions/s1", ack="", event_id=event_id) == (200, b"")


@pytest.mark.parametrize("text", ["0", "1001", "abc", "-1", "", "1e3", "9" * 30])
def test_a_page_has_1_to_1000_events(subscribed: Calls, text: str) -> None:
    wrong = subscribed.refused("GET", "subscriptions/s1", events="", max_entries=text)
    assert wrong == (400, "InvalidArgument")


@pytest.mark.parametrize("given", ["a b", "x" * 201, "ä", "a/../b"])
def test_a_marker_and_an_event_id_have_their_form(subscribed: Calls, given: str) -> None:
    wrong = (400, "InvalidArgument")
    assert subscribed.refused("GET", "subscriptions/s1", events="", marker=given) == wrong
    assert subscribed.refused("POST", "subscriptions/s1", ack="", event_id=given) == wrong


def test_what_is_missing_or_unknown_is_refused(subscribed: Calls) -> None:
    invalid, missing = (400, "InvalidArgument"), (404, "NoSuchKey")
    assert subscribed.refused("PUT", "subscriptions/s2") == invalid
    assert subscribed.refused("PUT", "subscriptions/s2", topic="none") == missing
    assert subscribed.refused("PUT", "subscriptions/a.b", topic="t1") == invalid
    assert subscribed.refused("PUT", "subscriptions/s2", topic="t1", push_endpoint="http://a") == (
        invalid
    )
    assert subscribed.refused("POST", "subscriptions/s1", ack="") == invalid
    assert subscribed.refused("POST", "subscriptions/s1") == (405, "MethodNotAllowed")
    assert subscribed.refused("PATCH", "subscriptions/s1") == (405, "MethodNotAllowed")
    assert subscribed.refused("GET", "subscriptions") == (405, "MethodNotAllowed")
    for method in ("GET", "DELETE"):
        assert subscribed.refused(method, "subscriptions/none") == missing
    assert subscribed.refused("GET", "subscriptions/none", events="") == missing
    assert subscribed.refused("POST", "subscriptions/none", ack="", event_id="1") == missing


@pytest.mark.parametrize(
    ("method", "path", "given"),
    [
        ("GET", "topics", {}),
        ("PUT", "topics/t2", {}),
        ("GET", "subscriptions/s1", {"events": ""}),
        ("POST", "subscriptions/s1", {"ack": "", "event_id": "1800000000.000000.ab"}),
    ],
)
def test_a_call_that_is_not_signed_is_refused(
    subscribed: Calls, method: str, path: str, given: dict[str, str]
) -> None:
    subscribed.store("s1", 1)
    assert subscribed.refused(method, path, user="", **given) == (403, "AccessDenied")
    assert len(subscribed("GET", "subscriptions/s1", events="")[1]["Records"]) == 1


def test_nobody_else_reads_acknowledges_or_deletes_a_subscription(subscribed: Calls) -> None:
    (id_,) = subscribed.store("s1", 1)
    calls: Any = [
        ("GET", {}),
        ("GET", {"events": ""}),
        ("POST", {"ack": "", "event_id": id_}),
        ("DELETE", {}),
        ("PUT", {"topic": "t1"}),
    ]
    for method, given in calls:
        colleague = subscribed.refused(method, "subscriptions/s1", user="ALF", **given)
        assert colleague == (403, "AccessDenied")
        # Another tenant's subscription is as if it did not exist.
        other = subscribed.refused(method, "subscriptions/s1", user="BOB", **given)
        assert other == (404, "NoSuchKey")
    stolen = subscribed.refused(
        "PUT", "subscriptions/mine", user="BOB", topic="arn:aws:sns:us-east-1:acme:t1"
    )
    assert stolen == (403, "AccessDenied")
    assert len(subscribed("GET", "subscriptions/s1", events="")[1]["Records"]) == 1


def test_who_may_not_read_the_topic_any_more_does_not_read_its_events(calls: Calls) -> None:
    policy = json.dumps({"Version": "2012-10-17", "Statement": [READ]})
    assert calls("PUT", "topics/t1", Policy=policy)[0] == 200
    assert calls("PUT", "subscriptions/his", user="ALF", topic="t1")[0] == 200
    calls.store("his", 2)
    assert calls("GET", "subscriptions/his", user="ALF", events="")[0] == 200
    assert calls("PUT", "topics/t1")[0] == 200
    refused = calls.refused("GET", "subscriptions/his", user="ALF", events="")
    assert refused == (403, "AccessDenied")


def test_a_subscription_outlives_its_topic_with_what_it_has(subscribed: Calls) -> None:
    ids = subscribed.store("s1", 2)
    subscribed("DELETE", "topics/t1")
    _, page = subscribed("GET", "subscriptions/s1", events="")
    assert [each["eventId"] for each in page["Records"]] == ids
    # A topic of the same name is another one, until it is subscribed to again.
    subscribed("PUT", "topics/t1")
    assert subscribed("GET", "topics/t1")[1]["subs"] == []
    assert subscribed("PUT", "subscriptions/s1", topic="t1")[0] == 200
    assert subscribed("GET", "topics/t1")[1]["subs"] == ["s1"]
    assert len(subscribed("GET", "subscriptions/s1", events="")[1]["Records"]) == 2


def test_a_subscription_made_again_begins_empty(subscribed: Calls) -> None:
    subscribed.store("s1", 2)
    assert subscribed("DELETE", "subscriptions/s1") == (200, b"")
    assert subscribed("GET", "topics/t1")[1]["subs"] == []
    subscribed("PUT", "subscriptions/s1", topic="t1")
    assert subscribed("GET", "subscriptions/s1", events="")[1]["Records"] == []


def test_subscriptions_stay_when_their_topic_is_changed(subscribed: Calls) -> None:
    assert subscribed("PUT", "topics/t1", OpaqueData="x")[0] == 200
    answer = subscribed("GET", "topics/t1")[1]
    assert (answer["topic"]["opaqueData"], answer["subs"]) == ("x", ["s1"])
    assert subscribed("PUT", "subscriptions/s1", topic="t1")[0] == 200
    subscribed("PUT", "topics/t2")
    refused = subscribed.refused("PUT", "subscriptions/s1", topic="t2")
    assert refused == (400, "InvalidArgument")


def test_a_topic_has_a_bounded_number_of_subscriptions(calls: Calls) -> None:
    calls("PUT", "topics/t1")
    for number in range(MOST_OF_A_TOPIC):
        assert calls("PUT", f"subscriptions/s{number}", topic="t1")[0] == 200
    assert calls.refused("PUT", "subscriptions/more", topic="t1") == (400, "InvalidArgument")


def test_a_user_has_no_more_topics_than_allowed(calls: Calls) -> None:
    calls.most = 2
    for name in ("t1", "t2", "t2"):
        assert calls("PUT", f"topics/{name}")[0] == 200
    assert calls.refused("PUT", "topics/t3") == (403, "TopicLimitExceeded")
    assert calls("PUT", "topics/t3", user="ALF")[0] == 200
    calls("DELETE", "topics/t1")
    assert calls("PUT", "topics/t4")[0] == 200


def test_where_it_is_switched_off_the_paths_are_buckets(calls: Calls) -> None:
    calls.is_on = False
    for path in ("topics", "topics/t1", "subscriptions/s1", "notifications/b"):
        assert calls("GET", path) == (299, b"S3")
    calls.is_on = True
    for path in ("topicsx", "uploads/topics/t1", "subscription"):
        assert calls("GET", path) == (299, b"S3")
