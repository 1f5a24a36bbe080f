/** Compares what the scenarios gave without and with the proxy. */
import { isDeepStrictEqual } from "node:util";
import type { Through } from "./through.ts";

/** The result of a scenario: its summary, and everything that its client saw. */
export interface Outcome {
  readonly said: string;
  readonly seen: unknown;
}

export type Outcomes = ReadonlyMap<string, Outcome>;

/** A client, or a tool, with a server. */
export interface Pair {
  readonly name: string;
  run(through: Through): Promise<Outcomes>;
}

/** Here governance answers instead of the server, or as well. */
export interface Answer {
  readonly pair: RegExp;
  readonly scenario: RegExp;
  readonly reason: string;
}

export interface Row {
  readonly pair: string;
  readonly scenario: string;
  readonly direct: string;
  readonly governed: string;
  readonly equal: boolean;
  /** Null: no answer of governance is expected. */
  readonly reason: string | null;
  /** Both outcomes, for the reader of a difference. */
  readonly seen: readonly [unknown, unknown];
}

/** A scenario must be equal, or differ where governance answers. */
export const isFault = ({ equal, reason }: Row): boolean => equal !== (reason === null);

const changing: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "<uuid>"],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, "<time>"],
  [/\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} \d\d \d{4} \d\d:\d\d:\d\d GMT[^"\\]*/g, "<time>"],
  [/\b\d{1,2}:\d\d:\d\d [AP]M\b/g, "<time>"],
  [/\b(127\.0\.0\.1|localhost):\d+/g, "$1:<port>"],
];

/** Names of values that a server or a client chooses again in each run. */
const chosen: ReadonlySet<string> = new Set(["requestState", "taskId", "timestamp"]);

/** Replaces what differs between any two runs. */
export function steady(value: unknown): unknown {
  const text = JSON.stringify(value, (key, each) => (chosen.has(key) ? `<${key}>` : each)) ?? "null";
  return JSON.parse(changing.reduce((said, [pattern, instead]) => said.replace(pattern, instead), text));
}

export function compare(pair: string, direct: Outcomes, governed: Outcomes, answers: readonly Answer[]): Row[] {
  const none: Outcome = { said: "did not run", seen: null };
  return [...new Set([...direct.keys(), ...governed.keys()])].map((scenario) => {
    const [left, right] = [direct.get(scenario) ?? none, governed.get(scenario) ?? none];
    const seen = [steady(left.seen), steady(right.seen)] as const;
    const equal = left.said === right.said && isDeepStrictEqual(...seen);
    const answer = answers.find((each) => each.pair.test(pair) && each.scenario.test(scenario));
    return { pair, scenario, direct: left.said, governed: right.said, equal, reason: answer?.reason ?? null, seen };
  });
}
