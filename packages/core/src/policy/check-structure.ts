import { factCategories } from "@countersign/contract";
import { pointerNames } from "../json-patch.ts";
import { parseDurationSeconds, parseTimestampUs } from "../time.ts";
import type { MatchPatterns, ModifyStep, PolicyDocument } from "./document.ts";
import { collectFindings } from "./findings.ts";
import { type PolicyDiagnostic, pointerToken, type SourceDocument } from "./source.ts";

type Report = (path: string, code: string, message: string, help: string) => void;

/**
 * What a schema cannot say about a document: which fields belong together, and that times, durations and names mean
 * something. Returns every violation, as far as `findings.ts` lists them.
 */
export function checkStructure(document: PolicyDocument, source: SourceDocument): PolicyDiagnostic[] {
  const findings = collectFindings();
  const report: Report = (path, code, message, help) => {
    findings.add(() => source.at(path, { code, message, help }));
  };
  checkTimes(document, report);
  checkMatch(document, report);
  checkRule(document, report);
  checkModify(document, report);
  checkTests(document, report);
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
  if (spec.escalation?.timeout !== undefined)
    checkDuration(spec.escalation.timeout, "/spec/escalation/timeout", report);
}

function checkTime(text: string | undefined, path: string, report: Report): number | null {
  if (text === undefined) return null;
  const us = parseTimestampUs(text);
  if (us === null)
    report(path, "bad_format", `${JSON.stringify(text)} is not a date-time.`, "Write it like 2026-01-01T00:00:00Z.");
  return us;
}

function checkDuration(text: string, path: string, report: Report): void {
  const seconds = parseDurationSeconds(text);
  if (seconds === null || seconds < 1)
    report(path, "bad_format", "The duration is empty or zero.", "Write it like 30s, 15m, 4h or 7d.");
  else if (seconds > 3_660 * 86_400)
    report(path, "out_of_range", "The duration is longer than ten years.", "Write a shorter one.");
}

function checkMatch({ spec }: PolicyDocument, report: Report): void {
  const patterns = (match: MatchPatterns | undefined, path: string): void => {
    for (const [index, pattern] of (match?.actions ?? []).entries()) {
      if (pattern === pattern.toLowerCase()) continue;
      const help = `Write ${pattern.toLowerCase()}: action types are lower-case.`;
      report(`${path}/actions/${index}`, "not_allowed", `${pattern} can never match.`, help);
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
  if (spec.effect === "none" && spec.risk === undefined) {
    report(
      "/spec/effect",
      "required",
      "The policy has no effect and adds no risk.",
      "Add risk: {add: 0.2}, or another effect.",
    );
  }
  const names = new Set<string>();
  for (const [index, variable] of (spec.variables ?? []).entries()) {
    if (names.has(variable.name))
      report(
        `/spec/variables/${index}/name`,
        "not_allowed",
        `The variable ${variable.name} stands twice.`,
        "Rename one of the two.",
      );
    names.add(variable.name);
  }
  if (spec.suppresses?.includes(metadata.name) === true) {
    report("/spec/suppresses", "not_allowed", "The policy suppresses itself.", "Leave its own name out.");
  }
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
  if (effect !== "approve_modified" && modify !== undefined && modify_when === undefined) {
    report(
      "/spec/modify",
      "not_allowed",
      `A rule of effect ${effect} modifies nothing.`,
      "Use effect: approve_modified, or say with modify_when when to modify instead.",
    );
  }
  if (modify_when !== undefined && modify === undefined) {
    report(
      "/spec/modify_when",
      "required",
      "modify_when without modify changes nothing.",
      "Add modify: what to change then.",
    );
  }
  for (const [index, step] of (modify ?? []).entries()) checkStep(step, `/spec/modify/${index}`, report);
}

function checkStep(step: ModifyStep, path: string, report: Report): void {
  const takesValue = step.op !== "remove" && step.op !== "redact";
  if (takesValue && step.value === undefined)
    report(path, "required", `${step.op} needs a value.`, "Add value: a CEL expression.");
  if (!takesValue && step.value !== undefined)
    report(`${path}/value`, "not_allowed", `${step.op} takes no value.`, "Leave it out.");
  if (pointerNames(step.path).includes("__proto__"))
    report(`${path}/path`, "not_allowed", "__proto__ is never a field.", "Name another place.");
}

function checkTests({ tests }: PolicyDocument, report: Report): void {
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
    const { agent, action } = test.intent as { agent?: { id?: unknown }; action?: { verb?: unknown } };
    checkShape(test.intent, intentShape, `${path}/intent`, report);
    if (typeof agent?.id !== "string")
      report(`${path}/intent`, "required", "The intent has no agent.id.", "Add agent: {id: agent-1}.");
    if (typeof action?.verb !== "string")
      report(
        `${path}/intent`,
        "required",
        "The intent has no action.verb.",
        "Add action: {type: data.read, verb: read_record}.",
      );
  }
}

/** The parts of an intent that deciding reads, as far as a case may get them wrong. */
const intentShape = {
  agent: { id: "string" },
  action: { type: "string", verb: "string", target: { type: "string", identifier: "string", sensitivity: "string" } },
  payload: { summary: "string", content: {} },
  estimated_impact: {},
  data_classes: "list",
} as const;

type Shape = "string" | "list" | { readonly [name: string]: Shape };

function checkShape(value: unknown, shape: Shape, path: string, report: Report): void {
  const wanted = wantedInstead(value, shape);
  if (wanted !== null) {
    report(path, "wrong_type", `Expected ${wanted}.`, "Write the intent as POST /v1/intents takes it.");
  } else if (typeof shape === "object") {
    for (const [name, inner] of Object.entries(shape)) {
      const member = Object.hasOwn(value as object, name) ? (value as Record<string, unknown>)[name] : undefined;
      if (member !== undefined) checkShape(member, inner, `${path}/${name}`, report);
    }
  }
}

/** Null: the value has the shape, its members apart. */
function wantedInstead(value: unknown, shape: Shape): string | null {
  if (shape === "string") return typeof value === "string" ? null : "a text";
  if (shape === "list") return isTextList(value) ? null : "a list of texts";
  return typeof value === "object" && value !== null && !Array.isArray(value) ? null : "an object";
}

function isTextList(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}
