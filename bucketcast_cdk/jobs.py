"""A Glue job: its script, its arguments and what it runs on; with a role of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from aws_cdk import AssetHashType, Stack
from aws_cdk import aws_glue as glue
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from bucketcast.config import PipelineOptions
from bucketcast.settings.jobs import arguments
from bucketcast_cdk import nag, policy_statements
from bucketcast_cdk.assets import Assets
from bucketcast_cdk.nested_stacks import Nesting
from bucketcast_cdk.platform import Platform

_CATALOG: Final = "spark.sql.catalog.s3md"
_AT_ONCE: Final = 20  # runs of one job, each of another bucket or target


@dataclass(frozen=True, slots=True)
class JobContext:
    """What all jobs stand on; `connection` is a reference to a Glue connection, or empty."""

    options: PipelineOptions
    package: s3_assets.Asset
    conf: str
    connection: str
    nesting: Nesting


class Job(Construct):
    """One job, called `<stack>-<id>`, which runs `glue_jobs/<folder>/job.py`."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        folder: str,
        ground: JobContext,
        given: Mapping[str, str],
        assets: Assets,
    ) -> None:
        super().__init__(scope, construct_id)
        self.name = f"{Stack.of(self).stack_name}-{construct_id}"
        # AWS documents aws:SourceAccount for Scheduler, and not for Glue: if it does not send it, a
        # condition on it would keep every job from its role.
        place = ground.nesting.place("Jobs", construct_id, self)
        self.role = iam.Role(place, "Role", assumed_by=iam.ServicePrincipal("glue.amazonaws.com"))
        script = s3_assets.Asset(self, "Script", path=str(assets.script(folder)))
        options = ground.options
        made = glue.CfnJob(
            self,
            "Job",
            name=self.name,
            role=self.role.role_arn,
            command=glue.CfnJob.JobCommandProperty(
                name="glueetl", python_version="3", script_location=script.s3_object_url
            ),
            glue_version=options.glue_version,
            worker_type=options.worker_type,
            number_of_workers=options.workers,
            execution_class=options.execution_class.upper(),
            timeout=round(options.timeout / 60),
            # A run that failed is told of, not tried again behind the back of who follows it.
            max_retries=0,
            execution_property=glue.CfnJob.ExecutionPropertyProperty(max_concurrent_runs=_AT_ONCE),
            connections=_connections(ground.connection),
            default_arguments={**_special(ground), **arguments(given)},
        )
        nag.accept_plain_glue(made)
        self._let_run(script, ground)

    def _let_run(self, script: s3_assets.Asset, ground: JobContext) -> None:
        """Read the code, write logs and metrics, and join a VPC."""
        stack = Stack.of(self)
        files = [
            f"{each.bucket.bucket_arn}/{each.s3_object_key}" for each in (script, ground.package)
        ]
        logs = (
            f"arn:{stack.partition}:logs:{stack.region}:{stack.account}:log-group:/aws-glue/jobs/*"
        )
        self.allow(["s3:GetObject"], files)
        self.allow(["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"], [logs])
        own = {"StringEquals": {"cloudwatch:namespace": "Glue"}}
        self.allow(["cloudwatch:PutMetricData"], ["*"], own)  # it takes no other resource
        if ground.connection:
            self._let_join_network(ground.connection)

    def _let_join_network(self, connection: str) -> None:
        stack = Stack.of(self)
        where = f"arn:{stack.partition}:glue:{stack.region}:{stack.account}"
        self.allow(["glue:GetConnection"], [f"{where}:catalog", f"{where}:connection/{connection}"])
        self.allow(_NETWORK, ["*"])
        network = f"arn:{stack.partition}:ec2:{stack.region}:{stack.account}:network-interface/*"
        self.allow(["ec2:CreateTags", "ec2:DeleteTags"], [network])

    def allow(
        self,
        actions: Sequence[str],
        resources: Sequence[str],
        conditions: Mapping[str, Any] | None = None,
    ) -> None:
        """Give the job a right."""
        for statement in policy_statements.allow(actions, resources, conditions):
            self.role.add_to_policy(statement)
        nag.accept_wildcards(self.role, resources)


_NETWORK: Final = [
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeRouteTables",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcAttribute",
    "ec2:DescribeVpcEndpoints",
]


def package(scope: Construct, assets: Assets, platform: Platform) -> s3_assets.Asset:
    """Our code and what it needs, as one extra Python file."""
    path = assets.package(platform)
    return s3_assets.Asset(
        scope,
        "Package",
        path=str(path),
        asset_hash=path.parent.name,
        asset_hash_type=AssetHashType.CUSTOM,
    )


def conf(stack: Stack, bucket: str, *, metadata: bool) -> str:
    """Return what must be set before Spark starts, as Glue's one argument takes it."""
    spark_options = {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true"}
    if metadata:
        spark_options |= {
            _CATALOG: "org.apache.iceberg.spark.SparkCatalog",
            f"{_CATALOG}.catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog",
            f"{_CATALOG}.glue.id": f"{stack.account}:s3tablescatalog/aws-s3",
            f"{_CATALOG}.warehouse": f"s3://{bucket}/warehouse",  # asked for, and never written to
        }
    return " --conf ".join(f"{key}={value}" for key, value in spark_options.items())


def _special(ground: JobContext) -> dict[str, str]:
    """Return the arguments that are for Glue itself."""
    return {
        "--extra-py-files": ground.package.s3_object_url,
        "--conf": ground.conf,
        "--enable-auto-scaling": "true",
        "--enable-metrics": "true",
        "--enable-observability-metrics": "true",
        # Bookmarks remember the files of a folder. Manifests name other files each time, Iceberg
        # has snapshots, and what was told or sent the jobs remember themselves.
        "--job-bookmark-option": "job-bookmark-disable",
        **({"--datalake-formats": "iceberg"} if ground.options.metadata else {}),
    }


def _connections(name: str) -> glue.CfnJob.ConnectionsListProperty | None:
    return glue.CfnJob.ConnectionsListProperty(connections=[name]) if name else None
