"""The code and the layers of a stack, each made once, and the context that constructs share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aws_cdk import AssetHashType, RemovalPolicy, Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from bucketcast.config.model import Deployment
from bucketcast_cdk.bundling import CLIENT, Bundles, layer_folder
from bucketcast_cdk.platform import Platform

_DESCRIPTIONS: Final = {
    "core": "Bucketcast's own code",
    "shared": "What Bucketcast's functions share",
    "gateway": "What Bucketcast's gateway needs",
}


class Assets(Construct):
    """The code of functions and jobs; the sources themselves where CDK does not bundle."""

    def __init__(self, scope: Construct, construct_id: str, root: Path, platform: Platform) -> None:
        super().__init__(scope, construct_id)
        self.platform = platform
        self._root = root
        self._bundles = Bundles(root, platform) if Stack.of(self).bundling_required else None

    @property
    def lacks_bytecode(self) -> bool:
        return self._bundles is not None and not self._bundles.has_bytecode

    @property
    def runtime(self) -> lambda_.Runtime:
        return lambda_.Runtime(f"python{self.platform.python}", lambda_.RuntimeFamily.PYTHON)

    @property
    def architecture(self) -> lambda_.Architecture:
        arm = self.platform.machine in {"aarch64", "arm64"}
        return lambda_.Architecture.ARM_64 if arm else lambda_.Architecture.X86_64

    def layer(self, name: str) -> list[lambda_.ILayerVersion]:
        """Return a layer (see `Bundles.layer`); none for a client that needs no library."""
        construct_id = name.capitalize()
        existing = self.node.try_find_child(construct_id)
        if isinstance(existing, lambda_.LayerVersion):
            return [existing]
        path = self._bundles.layer(name) if self._bundles else layer_folder(self._root, name)
        if path is None:
            return []
        kind = name.removeprefix(CLIENT)
        layer = lambda_.LayerVersion(
            self,
            construct_id,
            code=self._code(path),
            description=_DESCRIPTIONS.get(name, f"The client of {kind}"),
            compatible_runtimes=[self.runtime],
            compatible_architectures=[self.architecture],
        )
        return [layer]

    def function(self, name: str) -> lambda_.Code:
        """Return a function's own folder."""
        path = self._bundles.function(name) if self._bundles else self._root / "functions" / name
        return self._code(path)

    def package(self, platform: Platform) -> Path:
        """Return the jobs' package: a zip file in a folder named by its content."""
        if self._bundles is None:
            return self._root / "glue_jobs" / "__init__.py"
        return Bundles(self._root, platform).jobs()

    def script(self, folder: str) -> Path:
        """Return the script of a job."""
        return self._root / "glue_jobs" / folder / "job.py"

    def _code(self, path: Path) -> lambda_.Code:
        """Return the code of a bundle, whose name already holds the hash of its content for CDK."""
        file = self._bundles.packed(path) if self._bundles else path
        return lambda_.Code.from_asset(
            str(file), asset_hash=path.name, asset_hash_type=AssetHashType.CUSTOM
        )


@dataclass(frozen=True, slots=True)
class Context:
    """The configuration and the code, for every construct; `local` is for the local AWS."""

    config: Deployment
    assets: Assets
    local: bool

    @property
    def removal_policy(self) -> RemovalPolicy:
        """Return the policy for resources with data when their stack is deleted.

        They outlive the stack, but not the rollback of a failed first deploy: the next deploy would
        find their names in use, and resources with generated names would stay forever.
        """
        return RemovalPolicy.DESTROY if self.local else RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
