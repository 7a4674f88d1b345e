"""The data pipeline: its bucket, its three jobs with what each may do, and when scans start."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from aws_cdk import CfnOutput, Duration, Stack
from aws_cdk import aws_glue as glue
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bucketcast.config import Deployment, PipelineOptions, TargetConfig
from bucketcast.config.pipeline import ANY
from bucketcast_cdk import encryption, iam_logins, jobs, nag, secrets
from bucketcast_cdk.assets import Assets
from bucketcast_cdk.bundling import mirrors
from bucketcast_cdk.ingest import Ingest
from bucketcast_cdk.jobs import Job, JobContext
from bucketcast_cdk.nested_stacks import Nesting
from bucketcast_cdk.platform import glue_platform
from bucketcast_cdk.removal_policy import removal_policy

_FOLDERS: Final = {"scan": "scanner", "backfill": "backfill", "reconcile": "reconcile"}
_KEPT: Final = Duration.days(30)
_ABANDONED: Final = Duration.days(7)


class Pipeline(Construct):
    """The jobs `scan`, `backfill` and `reconcile`; the command starts them, and `Scans`."""

    def __init__(  # noqa: PLR0913 - what the pipeline is made of
        self,
        scope: Construct,
        construct_id: str,
        *,
        options: PipelineOptions,
        config: Deployment,
        ingest: Ingest,
        queues: Sequence[sqs.IQueue],
        assets: Assets,
        nesting: Nesting,
        local: bool,
    ) -> None:
        super().__init__(scope, construct_id)
        self._config = config
        self._options = options
        self.bucket = self._make_bucket(local=local)
        name = self.bucket.bucket_name
        platform = assets.platform if local else glue_platform(options.glue_version)
        ground = JobContext(
            options,
            jobs.package(self, assets, platform),
            jobs.conf(Stack.of(self), name, metadata=bool(options.metadata)),
            self._connection(),
            nesting,
        )
        given = self._given(ingest)
        self.jobs = {
            job: Job(self, job, folder=folder, ground=ground, given=given[job], assets=assets)
            for job, folder in _FOLDERS.items()
        }
        self._allow(ingest, queues)
        document = {"bucket": name, "jobs": {key: job.name for key, job in self.jobs.items()}}
        CfnOutput(self, "Output", value=Stack.of(self).to_json_string(document))

    def _given(self, ingest: Ingest) -> Mapping[str, Mapping[str, str]]:
        """What only the stack knows of each job's options (`bucketcast.settings.jobs.GIVEN`)."""
        rules = ingest.rules.table_name
        sending = {
            "rules": rules,
            "queues": ingest.queue_prefix,
            "fifo": "on" if self._config.sync_events else "off",
        }
        state = f"s3://{self.bucket.bucket_name}/alerts"
        return {
            "scan": {"state": state, "ingress": ingest.queue.queue_url, "rules": rules},
            "backfill": sending,
            "reconcile": {**sending, "targets": _targets_text(self._mirrors())},
        }

    def _allow(self, ingest: Ingest, queues: Sequence[sqs.IQueue]) -> None:
        for key, job in self.jobs.items():
            self._let_read(job)
            self._let_keep(job, f"runs/{key}/*")
            job.allow(["dynamodb:Query"], [ingest.rules.table_arn])
        scan, *senders = self.jobs.values()
        self._let_keep(scan, "alerts/*")
        scan.allow(["sqs:SendMessage"], [ingest.queue.queue_arn])
        if arns := [queue.queue_arn for queue in queues]:
            for job in senders:
                job.allow(["sqs:SendMessage"], arns)
            # What waits may explain differences, so the result says how much it is.
            self.jobs["reconcile"].allow(["sqs:GetQueueAttributes"], arns)
        names = [target.secret_names for target in self._mirrors()]
        keys = self._config.kms_keys
        reader = self.jobs["reconcile"].role
        secrets.let_read(reader, frozenset().union(*names), keys)
        for target in self._mirrors():
            iam_logins.let_log_in(reader, target)
        for job in self.jobs.values():
            encryption.let_decrypt(job.role, keys, encryption.OBJECTS)

    def runs(self, job: str) -> str:
        """Return the folder of a job's runs."""
        return f"s3://{self.bucket.bucket_name}/runs/{job}"

    def _make_bucket(self, *, local: bool) -> s3.Bucket:
        made = s3.Bucket(
            self,
            "Bucket",
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            lifecycle_rules=[
                s3.LifecycleRule(
                    prefix="runs/",
                    expiration=_KEPT,
                    abort_incomplete_multipart_upload_after=_ABANDONED,
                )
            ],
            removal_policy=removal_policy(keep=not local),
        )
        nag.accept_no_access_log(made)
        return made

    def _connection(self) -> str:
        """Return where the jobs run in a VPC; ids are as given, since to look up would need AWS.

        The name is a reference, so that CloudFormation makes the connection before the jobs.
        """
        options = self._options
        if not options.subnet:
            return ""
        stack = Stack.of(self)
        made = glue.CfnConnection(
            self,
            "Connection",
            catalog_id=stack.account,
            connection_input=glue.CfnConnection.ConnectionInputProperty(
                name=f"{stack.stack_name}-pipeline",
                connection_type="NETWORK",
                physical_connection_requirements=glue.CfnConnection.PhysicalConnectionRequirementsProperty(
                    subnet_id=options.subnet,
                    availability_zone=options.availability_zone,
                    security_group_id_list=list(options.security_groups),
                ),
            ),
        )
        nag.accept_availability_zone(made)
        return made.ref

    def _mirrors(self) -> list[TargetConfig]:
        """Return the targets that hold the bucket's content, and no log of its events."""
        kinds = mirrors()
        return [
            target
            for target in self._config.targets
            if target.kind in kinds and target.settings.get("format", "namespace") == "namespace"
        ]

    def _let_read(self, job: Job) -> None:
        """List what the configuration names, and read Inventory's reports."""
        arn = f"arn:{Stack.of(self).partition}:s3:::"
        scans = self._config.scans
        reports = {scan.report[0] for scan in scans.values() if scan.report}
        named = {*self._config.buckets, *scans, *reports, *self._options.buckets}
        read = [ANY] if ANY in named else sorted(named)
        looks = ["s3:GetBucketVersioning", "s3:ListBucket", "s3:ListBucketVersions"]
        job.allow(looks, [f"{arn}{bucket}" for bucket in read])
        job.allow(["s3:GetObject"], [f"{arn}{bucket}/*" for bucket in read])
        if self._options.metadata:
            _let_read_metadata(job)

    def _let_keep(self, job: Job, place: str) -> None:
        """Read, write and remove what is the job's own."""
        arn = self.bucket.bucket_arn
        job.allow(["s3:ListBucket"], [arn])
        job.allow(["s3:DeleteObject", "s3:GetObject", "s3:PutObject"], [f"{arn}/{place}"])


def _targets_text(targets: Iterable[TargetConfig]) -> str:
    """Kind and settings by ARN; settings hold references in the place of secrets."""
    found = {
        str(each.arn): {"kind": each.kind, "settings": dict(each.settings)} for each in targets
    }
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def _let_read_metadata(job: Job) -> None:
    """The catalog of S3 Metadata's tables; their files Lake Formation lends out."""
    stack = Stack.of(job)
    where = f"arn:{stack.partition}:glue:{stack.region}:{stack.account}"
    catalog = "s3tablescatalog/aws-s3"
    resources = ["catalog", "catalog/s3tablescatalog", f"catalog/{catalog}"]
    resources += [f"database/{catalog}/*", f"table/{catalog}/*/*"]
    job.allow(
        ["glue:GetCatalog", "glue:GetDatabase", "glue:GetTable"],
        [f"{where}:{each}" for each in resources],
    )
    job.allow(["lakeformation:GetDataAccess"], ["*"])  # it takes no other
