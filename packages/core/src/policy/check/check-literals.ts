import { type Expr, environment } from "@countersign/cel";
import { isExactNumber } from "@countersign/contract";
import { nodesOf } from "../nodes-of.ts";

export interface OddLiteral {
  /** Offset in UTF-16 units. */
  readonly start: number;
  readonly message: string;
  readonly help: string;
}

const plain = environment({ variables: {}, finite_texts: true });

const kinds = {
  timestamp: { name: "date-time", help: 'Write it like timestamp("2026-01-01T00:00:00Z").' },
  duration: { name: "duration", help: 'Hours are the longest unit: write seven days as duration("168h").' },
  double: { name: "number", help: 'Write it like double("100.5").' },
  zone: { name: "time zone", help: 'Write it like "Europe/Berlin" or "+02:00".' },
} as const;

/**
 * Finds literals that `timestamp`, `duration`, `double` and the `get…` functions cannot read, so the rule is always
 * unknown. The source must parse.
 */
export function unreadableLiterals(source: string): OddLiteral[] {
  const found: OddLiteral[] = [];
  for (const node of nodesOf(source)) {
    if (node.kind === "call") found.push(...unreadable(source, node));
  }
  return found.sort((a, b) => a.start - b.start);
}

function unreadable(source: string, { name, target, args }: Expr & { kind: "call" }): OddLiteral[] {
  const [arg] = args;
  if (args.length !== 1 || arg?.kind !== "literal" || typeof arg.value !== "string") return [];
  const text = source.slice(arg.start, arg.end);
  const isRead = target === null && (name === "timestamp" || name === "duration" || name === "double");
  if (!isRead && (target === null || !/^get[A-Z]/.test(name))) return [];
  const result = plain.compile(isRead ? `${name}(${text})` : `timestamp(0).${name}(${text})`).evaluate({});
  if (result.kind !== "error") return [];
  const kind = kinds[isRead ? name : "zone"];
  return [{ start: arg.start, message: `This text is no ${kind.name}.`, help: kind.help }];
}

/**
 * Finds numbers that a double cannot hold. Requests with one are refused, so no value equals it. The source must parse.
 */
export function inexactNumbers(source: string): OddLiteral[] {
  return [...nodesOf(source)]
    .filter((node) => {
      if (node.kind !== "literal") return false;
      if (node.type === "int") return !isExactNumber(String(node.value));
      return node.type === "double" && !isExactNumber(source.slice(node.start, node.end).replace(/^-\s*/, ""));
    })
    .map(({ start }) => ({ start, message: inexact_message, help: inexact_help }))
    .sort((a, b) => a.start - b.start);
}

const inexact_message = "This number cannot be stored exactly, so no parameter or fact equals it.";
const inexact_help = "Write at most 15 digits, or let the parameter be a text and compare it with a text.";
