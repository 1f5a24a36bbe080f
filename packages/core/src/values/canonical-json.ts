/** Characters that JSON writes unchanged. Much cheaper than JSON.stringify. */
const plain = /^[ !#-[\]-~]*$/;

/** RFC 8785 has no bytes for a lone surrogate. */
const loneSurrogate = /\p{Surrogate}/u;

/**
 * Returns canonical JSON (RFC 8785). Equal values have the same text, so it may be hashed. Throws TypeError for numbers
 * that are not finite, lone surrogates, undefined, functions, and objects with a prototype (a Map or Date would become
 * `{}`).
 */
export function canonicalJson(value: unknown): string {
  return write(value, wholeText);
}

/**
 * Returns the text of an event, to be stored, signed and sent. Writes a lone surrogate as its escape (`\ud800`),
 * because an escalation with an old record must still close. Must not be hashed as RFC 8785.
 */
export function eventJson(value: unknown): string {
  return write(value, JSON.stringify);
}

type WriteText = (value: string) => string;

function write(value: unknown, otherText: WriteText): string {
  switch (typeof value) {
    case "string":
      return text(value, otherText);
    case "number":
      // As RFC 8785 §3.2.2.3 requires. -0 becomes 0.
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

/** An object built from sorted entries would put integer-like names first. */
function members(value: object, otherText: WriteText): string {
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) {
    throw new TypeError(`canonical JSON has no ${value.constructor?.name ?? "object with a prototype"}`);
  }
  const record = value as Readonly<Record<string, unknown>>;
  const names = Object.keys(record);
  // By UTF-16 code units (RFC 8785 §3.2.3). The service's own objects are already sorted.
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
