"""Code and layers as CDK takes them, each made once a stack and shared by the functions."""

from pathlib import Path

from aws_cdk import AssetHashType, Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from bucketcast_cdk import sources
from bucketcast_cdk.bundling import Bundles
from bucketcast_cdk.platform import Platform


class Assets(Construct):
    """What the functions carry; where CDK is told not to bundle, sources stand in for bundles."""

    def __init__(self, scope: Construct, construct_id: str, root: Path, platform: Platform) -> None:
        super().__init__(scope, construct_id)
        self.platform = platform
        self._root = root
        self._bundles = Bundles(root, platform) if Stack.of(self).bundling_required else None

    @property
    def lacks_bytecode(self) -> bool:
        return self._bundles is not None and not self._bundles.has_bytecode

    def shared(self) -> list[lambda_.ILayerVersion]:
        """Return the layers that most functions have: our code, and the libraries it needs."""
        return [self.core(), self.runtime()]

    def core(self) -> lambda_.ILayerVersion:
        """Return the layer of first-party code."""
        made = self._made("Core")
        if made:
            return made
        path = self._bundles.core() if self._bundles else sources.package(self._root)
        return self._layer("Core", path, "Bucketcast's own code")

    def runtime(self) -> lambda_.ILayerVersion:
        """Return the layer of what ingest and dispatch share."""
        return self._needed("Runtime", "What Bucketcast's functions share")

    def gateway(self) -> lambda_.ILayerVersion:
        """Return the layer of what the control plane alone needs."""
        return self._needed("Gateway", "What Bucketcast's gateway needs")

    def client(self, kind: str) -> list[lambda_.ILayerVersion]:
        """Return the layer of one kind's client; none when the kind needs no library."""
        source = self._root / "layers" / "clients" / kind
        made = self._packages(f"Client-{kind}", f"client-{kind}", source, f"The client of {kind}")
        return [made] if made else []

    def function(self, name: str) -> lambda_.Code:
        """Return a function's own folder."""
        path = self._bundles.function(name) if self._bundles else self._root / "functions" / name
        return _code(path)

    def package(self, platform: Platform) -> Path:
        """Return what a job carries: a zip file in a folder named by its content."""
        if self._bundles is None:
            return self._root / "glue_jobs" / "__init__.py"
        return Bundles(self._root, platform).jobs()

    def script(self, folder: str) -> Path:
        """Return the script of a job."""
        return self._root / "glue_jobs" / folder / "job.py"

    def _needed(self, construct_id: str, description: str) -> lambda_.ILayerVersion:
        label = construct_id.lower()
        source = self._root / "layers" / label
        layer = self._packages(construct_id, label, source, description)
        if layer is None:
            raise RuntimeError(f"{source}/requirements.txt names no package")
        return layer

    def _packages(
        self, construct_id: str, label: str, source: Path, description: str
    ) -> lambda_.ILayerVersion | None:
        made = self._made(construct_id)
        if made:
            return made
        path: Path | None = source
        if self._bundles:
            path = self._bundles.packages(label, source / "requirements.txt")
        return self._layer(construct_id, path, description) if path else None

    def _made(self, construct_id: str) -> lambda_.ILayerVersion | None:
        found = self.node.try_find_child(construct_id)
        return found if isinstance(found, lambda_.LayerVersion) else None

    def _layer(self, construct_id: str, path: Path, description: str) -> lambda_.ILayerVersion:
        return lambda_.LayerVersion(
            self,
            construct_id,
            code=_code(path),
            description=description,
            compatible_runtimes=[self.platform.runtime],
            compatible_architectures=[self.platform.architecture],
        )


def _code(path: Path) -> lambda_.Code:
    """The bundle's name already holds a hash of its content, so CDK need not read it again."""
    return lambda_.Code.from_asset(
        str(path), asset_hash=path.name, asset_hash_type=AssetHashType.CUSTOM
    )
