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
from bucketcast.deployment.health import probe_all
from bucketcast.deployment.status import TargetStats, read_statuses, target_stats
from bucketcast.dynamic_targets.api import AdminConfig
from bucketcast.dynamic_targets.kvs import DEFAULT_ID, Line
from bucketcast.errors import BucketcastError, Busy
from bucketcast.gateway.admin import metrics, prometheus_token
from bucketcast.gateway.admin.encryption import decrypt, encrypt
from bucketcast.gateway.admin.info import server_info
from bucketcast.topics.aws.metrics import Pubsub, read_pubsub
from bucketcast.users import User
from bucketcast.web.authentication import (
    AUDITED,
    AuthenticatedRequest,
    Authenticator,
    FindAccount,
)
from bucketcast.web.errors import S3Error
from bucketcast.web.request import RawRequest
from bucketcast.web.threads import in_thread

PREFIX: Final = "/minio/admin/v3"
APPLIED: Final = {"x-minio-config-applied": "true"}
"""Stops `mc` from asking for a restart."""
_LONGEST: Final = 100
"""Characters of a call's name in the audit log."""
_BODY_BYTES: Final = 512 * 1024
_ENCRYPTIONS: Final = 2
"""Bodies encrypted or decrypted at once: each takes 64 MB."""

Work = Callable[[AuthenticatedRequest, str], Awaitable[Response]]


class Admin:
    """The admin calls of one deployment; each call reads `stack` again."""

    def __init__(
        self, authenticator: Authenticator, find: FindAccount, stack: str, aws: Aws
    ) -> None:
        self._authenticator = authenticator
        self._find = find
        self._stack = stack
        self._aws = aws
        self._started = time.time()
        self._config = AdminConfig(self._deployment, aws)
        self._encrypting = asyncio.Semaphore(_ENCRYPTIONS)

    def routes(self) -> list[BaseRoute]:
        """Return all routes; MinIO's other paths are answered as not implemented."""
        config = self._config
        answers: Mapping[tuple[str, str], Work] = {
            ("GET", "/get-config-kv"): self._read_config(
                lambda authenticated: config.get(authenticated.call.first("key") or "")
            ),
            ("PUT", "/set-config-kv"): self._change_config(config.set),
            ("DELETE", "/del-config-kv"): self._change_config(config.reset),
            ("GET", "/help-config-kv"): self._help,
            ("GET", "/config"): self._read_config(lambda _: config.export()),
            ("PUT", "/config"): self._change_config(config.load),
            ("GET", "/info"): self._info,
            ("POST", "/service"): self._service,
        }
        routes: list[BaseRoute] = [
            Route(PREFIX + path, self._route(work), methods=[method])
            for (method, path), work in answers.items()
        ]
        routes.append(Route("/minio/v2/metrics/cluster", self._metrics, methods=["GET"]))
        methods = ["GET", "PUT", "POST", "DELETE"]
        rest = Route("/minio/admin/{rest:path}", self._route(self._refuse_unknown), methods=methods)
        return [*routes, rest]

    def _route(self, work: Work) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            action = f"{request.method} {request.url.path.removeprefix(PREFIX)}"
            request.scope.setdefault(AUDITED, {})["action"] = action[:_LONGEST]
            authenticated = await self._authenticator.authenticate(
                request.scope, request.receive, judge=_require_admin
            )
            authenticated.audited["bucket"] = ""
            await authenticated.confirm()
            account = await self._find(authenticated.access_key)
            try:
                return await work(authenticated, account.secret if account else "")
            except AwsError as error:
                raise S3Error("ServiceUnavailable", str(error)) from error
            except (S3Error, Busy):
                raise
            except BucketcastError as error:
                raise S3Error("XMinioAdminConfigBadJSON", str(error)) from error

        return answer

    async def _metrics(self, request: Request) -> Response:
        authorization = request.headers.get("authorization", "")
        user = await prometheus_token.authenticate(authorization, self._find, datetime.now(UTC))
        _require_admin(user)
        try:
            stats, topics = await asyncio.to_thread(self._read_stats)
        except AwsError as error:
            raise S3Error("ServiceUnavailable", str(error)) from error
        document = metrics.cluster(stats, request.headers.get("host", ""), topics)
        return Response(document, media_type="text/plain; version=0.0.4")

    def _read_stats(self) -> tuple[Sequence[TargetStats], Pubsub]:
        deployment = self._deployment()
        stats = target_stats(deployment, self._aws)
        return stats, read_pubsub(stats, deployment.state_table, self._aws)

    def _deployment(self) -> deployed.Deployed:
        return deployed.find(self._stack, self._aws)

    def _read_config(self, export: Callable[[AuthenticatedRequest], str]) -> Work:
        """Return the work of a call that reads a configuration."""

        async def work(authenticated: AuthenticatedRequest, secret: str) -> Response:
            document = await in_thread(authenticated, export, authenticated)
            async with self._encrypting:
                body = await asyncio.to_thread(encrypt, document, secret)
            return Response(body, media_type="application/octet-stream")

        return work

    def _change_config(self, change: Callable[[str], Sequence[Line]]) -> Work:
        """Return the work of a call that changes the configuration by its body."""

        async def work(authenticated: AuthenticatedRequest, secret: str) -> Response:
            body = await authenticated.body.read(_BODY_BYTES)
            async with self._encrypting:
                settings = await asyncio.to_thread(decrypt, body, secret)
            lines = await in_thread(authenticated, change, settings)
            changed = [f"{line.system}:{line.id or DEFAULT_ID}" for line in lines]
            authenticated.audited["resource"] = ",".join(changed)
            authenticated.audited["changed"] = list({key for line in lines for key in line.values})
            return Response(headers=APPLIED)

        return work

    async def _help(self, authenticated: AuthenticatedRequest, _: str) -> Response:
        names = authenticated.call.first("subSys") or "", authenticated.call.first("key") or ""
        return _json(self._config.help(*names))

    async def _info(self, authenticated: AuthenticatedRequest, _: str) -> Response:
        host = authenticated.call.headers.get("host", "")
        uptime = round(time.time() - self._started)

        def info() -> dict[str, Any]:
            deployment = self._deployment()
            targets = [each for each in deployment.all_targets if not each.is_topic]
            probes, table = probe_all(targets, self._aws), deployment.state_table
            return server_info(read_statuses(targets, probes, table, self._aws)[0], host, uptime)

        return _json(await asyncio.to_thread(info))

    async def _service(self, authenticated: AuthenticatedRequest, _: str) -> Response:
        """Report a restart as done: no change needs one."""
        action = authenticated.call.first("action") or ""
        if action != "restart":
            raise S3Error(
                "NotImplemented",
                f"there is no server here that '{action}' could be done to; restart is answered",
            )
        is_dry_run = authenticated.call.first("dry-run") == "true"
        host = authenticated.call.headers.get("host", "")
        return _json({"action": action, "dryRun": is_dry_run, "results": [{"host": host}]})

    async def _refuse_unknown(self, authenticated: AuthenticatedRequest, _: str) -> Response:
        raise S3Error(
            "NotImplemented",
            f"{authenticated.call.path} is not among the admin calls that are answered here: "
            "config, info, service restart, prometheus",
        )


def _require_admin(user: User, _: RawRequest | None = None) -> None:
    if not user.admin:
        raise S3Error("AccessDenied", f"{user.name} is not an administrator")


def _json(document: Mapping[str, Any]) -> Response:
    return Response(json.dumps(document), media_type="application/json")
