"""A coverage file says the same for the same counts, adds up, and a wrong one is refused with the place."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pawl.tools.coverage.counts import Counts, CoverageFileError, RowKey, from_data, load, merged, save, to_data

NAMES = st.text(min_size=1, max_size=4)
KEYS = st.builds(
    RowKey, NAMES, st.none() | NAMES, st.none() | NAMES, st.lists(NAMES, max_size=2).map(tuple), st.just(())
)
COUNTS = st.builds(
    Counts,
    NAMES,
    st.none() | st.integers(0, 9),
    st.none() | NAMES,
    st.dictionaries(KEYS, st.integers(0, 5)).map(Counter),
    st.dictionaries(NAMES, st.integers(0, 5)).map(Counter),
)

FILE: dict[str, Any] = {
    "pawl_coverage": 1,
    "machines": [{"machine": "door", "rows": [{"from": "closed", "on": "push", "to": "open", "count": 2}]}],
}


@given(st.lists(COUNTS, max_size=3))
def test_what_is_written_is_read_back(many: list[Counts]) -> None:
    assert from_data(json.loads(json.dumps(to_data(many))), "x") == merged(many)


def test_the_same_counts_are_the_same_bytes_in_any_order(tmp_path: Path) -> None:
    rows = [(RowKey("a", "x", "b"), 1), (RowKey("a", None, None), 2), (RowKey("a", "x", None, ("g",)), 0)]
    one = Counts("m", 1, "h", Counter(dict(rows)))
    other = Counts("m", 1, "h", Counter(dict(reversed(rows))))

    save(tmp_path / "new" / "one.json", [one, Counts("l")])
    save(tmp_path / "other.json", [Counts("l"), other])

    assert (tmp_path / "new" / "one.json").read_bytes() == (tmp_path / "other.json").read_bytes()


def test_counts_of_one_machine_are_added_and_those_of_another_version_kept_apart() -> None:
    key = RowKey("a", "x", "b")

    found = merged([Counts("m", 1, "h", Counter({key: 2})), Counts("m", 1, "h", Counter({key: 3})), Counts("m", 2)])

    assert [(each.version, each.rows[key]) for each in found] == [(1, 5), (2, 0)]


def test_a_file_by_hand_needs_little() -> None:
    (found,) = from_data(FILE, "x")

    assert found == Counts("door", rows=Counter({RowKey("closed", "push", "open"): 2}))


def _with(path: tuple[Any, ...], value: Any) -> Any:
    data = json.loads(json.dumps(FILE))
    place = data
    for key in path[:-1]:
        place = place[key]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return data


ROW = ("machines", 0, "rows", 0)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("pawl_coverage",), 2, "is not a coverage file"),
        (("machines",), ..., "x: machines is missing; write a list"),
        (("machines", 0), "door", 'machines[0] is "door"; write an object'),
        (("machines", 0, "machine"), 3, "machines[0].machine is 3; write a name"),
        (("machines", 0, "version"), "1", 'machines[0].version is "1"; write a whole number'),
        (("machines", 0, "started"), [], "machines[0].started is []; write an object"),
        (("machines", 0, "started"), {"a": -1}, "machines[0].started.a is -1; nothing happens less than 0 times"),
        ((*ROW, "from"), ..., "machines[0].rows[0].from is missing; write a name"),
        ((*ROW, "on"), 1, "machines[0].rows[0].on is 1; write a name"),
        ((*ROW, "when"), "ok", 'machines[0].rows[0].when is "ok"; write a list of names'),
        ((*ROW, "when"), [1], "machines[0].rows[0].when is 1; write a list of names"),
        ((*ROW, "count"), True, "machines[0].rows[0].count is true; write a whole number"),
        ((*ROW, "count"), 1.5, "machines[0].rows[0].count is 1.5; write a whole number"),
        ((*ROW, "count"), -2, "nothing happens less than 0 times"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(path: tuple[Any, ...], value: Any, message: str) -> None:
    with pytest.raises(CoverageFileError) as refused:
        from_data(_with(path, value), "x")

    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "No such file"),
        (b"{", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[]", "is not a coverage file"),
        (b"{}", "is not a coverage file"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, data: bytes | None, message: str) -> None:
    path = tmp_path / "rows.json"
    if data is not None:
        path.write_bytes(data)

    with pytest.raises(CoverageFileError, match=message):
        load(path)
