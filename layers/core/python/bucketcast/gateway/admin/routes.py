"""The routes of the admin calls, for administrators only."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bucketcast import deployment as deployed
from bucketcast.aws.clients import Aws, AwsError
from bucketcast.deployment.health import health
from bucketcast.deployment.stats import TargetStats, target_stats
from bucketcast.dynamic_targets.api import AdminConfig
from bucketcast.errors import BucketcastError
from bucketcast.gateway.admin import metrics, prometheus_token
from bucketcast.gateway.admin.encryption import decrypt, encrypt
from bucketcast.gateway.admin.info import server_info
from bucketcast.topics.aws.metrics import Pubsub, read_pubsub
from bucketcast.web.authentication import AuthenticatedRequest, Authenticator, FindAccount
from bucketcast.web.errors import S3Error

PREFIX: Final = "/minio/admin/v3"
APPLIED: Final = {"x-minio-config-applied": "true"}
"""Keeps `mc` from asking for a restart."""
_BODY_BYTES: Final = 512 * 1024
_SEALING: Final = 2
"""How many bodies are encrypted or decrypted at once: each takes 64 MB."""

_METRICS_SECONDS: Final = 10.0

Written = Callable[[Sequence[TargetStats], str, Pubsub], str]
Work = Callable[[AuthenticatedRequest, str], Awaitable[Response]]


class Admin:
    """The admin calls of one deployment; each call reads `stack` anew."""

    def __init__(self, gate: Authenticator, find: FindAccount, stack: str, aws: Aws) -> None:
        self._gate = gate
        self._find = find
        self._stack = stack
        self._aws = aws
        self._began = time.time()
        self._config = AdminConfig(self._deployment, aws)
        self._sealing = asyncio.Semaphore(_SEALING)
        self._measuring = asyncio.Lock()
        self._measured_until = 0.0
        self._found: tuple[Sequence[TargetStats], Pubsub] = ((), Pubsub())
        # Creating a client is not thread-safe, using one is.
        _ = aws.cloudformation, aws.dynamodb, aws.sqs, aws.functions, aws.mappings
        _ = aws.secretsmanager, aws.cloudwatch

    def routes(self) -> list[BaseRoute]:
        """Return all routes; MinIO's other paths are answered as not implemented."""
        config = self._config
        answers: Mapping[tuple[str, str], Work] = {
            ("GET", "/get-config-kv"): self._shown(
                lambda admitted: config.get(admitted.call.first("key") or "")
            ),
            ("PUT", "/set-config-kv"): self._changed(config.set),
            ("DELETE", "/del-config-kv"): self._changed(config.reset),
            ("GET", "/help-config-kv"): self._help,
            ("GET", "/config"): self._shown(lambda _: config.export()),
            ("PUT", "/config"): self._changed(config.load),
            ("GET", "/info"): self._info,
            ("POST", "/service"): self._service,
        }
        routes: list[BaseRoute] = [
            Route(PREFIX + path, self._route(work), methods=[method])
            for (method, path), work in answers.items()
        ]
        routes += [
            Route("/minio/v2/metrics/cluster", self._measured(metrics.cluster), methods=["GET"]),
            *(
                Route(path, self._measured(metrics.notification), methods=["GET"])
                for path in ("/minio/metrics/v3/notification", "/metrics/v3/notification")
            ),
        ]
        every = ["GET", "PUT", "POST", "DELETE"]
        rest = Route("/minio/admin/{rest:path}", self._route(self._unknown), methods=every)
        return [*routes, rest]

    def _route(self, work: Work) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            admitted = await self._gate.admit(request.scope, request.receive)
            admitted.need_admin()
            account = await self._find(admitted.user.access_key)
            try:
                return await work(admitted, account.secret if account else "")
            except AwsError as error:
                raise S3Error("ServiceUnavailable", str(error)) from error
            except S3Error:
                raise
            except BucketcastError as error:
                raise S3Error("XMinioAdminConfigBadJSON", str(error)) from error

        return answer

    def _measured(self, written: Written) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            authorization = request.headers.get("authorization", "")
            user = await prometheus_token.authenticate(authorization, self._find, datetime.now(UTC))
            if not user.admin:
                raise S3Error("AccessDenied", f"{user.name} is no administrator")
            try:
                found, topics = await self._measures()
            except AwsError as error:
                raise S3Error("ServiceUnavailable", str(error)) from error
            text = written(found, request.headers.get("host", ""), topics)
            return Response(text, media_type="text/plain; version=0.0.4")

        return answer

    async def _measures(self) -> tuple[Sequence[TargetStats], Pubsub]:
        """Return the targets' statistics, cached for as long as in MinIO."""
        async with self._measuring:
            if time.monotonic() > self._measured_until:
                self._found = await asyncio.to_thread(self._measured_now)
                self._measured_until = time.monotonic() + _METRICS_SECONDS
            return self._found

    def _measured_now(self) -> tuple[Sequence[TargetStats], Pubsub]:
        deployment = self._deployment()
        found = target_stats(deployment, self._aws)
        return found, read_pubsub(found, deployment.state_table, self._aws)

    def _deployment(self) -> deployed.Deployed:
        return deployed.find(self._stack, self._aws)

    def _shown(self, text: Callable[[AuthenticatedRequest], str]) -> Work:
        """Return the work of a call that reads a configuration."""

        async def work(admitted: AuthenticatedRequest, secret: str) -> Response:
            shown = await asyncio.to_thread(text, admitted)
            async with self._sealing:
                body = await asyncio.to_thread(encrypt, shown, secret)
            return Response(body, media_type="application/octet-stream")

        return work

    def _changed(self, change: Callable[[str], None]) -> Work:
        """Return the work of a call that changes the configuration by its body."""

        async def work(admitted: AuthenticatedRequest, secret: str) -> Response:
            body = await admitted.body.read(_BODY_BYTES)
            async with self._sealing:
                text = await asyncio.to_thread(decrypt, body, secret)
            await asyncio.to_thread(change, text)
            return Response(headers=APPLIED)

        return work

    async def _help(self, admitted: AuthenticatedRequest, _: str) -> Response:
        names = admitted.call.first("subSys") or "", admitted.call.first("key") or ""
        return _json(self._config.help(*names))

    async def _info(self, admitted: AuthenticatedRequest, _: str) -> Response:
        host = admitted.call.headers.get("host", "")
        uptime = round(time.time() - self._began)

        def info() -> dict[str, Any]:
            deployment = self._deployment()
            every = (*deployment.targets, *deployment.inactive)
            return server_info(every, health(every, self._aws), host, uptime)

        return _json(await asyncio.to_thread(info))

    async def _service(self, admitted: AuthenticatedRequest, _: str) -> Response:
        """Report a restart as done: no change needs one."""
        action = admitted.call.first("action") or ""
        if action != "restart":
            raise S3Error(
                "NotImplemented",
                f"there is no server here that '{action}' could be done to; restart is answered",
            )
        dry = admitted.call.first("dry-run") == "true"
        host = admitted.call.headers.get("host", "")
        return _json({"action": action, "dryRun": dry, "results": [{"host": host}]})

    async def _unknown(self, admitted: AuthenticatedRequest, _: str) -> Response:
        raise S3Error(
            "NotImplemented",
            f"{admitted.call.path} is not among the admin calls that are answered here: config, "
            "info, service restart, prometheus",
        )


def _json(document: Mapping[str, Any]) -> Response:
    return Response(json.dumps(document), media_type="application/json")
