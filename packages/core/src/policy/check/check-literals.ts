import { type Expr, environment } from "@countersign/cel";
import { nodesOf } from "../nodes-of.ts";

/** A text in an expression that never gives the value that was meant, whatever the action. */
export interface UnreadableLiteral {
  /** UTF-16 units before it in the source. */
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
 * The literal texts that `timestamp`, `duration`, `double` and the `get…` functions of timestamps cannot read: evaluating them is an
 * error each time, so the rule would never be anything but unknown. The source must parse.
 */
export function unreadableLiterals(source: string): UnreadableLiteral[] {
  const found: UnreadableLiteral[] = [];
  for (const node of nodesOf(source)) {
    if (node.kind === "call") found.push(...unreadable(source, node));
  }
  return found.sort((a, b) => a.start - b.start);
}

function unreadable(source: string, { name, target, args }: Expr & { kind: "call" }): UnreadableLiteral[] {
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
