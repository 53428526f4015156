"""Texts become names one to one."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.naming import names
from pawl.tools.compiler.names import folded, is_name, reserved

TEXTS = [
    *("(", ")", "+", "left", "!left", "Left", "LEFT", "on", "On", "off", "a b", "a_b", "a-b", "aB", "état", "状態", ""),
    *("é" * 90, "x" * 90, "x" * 91, "class", "ﬁnal", "final", "1", "__x__", "name", "mro"),
]


@given(st.lists(st.sampled_from(TEXTS) | st.text(max_size=8), max_size=30), st.randoms())
@settings(max_examples=200, deadline=None)
def test_every_text_gets_a_name_of_its_own_in_whatever_order_they_come(texts: list[str], chance: random.Random) -> None:
    found = names(texts, "e")
    assert set(found) == set(texts)
    assert all(is_name(name) and reserved(name) is None for name in found.values())
    assert len({folded(name) for name in found.values()}) == len(found)
    chance.shuffle(texts)
    assert names(texts, "e") == found


def test_what_can_be_read_stays_readable() -> None:
    assert names(["left", "!left", "ClientHello", "Alert(FATAL,X)", "ready"], "e") == {
        "left": "left", "!left": "x21_left", "ClientHello": "client_hello", "Alert(FATAL,X)": "alert_x28_fatal_x_x29",
        "ready": "ready",
    }  # fmt: skip
