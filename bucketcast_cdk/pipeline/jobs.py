"""A Glue job: its script, its arguments, its workers and a role of its own."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from aws_cdk import AssetHashType, Stack
from aws_cdk import aws_glue as glue
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from bucketcast.config.pipeline import PipelineOptions
from bucketcast.settings.pipeline import arguments
from bucketcast_cdk.assets import Assets, Context
from bucketcast_cdk.permissions import allow, arn
from bucketcast_cdk.platform import Platform

_METADATA: Final = "spark.sql.catalog.s3md"
_CORES_PER_UNIT: Final = 4
_MAX_RUNS: Final = 200  # of one job at a time, each for another bucket or target


class JobSetup(NamedTuple):
    """The setup that all jobs share; `connection` is a reference to a Glue connection, or ""."""

    options: PipelineOptions
    package: s3_assets.Asset
    conf: str
    connection: str


class Job(Construct):
    """One job, called `<stack>-<id>`, which runs `glue_jobs/<folder>/job.py`."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        context: Context,
        *,
        folder: str,
        setup: JobSetup,
        settings: Mapping[str, str],
    ) -> None:
        super().__init__(scope, construct_id)
        self.name = f"{Stack.of(self).stack_name}-{construct_id}"
        # AWS documents aws:SourceAccount for Scheduler, but not for Glue: if Glue does not send it,
        # a condition on it would keep every job from its role.
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("glue.amazonaws.com"))
        script = s3_assets.Asset(self, "Script", path=str(context.assets.script(folder)))
        options = setup.options
        glue.CfnJob(
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
            # A failed run is reported, and not retried: the command may be following it.
            max_retries=0,
            # S3 delivers an account's reports at about the same time: runs beyond a quota wait.
            job_run_queuing_enabled=True,
            execution_property=glue.CfnJob.ExecutionPropertyProperty(max_concurrent_runs=_MAX_RUNS),
            connections=glue.CfnJob.ConnectionsListProperty(connections=[setup.connection])
            if setup.connection
            else None,
            default_arguments={**_glue_arguments(setup), **arguments(settings)},
        )
        self._allow_running(script, setup)

    def _allow_running(self, script: s3_assets.Asset, setup: JobSetup) -> None:
        """Allow the job to read its code, to write logs and metrics, and to join a VPC."""
        assets = (script, setup.package)
        files = [f"{asset.bucket.bucket_arn}/{asset.s3_object_key}" for asset in assets]
        logs = arn(self, "logs", "log-group:/aws-glue/jobs/*")
        allow(self.role, ["s3:GetObject"], files)
        allow(
            self.role, ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"], [logs]
        )
        own = {"StringEquals": {"cloudwatch:namespace": "Glue"}}
        allow(self.role, ["cloudwatch:PutMetricData"], ["*"], own)  # it accepts no other resource
        if setup.connection:
            self._allow_network(setup.connection)

    def _allow_network(self, connection: str) -> None:
        resources = [arn(self, "glue", name) for name in ("catalog", f"connection/{connection}")]
        allow(self.role, ["glue:GetConnection"], resources)
        allow(self.role, _NETWORK, ["*"])
        interfaces = arn(self, "ec2", "network-interface/*")
        allow(self.role, ["ec2:CreateTags", "ec2:DeleteTags"], [interfaces])


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


def make_package(scope: Construct, assets: Assets, platform: Platform) -> s3_assets.Asset:
    """Return the asset of our code with its dependencies, one extra Python file."""
    path = assets.package(platform)
    return s3_assets.Asset(
        scope,
        "Package",
        path=str(path),
        asset_hash=path.parent.name,
        asset_hash_type=AssetHashType.CUSTOM,
    )


def spark_conf(stack: Stack, bucket: str, options: PipelineOptions) -> str:
    """Return the settings needed before Spark starts, in the form of Glue's one argument."""
    cores = _CORES_PER_UNIT * int(options.worker_type[2:-1])  # of "G.1X"
    spark_options = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        # For each column, PySpark 4 asks Java ten times to note which line of Python made it.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        # One worker is the driver. By default Spark splits work for the workers that it has when
        # the job asks, and Glue begins with few.
        "spark.default.parallelism": str((options.workers - 1) * cores),
    }
    if options.metadata:
        spark_options |= {
            _METADATA: "org.apache.iceberg.spark.SparkCatalog",
            f"{_METADATA}.catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog",
            # The place of new tables is required, but never written to.
            f"{_METADATA}.warehouse": f"s3://{bucket}/warehouse",
            f"{_METADATA}.glue.id": f"{stack.account}:s3tablescatalog/aws-s3",
        }
    return " --conf ".join(f"{key}={value}" for key, value in spark_options.items())


def _glue_arguments(setup: JobSetup) -> dict[str, str]:
    """Return the arguments for Glue itself."""
    return {
        "--extra-py-files": setup.package.s3_object_url,
        "--conf": setup.conf,
        "--enable-auto-scaling": "true",
        "--enable-metrics": "true",
        "--enable-observability-metrics": "true",
        # Bookmarks remember the files of a folder. But manifests name other files each time,
        # Iceberg has snapshots, and the jobs store their own progress.
        "--job-bookmark-option": "job-bookmark-disable",
        "--datalake-formats": "iceberg",
    }
