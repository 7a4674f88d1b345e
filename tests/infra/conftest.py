"""Templates of made-up configurations, without bundling: no download, no deploy."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk.assertions import Template

from bucketcast.config import load
from bucketcast_cdk import Bucketcast
from tests.infra.resource_policies import listed

ROOT = Path(__file__).resolve().parents[2]

UNBUNDLED: dict[str, Any] = {"aws:cdk:bundling-stacks": []}
CHECKED = {**json.loads((ROOT / "cdk.json").read_bytes())["context"], **UNBUNDLED}
"""As for AWS: with CDK's own check against AWS's rules, which takes most of a synthesis."""
CONTEXT = {**CHECKED, "@aws-cdk/core:validateAgainstDefaultRules": False}

PIPELINE = """
[pipeline]
[scan.uploads]
schedule = "rate(1 day)"
[scan.archive]
source = "s3://inventories/archive/weekly"
on = "inventory"
"""
TYPICAL = """
[dynamic_targets]
kinds = "off"

[bucket.uploads]
create = true

[bucket.archive]
create = false
via = "eventbridge"

[notify_webhook.primary]
endpoint = "https://example.org/hook"
auth_token = "secret:webhook-primary"

[notify_postgres.a-b]
connection_string = "secret:pg#dsn"
table = "uploads"
format = "namespace"

[notify_redis.a_b]
address = "redis.example.org:6379"
key = "uploads"
format = "namespace"
"""


Make = Callable[..., "Synthesised"]


class Synthesised:
    """A template, and the questions that the tests ask it."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.template = Template.from_stack(stack)
        self.json = dict(self.template.to_json())
        notes = stack.node.find_child("Default").node.metadata
        self.notes = [entry.data for entry in notes if entry.type == "aws:cdk:info"]

    def of_type(self, kind: str) -> dict[str, dict[str, Any]]:
        """Logical id -> resource."""
        found = self.json.get("Resources", {}).items()
        return {name: resource for name, resource in found if resource["Type"] == kind}

    def properties_of(self, kind: str) -> list[dict[str, Any]]:
        """Properties of all resources of a type, of which there is one at least."""
        found = [each.get("Properties", {}) for each in self.of_type(kind).values()]
        assert found, kind
        return found

    def event_rules(self) -> dict[str, dict[str, Any]]:
        """Rules of EventBridge that take events; the others are schedules."""
        found = self.of_type("AWS::Events::Rule").items()
        return {name: rule for name, rule in found if "EventPattern" in rule["Properties"]}

    def properties(self, kind: str, **wanted: Any) -> dict[str, Any]:
        """Properties of the one resource of a type that has the wanted ones."""
        of_type = self.properties_of(kind)
        (found,) = [each for each in of_type if wanted.items() <= each.items()]
        return dict(found)

    def function(self, name: str) -> dict[str, Any]:
        return self.properties("AWS::Lambda::Function", FunctionName=name)

    def queue(self, name: str) -> dict[str, Any]:
        return self.properties("AWS::SQS::Queue", QueueName=name)

    def mapping(self, function: str) -> dict[str, Any]:
        """The event source mapping of the function with this name."""
        (logical_id,) = [
            logical_id
            for logical_id, resource in self.of_type("AWS::Lambda::Function").items()
            if resource["Properties"]["FunctionName"] == function
        ]
        return self.properties("AWS::Lambda::EventSourceMapping", FunctionName={"Ref": logical_id})

    def statements(self, kind: str = "AWS::IAM::Policy") -> Iterator[tuple[str, dict[str, Any]]]:
        """Logical id and each statement of the policies of a type."""
        for logical_id, resource in self.of_type(kind).items():
            for statement in resource["Properties"]["PolicyDocument"]["Statement"]:
                yield logical_id, statement

    def allowing(self, owner: str, action: str) -> list[dict[str, Any]]:
        """Statements that allow this, of policies whose logical ids begin so."""
        return [
            statement
            for logical_id, statement in self.statements()
            if logical_id.startswith(owner) and action in listed(statement["Action"])
        ]

    def text(self) -> str:
        return json.dumps(self.json)


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Make the stack of a configuration's text; the same words give the same object."""
    made: dict[tuple[Any, ...], Synthesised] = {}

    def _make(
        text: str = TYPICAL, *, local: bool = False, stack: str = "Bucketcast"
    ) -> Synthesised:
        key = (text, local, stack)
        if key not in made:
            folder = tmp_path_factory.mktemp("synth")
            config = folder / "bucketcast.toml"
            config.write_text(text)
            app = App(context=CONTEXT, outdir=str(folder / "out"))
            deployment = load(config, {}, local=local)
            of = Stack(app, stack)
            Bucketcast(of, "Default", config=deployment, local=local)
            made[key] = Synthesised(of)
        return made[key]

    return _make


@pytest.fixture(scope="session")
def typical(make: Make) -> Synthesised:
    return make()
