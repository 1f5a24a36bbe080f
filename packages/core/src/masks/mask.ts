/**
 * Masks hide values from people but not from execution. Credentials are always masked (docs/decisions/0035-masks.md).
 */
import { struckOut, textsOf } from "@countersign/contract";
import { credentialSpans, isCredentialName } from "../values/credentials.ts";
import { nothing, pointerNames, pointerToken, valueAt } from "../values/json-patch.ts";
import { withoutTexts } from "../values/redacted-texts.ts";

export const mask_text = "[masked]";

export interface Masking {
  /** Places masked entirely. */
  readonly by_policies: ReadonlySet<string>;
  /** JSON Pointers of values with a mask. */
  readonly places: readonly string[];
  /** Masked texts, longest first. They are masked wherever they occur. */
  readonly texts: readonly string[];
}

const none: Masking = { by_policies: new Set(), places: [], texts: [] };

/** Finds credentials and the places masked by policies. */
export function maskingOf(content: unknown, places: readonly string[] = []): Masking {
  const found = new Set<string>();
  const texts = new Set<string>();
  for (const place of places) {
    const value = valueAt(content, pointerNames(place));
    if (value === nothing) continue;
    found.add(place);
    for (const text of textsOf(value)) texts.add(text);
  }
  findCredentials(content, "", false, (place, credentials) => {
    found.add(place);
    for (const text of credentials.flatMap((each) => [...textsOf(each)])) texts.add(text);
  });
  if (found.size === 0) return none;
  const by_policies = new Set(places);
  // A text within the mask itself would be masked again.
  const kept = [...texts].filter((text) => !mask_text.includes(text));
  return { by_policies, places: [...found], texts: kept.sort((a, b) => b.length - a.length || (a < b ? -1 : 1)) };
}

/** `named`: a member name marks the value as a credential. */
function findCredentials(
  value: unknown,
  place: string,
  named: boolean,
  found: (place: string, credentials: readonly string[]) => void,
): void {
  if (typeof value === "string") {
    if (value === "" || value === mask_text) return;
    const credentials = named ? [value] : credentialSpans(value).map(({ start, end }) => value.slice(start, end));
    if (credentials.length > 0) found(place, credentials);
    return;
  }
  if (typeof value !== "object" || value === null) return;
  for (const [name, each] of Object.entries(value)) {
    const is_named = Array.isArray(value) ? named : isCredentialName(name);
    findCredentials(each, `${place}/${pointerToken(name)}`, is_named, found);
  }
}

export function maskedValue<T>(value: T, texts: readonly string[]): T {
  return withoutTexts(withoutCredentials(value, false), texts, mask_text) as T;
}

function withoutCredentials(value: unknown, named: boolean): unknown {
  if (typeof value === "string") {
    if (named && value !== "") return mask_text;
    return struckOut(value, credentialSpans(value), mask_text);
  }
  if (Array.isArray(value)) return value.map((each) => withoutCredentials(each, named));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, withoutCredentials(each, isCredentialName(name))]),
  );
}

/** Masks policies' places, credentials, and both texts elsewhere. */
export function maskedContent<T>(content: T, { by_policies, texts }: Masking): T {
  return maskedValue(by_policies.size === 0 ? content : (maskedAt(content, "", by_policies) as T), texts);
}

function maskedAt(value: unknown, place: string, masked: ReadonlySet<string>): unknown {
  if (masked.has(place)) return mask_text;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(
    ([name, each]) => [name, maskedAt(each, `${place}/${pointerToken(name)}`, masked)] as const,
  );
  return Array.isArray(value) ? entries.map(([, each]) => each) : Object.fromEntries(entries);
}
