import { limits } from "@countersign/contract";

type MessagePart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "expression"; readonly source: string; readonly offset: number };

export type MessageTemplate =
  | { readonly ok: true; readonly parts: readonly MessagePart[] }
  | { readonly ok: false; readonly offset: number; readonly message: string };

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

/** Returns the offset of the closing `}}`. Skips quoted texts. In `}}}` the last two close. */
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

/** Texts are shown without quotes, other values as JSON. */
export function shownValue(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined ? "unknown" : JSON.stringify(value);
}

/** Truncates to 2 KiB of UTF-8 at a character boundary. */
export function clipMessage(text: string): string {
  // A UTF-16 unit has at most three bytes.
  if (text.length * 3 <= limits.policy_message_bytes_max) return text;
  const bytes = Buffer.from(text, "utf8");
  if (bytes.length <= limits.policy_message_bytes_max) return text;
  let end = limits.policy_message_bytes_max - 3;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return `${bytes.toString("utf8", 0, end)}…`;
}
