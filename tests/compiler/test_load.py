from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from pawl.tools.compiler import load as loading
from pawl.tools.compiler.build import MAX_DEPTH
from pawl.tools.compiler.compile import compile_text
from pawl.tools.compiler.load import MAX_BYTES, load, load_bytes, load_text
from pawl.tools.compiler.nodes import Mapping, Node, Scalar, Sequence

PARSERS = [yaml.SafeLoader] + ([yaml.CSafeLoader] if hasattr(yaml, "CSafeLoader") else [])


@pytest.fixture(params=PARSERS, ids=lambda parser: parser.__name__)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> type:
    monkeypatch.setattr(loading, "_LOADER", request.param)
    return request.param  # type: ignore[no-any-return]


def plain(node: Node | None) -> object:
    match node:
        case Scalar():
            return node.text
        case Sequence():
            return [plain(item) for item in node.items]
        case Mapping():
            return {key.text: plain(value) for key, value in node.entries}
    return None


def rules(text: str | bytes) -> list[str]:
    data = text if isinstance(text, bytes) else text.encode()
    return [f"{f.rule} {f.position.line}:{f.position.column}" for f in load_bytes(data, "spec.yaml").findings]


@pytest.mark.parametrize(
    "word",
    ["on", "no", "yes", "off", "y", "true", "null", "~", "12:30", "12:30:45", "1e3", "010", "0x1f", "1_000", ".inf",
     "2024-01-01", "2024-01-01T10:00:00Z", "=", "NaN", "-1", "+1.5"],
)  # fmt: skip
def test_what_yaml_would_make_a_value_of_stays_the_text_that_was_written(parser: type, word: str) -> None:
    document = load_text(f"{word}: [{word}, {word}]\n", "spec.yaml")
    assert plain(document.root) == {word: [word, word]}
    assert document.findings == ()


def test_every_node_knows_its_line_and_column(parser: type) -> None:
    root = load_text("a:\n  b: [x,  yy]\nß: {c: d}\n", "spec.yaml").root
    assert root is not None
    places = {}

    def walk(node: Node) -> None:
        match node:
            case Scalar():
                places[node.text] = (node.at.line, node.at.column)
            case Sequence():
                for item in node.items:
                    walk(item)
            case Mapping():
                for key, value in node.entries:
                    walk(key)
                    walk(value)

    walk(root)
    assert places == {
        "a": (1, 1), "b": (2, 3), "x": (2, 7), "yy": (2, 11), "ß": (3, 1), "c": (3, 5), "d": (3, 8),
    }  # fmt: skip


def test_columns_count_characters_and_not_bytes(parser: type) -> None:
    assert rules("ä: {ö: &x y}\n") == ["Y07 1:8"]


def test_a_byte_order_mark_at_the_start_is_no_part_of_the_text(parser: type) -> None:
    assert plain(load_bytes(b"\xef\xbb\xbfpawl: 1\n", "x").root) == {"pawl": "1"}
    assert plain(load_text("\ufeffpawl: 1\n", "x").root) == {"pawl": "1"}
    assert rules("pawl: \ufeff1\n") == ["Y04 1:7"]


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_endings_of_other_systems_change_neither_text_nor_places(parser: type, end: str) -> None:
    text = "pawl: 1\ndoc: |\n  one\n  two\nx: &y z\n"
    assert load_text(text.replace("\n", end), "x") == load_text(text, "x")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_encodings_are_refused_with_a_place(parser: type, encoding: str) -> None:
    (finding,) = load_bytes("pawl: 1\n".encode(encoding), "x").findings
    assert finding.rule in ("Y02", "Y04")
    assert finding.position.line == 1


def test_a_byte_that_is_not_utf8_is_found_where_it_stands() -> None:
    assert rules(b"a: b\r\nc: \xe4\xff") == ["Y02 2:4"]


@pytest.mark.parametrize("bad", ["\0", "\x07", "\x1b", "\x7f", "\x85", "\u2028", "\u2029", "\ufffe", "\t"])
def test_characters_that_editors_hide_are_refused_where_they_stand(parser: type, bad: str) -> None:
    assert rules(f"a: b\nc: x{bad}y\n") == ["Y04 2:5"]


