"""What AWS allows of a template, counted from the template itself, and what to do about each.

What only the deploy knows (account, region, generated names) is counted as long as it can be. The
figures are AWS's defaults where it raises them on demand.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from bucketcast.errors import ConfigError
from bucketcast.rules import trail_selectors

Template = Mapping[str, Any]

_NEST: Final = (
    'nested = "on" at the top of the file puts functions, alarms, rules and schedules into stacks '
    "of their own; where it is on, a second deployment takes the rest"
)
_ATTACH: Final = "attach some buckets by `bucketcast bucket attach` instead"
_SPLIT: Final = "a second deployment takes the rest"
_NO_DASHBOARD: Final = 'dashboard = "off" at the top of the file leaves it out'
_FEWER_RULES: Final = 'fewer buckets by via = "eventbridge", or a quota raised by AWS'
_SHORTER: Final = "keep long values in a secret"


class Limit(NamedTuple):
    """How many of something AWS takes, and what to do about more."""

    most: int
    hint: str


LIMITS: Final[Mapping[str, Limit]] = {
    "resources": Limit(500, _NEST),
    "bytes": Limit(1_000_000, _NEST),
    "parameters": Limit(200, _SPLIT),
    "outputs": Limit(200, _SPLIT),
    "bytes of variables": Limit(4_096, _SHORTER),
    "layers": Limit(5, "this is a fault of Bucketcast"),
    "characters of inline policies": Limit(10_240, _ATTACH),
    "characters of a managed policy": Limit(6_144, _ATTACH),
    "managed policies": Limit(10, _ATTACH),
    "bytes of a queue's policy": Limit(8_192, _ATTACH),
    "statements of a queue's policy": Limit(20, _ATTACH),
    "bytes of a function's policy": Limit(20_480, _SPLIT),
    "rules of EventBridge": Limit(300, _FEWER_RULES),
    "characters of a rule's name": Limit(64, "a shorter name of the stack"),
    "characters of a rule's pattern": Limit(2_048, "shorter names"),
    "characters of a rule's input": Limit(8_192, "shorter options of the scan"),
    "values in a trail's selectors": Limit(trail_selectors.MOST_VALUES, _ATTACH),
    "widgets of a dashboard": Limit(500, _NO_DASHBOARD),
    "metrics of a widget": Limit(500, _NO_DASHBOARD),
    "metrics of a dashboard": Limit(2_500, _NO_DASHBOARD),
}
_PERMISSION: Final = 400
"""Bytes of one statement of a function's policy, at most."""
_LONGEST: Final = {
    "AWS::Partition": "aws-us-gov",
    "AWS::Region": "ap-southeast-1",
    "AWS::AccountId": "1" * 12,
    "AWS::URLSuffix": "amazonaws.com.cn",
    "AWS::StackId": f"arn:aws-us-gov:cloudformation:ap-southeast-1:{'1' * 12}:stack/{'x' * 77}",
    "AWS::StackName": "x" * 40,
}
_UNKNOWN: Final = "x" * 120
"""As long as the ARN of a queue with the longest name."""


class Count(NamedTuple):
    """How many of one of the `LIMITS`; `of` is the resource or template that has them."""

    what: str
    of: str
    found: int


def templates(assembly: Path) -> dict[str, Any]:
    """Return the templates of an assembly, by the names of their files up to the first dot.

    The folder may hold those of an earlier one too: what counts is what the manifest lists.
    """
    manifest = json.loads((assembly / "manifest.json").read_text())
    lists = [
        json.loads((assembly / each["properties"]["file"]).read_text())
        for each in manifest["artifacts"].values()
        if each["type"] == "cdk:asset-manifest"
    ]
    names = {each["source"].get("path", "") for found in lists for each in found["files"].values()}
    return {
        name.removesuffix(".json").removesuffix(".template"): json.loads(
            (assembly / name).read_text()
        )
        for name in sorted(names)
        if name.endswith(".template.json")
    }


def validation_errors(templates: Mapping[str, Template]) -> list[ConfigError]:
    """Return what AWS would refuse of templates, by their names."""
    return [
        ConfigError(
            each.of,
            f"it comes to {each.found:,} {each.what}",
            f"AWS takes {limit.most:,}: {limit.hint}",
        )
        for each in counts(templates)
        if each.found > (limit := LIMITS[each.what]).most
    ]


def counts(templates: Mapping[str, Template]) -> Iterator[Count]:
    """Everything that is limited, whether it is too much or not."""
    rules = 0
    for name, template in templates.items():
        resources = template.get("Resources", {})
        yield Count("resources", name, len(resources))
        yield Count("bytes", name, len(json.dumps(template).encode()))
        yield Count("parameters", name, len(template.get("Parameters", {})))
        yield Count("outputs", name, len(template.get("Outputs", {})))
        for logical_id, resource in resources.items():
            yield from _of_resource(f"{name}/{logical_id}", resource)
        yield from _of_roles(name, resources)
        yield from _permissions(name, resources)
        rules += _many(resources, "AWS::Events::Rule")
    yield Count("rules of EventBridge", "all", rules)
    yield from _of_trail(templates)


