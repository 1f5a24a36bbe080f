/**
 * Reseals all texts with the current master key while nodes run. Texts that name another key are still to do, so the
 * next run resumes. See decision 0019.
 */
import type { Db, KeyRing } from "../../ports.ts";
import { channelContext } from "../../store/channels/channels.ts";
import { subscriptionContext } from "../../store/channels/push-devices.ts";
import { sourceSecretContext } from "../../store/context/context-source.ts";
import { subjectContext } from "../../store/erasure/erasures.ts";
import { seedContext } from "../../store/log/log-keys.ts";
import { streamContext } from "../../store/streams/streams.ts";
import {
  countSealedTexts,
  readSealedTexts,
  replaceStored,
  type SealedPlace,
  type SealedText,
  sealedPlaces,
} from "../../store/upkeep/sealed-texts.ts";
import { headersContext, secretContext } from "../../store/webhooks/webhooks.ts";
import { mailContext } from "../people/mail.ts";
import { clientSecretContext } from "../people/single-sign-on.ts";
import { startedContext } from "../people/single-sign-on-login.ts";
import { totpContext } from "../people/totp.ts";

export interface SealedCount {
  readonly place: SealedPlace;
  readonly total: number;
  readonly by_key: Readonly<Record<string, number>>;
  readonly unreadable: number;
}

export interface Resealed {
  readonly place: SealedPlace;
  readonly resealed: number;
  readonly unreadable: number;
}

export interface ResealParts {
  readonly db: Pick<Db, "system">;
  readonly ring: KeyRing;
}

const batch_rows = 100;
/** Limits runs, because a node with a former key creates new work constantly. `sealedStatus` shows the rest. */
const runs_max = 3;

function contextOf(place: SealedPlace, { key }: SealedText): string {
  const [first = "", second = ""] = key;
  switch (place) {
    case "webhooks":
    case "next_webhook_secrets":
      return secretContext(first, second);
    case "webhook_headers":
      return headersContext(first, second);
    case "context_sources":
      return sourceSecretContext(first);
    case "single_sign_on":
      return clientSecretContext(first);
    case "second_factors":
      return totpContext({ org_id: first, user_id: second });
    case "channels":
      return channelContext(first, second);
    case "push_devices":
      return subscriptionContext(first, second);
    case "log_keys":
      return seedContext(first, second);
    case "streams":
      return streamContext(first, second);
    case "erasures":
      return subjectContext(first, second);
    case "mails":
      return mailContext(first);
    case "begun_logins":
      return startedContext(first);
    default:
      return place satisfies never;
  }
}

/** Returns the needed master keys by place. Texts of the current key are counted without opening. */
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

const lasting = [
  "webhooks",
  "next_webhook_secrets",
  "webhook_headers",
  "context_sources",
  "single_sign_on",
  "second_factors",
  "channels",
  "push_devices",
  "log_keys",
  "streams",
] as const;

/** Returns the places where none of the first texts of other keys opens. Usually a key is missing. */
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
 * Reseals all texts of other keys, in small transactions. Texts that changed meanwhile are read again. Unreadable texts
 * stay and are counted.
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
  passed_over: number;
}

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

/** Null: no configured key opens it. */
function resealedColumn(ring: KeyRing, place: SealedPlace, text: SealedText) {
  const context = contextOf(place, text);
  if (ring.openedBy(text.sealed, context) === null) return null;
  const sealed = ring.seal(ring.open(text.sealed, context), context);
  const { key, stored } = text;
  // Sealed texts need no JSON escapes and occur once, so the rest of the column stays byte-identical.
  return { key, stored, replaced: stored.replace(text.sealed, () => sealed) };
}
