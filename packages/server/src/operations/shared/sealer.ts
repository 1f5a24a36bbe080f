import { LRUCache } from "lru-cache";

/** Keeps short secrets in the database without anybody who reads it learning them. Source: decision 0019. */
export interface Sealer {
  /** The text, readable again only with the same context (what it belongs to: organization, table, row). */
  seal(text: string, context: string): string;
  /** The text that was sealed. Throws when it was sealed for another context, with another key, or was changed. */
  open(sealed: string, context: string): string;
}

const opened_max = 256;

/**
 * Opens with `sealer`, and remembers the latest texts: opening costs 5 µs, and what is opened for every delivery of a
 * webhook is one secret. A sealed text never changes its meaning, so nothing that is remembered grows old.
 */
export function remembering(sealer: Sealer): Sealer {
  const opened = new LRUCache<string, string>({ max: opened_max });
  return {
    seal: (text, context) => sealer.seal(text, context),
    open(sealed, context) {
      const key = `${context} ${sealed}`;
      const known = opened.get(key);
      if (known !== undefined) return known;
      const text = sealer.open(sealed, context);
      opened.set(key, text);
      return text;
    },
  };
}

/** A sealer that also tells which of its keys opens a text. Names of keys give nothing of a key away. */
export interface KeyRing extends Sealer {
  /** The name of the key that seals. */
  readonly key_id: string;
  /** What every text begins with that was sealed with that key and names it. */
  readonly prefix: string;
  /** The names of the other keys, which open what they sealed. */
  readonly other_key_ids: readonly string[];
  /** The name of the key that opens the text; null: none that is set here does. */
  openedBy(sealed: string, context: string): string | null;
}
