"""The table of rules: every check there is, in order, and how a spec may weigh them."""

from __future__ import annotations

from itertools import islice

from pawl.tools.compiler.checks import barriers, flow, form, migrations, names, references, rows
from pawl.tools.compiler.checks.subject import Check, Subject
from pawl.tools.compiler.findings import MOST_FINDINGS, Finding, Severity, quoted, suggest
from pawl.tools.compiler.spec import Spec

ERROR, WARN = Severity.ERROR, Severity.WARN

CHECKS: tuple[Check, ...] = (
    Check("Y15", "keys that do not go together", ERROR, form.mismatched),
    Check("E01", "dangling target", ERROR, references.dangling),
    Check("E02", "duplicate name", ERROR, names.duplicate),
    Check("E03", "not one initial state", ERROR, form.initial),
    Check("E04", "final state with exits", ERROR, form.final_exits),
    Check("E05", "colliding identifiers", ERROR, names.colliding),
    Check("E06", "reserved name", ERROR, names.reserved_name),
    Check("E07", "automatic rows without end", ERROR, flow.endless),
    Check("E08", "dead row", ERROR, rows.dead_row),
    Check("E09", "undeclared guard, action, delay or event", ERROR, references.undeclared),
    Check("E10", "not a name", ERROR, names.not_a_name),
    Check("E11", "undecided event", ERROR, rows.undecided, whole=True),
    Check("E12", "event both handled and listed as unhandled", ERROR, rows.decided_twice, whole=True),
    Check("E13", "effect not behind a barrier", ERROR, barriers.unguarded_effect, whole=True),
    Check("E14", "barrier without all its targets", ERROR, barriers.incomplete_barrier),
    Check("E15", "impossible migration", ERROR, migrations.impossible),
    Check("W09", "declared and unused", WARN, references.unused, whole=True),
    Check("W13", "unreachable state", WARN, flow.unreachable, whole=True),
    Check("W15", "trap state", WARN, flow.trap, whole=True),
    Check("W16", "no way to a final state", WARN, flow.no_end, whole=True),
    Check("W17", "automatic rows that may lead round", WARN, flow.maybe_endless, whole=True),
    Check("W18", "no unguarded last row", WARN, rows.no_last_row, whole=True),
    Check("W19", "waits with no timer and no cancel", WARN, flow.helpless, whole=True),
)
"""Every check, in the order in which they run. The loader and the structurer have the rules of `FORM`."""

FORM: dict[str, str] = {
    "Y01": "file that cannot be read",
    "Y02": "not UTF-8",
    "Y03": "too large",
    "Y04": "tab or control character",
    "Y05": "not YAML",
    "Y06": "empty file",
    "Y07": "anchor, alias or merge key",
    "Y08": "tag or directive",
    "Y09": "nested too deep",
    "Y10": "several documents",
    "Y11": "key that is not text",
    "Y12": "unknown key",
    "Y13": "missing key, or the wrong shape",
    "Y14": "value that is not possible",
    "Y16": "include that cannot be followed",
    "Y17": "use that does not fit its fragment",
}
"""What is wrong with a file before it is a spec."""


def check(subject: Subject, whole: bool) -> list[Finding]:
    """Run every check, with the severities of the spec. `whole` False leaves out those that need all of it."""
    found = list(_severities(subject.spec))
    for rule in sorted(CHECKS, key=lambda rule: rule.whole):
        if rule.whole and (not whole or any(finding.rule in _BLIND for finding in found)):
            break
        severity = _severity(rule, subject.spec)
        if severity is not Severity.OFF:
            places = islice(rule.find(subject), MOST_FINDINGS)
            found += [Finding(rule.rule, severity, at, message) for at, message in places]
    return found


_BLIND = frozenset({"Y15", "E01", "E03", "E09", "E10", "E14"})
"""After one of these the model has holes, and what a whole-machine check would say about them is noise."""


def _severity(rule: Check, spec: Spec) -> Severity:
    chosen = spec.checks.get(rule.rule)
    return chosen.severity if chosen is not None and rule.severity is WARN else rule.severity


def _severities(spec: Spec) -> list[Finding]:
    """Y14 for a rule in `checks:` that does not exist, or that is an error always."""
    known = {rule.rule: rule for rule in CHECKS}
    found = []
    for chosen in spec.checks.values():
        name = chosen.name.text
        if name in FORM or (name in known and known[name].severity is ERROR and chosen.severity is not ERROR):
            message = f"{quoted(name)} is an error always; correct the spec instead of the rule"
            found.append(Finding("Y14", ERROR, chosen.name.at, message))
        elif name not in known:
            advice = suggest(name, known, "the rules that can be weighed are the W ones")
            found.append(Finding("Y14", ERROR, chosen.name.at, f"unknown rule {quoted(name)}; {advice}"))
    return found
