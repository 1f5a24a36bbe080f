/**
 * The browser's storage. A typed key lives as long as its tab, preferences longer. If storage is refused, nothing is
 * kept.
 */

function attempt<T>(work: () => T, otherwise: T): T {
  try {
    return work();
  } catch {
    return otherwise;
  }
}

const key_name = "countersign.api_key";

export function keptKey(): string | null {
  return attempt(() => sessionStorage.getItem(key_name), null);
}

export function keepKey(api_key: string | null): void {
  attempt(() => {
    if (api_key === null) sessionStorage.removeItem(key_name);
    else sessionStorage.setItem(key_name, api_key);
  }, undefined);
}

const draft_prefix = "countersign.draft.";
/** A browser gives a tab about 5 MB. */
const draft_chars_max = 200_000;

export function keptDraft(name: string): string | null {
  return attempt(() => sessionStorage.getItem(draft_prefix + name), null);
}

export function keepDraft(name: string, text: string | null): void {
  attempt(() => {
    if (text === null || text.length > draft_chars_max) sessionStorage.removeItem(draft_prefix + name);
    else sessionStorage.setItem(draft_prefix + name, text);
  }, undefined);
}

export function hasDrafts(): boolean {
  return attempt(() => Object.keys(sessionStorage).some((name) => name.startsWith(draft_prefix)), false);
}

export function forgetDrafts(): void {
  attempt(() => {
    for (const name of Object.keys(sessionStorage)) if (name.startsWith(draft_prefix)) sessionStorage.removeItem(name);
  }, undefined);
}

const address_name = "countersign.address";

/** Keeps the current address for the return from a provider. */
export function keepAddress(): void {
  attempt(() => sessionStorage.setItem(address_name, location.pathname + location.search), undefined);
}

/** Returns the kept address once; null: none, or the sign-in page. */
export function takenAddress(): string | null {
  return attempt(() => {
    const kept = sessionStorage.getItem(address_name);
    sessionStorage.removeItem(address_name);
    return kept === null || /^\/(?:login|sso\/.*)(?:\?|$)/.test(kept) ? null : kept;
  }, null);
}

export function preference(name: string): string | null {
  return attempt(() => localStorage.getItem(`countersign.${name}`), null);
}

export function setPreference(name: string, value: string | null): void {
  attempt(() => {
    if (value === null) localStorage.removeItem(`countersign.${name}`);
    else localStorage.setItem(`countersign.${name}`, value);
  }, undefined);
}
