"""A diagram shows each state once and every row somewhere, and stays readable when many states share a way out."""

from __future__ import annotations

from compiler.by_hand import event, machine, order, row, state
from compiler.golden import model_of
from pawl.runtime.fsm.table import Kind
from pawl.tools.compiler.picture import MANY, Edge, picture


def test_rows_between_the_same_states_are_one_edge_with_a_line_for_each_condition() -> None:
    model = machine(
        [state("a"), state("b")],
        [event("x"), event("y"), event("z")],
        [
            row("a", "x", "b", when=("ok", "sure")),
            row("a", "y", "b", when=("ok", "sure")),
            row("a", "z", "b", unless=("ok",), do=("note", "tell")),
        ],
    )

    assert picture(model).edges == (Edge("a", "b", ("x, y [ok, sure]", "z [not ok] / note, tell")),)


def test_automatic_rows_are_an_edge_of_their_own() -> None:
    model = machine(
        [state("a", Kind.AUTO), state("b")], [event("x")], [row("a", "x", "b"), row("a", None, "b", when=("ok",))]
    )

    assert picture(model).edges == (Edge("a", "b", ("x",)), Edge("a", "b", ("[ok]",), automatic=True))


def test_a_whole_group_of_events_is_written_by_its_name() -> None:
    edges = picture(order()).edges

    assert Edge("cart", "cancelled", ("STOP",), quiet=True) in edges
    assert Edge("paying", "cancelled", ("payment_late, STOP",)) in edges


def test_rows_that_stay_and_entry_actions_are_small_print_of_the_state() -> None:
    nodes = {node.name: node for node in picture(order()).nodes}

    assert nodes["cart"].lines == ("add / put",)
    assert nodes["paying"].lines == ("enter / ask_payment", "after payment_timeout: payment_late")
    assert nodes["packing"].title == "Packing | boxing"
    assert not [edge for edge in picture(order()).edges if edge.source == edge.target]


def test_a_row_from_a_state_to_itself_is_a_loop() -> None:
    model = machine([state("a")], [event("x")], [row("a", "x", "a")])

    assert picture(model).edges == (Edge("a", "a", ("x",)),)


def test_what_many_states_share_is_drawn_once_from_a_note() -> None:
    names = [f"s{index}" for index in range(MANY)]
    model = machine(
        [*(state(name) for name in names), state("end")],
        [event("stop"), event("x")],
        [*(row(name, "stop", "end") for name in names), row("s0", "x", "end")],
    )

    shown = picture(model)

    assert shown.edges == (Edge("s0", "end", ("x",)),)
    assert [(note.target, note.moves) for note in shown.shared] == [("end", ((("stop",), tuple(names)),))]


def test_fewer_than_many_keep_their_own_arrows() -> None:
    names = [f"s{index}" for index in range(MANY - 1)]
    model = machine(
        [*(state(name) for name in names), state("end")], [event("x")], [row(name, "x", "end") for name in names]
    )

    assert len(picture(model).edges) == MANY - 1
    assert picture(model).shared == ()


def test_a_barrier_is_one_node_with_a_badge_until_it_is_expanded() -> None:
    model = model_of("booking")

    folded, expanded = picture(model), picture(model, expand=True)

    assert "reserving.committing" not in {node.name for node in folded.nodes}
    assert {node.barrier for node in folded.nodes if node.name == "reserving"} == {"reservation"}
    assert Edge("asked", "reserving", ("book",)) in folded.edges
    assert {node.inside for node in expanded.nodes if node.name == "reserving.committing"} == {"reserving"}
    assert {"reserving.committing", "reserving.retrying"} <= {edge.source for edge in expanded.edges}


def test_the_ways_out_of_a_folded_barrier_say_why_it_is_left_and_are_quiet() -> None:
    ways = {edge.target: edge for edge in picture(model_of("booking")).edges if edge.source == "reserving"}

    assert ways["refused"].lines == ("refused",)
    assert ways["refused"].quiet
    assert ways["taken_over"].quiet
    assert ways["broken"].lines == ("read_conflict",)
    assert ways["recording"].lines == ("seat_taken / note_seat",)
    assert not ways["recording"].quiet


def test_a_row_written_for_the_inside_of_a_barrier_is_shown_as_written() -> None:
    edges = picture(model_of("booking")).edges

    assert Edge("recording", "booked", ("refused [known_already]",)) in edges
