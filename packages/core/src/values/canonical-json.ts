/** Printable ASCII that JSON writes as it stands: nearly every name and most texts, and far cheaper than JSON.stringify. */
const plain = /^[ !#-[\]-~]*$/;

/** Matches half of a surrogate pair without its other half: not text, and RFC 8785 has no bytes for it. */
const loneSurrogate = /\p{Surrogate}/u;

/**
 * The one JSON text of a value: no white space, members sorted by UTF-16 code unit of their names, numbers and escapes
 * as ECMAScript writes them. Two values that are equal as JSON give the same text, so the text may be hashed.
 *
 * Throws TypeError on whatever JSON cannot hold: numbers that are not finite, lone surrogates, undefined, functions,
 * objects with a prototype of their own (a Map or Date would otherwise silently hash as `{}`).
 * Source: RFC 8785.
 */
export function canonicalJson(value: unknown): string {
  return write(value, wholeText);
}

/**
 * The text of what happened, to be stored, signed and sent: as `canonicalJson`, except that a lone surrogate is written as
 * its escape (`\ud800`), which is ASCII. No request may hold one; but where a record has one all the same, it must not
 * keep an escalation from being closed. Not to be hashed as RFC 8785: that has no bytes for it.
 */
export function eventJson(value: unknown): string {
  return write(value, JSON.stringify);
}

/** How a text that is not plain is written. */
type WriteText = (value: string) => string;

function write(value: unknown, otherText: WriteText): string {
  switch (typeof value) {
    case "string":
      return text(value, otherText);
    case "number":
      // JSON.stringify is ECMAScript's Number::toString, which RFC 8785 §3.2.2.3 prescribes; -0 becomes 0.
      if (!Number.isFinite(value)) throw new TypeError(`canonical JSON has no number ${value}`);
      return value === 0 ? "0" : String(value);
    case "boolean":
      return value ? "true" : "false";
    case "object":
      if (value === null) return "null";
      return Array.isArray(value) ? list(value, otherText) : members(value, otherText);
    default:
      throw new TypeError(`canonical JSON has no ${typeof value}`);
  }
}

function text(value: string, otherText: WriteText): string {
  return plain.test(value) ? `"${value}"` : otherText(value);
}

function wholeText(value: string): string {
  if (loneSurrogate.test(value)) throw new TypeError("canonical JSON has no lone surrogate");
  return JSON.stringify(value);
}

function list(values: readonly unknown[], otherText: WriteText): string {
  let out = "[";
  for (let index = 0; index < values.length; index++) {
    if (index > 0) out += ",";
    out += write(values[index], otherText);
  }
  return `${out}]`;
}

/** Writes the text directly: an object rebuilt from sorted entries would put integer-like names first again. */
function members(value: object, otherText: WriteText): string {
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) {
    throw new TypeError(`canonical JSON has no ${value.constructor?.name ?? "object with a prototype"}`);
  }
  const record = value as Readonly<Record<string, unknown>>;
  const names = Object.keys(record);
  // Both compare UTF-16 code units, the order that RFC 8785 §3.2.3 asks for. What the service writes itself is in order.
  if (!isSorted(names)) names.sort();
  let out = "{";
  for (const name of names) {
    if (out.length > 1) out += ",";
    out += `${text(name, otherText)}:${write(record[name], otherText)}`;
  }
  return `${out}}`;
}

function isSorted(names: readonly string[]): boolean {
  for (let index = 1; index < names.length; index++) {
    if ((names[index - 1] as string) > (names[index] as string)) return false;
  }
  return true;
}
