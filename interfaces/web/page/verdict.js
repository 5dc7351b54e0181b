// Verdicts in the words of `verify`: never "all exact" over what could not be replayed.

import { h } from "./dom.js";

const COUNTS = [["exact_count", "exact"], ["attested", "attested"], ["redacted", "redacted"], ["not_here", "not here"], ["different", "different"]];

export function counts(report) {
  return COUNTS.filter(([name, word]) => report[name] || word === "exact" || word === "different").map(([name, word]) => `${report[name]} ${word}`).join(" · ");
}

export function verdictOf(report) {
  return h("span", {}, h("b", { class: `verdict ${report.verdict}` }, report.verdict), ` ${counts(report)}; ${report.sentence}`,
    report.contradictions.map((one) => h("span", { class: "problem" }, ` ${one.witness}: ${one.problem}`)));
}

export function dot(check) {
  return h("span", { class: `dot ${check.verdict}`, title: check.sentence, role: "img", "aria-label": check.verdict.replace("_", " ") });
}
