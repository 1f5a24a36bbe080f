import { limits } from "@countersign/contract";
import { IANAZone } from "luxon";
import type { PolicyDocument } from "../policy/document.ts";
import { plainEnvironment } from "../policy/environment.ts";
import { mentionsOf } from "../policy/fact-paths.ts";
import { namesOf, nodesOf } from "../policy/nodes-of.ts";
import { parseDurationSeconds } from "../time.ts";
import { distinctCalls } from "./distinct-calls.ts";

/** One finding about a counter or an earlier action. */
export interface CounterFinding {
  readonly path: string;
  readonly code: string;
  readonly message: string;
  readonly help: string;
  /** Offset in the text at `path`. */
  readonly offset?: number;
}

const action_only =
  "Keys and values of counters read the action only: agent, action, target, params, impact, data_classes.";
const environment = plainEnvironment();

/** Returns what is wrong with the counters of a document whose form is right. */
export function counterFindings(document: PolicyDocument): CounterFinding[] {
  const { counters = [], after = [] } = document.spec;
  const findings: CounterFinding[] = [];
  counters.forEach(({ key, value, window }, at) => {
    const path = `/spec/counters/${at}`;
    for (const [place, source] of key.entries())
      findings.push(...expressionFindings(`${path}/key/${place}`, source, false));
    if (value !== undefined) findings.push(...expressionFindings(`${path}/value`, value, true));
    if (typeof window === "string") findings.push(...durationFindings(`${path}/window`, window));
    else if (window.zone !== undefined && !IANAZone.isValidZone(window.zone))
      findings.push({
        path: `${path}/window/zone`,
        code: "not_allowed",
        message: `${JSON.stringify(window.zone)} is no time zone.`,
        help: "Write an IANA time zone, for example Europe/Berlin.",
      });
  });
  after.forEach(({ key, within }, at) => {
    const path = `/spec/after/${at}`;
    for (const [place, source] of key.entries())
      findings.push(...expressionFindings(`${path}/key/${place}`, source, false));
    findings.push(...durationFindings(`${path}/within`, within));
  });
  for (const { path, names } of [
    { path: "/spec/counters", names: counters.map(({ name }) => name) },
    { path: "/spec/after", names: after.map(({ name }) => name) },
  ])
    names.forEach((name, at) => {
      if (names.indexOf(name) < at)
        findings.push({
          path: `${path}/${at}/name`,
          code: "not_allowed",
          message: `The name ${name} occurs twice.`,
          help: "Give each of them a name of its own.",
        });
    });
  for (const { track, source } of findingsSafe(document))
    for (const found of expressionFindings("/spec", source, false))
      findings.push({ ...found, message: `In ${track}.distinct(${JSON.stringify(source)}): ${found.message}` });
  return findings;
}

/** The calls of `distinct`; empty if an expression of the document does not parse, which has its own finding. */
function findingsSafe(document: PolicyDocument): ReturnType<typeof distinctCalls> {
  try {
    return distinctCalls(document);
  } catch {
    return [];
  }
}

function durationFindings(path: string, text: string): CounterFinding[] {
  const seconds = parseDurationSeconds(text) ?? 0;
  if (seconds >= limits.counter_window_seconds_min && seconds <= limits.counter_window_seconds_max) return [];
  return [
    { path, code: "out_of_range", message: `${text} is not from 1m to 90d.`, help: "Write a duration from 1m to 90d." },
  ];
}

function expressionFindings(path: string, source: string, is_number: boolean): CounterFinding[] {
  const { type, diagnostics } = environment.check(source);
  const wrong = diagnostics.find(({ severity }) => severity === "error");
  if (wrong !== undefined) {
    const message = `${wrong.message.charAt(0).toUpperCase()}${wrong.message.slice(1)}.`;
    return [{ path, code: wrong.code, message, help: action_only, offset: wrong.start }];
  }
  if (readsMoreThanAction(source)) return [{ path, code: "not_allowed", message: action_only, help: action_only }];
  const numbers = new Set(["double", "int", "uint", "dyn"]);
  if (!is_number || numbers.has(type.kind)) return [];
  return [
    {
      path,
      code: "wrong_result",
      message: "A value must be a number.",
      help: "Write an expression that gives a number.",
    },
  ];
}

function readsMoreThanAction(source: string): boolean {
  const { facts, variables } = mentionsOf(source);
  if (facts.size > 0 || variables.size > 0) return true;
  for (const node of nodesOf(source)) {
    const [root] = namesOf(node) ?? [];
    if (root !== undefined && ["count", "after", "vars", "facts", "now"].includes(root)) return true;
  }
  return false;
}