def _of_resource(of: str, resource: Mapping[str, Any]) -> Iterator[Count]:
    properties = resource.get("Properties", {})
    match resource["Type"]:
        case "AWS::Lambda::Function":
            variables = properties.get("Environment", {}).get("Variables", {})
            size = sum(len(key) + len(text(each).encode()) for key, each in variables.items())
            yield Count("bytes of variables", of, size)
            yield Count("layers", of, len(properties.get("Layers", ())))
        case "AWS::SQS::QueuePolicy":
            policy = properties["PolicyDocument"]
            yield Count("bytes of a queue's policy", of, size_of(policy))
            yield Count("statements of a queue's policy", of, len(policy["Statement"]))
        case "AWS::IAM::ManagedPolicy":
            yield Count("characters of a managed policy", of, size_of(properties["PolicyDocument"]))
        case "AWS::CloudWatch::Dashboard":
            yield from _of_dashboard(of, properties["DashboardBody"])
        case "AWS::Events::Rule":
            yield Count("characters of a rule's name", of, len(text(properties["Name"])))
            pattern = properties.get("EventPattern", {})  # a schedule has none
            yield Count("characters of a rule's pattern", of, size_of(pattern))
            for target in properties.get("Targets", ()):
                template = target.get("InputTransformer", {}).get("InputTemplate", "")
                yield Count("characters of a rule's input", of, len(text(template)))


def _of_dashboard(of: str, body: Any) -> Iterator[Count]:
    """Count what a dashboard names; what it searches for is known only to CloudWatch."""
    widgets = json.loads(text(body))["widgets"]
    metrics = [len(each["properties"].get("metrics", ())) for each in widgets]
    yield Count("widgets of a dashboard", of, len(widgets))
    yield Count("metrics of a widget", of, max(metrics, default=0))
    yield Count("metrics of a dashboard", of, sum(metrics))


def _of_trail(templates: Mapping[str, Template]) -> Iterator[Count]:
    """Yield the trail's first selectors, and one that all buckets with access events share."""
    resources = [each for one in templates.values() for each in one.get("Resources", {}).values()]
    first = sum(
        trail_selectors.values(each["Properties"].get("AdvancedEventSelectors", ()))
        for each in resources
        if each["Type"] == "AWS::CloudTrail::Trail"
    )
    logged = sum("Trail" in each.get("Properties", {}) for each in resources)
    least = trail_selectors.least_values(logged)
    yield Count("values in a trail's selectors", "access events", first + least)


def _of_roles(name: str, resources: Mapping[str, Any]) -> Iterator[Count]:
    """Inline policies count together, managed ones by their number."""
    inline: dict[str, int] = defaultdict(int)
    managed: dict[str, int] = defaultdict(int)
    for resource in resources.values():
        properties = resource.get("Properties", {})
        for role in properties.get("Roles", ()):
            if resource["Type"] == "AWS::IAM::Policy":
                inline[text(role, name=True)] += size_of(properties["PolicyDocument"])
            elif resource["Type"] == "AWS::IAM::ManagedPolicy":
                managed[text(role, name=True)] += 1
    for role, size in inline.items():
        yield Count("characters of inline policies", f"{name}/{role}", size)
    for role, number in managed.items():
        yield Count("managed policies", f"{name}/{role}", number)


def _permissions(name: str, resources: Mapping[str, Any]) -> Iterator[Count]:
    found: dict[str, int] = defaultdict(int)
    for resource in resources.values():
        if resource["Type"] == "AWS::Lambda::Permission":
            found[json.dumps(resource["Properties"]["FunctionName"])] += _PERMISSION
    for function, size in found.items():
        yield Count("bytes of a function's policy", f"{name}/{function}", size)


def _many(resources: Mapping[str, Any], kind: str) -> int:
    return sum(1 for each in resources.values() if each["Type"] == kind)


def size_of(document: Any) -> int:
    """Return how many characters AWS counts of a document: blanks are none."""
    return len(re.sub(r"\s", "", json.dumps(_filled(document), separators=(",", ":"))))


def text(value: Any, *, name: bool = False) -> str:
    """Return a value with references as long as they can become; a `name` by its reference."""
    if isinstance(value, str):
        return value
    if name:
        return str(value["Ref"]) if isinstance(value, dict) and "Ref" in value else str(value)
    filled = _filled(value)
    return filled if isinstance(filled, str) else json.dumps(filled)


def _filled(value: Any) -> Any:
    if isinstance(value, list):
        return [_filled(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "Fn::Join" in value:
        separator, parts = value["Fn::Join"]
        return separator.join(text(each) for each in parts)
    if "Ref" in value:
        return _LONGEST.get(value["Ref"], _UNKNOWN)
    if len(value) == 1 and next(iter(value)).startswith("Fn::"):
        return _UNKNOWN
    return {key: _filled(each) for key, each in value.items()}
