/**
 * Reseals everything with the current master key while nodes run. No list says what is left to do: a text that names
 * another key is left. So the next run finishes an interrupted one. Source: decision 0019.
 */
import type { Db, KeyRing } from "../../ports.ts";
import { sourceSecretContext } from "../../store/context/context-source.ts";
import {
  countSealedTexts,
  readSealedTexts,
  replaceStored,
  type SealedPlace,
  type SealedText,
  sealedPlaces,
} from "../../store/upkeep/sealed-texts.ts";
import { secretContext } from "../../store/webhooks/webhooks.ts";
import { mailContext } from "../people/mail.ts";
import { clientSecretContext } from "../people/single-sign-on.ts";
import { startedContext } from "../people/single-sign-on-login.ts";
import { totpContext } from "../people/totp.ts";

/** Which keys the sealed texts of one place need. */
export interface SealedCount {
  readonly place: SealedPlace;
  readonly total: number;
  /** Texts by the name of the key that opens them. */
  readonly by_key: Readonly<Record<string, number>>;
  /** Opened by no key that is set here. */
  readonly unreadable: number;
}

/** What was done in one place so far. */
export interface Resealed {
  readonly place: SealedPlace;
  readonly resealed: number;
  /** Not touched, because no key that is set here opens it. */
  readonly unreadable: number;
}

/** The key that seals, and the database. */
export interface ResealParts {
  readonly db: Pick<Db, "system">;
  readonly ring: KeyRing;
}

/** Rows that one transaction holds while others may want them. */
const batch_rows = 100;
/** A node that still seals with a former key makes new work for ever; `sealedStatus` tells what is left. */
const runs_max = 3;

/** What each place seals its texts under. Source: the operations that do. */
function contextOf(place: SealedPlace, { key }: SealedText): string {
  const [first = "", second = ""] = key;
  switch (place) {
    case "webhooks":
      return secretContext(first, second);
    case "context_sources":
      return sourceSecretContext(first);
    case "single_sign_on":
      return clientSecretContext(first);
    case "second_factors":
      return totpContext({ org_id: first, user_id: second });
    case "mails":
      return mailContext(first);
    case "begun_logins":
      return startedContext(first);
    default:
      return place satisfies never;
  }
}

/** Which master keys the sealed texts need, place by place. Texts that name the current key are counted and not opened. */
export async function sealedStatus({ db, ring }: ResealParts, rows_at_once = batch_rows): Promise<SealedCount[]> {
  const counts: SealedCount[] = [];
  for (const place of sealedPlaces) {
    const { prefixed } = await db.system((query) => countSealedTexts(query, place, ring.prefix));
    const by_key: Record<string, number> = prefixed > 0 ? { [ring.key_id]: prefixed } : {};
    let unreadable = 0;
    let others = 0;
    let after: readonly string[] | null = null;
    for (;;) {
      const page = { prefix: ring.prefix, after, limit: rows_at_once };
      const texts: SealedText[] = await db.system((query) => readSealedTexts(query, place, page));
      for (const text of texts) {
        others += 1;
        const key_id = ring.openedBy(text.sealed, contextOf(place, text));
        if (key_id === null) unreadable += 1;
        else by_key[key_id] = (by_key[key_id] ?? 0) + 1;
      }
      if (texts.length < rows_at_once) break;
      after = texts.at(-1)?.key ?? null;
    }
    counts.push({ place, total: prefixed + others, by_key, unreadable });
  }
  return counts;
}

/** Of these a loss would only be noticed when somebody needs them. */
const lasting = ["webhooks", "context_sources", "single_sign_on", "second_factors"] as const;

/** The places where none of the first texts that do not name the current key opens: as a rule, a key is missing here. */
export async function unreadablePlaces({ db, ring }: ResealParts): Promise<SealedPlace[]> {
  const found: SealedPlace[] = [];
  for (const place of lasting) {
    const page = { prefix: ring.prefix, after: null, limit: 20 };
    const texts = await db.system((query) => readSealedTexts(query, place, page));
    const opens = (text: SealedText) => ring.openedBy(text.sealed, contextOf(place, text)) !== null;
    if (texts.length > 0 && !texts.some(opens)) found.push(place);
  }
  return found;
}

/**
 * Reseals each text that names another key than the current one, in small transactions. A text that changed meanwhile
 * is read again. Texts that no key opens stay as they are and are counted. `progress` hears of every transaction.
 */
export async function resealAll(
  parts: ResealParts,
  progress: (done: Resealed) => void,
  rows_at_once = batch_rows,
): Promise<Resealed[]> {
  const done: Resealed[] = [];
  for (const place of sealedPlaces) {
    let resealed = 0;
    let unreadable = 0;
    for (let runs = 1; runs <= runs_max; runs += 1) {
      const before = resealed;
      const run = await resealOnce(parts, place, rows_at_once, (so_far) =>
        progress({ place, resealed: before + so_far.resealed, unreadable: so_far.unreadable }),
      );
      resealed += run.resealed;
      unreadable = run.unreadable;
      if (run.passed_over === 0) break;
    }
    done.push({ place, resealed, unreadable });
  }
  return done;
}

interface Run {
  resealed: number;
  unreadable: number;
  /** Changed between reading and writing. */
  passed_over: number;
}

/** From the first row of a place to its last. */
async function resealOnce(
  { db, ring }: ResealParts,
  place: SealedPlace,
  limit: number,
  progress: (run: Run) => void,
): Promise<Run> {
  const run: Run = { resealed: 0, unreadable: 0, passed_over: 0 };
  let after: readonly string[] | null = null;
  for (;;) {
    const page = { prefix: ring.prefix, after, limit };
    const batch = await db.system(async (query) => {
      const texts = await readSealedTexts(query, place, page);
      const changes = texts.flatMap((text) => resealedColumn(ring, place, text) ?? []);
      const replaced = changes.length === 0 ? 0 : await replaceStored(query, place, changes);
      return { texts, changes: changes.length, replaced };
    });
    const { texts, changes, replaced } = batch;
    run.resealed += replaced;
    run.passed_over += changes - replaced;
    run.unreadable += texts.length - changes;
    if (texts.length > 0) progress(run);
    if (texts.length < limit) return run;
    after = texts.at(-1)?.key ?? null;
  }
}

/** Null: no key that is set here opens it. */
function resealedColumn(ring: KeyRing, place: SealedPlace, text: SealedText) {
  const context = contextOf(place, text);
  if (ring.openedBy(text.sealed, context) === null) return null;
  const sealed = ring.seal(ring.open(text.sealed, context), context);
  const { key, stored } = text;
  // Sealed texts need no escapes in JSON, and a column holds its own once: the rest stays byte for byte.
  return { key, stored, replaced: stored.replace(text.sealed, () => sealed) };
}
