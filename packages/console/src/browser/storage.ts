/** What the browser keeps. A key typed in lives as long as its tab; taste lives longer. Storage may be refused: then nothing is kept. */

function attempt<T>(work: () => T, otherwise: T): T {
  try {
    return work();
  } catch {
    return otherwise;
  }
}

const keyName = "countersign.api_key";

/** The API key typed in this tab, or null. */
export function keptKey(): string | null {
  return attempt(() => sessionStorage.getItem(keyName), null);
}

/** Keeps the key for this tab; null forgets it. */
export function keepKey(api_key: string | null): void {
  attempt(() => {
    if (api_key === null) sessionStorage.removeItem(keyName);
    else sessionStorage.setItem(keyName, api_key);
  }, undefined);
}

/** A matter of taste: theme, shortcuts. */
export function preference(name: string): string | null {
  return attempt(() => localStorage.getItem(`countersign.${name}`), null);
}

export function setPreference(name: string, value: string | null): void {
  attempt(() => {
    if (value === null) localStorage.removeItem(`countersign.${name}`);
    else localStorage.setItem(`countersign.${name}`, value);
  }, undefined);
}
