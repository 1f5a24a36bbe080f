/**
 * Finds credentials by members' names and by shapes in texts. A shape needs a known beginning, a header's name or a
 * member's name, so that prose does not match.
 */
import type { TextSpan } from "@countersign/contract";

const names =
  /^(?:.*_)?(?:password|passwd|passphrase|pwd|secret|token|api_?key|(?:access|private|secret|signing|encryption)_key(?:_base64)?|credentials?|authorization|cookie)$/;

/** Page tokens give no access. */
const ofPages = /^(?:.*_)?(?:page|next|prev|previous|continuation|sync|start|cursor|resume)_token$/;

/** Returns true for `clientSecret`, `X-API-Key`; not for `max_tokens`, `page_token`. */
export function isCredentialName(name: string): boolean {
  if (name.length > 128) return false;
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll(/[\s.-]+/g, "_")
    .toLowerCase();
  return names.test(words) && !ofPages.test(words);
}

/** Beginnings of services' keys and tokens. */
const known = [
  ...["gh[pousr]_[A-Za-z0-9]{20,}", "github_pat_\\w{20,}", "gl(?:pat|ptt|dt|rt|cbt)-[\\w-]{20,}"],
  ...["xox[abeoprs]-[\\w-]{10,}", "xapp-[\\w-]{10,}", "(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])"],
  ...["AIza[\\w-]{35}", "ya29\\.[\\w-]{20,}", "GOCSPX-[\\w-]{20,}", "[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"],
  ...["whsec_[\\w+/=-]{16,}", "sk-(?=[\\w-]{0,200}\\d)[\\w-]{20,}", "npm_[A-Za-z0-9]{36}", "pypi-AgE[\\w-]{16,}"],
  ...[
    "SG\\.[\\w-]{16,}\\.[\\w-]{16,}",
    "do[opr]_v1_[a-f0-9]{64}",
    "hf_[A-Za-z0-9]{30,}",
    "shp(?:at|ss|ca|pa)_[a-fA-F0-9]{32}",
  ],
  ...["svc_(?:live|shadow|test)_[a-z]+_\\w{32,}", "AGE-SECRET-KEY-1[A-Z0-9]{50,}", "dapi[a-f0-9]{32}"],
  "eyJ[\\w-]{8,}\\.[\\w-]{8,}\\.[\\w-]{8,}",
];

/** Group `of` is the credential. */
const shapes: readonly RegExp[] = [
  new RegExp(`(?<![\\w-])(?<of>${known.join("|")})`, "dg"),
  /\bauthorization["']?\s{0,9}[:=]\s{0,9}["']?(?:(?:bearer|basic|token|digest|negotiate)\s{1,9})?(?<of>[^\s"',;]{4,})/dgi,
  /\b(?:bearer|basic)\s{1,9}(?<of>(?=[\w.~+/-]{0,200}\d)[\w.~+/-]{16,}={0,2})/dgi,
  /\b[a-z][a-z0-9+.-]{1,30}:\/\/[^\s/:@]{0,100}:(?<of>[^\s/@]{1,200})@/dgi,
];

/** `name=value`, or the same as JSON. */
const named =
  /(?<![\w-])(?:(?<name>[A-Za-z][\w-]{0,63})=["']?(?<of>[^\s"'&;,]{4,})|["'](?<json_name>[A-Za-z][\w-]{0,63})["']\s{0,9}:\s{0,9}["'](?<json_of>[^"']{1,4096}))/dg;

/** Matches every text that can contain a shape. */
const hint = /[-_=:/.]|AKIA|ASIA|AIza|dapi|bearer|basic/i;

export function credentialSpans(text: string): TextSpan[] {
  if (text.length < 8 || !hint.test(text)) return [];
  const spans: TextSpan[] = [];
  const add = (at: readonly [number, number] | undefined): void => {
    if (at !== undefined) spans.push({ start: at[0], end: at[1] });
  };
  spans.push(...privateKeySpans(text));
  for (const shape of shapes) for (const { indices } of text.matchAll(shape)) add(indices?.groups?.["of"]);
  for (const { groups = {}, indices } of text.matchAll(named)) {
    if (isCredentialName(groups["name"] ?? groups["json_name"] ?? ""))
      add(indices?.groups?.["of"] ?? indices?.groups?.["json_of"]);
  }
  return merged(spans.sort((a, b) => a.start - b.start || b.end - a.end));
}

/** A key without its end takes all further characters that PEM allows. */
function privateKeySpans(text: string): TextSpan[] {
  const spans: TextSpan[] = [];
  const end = /-----END [A-Z0-9 ]{1,60}-----/g;
  const rest = /[A-Za-z0-9+/=\s:,.\\-]*/y;
  let is_ended = true;
  for (const begin of text.matchAll(/-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----/g)) {
    if (begin.index < (spans.at(-1)?.end ?? 0)) continue;
    end.lastIndex = begin.index + begin[0].length;
    rest.lastIndex = end.lastIndex;
    // Searching again after the last end marker would take quadratic time.
    if (is_ended) is_ended = end.exec(text) !== null;
    if (!is_ended) rest.exec(text);
    spans.push({ start: begin.index, end: is_ended ? end.lastIndex : rest.lastIndex });
  }
  return spans;
}

function merged(spans: readonly TextSpan[]): TextSpan[] {
  const kept: TextSpan[] = [];
  for (const span of spans) {
    const last = kept.at(-1);
    if (last !== undefined && span.start < last.end)
      kept[kept.length - 1] = { ...last, end: Math.max(last.end, span.end) };
    else kept.push(span);
  }
  return kept;
}