@pytest.mark.parametrize("escape", ["\\0", "\\a", "\\t", "\\r", "\\e", "\\x1f", "\\N", "\\u0085"])
def test_an_escape_cannot_bring_in_a_control_character(parser: type, escape: str) -> None:
    assert rules(f'a: "x{escape}y"\n') == ["Y04 1:4"]


@pytest.mark.parametrize("escape", ["\\ud800", "\\UFFFFFFFF", "\\U00110000"])
def test_an_escape_cannot_bring_in_what_is_no_character(parser: type, escape: str) -> None:
    assert [rule[:3] for rule in rules(f'a: "{escape}"\n')] in (["Y04"], ["Y05"])


def test_text_may_hold_quotes_backslashes_and_newlines(parser: type) -> None:
    text = 'doc: |\n  """ \'\'\' \\ {{ x }} # ` ${y} é 猫 🐈\n  second\nlabel: "a\\n\\"b\\\\"\n'
    assert plain(load_text(text, "x").root) == {
        "doc": "\"\"\" ''' \\ {{ x }} # ` ${y} é 猫 🐈\nsecond\n",
        "label": 'a\n"b\\',
    }


def test_lone_surrogates_in_a_text_are_a_finding_and_no_crash() -> None:
    assert [f.rule for f in compile_text("pawl: 1\ndoc: \ud800\n").findings] == ["Y04"]


@pytest.mark.parametrize("opening", ["[", "{", "- ", "? ", "{a: ", "[[],"])
def test_nesting_is_refused_long_before_anything_recurses(parser: type, opening: str) -> None:
    found = rules("a: " * opening.startswith(("[", "{")) + opening * 100_000)
    assert [rule[:3] for rule in found] == ["Y09"]


def test_nesting_up_to_the_limit_is_read(parser: type) -> None:
    inside = MAX_DEPTH - 1
    assert rules("a: " + "[" * inside + "]" * inside) == []
    assert [rule[:3] for rule in rules("a: " + "[" * MAX_DEPTH + "]" * MAX_DEPTH)] == ["Y09"]


def test_block_nesting_is_bounded_too(parser: type) -> None:
    deep = "".join(f"{' ' * level}a:\n" for level in range(500))
    assert [rule[:3] for rule in rules(deep)] == ["Y09"]


def test_a_file_over_the_limit_is_refused_and_one_below_is_read(tmp_path: Path) -> None:
    small, large = tmp_path / "small.yaml", tmp_path / "large.yaml"
    small.write_bytes(b"a: " + b"x" * (MAX_BYTES - 3))
    large.write_bytes(b"a: " + b"x" * (MAX_BYTES - 2))
    assert load(small).findings == ()
    assert [f.rule for f in load(large).findings] == ["Y03"]


def test_no_alias_is_followed(parser: type) -> None:
    bomb = "a: &a [x, x]\n" + "".join(f"k{n}: [*a, *a]\n" for n in range(50))
    document = load_text(bomb, "x")
    assert {finding.rule for finding in document.findings} == {"Y07"}
    assert len(document.findings) == 101


def test_every_duplicate_key_is_reported_and_the_first_one_counts(parser: type) -> None:
    document = load_text("a: 1\nb: 2\na: 3\nb: 4\n", "x")
    assert [f.rule for f in document.findings] == ["E02", "E02"]
    assert plain(document.root) == {"a": "1", "b": "2"}


def test_a_quoted_key_is_the_same_key(parser: type) -> None:
    assert rules("a: 1\n'a': 2\n") == ["E02 2:1"]


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "---\n", "---\n...\n", "\ufeff", "''"])
def test_a_file_without_content_is_a_finding(parser: type, text: str) -> None:
    assert [rule[:3] for rule in rules(text)] in (["Y06"], ["Y13"])


def test_a_file_that_is_missing_or_a_folder_is_a_finding(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.yaml", tmp_path, tmp_path / "nul\0byte.yaml"):
        (finding,) = load(path).findings
        assert finding.rule == "Y01"
        assert finding.position.file == str(path)


@pytest.mark.parametrize("value", ["", "&a", "!x", "!!str", "*a"])
def test_keys_are_checked_as_values_are(parser: type, value: str) -> None:
    assert rules(f"a: b\n? {value}\n: c\n") != []


def test_a_text_over_the_limit_is_refused_like_a_file() -> None:
    assert [f.rule for f in load_text("a" * (MAX_BYTES + 1), "x").findings] == ["Y03"]
