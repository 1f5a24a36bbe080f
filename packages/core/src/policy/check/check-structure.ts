import { factCategories, Intent, limits, nameProblem } from "@countersign/contract";
import { parseDurationSeconds, parseTimestampUs } from "../../time.ts";
import { pointerNames, pointerToken } from "../../values/json-patch.ts";
import type { MatchPatterns, ModifyStep, PolicyDocument } from "../document.ts";
import { peopleNamed, reviewerOf } from "../escalation-terms.ts";
import { diagnose, type Located, type PolicyDiagnostic, shown } from "../located.ts";
import type { Schema } from "../schema.ts";
import { collectFindings, type Findings } from "./findings.ts";
import { checkPart } from "./schema-check.ts";

type Report = (path: string, code: string, message: string, help: string) => void;

/**
 * Checks what a schema cannot, such as fields that belong together. Relations between fields are checked only if the
 * whole spec is well-formed.
 */
export function checkStructure(document: PolicyDocument, located: Located, spec_fits: boolean): PolicyDiagnostic[] {
  const findings = collectFindings();
  const report: Report = (path, code, message, help) => {
    findings.add(() => diagnose(located, path, { code, message, help }));
  };
  checkTimes(document, report);
  checkEscalation(document, report);
  checkMatch(document, report);
  if (spec_fits) {
    checkRule(document, report);
    checkModify(document, report);
  }
  checkTests(document, located, findings, report);
  return findings.list();
}

function checkTimes({ metadata, spec }: PolicyDocument, report: Report): void {
  const from = checkTime(metadata.effective_from, "/metadata/effective_from", report);
  const until = checkTime(metadata.effective_until, "/metadata/effective_until", report);
  if (from !== null && until !== null && from >= until) {
    report(
      "/metadata/effective_until",
      "out_of_range",
      "The policy ends before it begins.",
      "Give effective_until a later time than effective_from.",
    );
  }
  for (const [name, age] of Object.entries(spec.facts_max_age ?? {})) {
    checkDuration(age, `/spec/facts_max_age/${pointerToken(name)}`, report);
  }
}

function checkEscalation({ metadata, spec }: PolicyDocument, report: Report): void {
  const { timeout, approval_valid_for, reviewers, quorum, after, then } = spec.escalation ?? {};
  if (after !== undefined && after === metadata.name)
    report("/spec/escalation/after", "not_allowed", "The policy waits for itself.", "Name another policy.");
  if (timeout !== undefined)
    checkDuration(timeout, "/spec/escalation/timeout", report, limits.escalation_timeout_seconds_max / day);
  if (approval_valid_for !== undefined) {
    const days_max = limits.approval_valid_seconds_max / day;
    checkDuration(approval_valid_for, "/spec/escalation/approval_valid_for", report, days_max);
  }
  if (then !== undefined) checkTier(then, timeout, report);
  const people = peopleNamed(
    [...(reviewers ?? []), ...(reviewers === undefined ? [] : (then?.reviewers ?? []))].map(reviewerOf),
  );
  if (people === null || quorum === undefined || quorum <= people) return;
  report(
    "/spec/escalation/quorum",
    "out_of_range",
    `Only ${people} of these reviewers can approve.`,
    `Ask for ${people} at most, or name more reviewers.`,
  );
}

function checkTier(
  then: NonNullable<NonNullable<PolicyDocument["spec"]["escalation"]>["then"]>,
  timeout: string | undefined,
  report: Report,
): void {
  checkDuration(then.after, "/spec/escalation/then/after", report);
  const limit = timeout === undefined ? limits.escalation_timeout_seconds_max : parseDurationSeconds(timeout);
  if ((parseDurationSeconds(then.after) ?? 0) < (limit ?? Number.POSITIVE_INFINITY)) return;
  report(
    "/spec/escalation/then/after",
    "out_of_range",
    `The second reviewers would be asked after ${then.after}, but the review ends after ${timeout ?? "30d at most"}.`,
    "Write a shorter duration, or a longer timeout.",
  );
}

function checkTime(text: string | undefined, path: string, report: Report): number | null {
  if (text === undefined) return null;
  const us = parseTimestampUs(text);
  if (us === null)
    report(path, "bad_format", `${JSON.stringify(text)} is not a date-time.`, "Write it like 2026-01-01T00:00:00Z.");
  return us;
}

const day = 86_400;

function checkDuration(text: string, path: string, report: Report, days_max = 3_660): void {
  const seconds = parseDurationSeconds(text);
  if (seconds === null || seconds < 1)
    report(path, "bad_format", "The duration is empty or zero.", "Write it like 30s, 15m, 4h or 7d.");
  else if (seconds > days_max * day)
    report(path, "out_of_range", `The duration is longer than ${days_max} days.`, "Write a shorter one.");
}

/** An action type or a prefix with a star. */
const typePattern = /^(?:\*|[a-z][a-z0-9_-]*(?:\.[a-z0-9_-]+)*(?:\.?\*)?)$/;

