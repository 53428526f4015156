"""`pawl approve`, `reject`, `cancel` and `resolve`, with and without the agent's code."""

from __future__ import annotations

import pytest

from cli.shell import Shell


def test_an_approval_without_code_is_recorded_and_nothing_runs(shell: Shell) -> None:
    name, request = shell.started()

    ran = shell("approve", request, "--json")

    assert ran.code == 0
    assert [receipt["decision"]["verdict"] for receipt in ran.json["receipts"]] == ["approved", "approved"]
    found = shell("show", name, "--json").json
    assert (found["state"], found["on_disk"]["barrier"], found["on_disk"]["phase"]) == (
        "unclaimed",
        "approval",
        "resuming",
    )
    assert {row["attempt"] for row in found["tools"]} == {0}


def test_the_same_decision_again_is_the_same_receipt(shell: Shell) -> None:
    name, request = shell.started()

    first, again, by_name = shell("approve", request), shell("approve", request), shell("approve", name)

    assert (first.code, again.code, by_name.code) == (0, 0, 0)
    assert first.out == again.out == by_name.out
    assert shell("show", name, "--json").json["on_disk"]["revision"] == 3


def test_another_decision_is_refused(shell: Shell) -> None:
    name, request = shell.started()
    shell("approve", request, "--item", "c2")

    ran = shell("reject", request, "--item", "c2")

    assert ran.code == 1
    assert ran.err == "pawl: tool call c2 was already decided (approved); a decision cannot be changed\n"
    assert shell("show", name, "--json").json["rest"]["undecided"] == ["c3"]


def test_an_item_that_the_request_does_not_have_is_told(shell: Shell) -> None:
    name, request = shell.started()

    ran = shell("approve", request, "--item", "c1")

    assert ran.code == 2
    assert "has no item 'c1'; it has c2, c3" in ran.err
    assert shell("show", name, "--json").json["on_disk"]["revision"] == 2


def test_edited_arguments_are_what_runs(shell: Shell) -> None:
    _, request = shell.started()
    assert shell("approve", request, "--item", "c3", "--edit", 'c2={"cents": 400}', "--app", "clerk").code == 0

    said = shell("show", "x", "--json").json

    assert [row["result"] for row in said["tools"]] == ["3", "paid 400 to nobody", "paid 7 to nobody"]


def test_an_edit_without_code_is_recorded_with_a_warning(shell: Shell) -> None:
    name, request = shell.started()

    ran = shell("approve", request, "--edit", 'c2={"cents": 400}')

    assert ran.code == 0
    assert 'c2 pay {"cents":400}' in ran.out
    assert ran.err.startswith("note: the edit was not checked")
    assert shell("show", name, "--json").json["rest"]["undecided"] == ["c3"]


def test_an_edit_that_does_not_fit_the_tool_is_refused_where_its_code_is(shell: Shell) -> None:
    name, request = shell.started()

    ran = shell("approve", request, "--edit", 'c2={"cents": "many"}', "--app", "clerk")

    assert ran.code == 2
    assert "cents" in ran.err.splitlines()[-1]
    assert shell("show", name, "--json").json["on_disk"]["revision"] == 2


@pytest.mark.parametrize("edit", ["c2", "=1", "c2={", "c2=[1]"])
def test_an_edit_that_is_no_call_with_a_json_object_is_misuse(shell: Shell, edit: str) -> None:
    name, request = shell.started()

    ran = shell("approve", request, "--edit", edit)

    assert ran.code == 2
    assert "--edit" in ran.err
    assert shell("show", name, "--json").json["on_disk"]["revision"] == 2


def test_a_rejection_ends_the_run_and_says_why(shell: Shell) -> None:
    _, request = shell.started()

    ran = shell("reject", request, "-m", "too much", "--app", "clerk", "--json")

    assert ran.code == 1
    assert ran.json["rest"] == "rejected"
    assert "too much" in ran.json["reason"]


