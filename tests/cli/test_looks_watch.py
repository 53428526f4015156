"""`pawl watch`: each save is one round, a broken spec spoils nothing, and what an editor does to a file is no matter.

What changed is brought by hand, and clocks stand still; one test has the real thing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import attrs
import pytest
import watchfiles

from cli.looks import NEW, OLD
from cli.shell import Shell
from pawl.tools.cli.output import Misuse
from pawl.tools.cli.watching import Watch, Wish, changes

Act = Callable[[], Collection[Path]]


@attrs.define
class Hand:
    """A source that does one thing after the other, and remembers which folders it was asked to watch."""

    acts: list[Act]
    asked: list[list[str]] = attrs.field(factory=list)

    def __call__(self, folders: Collection[Path]) -> Iterator[Collection[Path]]:
        self.asked.append(sorted(folder.name for folder in folders))
        yield ()
        while self.acts:
            yield self.acts.pop(0)()


@pytest.fixture
def watched(shell: Shell, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """Rounds over `specs/`, one for each act after the first; what each said."""
    (shell.folder / "specs").mkdir()
    shell.write("specs/order.yaml", OLD)

    def run(*acts: Act, **wish: object) -> list[str]:
        said: list[str] = []

        def heard(act: Act) -> Act:
            def act_and_hear() -> Collection[Path]:
                said.append("".join(capsys.readouterr()))
                return act()

            return act_and_hear

        watch = Watch([Path("specs")], Wish(**wish), now=lambda: 0.0, spent=lambda: 0.0)  # type: ignore[arg-type]
        watch.run(Hand([heard(act) for act in acts]))
        return [*said, "".join(capsys.readouterr())]

    return run


def saving(text: str, name: str = "order.yaml") -> Act:
    def save() -> Collection[Path]:
        path = Path("specs") / name
        path.write_text(text, encoding="utf-8")
        return [path]

    return save


def replacing(text: str) -> Act:
    """As editors do it: a new file beside, the old one away, the new one in its place."""

    def replace() -> Collection[Path]:
        new = Path("specs") / "order.yaml.tmp"
        new.write_text(text, encoding="utf-8")
        new.replace(Path("specs") / "order.yaml")
        return [new, Path("specs") / "order.yaml"]

    return replace


def gone() -> Collection[Path]:
    (Path("specs") / "order.yaml").unlink()
    return [Path("specs") / "order.yaml"]


def nothing() -> Collection[Path]:
    return ()


def test_everything_is_made_at_first_and_again_after_a_save(watched: Callable[..., list[str]], shell: Shell) -> None:
    first, second = watched(saving(NEW), out=Path("gen"), diagrams=Path("pics"), page=Path("page.html"))

    made = ["gen/order.py", "pics/order.dot", "pics/order.svg", "pics/order.md", "page.html"]
    assert first.splitlines() == [*(f"created   {path}" for path in made), "1 spec, 0 errors, 0 warnings  (0.0 ms)"]
    assert second.splitlines()[0] == "00:00:00.000  order.yaml"
    assert second.splitlines()[1:-1] == [f"updated   {path}" for path in made]
    assert shell("generate", "specs", "--out", "gen", "--check").code == 0
    assert shell("diagram", "specs", "--out", "pics", "--check").code == 0
    assert shell("docs", "specs", "-o", "page.html", "--title", "order", "--check").code == 0


def test_a_spec_that_is_broken_for_a_moment_is_told_and_what_it_made_stays(
    watched: Callable[..., list[str]], shell: Shell
) -> None:
    _, broken, empty, fixed = watched(saving(OLD.replace("to: hold}", "to: held}")), saving(""), saving(OLD))

    assert "specs/order.yaml:17:34: E01" in broken
    assert "1 spec, 1 error, 0 warnings" in broken
    assert "Y06" in empty
    assert "updated" not in broken + empty + fixed
    assert "1 spec, 0 errors, 0 warnings" in fixed
    assert (shell.folder / "specs" / "order.py").exists()


def test_a_file_may_be_replaced_or_be_away_for_a_moment(watched: Callable[..., list[str]]) -> None:
    _, away, back, replaced = watched(gone, saving(OLD), replacing(NEW))

    assert "not yet: specs has no specs" in away
    assert "1 spec, 0 errors" in back
    assert "updated   specs/order.py" in replaced
    assert "00:00:00.000  order.yaml\n" in replaced


def test_what_was_saved_without_a_change_makes_nothing_anew(watched: Callable[..., list[str]]) -> None:
    _, again, comment = watched(saving(OLD), saving(f"{OLD}# a comment\n"), diagrams=Path("pics"))

    assert again == comment == "00:00:00.000  order.yaml\n1 spec, 0 errors, 0 warnings  (0.0 ms)\n"


def test_other_files_and_quiet_times_are_no_round(watched: Callable[..., list[str]]) -> None:
    _, quiet, other = watched(nothing, lambda: [Path("specs/order.py"), Path("specs/.order.yaml.swp")])

    assert quiet == other == ""


def test_a_new_spec_and_one_that_is_gone_are_noticed(watched: Callable[..., list[str]]) -> None:
    other = OLD.replace("machine: order", "machine: parcel")

    _, more, same_name, less = watched(saving(other, "parcel.yaml"), saving(OLD, "parcel.yaml"), gone)

    assert "created   specs/parcel.py" in more
    assert "2 specs, 0 errors" in more
    assert "the machine 'order' is also in specs/order.yaml" in same_name
    assert "2 specs, 1 error" in same_name
    assert "1 spec, 0 errors" in less


def test_fragments_elsewhere_are_watched_from_when_they_are_named(shell: Shell) -> None:
    (shell.folder / "specs" / "parts").mkdir(parents=True)
    spec = OLD.replace("states:", "include: [parts/more.yaml]\nuse: [more]\nstates:", 1)
    shell.write("specs/parts/more.yaml", "pawl: 1\nfragment: more\nstates: {}\nevents: {}\ntransitions: []\n")
    shell.write("specs/order.yaml", OLD)
    hand = Hand([saving(spec)])

    Watch([Path("specs/order.yaml")], Wish()).run(hand)

    assert hand.asked == [["specs"], ["parts", "specs"]]


def test_a_file_of_somebody_else_is_left_alone_and_told(watched: Callable[..., list[str]], shell: Shell) -> None:
    shell.write("specs/order.py", "mine = 1\n")

    first, second = watched(saving(NEW))

    assert "not yet: specs/order.py exists and was not generated by pawl" in first
    assert "not yet:" in second
    assert (shell.folder / "specs" / "order.py").read_text() == "mine = 1\n"


def test_there_must_be_something_to_watch(shell: Shell) -> None:
    ran = shell("watch", "nowhere.yaml")

    assert ran.code == 2
    assert "nowhere.yaml: no such file or folder" in ran.err


def test_ctrl_c_ends_it_well(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> Iterator[Collection[Path]]:
        yield ()
        raise KeyboardInterrupt

    monkeypatch.setattr("pawl.tools.cli.watching.changes", interrupted)
    shell.write("order.yaml", OLD)

    ran = shell("watch", "order.yaml")

    assert ran.code == 0
    assert ran.out.startswith("watching; Ctrl-C ends it\ncreated   order.py\n")
    assert ran.err == "stopped\n"


def test_real_changes_of_specs_come_in_batches_and_the_first_batch_at_once(tmp_path: Path) -> None:
    source = changes([tmp_path])
    assert list(next(source)) == []

    (tmp_path / "order.txt").write_text("x")
    (tmp_path / "new").write_text(OLD)
    (tmp_path / "new").replace(tmp_path / "order.yaml")

    batch = next(each for each in source if each)
    assert {path.name for path in batch} == {"order.yaml"}
    source.close()  # type: ignore[attr-defined]


def test_a_folder_that_cannot_be_watched_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> Iterator[object]:
        raise OSError("inotify watch limit reached")

    monkeypatch.setattr(watchfiles, "watch", full)

    with pytest.raises(Misuse, match="limit reached; WATCHFILES_FORCE_POLLING=1 may help"):
        next(changes([tmp_path]))


def test_without_the_watching_library_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)

    with pytest.raises(Misuse, match=r"pip install 'pawl-fsm\[tools\]'"):
        next(changes([tmp_path]))


def test_a_terminal_can_be_cleared_before_each_round_and_a_pipe_is_not(
    watched: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, piped = watched(saving(NEW), clear=True)
    monkeypatch.setattr("pawl.tools.cli.watching.clear", lambda: print("cleared"))  # noqa: T201
    _, shown = watched(saving(OLD), clear=True)

    assert piped.startswith("00:00:00.000")
    assert shown.startswith("cleared\n00:00:00.000")
