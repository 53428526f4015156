"""Files with damaged bytes: fsck tells, or finds nothing where nothing was said, and never fails or writes."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from pawl.runtime.records.errors import StoreError
from pawl.runtime.store.sqlite_look import SqliteLook
from pawl.runtime.upkeep.check import check_store

Damage = Callable[[bytearray, random.Random], None]


def looked_at(path: Path) -> list[str]:
    """What is found; that the file cannot be opened is a finding too."""
    look = SqliteLook(path)
    try:
        look.open()
        return [str(finding) for finding in check_store(look)]
    except StoreError as error:
        return [str(error)]
    finally:
        look.close()


def flip(content: bytearray, chance: random.Random) -> None:
    """One bit somewhere."""
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def garble(content: bytearray, chance: random.Random) -> None:
    """A run of bytes somewhere."""
    at = chance.randrange(len(content))
    content[at : at + chance.randrange(1, 300)] = chance.randbytes(chance.randrange(1, 300))


def wipe(content: bytearray, chance: random.Random) -> None:
    """A page of nothing."""
    page = chance.randrange(len(content) // 8192)
    content[page * 8192 : (page + 1) * 8192] = bytes(8192)


def swap(content: bytearray, chance: random.Random) -> None:
    """A page where another one was."""
    one, two = (chance.randrange(1, len(content) // 8192) for _ in range(2))
    content[one * 8192 : (one + 1) * 8192] = content[two * 8192 : (two + 1) * 8192]


def cut(content: bytearray, chance: random.Random) -> None:
    """The end is missing."""
    del content[chance.randrange(len(content)) :]


def text(content: bytearray, chance: random.Random) -> None:
    """Another letter in a record: the file is as good as before."""
    places = [at for at, byte in enumerate(content) if byte in b"abcdefghijklmnopqrstuvwxyz0123456789"]
    content[chance.choice(places)] = ord("z")


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("damage", [flip, garble, wipe, swap, cut, text])
def test_damaged_bytes_are_told_and_nothing_is_written(whole: Path, tmp_path: Path, damage: Damage, seed: int) -> None:
    content = bytearray(whole.read_bytes())
    damage(content, random.Random(seed))
    path = tmp_path / "a.db"
    path.write_bytes(content)
    told = looked_at(path)
    assert path.read_bytes() == content
    if damage in (wipe, cut):
        assert told


@pytest.mark.parametrize("seed", range(20))
def test_a_log_that_is_damaged_or_gone_is_no_traceback(whole: Path, tmp_path: Path, seed: int) -> None:
    path = Path(shutil.copy(whole, tmp_path / "a.db"))
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("UPDATE owners SET record = json_set(record, '$.data.pid', 0)")
    log = bytearray(path.with_name("a.db-wal").read_bytes())
    other = Path(shutil.copy(path, tmp_path / "b.db"))
    writer.close()
    chance = random.Random(seed)
    chance.choice([flip, garble, cut])(log, chance)
    other.with_name("b.db-wal").write_bytes(log)
    assert len(looked_at(other)) <= 1  # as after the last whole commit


EMPTY = {"nothing": b"", "text": b"all my notes\n" * 1000, "zeros": bytes(65536), "a header": b"SQLite format 3\x00"}


@pytest.mark.parametrize("kind", EMPTY)
def test_a_file_that_is_no_store_is_said_to_be_none(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(EMPTY[kind])
    (said,) = looked_at(path)
    assert "a.db" in said
    assert path.read_bytes() == EMPTY[kind]
    assert sorted(tmp_path.iterdir()) == [path]
