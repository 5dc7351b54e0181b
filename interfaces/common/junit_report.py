"""A check as a JUnit report: one test case per expectation, as CI servers read it."""

from __future__ import annotations

from xml.etree import ElementTree as Xml

from recollect.engine.expectations import REPORT_NAME, CheckReport, Outcome
from recollect.engine.safe_text import inline


def junit(report: CheckReport) -> str:
    """The report as XML."""
    outcomes = (*report.passed, *report.failed)
    suite = Xml.Element(
        "testsuite", name=REPORT_NAME, tests=str(len(outcomes)), failures=str(len(report.failed)), errors="0"
    )  # fmt: skip
    for outcome in outcomes:
        _case(suite, outcome)
    Xml.indent(suite)
    encoded: bytes = Xml.tostring(suite, encoding="utf-8", xml_declaration=True)
    return encoded.decode() + "\n"


def case_name(outcome: Outcome) -> str:
    """The name of an expectation's test: `e41: m1 in the top 3 for 'where are sessions stored?'`."""
    expectation = outcome.expectation
    asked = "" if expectation.query is None else f" for {expectation.query!r}"
    return inline(f"{expectation.name}: {expectation.expects}{asked}")


def _case(suite: Xml.Element, outcome: Outcome) -> None:
    case = Xml.SubElement(
        suite, "testcase", classname=f"recollect.{outcome.expectation.recall}", name=case_name(outcome), time="0"
    )  # fmt: skip
    if not outcome.held:
        failure = Xml.SubElement(case, "failure", message=inline(outcome.sentence))
        failure.text = inline(outcome.expectation.note) or None
    if outcome.degraded:
        Xml.SubElement(case, "system-out").text = inline("; ".join(outcome.degraded))