def test_an_app_from_the_environment_goes_on_here(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    _, request = shell.started()
    monkeypatch.setenv("PAWL_APP", "clerk")

    assert shell("approve", request, "--json").json["rest"] == "completed"


def test_a_run_that_asked_for_no_decision_cannot_be_decided(shell: Shell) -> None:
    name = shell.crashed()

    ran = shell("approve", name)

    assert ran.code == 1
    assert "has asked for no decision" in ran.err


def test_a_cancellation_is_on_record_and_a_host_ends_the_run(shell: Shell) -> None:
    name, _ = shell.started("--id", "r1")

    ran = shell("cancel", name)

    assert ran.code == 0
    assert ran.out.startswith(f"asked to stop  {name}\n")
    assert shell("show", name, "--json").json["on_disk"]["stop"]["reason"] == "cancel"
    assert "stop      cancel asked for at" in shell("show", name).out
    assert shell("run", "clerk", "hello", "--id", "r1").code == 1
    assert shell("show", name, "--json").json["state"] == "cancelled"


def test_a_cancellation_with_code_ends_the_run_here(shell: Shell) -> None:
    name, _ = shell.started()

    ran = shell("cancel", name, "--app", "clerk")

    assert ran.code == 0
    assert f"cancelled  {name}" in ran.out
    again = shell("cancel", name)
    assert (again.code, again.out) == (0, f"cancelled  {name}\n")


def test_what_has_ended_otherwise_cannot_be_cancelled(shell: Shell) -> None:
    name, request = shell.started()
    shell("approve", request, "--app", "clerk")

    ran = shell("cancel", name)

    assert ran.code == 1
    assert ran.err == f"pawl: execution {name} has ended already, completed: there is nothing to cancel\n"


@pytest.mark.parametrize("word", ["not-performed", "not_performed"])
def test_a_call_may_be_resolved_before_anybody_asked(shell: Shell, word: str) -> None:
    """Its process is dead, and no host has looked yet."""
    name = shell.crashed()

    assert shell("resolve", name, "c1", word).code == 0

    assert shell("run", "crasher", "charge it", "--id", "r1").code == 0
    (row,) = shell("show", name, "--json").json["tools"]
    assert (row["attempt"], row["result"]) == (2, "charged 5")


def test_a_resolution_with_code_goes_on_here(shell: Shell) -> None:
    name = shell.crashed()
    assert shell("run", "crasher", "charge it", "--id", "r1").code == 3

    ran = shell("resolve", name, "c1", "failed", "--error", "card expired", "--app", "crasher")

    assert ran.code == 0
    assert "card expired" in ran.out
    assert shell("show", name, "--json").json["tools"][0]["status"] == "failed"


def test_a_resolution_can_be_of_the_revision_that_was_seen(shell: Shell) -> None:
    name = shell.crashed()
    seen = shell("show", name, "--json").json["on_disk"]["revision"]

    ran = shell("resolve", name, "c1", "not-performed", "--revision", str(seen + 1))
    assert (ran.code, f"is at revision {seen}, not {seen + 1}" in ran.err) == (1, True)

    assert shell("resolve", name, "c1", "not-performed", "--revision", str(seen)).code == 0


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("succeeded",), "--result"),
        (("failed",), "--error"),
        (("succeeded", "--result", "x", "--error", "y"), "--error"),
        (("not-performed", "--result", "x"), "--result"),
    ],
)
def test_a_resolution_takes_what_its_outcome_takes(shell: Shell, words: tuple[str, ...], why: str) -> None:
    name, _ = shell.started()

    ran = shell("resolve", name, "c2", *words)

    assert ran.code == 2
    assert why in ran.err


def test_nothing_is_resolved_that_nobody_asks_about(shell: Shell) -> None:
    name, _ = shell.started()

    ran = shell("resolve", name, "c2", "not-performed")

    assert ran.code == 2
    assert "does not wait for an answer about 'c2'" in ran.err
