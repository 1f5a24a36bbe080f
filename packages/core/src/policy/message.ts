import { limits } from "@countersign/contract";

/** One part of a message template: a text, or the source of an expression with its offset in the template. */
type MessagePart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "expression"; readonly source: string; readonly offset: number };

/** The parts of a template, or the offset of a `{{` that is never closed. */
export type MessageTemplate =
  | { readonly ok: true; readonly parts: readonly MessagePart[] }
  | { readonly ok: false; readonly offset: number; readonly message: string };

/** Splits a template at `{{expr}}`. */
export function parseTemplate(template: string): MessageTemplate {
  const parts: MessagePart[] = [];
  let at = 0;
  for (;;) {
    const open = template.indexOf("{{", at);
    if (open < 0) break;
    const close = closing(template, open + 2);
    if (close < 0) return { ok: false, offset: open, message: "This {{ has no }}." };
    const raw = template.slice(open + 2, close);
    const source = raw.trim();
    if (source === "") return { ok: false, offset: open, message: "There is no expression between {{ and }}." };
    if (open > at) parts.push({ kind: "text", text: template.slice(at, open) });
    parts.push({ kind: "expression", source, offset: open + 2 + raw.indexOf(source) });
    at = close + 2;
  }
  if (at < template.length) parts.push({ kind: "text", text: template.slice(at) });
  return { ok: true, parts };
}

/** Returns the offset of the `}}` that ends an expression. Quoted texts are skipped; of `}}}` the last two count. */
function closing(template: string, from: number): number {
  let quote = "";
  for (let at = from; at < template.length; at += 1) {
    const char = template.charAt(at);
    if (quote !== "") {
      if (char === "\\") at += 1;
      else if (char === quote) quote = "";
    } else if (char === '"' || char === "'") quote = char;
    else if (char === "}" && template.charAt(at + 1) === "}" && template.charAt(at + 2) !== "}") return at;
  }
  return -1;
}

/** Returns a value as text for a message: texts without quotes, other values as JSON, an absent value as `unknown`. */
export function shownValue(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined ? "unknown" : JSON.stringify(value);
}

/** Cuts a message to 2 KiB of UTF-8, never inside a character. */
export function clipMessage(text: string): string {
  // A UTF-16 unit has at most three bytes, so short texts need no count.
  if (text.length * 3 <= limits.policy_message_bytes_max) return text;
  const bytes = Buffer.from(text, "utf8");
  if (bytes.length <= limits.policy_message_bytes_max) return text;
  let end = limits.policy_message_bytes_max - 3;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return `${bytes.toString("utf8", 0, end)}…`;
}
