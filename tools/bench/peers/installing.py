"""The environment of the peers: made once, each library on its own, so that one that fails leaves the others."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

from pawl.tools.bench.peers.pins import OURS, PEERS, Peer

_PATIENCE = 600


class Place:
    """An environment in `folder`; `lacking` names the peers that are not in it, with the reason."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "bin" / "python"
        self.lacking: dict[str, str] = {}
        self._stamps = folder / "installed.json"

    def make(self, tell: Callable[[str], None]) -> None:
        """Make it, or what is missing of it. Raises RuntimeError when not even Pawl can be run there."""
        if not self.python.exists():
            tell(f"making {self.folder} with Python {sys.version.split()[0]}")
            venv.create(self.folder, with_pip=True, clear=True)
        installed = self._installed()
        failed = self._install(installed, "Pawl", OURS, tell)
        if failed is not None:
            raise RuntimeError(f"what Pawl needs could not be installed in {self.folder}: {failed}")
        for peer in PEERS:
            failed = self._install(installed, peer.name, peer.packages, tell) or self._imported(peer)
            if failed is not None:
                self.lacking[peer.name] = failed
                tell(f"{peer.name} is left out: {failed}")

    def _installed(self) -> dict[str, list[str]]:
        try:
            found: dict[str, list[str]] = json.loads(self._stamps.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found

    def _install(
        self, installed: dict[str, list[str]], name: str, packages: tuple[str, ...], tell: Callable[[str], None]
    ) -> str | None:
        """What went wrong, None when nothing did."""
        if installed.get(name) == list(packages):
            return None
        tell(f"installing {' '.join(packages)}")
        failed = self._run("-m", "pip", "install", "-q", "--disable-pip-version-check", *packages)
        if failed is None:
            installed[name] = list(packages)
            self._stamps.write_text(json.dumps(installed), encoding="utf-8")
        return failed

    def _imported(self, peer: Peer) -> str | None:
        return self._run("-c", peer.imports)

    def _run(self, *arguments: str) -> str | None:
        """The last line of what went wrong, None when nothing did."""
        command = [str(self.python), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{type(error).__name__}: {error}"[:200]
        if done.returncode == 0:
            return None
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        return (said[-1] if said else f"exit code {done.returncode}")[:200]
