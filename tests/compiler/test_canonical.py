from __future__ import annotations

import pytest

from compiler.specs import DOOR, WRITER, edited
from pawl.tools.compiler.compile import compile_text


def hash_of(text: str) -> str:
    (machine,) = compile_text(text).machines
    return machine.spec_hash


def test_a_hash_is_sha_256_in_hex() -> None:
    assert len(hash_of(DOOR)) == 64
    assert int(hash_of(DOOR), 16) > 0


@pytest.mark.parametrize(
    "changes",
    [
        [("states:", "# a comment\n\nstates:   # another")],
        [("{from: closed, on: push, to: open}", "{  to: open,   on: push,\n     from: closed }")],
        [("  - {from: closed, on: push, to: open}", "  - from: closed\n    on: push\n    to: open")],
        [("machine: door\nversion: 1", "version: 1\nmachine: door")],
        [("  closed: {initial: true}\n  open: {}\n", "  open: {}\n  closed: {initial: true}\n")],
        [("{push: {}, pull: {}", "{pull: {}, push: {}")],
        [("machine: door", "machine: 'door'"), ("on: push", 'on: "push"')],
        [("on: push", "on: [push]")],
        [("open: {}", "open: {auto: false}")],
        [("open: {}", "open: {doc: Wide., label: Open}"), ("push: {}", "push: {doc: By hand.}")],
        [("machine: door\n", "machine: door\ndoc: A door.\n"), ("to: open}", "to: open, doc: Easy.}")],
        [("unhandled:", "checks: {W15: off}\nunhandled:")],
        [("unhandled:", "migrations: [{from: 123456789abc, version: 7, compatible: true}]\nunhandled:")],
    ],
)
def test_how_a_spec_was_typed_does_not_change_its_hash(changes: list[tuple[str, str]]) -> None:
    changed = edited(DOOR, *changes)
    assert changed != DOOR
    assert hash_of(changed) == hash_of(DOOR)


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_endings_do_not_change_the_hash(end: str) -> None:
    assert hash_of(DOOR.replace("\n", end)) == hash_of(DOOR)
    assert hash_of("\ufeff" + DOOR) == hash_of(DOOR)


PULL = "  - {from: open, on: pull, to: closed}\n"
TWO = PULL + "  - {from: open, on: demolish, to: gone, when: a}\n  - {from: open, on: demolish, to: closed, when: b}\n"


@pytest.mark.parametrize(
    "changes",
    [
        [("version: 1", "version: 2")],
        [("machine: door", "machine: gate")],
        [("on: pull, to: closed", "on: pull, to: gone")],
        [("on: pull, to: closed", "on: pull")],
        [("on: push, to: open", "on: push, to: open, do: [ring]")],
        [("open: {}", "open: {enter: [ring]}")],
        [("open: {}", "open: {wait: true}"), ("demolish", "cancel")],
        [("gone: {final: true}", "gone: {final: true, outcome: rubble}")],
        [("push: {}", 'push: {payload: "a:B"}')],
        [("push: {}", "push: {authority: [session]}")],
        [("[push, pull]", "[push], stale: [pull]")],
        [("unhandled:", "error: gone\nunhandled:")],
    ],
)
def test_what_a_machine_does_changes_its_hash(changes: list[tuple[str, str]]) -> None:
    assert hash_of(edited(DOOR, *changes)) != hash_of(DOOR)


def test_the_order_of_rows_changes_the_hash() -> None:
    first, second = TWO.splitlines(keepends=True)[1:]
    swapped = PULL + second + first
    assert hash_of(edited(DOOR, (PULL, TWO))) != hash_of(edited(DOOR, (PULL, swapped)))


def test_where_a_spec_lies_does_not_change_its_hash() -> None:
    assert compile_text(DOOR, "a.yaml").machines[0].spec_hash == compile_text(DOOR, "b.yaml").machines[0].spec_hash


def test_the_barrier_protocol_is_part_of_the_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import resources

    from pawl.tools.compiler import compile as front
    from pawl.tools.compiler.installed import read_protocol

    text = (resources.files("pawl") / "fsm_specs" / "barrier.yaml").read_text(encoding="utf-8")
    before = hash_of(WRITER), hash_of(DOOR)
    other = read_protocol(
        edited(
            text,
            (
                "  - {from: committing, on: uncertain, to: reconciling}",
                "  - {from: committing, on: uncertain, to: rereading}",
            ),
        ),
        "barrier.yaml",
    )
    monkeypatch.setattr(front, "protocol", lambda: other)
    assert hash_of(WRITER) != before[0]
    assert hash_of(DOOR) == before[1]
