"""Which arguments may be marked as secret, by path or by type, and where they are found."""

from __future__ import annotations

from typing import Annotated, Any

import attrs
import pytest

from pawl import InvalidArguments, Secret, tool

CARD = "4111222233334444"


@attrs.frozen
class Address:
    street: str
    zip: Annotated[str, Secret]


def nested(items: list[Address], extra: dict[str, str], either: Address | int, pair: tuple[Address, int]) -> None: ...


@pytest.mark.parametrize(
    ("paths", "value", "places"),
    [
        ([], {"items": [{"street": "a", "zip": "1"}]}, ("/items/0/zip", "/either/zip", "/pair/0/zip")),
        (["items"], {}, ("/items", "/either/zip", "/pair/0/zip")),
        (["items.street"], {}, ("/items/0/street", "/items/0/zip", "/either/zip", "/pair/0/zip")),
        (["items[].street"], {}, ("/items/0/street", "/items/0/zip", "/either/zip", "/pair/0/zip")),
        (["extra.*"], {}, ("/items/0/zip", "/extra/a", "/extra/b~1c", "/either/zip", "/pair/0/zip")),
        (["either"], {}, ("/items/0/zip", "/either", "/pair/0/zip")),
        (["either.street"], {"either": 5}, ("/items/0/zip", "/pair/0/zip")),
    ],
)
def test_a_path_leads_through_lists_dicts_unions_and_tuples(
    paths: list[str], value: dict[str, Any], places: tuple[str, ...]
) -> None:
    one = {"street": "a", "zip": "1"}
    given = {"items": [one], "extra": {"a": "1", "b/c": "2"}, "either": one, "pair": [one, 1], **value}
    made = tool(redact=paths)(nested)
    assert made.redacted(made.parameters.validate_value(given)) == places


@pytest.mark.parametrize(
    ("paths", "says"),
    [
        (
            ["itmes"],
            "tool nested: redact='itmes' leads nowhere: there is no 'itmes'; did you mean items? known are",
        ),
        (["items.zap"], "leads nowhere: there is no 'zap'; did you mean zip?"),
        (["extra.a"], "leads nowhere: an object has no part 'a'"),
        (["either.a"], "leads nowhere: there is no 'a'"),
        (["items.street.a"], "leads nowhere: text has no part 'a'"),
        ([5], "redact has 5, and a path is text"),
        ("items", "redact='items' must be a list of paths"),
        (5, "redact=5 must be a list of paths"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused_with_advice(paths: Any, says: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        tool(redact=paths)(nested)
    assert says in str(caught.value)


def test_a_secret_inside_a_set_hides_the_set() -> None:
    @tool
    def look(pins: frozenset[Annotated[str, Secret]]) -> None: ...

    assert look.redacted(look.validate('{"pins": ["1", "1", "2"]}')) == ("/pins",)


def test_a_secret_in_a_type_that_contains_itself_is_found_at_any_depth() -> None:
    @tool
    def look(of: Chain) -> None: ...

    given = look.validate('{"of": {"key": "a", "next": {"key": "b"}}}')
    assert look.redacted(given) == ("/of/key", "/of/next/key")
    with pytest.raises(InvalidArguments, match=r"mark its field: Annotated\[…, Secret\]"):
        tool(name="look", redact=["of.next.key"])(look.function)


@attrs.frozen
class Chain:
    key: Annotated[str, Secret()]
    next: Chain | None = None


def test_words_of_a_class_that_refuses_a_secret_are_not_repeated() -> None:
    @attrs.frozen
    class Card:
        number: Annotated[str, Secret]

        def __attrs_post_init__(self) -> None:
            raise ValueError(f"{self.number} is no card")

    @tool
    def look(card: Card) -> None: ...

    with pytest.raises(InvalidArguments) as caught:
        look.validate(f'{{"card": {{"number": "{CARD}"}}}}')
    assert str(caught.value) == "invalid arguments for look: card: not accepted (ValueError)"
    error: BaseException | None = caught.value
    while error is not None:
        assert CARD not in str(error)
        error = error.__context__