function checkMatch({ spec }: PolicyDocument, report: Report): void {
  const patterns = (match: MatchPatterns | undefined, path: string): void => {
    for (const [index, pattern] of (match?.actions ?? []).entries()) {
      if (pattern !== pattern.toLowerCase()) {
        const help = `Write ${pattern.toLowerCase()}: action types are lower-case.`;
        report(`${path}/actions/${index}`, "not_allowed", `${pattern} can never match.`, help);
      } else if (!typePattern.test(pattern)) {
        const help = "Action types are written like payment.transfer: letters, digits, _ and -, parted by dots.";
        report(`${path}/actions/${index}`, "not_allowed", `${shown(pattern)} can never match.`, help);
      }
    }
    for (const list of ["verbs", "agents"] as const)
      for (const [index, pattern] of (match?.[list] ?? []).entries()) {
        // A prefix may end within a name.
        const help = nameProblem(pattern.replace(/\*$/, "x"));
        if (help !== null)
          report(`${path}/${list}/${index}`, "not_allowed", `${shown(pattern)} can never match.`, help);
      }
  };
  patterns(spec.match, "/spec/match");
  patterns(spec.match?.exclude, "/spec/match/exclude");
}

function checkRule({ metadata, spec }: PolicyDocument, report: Report): void {
  if (spec.when === undefined && spec.require === undefined) {
    report(
      "/spec",
      "required",
      "The policy has no condition.",
      "Add when: the condition under which it fires, or require: what must be provably true.",
    );
  }
  if (spec.effect === "none" && spec.risk === undefined && !masks(spec.modify)) {
    report(
      "/spec/effect",
      "required",
      "The policy has no effect and adds no risk.",
      "Add risk: {add: 0.2}, a mask, or another effect.",
    );
  }
  const bytes = Buffer.byteLength(spec.message ?? "");
  if (bytes > limits.policy_message_bytes_max) {
    report(
      "/spec/message",
      "too_long",
      `The text has ${bytes} bytes in UTF-8; at most ${limits.policy_message_bytes_max} are allowed.`,
      "Shorten it, and link to the rest.",
    );
  }
  const names = new Set<string>();
  for (const [index, variable] of (spec.variables ?? []).entries()) {
    if (names.has(variable.name))
      report(
        `/spec/variables/${index}/name`,
        "not_allowed",
        `The variable ${variable.name} occurs twice.`,
        "Rename one of the two.",
      );
    names.add(variable.name);
  }
  if (spec.suppresses?.includes(metadata.name) === true) {
    report("/spec/suppresses", "not_allowed", "The policy suppresses itself.", "Leave its own name out.");
  }
}

/** Masks are allowed with every effect. */
function masks(modify: readonly ModifyStep[] = []): boolean {
  return modify.length > 0 && modify.every(({ op }) => op === "mask");
}

function checkModify({ spec }: PolicyDocument, report: Report): void {
  const { effect, modify, modify_when } = spec;
  if (effect === "approve_modified" && modify === undefined) {
    report(
      "/spec/effect",
      "required",
      "approve_modified without modify changes nothing.",
      "Add modify: what the approval changes.",
    );
  }
  if (effect === "approve_modified" && modify_when !== undefined) {
    report(
      "/spec/modify_when",
      "not_allowed",
      "The effect is approve_modified already.",
      "Leave modify_when out, or give block or escalate as the effect.",
    );
  }
  if (effect !== "approve_modified" && modify !== undefined && modify_when === undefined && !masks(modify)) {
    report(
      "/spec/modify",
      "not_allowed",
      `A rule of effect ${effect} modifies nothing.`,
      "Use effect: approve_modified, or say with modify_when when to modify instead.",
    );
  }
  if (modify_when !== undefined && (modify === undefined || masks(modify))) {
    report(
      "/spec/modify_when",
      "required",
      "modify_when without a change in modify changes nothing.",
      "Add modify: what to change then.",
    );
  }
  for (const [index, step] of (modify ?? []).entries()) checkStep(step, `/spec/modify/${index}`, report);
}

function checkStep(step: ModifyStep, path: string, report: Report): void {
  const takesValue = step.op !== "remove" && step.op !== "redact" && step.op !== "mask";
  if (takesValue && step.value === undefined)
    report(path, "required", `${step.op} needs a value.`, "Add value: a CEL expression.");
  if (!takesValue && step.value !== undefined)
    report(`${path}/value`, "not_allowed", `${step.op} takes no value.`, "Leave it out.");
  if (pointerNames(step.path).includes("__proto__"))
    report(`${path}/path`, "not_allowed", "__proto__ is never a field.", "Name another place.");
}

/** A test case must be an intent that an agent can send. */
export const intentSchema = Intent as unknown as Schema;

function checkTests({ tests }: PolicyDocument, located: Located, findings: Findings, report: Report): void {
  for (const [index, test] of (tests ?? []).entries()) {
    const path = `/tests/${index}`;
    checkTime(test.now, `${path}/now`, report);
    for (const field of ["facts", "as_of"] as const) {
      for (const name of Object.keys(test[field] ?? {})) {
        if (!Object.hasOwn(factCategories, name)) {
          report(
            `${path}/${field}/${pointerToken(name)}`,
            "unknown_field",
            `${name} is no category of facts.`,
            `Categories: ${Object.keys(factCategories).join(", ")}.`,
          );
        }
      }
    }
    for (const [name, time] of Object.entries(test.as_of ?? {}))
      checkTime(time, `${path}/as_of/${pointerToken(name)}`, report);
    const help = "Write the intent as POST /v1/intents accepts it.";
    checkPart({ value: test.intent, path: `${path}/intent`, located, findings, help }, intentSchema);
  }
}
