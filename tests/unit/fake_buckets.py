"""Buckets' notifications, EventBridge's rules and CloudTrail's trails, behind the calls we make."""

import copy
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from tests.unit.aws import refusal


class NoRuleError(Exception):
    """What boto3 raises for a rule that is not there."""


class Buckets:
    """`after_put` changes what was written, as somebody else would who wrote at the same time."""

    def __init__(self, **documents: dict[str, Any]) -> None:
        self.documents = copy.deepcopy(documents)
        self.errors: list[Exception] = []
        self.after_put: list[Callable[[dict[str, Any]], None]] = []
        self.writes: list[dict[str, Any]] = []

    def get_paginator(self, _: str) -> Any:
        page = {"Buckets": [{"Name": name} for name in self.documents]}
        return SimpleNamespace(paginate=lambda: [page])

    def get_bucket_notification_configuration(
        self,
        Bucket: str,  # noqa: N803 - boto3's names
        ExpectedBucketOwner: str = "",  # noqa: N803
    ) -> Any:
        assert ExpectedBucketOwner in ("", "123456789012")
        if Bucket not in self.documents:
            raise refusal("NoSuchBucket", "GetBucketNotificationConfiguration")
        return {**copy.deepcopy(self.documents[Bucket]), "ResponseMetadata": {}}

    def put_bucket_notification_configuration(self, **call: Any) -> None:
        self.writes.append(call)
        if self.errors:
            raise self.errors.pop(0)
        document = copy.deepcopy(call["NotificationConfiguration"])
        if self.after_put:
            self.after_put.pop(0)(document)
        self.documents[call["Bucket"]] = document


class EventRules:
    """Patterns and targets by the names of the rules."""

    exceptions = SimpleNamespace(ResourceNotFoundException=NoRuleError)

    def __init__(self) -> None:
        self.patterns: dict[str, Any] = {}
        self.targets: dict[str, list[Any]] = {}
        self.disabled: set[str] = set()
        self.removed: list[str] = []
        """Names that are listed, though a call later the rules are gone."""

    def describe_rule(self, Name: str) -> Any:  # noqa: N803 - boto3's names
        if Name not in self.patterns:
            raise NoRuleError
        state = "DISABLED" if Name in self.disabled else "ENABLED"
        return {"EventPattern": json.dumps(self.patterns[Name]), "State": state}

    def get_paginator(self, _: str) -> Any:
        page = {"RuleNames": [*self.removed, *self.patterns]}
        return SimpleNamespace(paginate=lambda TargetArn: [page] if TargetArn else [])  # noqa: N803

    def put_rule(self, Name: str, EventPattern: str, **_: Any) -> None:  # noqa: N803
        self.patterns[Name] = json.loads(EventPattern)

    def put_targets(self, Rule: str, Targets: list[Any]) -> Any:  # noqa: N803
        self.targets[Rule] = Targets
        return {"FailedEntryCount": 0}

    def remove_targets(self, Rule: str, Ids: list[str]) -> None:  # noqa: N803
        assert Ids == [each["Id"] for each in self.targets.pop(Rule)]

    def delete_rule(self, Name: str) -> None:  # noqa: N803
        assert Name not in self.targets, "EventBridge refuses a rule that has targets"
        del self.patterns[Name]


class NoTrailError(Exception):
    """What boto3 raises for a trail that is not there."""


class Trails:
    """Event selectors by the names of the trails, each as CloudTrail makes it."""

    exceptions = SimpleNamespace(TrailNotFoundException=NoTrailError)

    def __init__(self, *names: str) -> None:
        self.selectors: dict[str, Any] = {
            name: {"EventSelectors": [{"ReadWriteType": "All", "DataResources": []}]}
            for name in names
        }
        self.writes = 0
        self.errors: list[Exception] = []

    def get_event_selectors(self, TrailName: str) -> Any:  # noqa: N803 - boto3's names
        if self.errors:
            raise self.errors.pop(0)
        if TrailName not in self.selectors:
            raise NoTrailError
        return copy.deepcopy(self.selectors[TrailName])

    def put_event_selectors(self, TrailName: str, AdvancedEventSelectors: list[Any]) -> None:  # noqa: N803
        assert AdvancedEventSelectors, "CloudTrail refuses a trail that selects nothing"
        self.selectors[TrailName] = {"AdvancedEventSelectors": AdvancedEventSelectors}
        self.writes += 1

    def logged(self, trail: str) -> list[str]:
        """The operations of S3's data events."""
        return [
            call
            for selector in self.selectors[trail].get("AdvancedEventSelectors", [])
            for field in selector["FieldSelectors"]
            if field["Field"] == "eventName"
            for call in field["Equals"]
        ]
