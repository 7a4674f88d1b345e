"""The data pipeline: its bucket, and its three jobs with their permissions."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from aws_cdk import Acknowledgment, Duration, RemovalPolicy, Stack, Validations
from aws_cdk import aws_glue as glue
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bucketcast.config.pipeline import ANY, PipelineOptions
from bucketcast.state.lease import JOBS
from bucketcast_cdk.assets import Context
from bucketcast_cdk.dynamic_targets import DynamicTargets
from bucketcast_cdk.failures import failures_queue
from bucketcast_cdk.ingest import Ingest
from bucketcast_cdk.outputs import output
from bucketcast_cdk.permissions import (
    OBJECTS,
    RULES,
    allow,
    allow_decryption,
    allow_login,
    allow_secrets,
    arn,
    bucket_arn,
    leading_keys,
)
from bucketcast_cdk.pipeline.jobs import Job, JobSetup, make_package, spark_conf
from bucketcast_cdk.pipeline.scans import Scans
from bucketcast_cdk.platform import glue_platform

_FOLDERS: Final = {"scan": "scanner", "backfill": "backfill", "reconcile": "reconcile"}
_RUN_RETENTION: Final = Duration.days(30)
_ALERT_RETENTION: Final = Duration.days(400)  # more than a year, for scans that are so rare
_UPLOAD_RETENTION: Final = Duration.days(7)


class Pipeline(Construct):
    """The jobs `scan`, `backfill` and `reconcile`; the command and `Scans` start them.

    `queues` are those of the deployed targets; `failures` is the queue of what fails.
    """

    def __init__(  # noqa: PLR0913 - what the jobs read and send to
        self,
        scope: Construct,
        construct_id: str,
        context: Context,
        *,
        options: PipelineOptions,
        ingest: Ingest,
        queues: Sequence[sqs.IQueue],
        dynamic: DynamicTargets,
    ) -> None:
        super().__init__(scope, construct_id)
        self._config = context.config
        self._options = options
        self._bucket = self._make_bucket(context.removal_policy)
        name = self._bucket.bucket_name
        assets, local = context.assets, context.local
        platform = assets.platform if local else glue_platform(options.glue_version)
        setup = JobSetup(
            options,
            make_package(self, assets, platform),
            spark_conf(Stack.of(self), name, options),
            self._make_connection(),
        )
        self._jobs = {
            job: Job(
                self,
                job,
                context,
                folder=_FOLDERS[job],
                setup=setup,
                settings=settings,
            )
            for job, settings in self._settings(ingest).items()
        }
        of_dynamic = [dynamic.queues] if dynamic.queues else []
        self._allow(ingest, [*(queue.queue_arn for queue in queues), *of_dynamic])
        self._allow_reading_mirrors(dynamic.mirror_secrets)
        document: dict[str, Any] = {
            "bucket": name,
            "jobs": {key: job.name for key, job in self._jobs.items()},
            "scans": {key: scan.options for key, scan in self._config.scans.items()},
        }
        output(self, "Pipeline", Stack.of(self).to_json_string(document))
        self.failures = failures_queue(scope, list(document["jobs"].values()))
        scan, runs = self._jobs["scan"].name, f"s3://{name}/runs/scan"
        Scans(scope, "Scans", context, job=scan, runs=runs, dead_letters=self.failures)

    def _settings(self, ingest: Ingest) -> Mapping[str, Mapping[str, str]]:
        """Return the options that the deployment sets, `settings.pipeline.DEPLOYED`, by job."""
        table, state = ingest.table.table_name, f"s3://{self._bucket.bucket_name}/alerts"
        return {
            "scan": {"state": state, "ingress": ingest.queue.queue_url, "table": table},
            "backfill": {"table": table, "timeout": str(round(self._options.timeout))},
            "reconcile": {"table": table},
        }

    def _allow(self, ingest: Ingest, queues: Sequence[str]) -> None:
        for key, job in self._jobs.items():
            self._allow_reading(job)
            self._allow_folder(job, f"runs/{key}")
            allow(job.role, ["dynamodb:Query"], [ingest.table.table_arn], RULES)
        scan, *senders = self._jobs.values()
        self._allow_folder(scan, "alerts")
        allow(scan.role, ["sqs:SendMessage"], [ingest.queue.queue_arn])
        lease = ["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem"]
        for job in (scan, self._jobs["backfill"]):
            allow(job.role, lease, [ingest.table.table_arn], leading_keys(JOBS))
        for job in senders:
            allow(job.role, ["sqs:SendMessage"], queues)
        # Waiting messages may explain differences, so the result has their number.
        allow(self._jobs["reconcile"].role, ["sqs:GetQueueAttributes"], queues)
        for job in self._jobs.values():
            allow_decryption(job.role, self._config.kms_keys, OBJECTS)

    def _allow_reading_mirrors(self, secrets: Sequence[str]) -> None:
        """Allow to log in to deployed mirrors, and to dynamic ones by these secrets."""
        job = self._jobs["reconcile"]
        mirrors = [target for target in self._config.targets if target.is_mirror]
        names = [target.secret_names for target in mirrors]
        allow_secrets(job.role, frozenset().union(*names), self._config.kms_keys)
        for target in mirrors:
            allow_login(job.role, target)
        allow(job.role, ["secretsmanager:GetSecretValue"], secrets)

    def _make_bucket(self, removal_policy: RemovalPolicy) -> s3.Bucket:
        arn = self._config.kms_key
        key = kms.Key.from_key_arn(self, "Key", arn) if arn else None
        return s3.Bucket(
            self,
            "Bucket",
            encryption=s3.BucketEncryption.KMS if key else s3.BucketEncryption.S3_MANAGED,
            encryption_key=key,
            bucket_key_enabled=True if key else None,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            lifecycle_rules=[
                s3.LifecycleRule(abort_incomplete_multipart_upload_after=_UPLOAD_RETENTION),
                s3.LifecycleRule(prefix="runs/", expiration=_RUN_RETENTION),
                # Each scan writes its bucket's anew: old ones are of buckets no longer scanned.
                s3.LifecycleRule(prefix="alerts/", expiration=_ALERT_RETENTION),
            ],
            removal_policy=removal_policy,
        )

    def _make_connection(self) -> str:
        """Return the name of the jobs' connection to a VPC, "" without one.

        The name is a reference, so that CloudFormation makes the connection before the jobs. Ids
        are as configured: synth makes no AWS call.
        """
        options = self._options
        if not options.subnet:
            return ""
        stack = Stack.of(self)
        connection = glue.CfnConnection(
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
        reason = "It is the zone of the configured subnet, and Glue requires both."
        accepted = Acknowledgment(id="CloudFormation-Validate::W3010", reason=reason)
        Validations.of(connection).acknowledge(accepted)
        return connection.ref

    def _allow_reading(self, job: Job) -> None:
        """Allow a job to list the configuration's buckets, and to read what it needs of them."""
        scans, further = self._config.scans, self._options.buckets
        reports = {scan.report[0] for scan in scans.values() if scan.report}
        buckets = _wanted(*self._config.buckets, *scans, *reports, *further)
        objects = [bucket_arn(self, f"{bucket}/*") for bucket in buckets]
        listing = [
            "s3:GetBucketVersioning",
            "s3:GetInventoryConfiguration",
            "s3:ListBucket",
            "s3:ListBucketVersions",
        ]
        if job is self._jobs["scan"]:
            listing.append("s3:ListBucketMultipartUploads")
            allow(job.role, ["s3:ListMultipartUploadParts"], objects)
            objects = [bucket_arn(self, f"{bucket}/*") for bucket in _wanted(*reports, *further)]
        if job is self._jobs["reconcile"]:
            allow(job.role, ["s3:GetObjectTagging"], objects)
        if job is self._jobs["backfill"]:
            allow(job.role, ["s3:GetObjectVersion"], objects)
        allow(job.role, listing, [bucket_arn(self, bucket) for bucket in buckets])
        allow(job.role, ["s3:GetObject"], objects)
        if self._options.metadata:
            _allow_metadata(job)

    def _allow_folder(self, job: Job, folder: str) -> None:
        """Allow a job to read, write and remove its own objects."""
        arn = self._bucket.bucket_arn
        # Without a slash, as Spark asks so too. S3 answers 404 for a missing object only if its key
        # might be listed.
        allow(job.role, ["s3:ListBucket"], [arn], {"StringLike": {"s3:prefix": f"{folder}*"}})
        uploads = ["s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"]
        objects = ["s3:DeleteObject", "s3:GetObject", "s3:PutObject", *uploads]
        allow(job.role, objects, [f"{arn}/{folder}/*"])


def _wanted(*buckets: str) -> list[str]:
    return [ANY] if ANY in buckets else sorted(set(buckets))


def _allow_metadata(job: Job) -> None:
    """Allow a job to use the catalog of S3 Metadata; Lake Formation grants access to the files."""
    catalog = "s3tablescatalog/aws-s3"
    resources = ["catalog", "catalog/s3tablescatalog", f"catalog/{catalog}"]
    resources += [f"database/{catalog}/*", f"table/{catalog}/*/*"]
    allow(
        job.role,
        ["glue:GetCatalog", "glue:GetDatabase", "glue:GetTable"],
        [arn(job, "glue", resource) for resource in resources],
    )
    allow(job.role, ["lakeformation:GetDataAccess"], ["*"])  # it accepts no other
