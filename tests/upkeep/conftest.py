"""A file with every kind of rest in it, made once and copied for every test that damages it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from upkeep.town import built


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Not to be written to."""
    return built(tmp_path_factory.mktemp("town") / "town.db")


@pytest.fixture
def file(whole: Path, tmp_path: Path) -> Path:
    """A copy."""
    return Path(shutil.copy(whole, tmp_path / "a.db"))
