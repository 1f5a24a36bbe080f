/**
 * Asking organizations' own endpoints for facts, so that nobody else notices how they fare.
 *
 * Nothing is held while a source is waited for: no lock, no session of the database, no place in the commit writer. Each
 * organization has `context_source_pulls_max` questions open at once and no more; after several failures in a row it is
 * left alone for some seconds, then one question tries whether it is back. Everything a question can come to is a value.
 *
 * The same question is not asked twice at once, and its answer is kept while none of its facts is stale, a minute at
 * most. The question is the whole intent: what an answer rests on (a telephone number in the payload, say) is the
 * source's business, so an answer to another intent is never used. docs/decisions/0015.
 */

import { type ContextDocument, contextContractVersion, limits, type PullFailure } from "@countersign/contract";
import {
  contextErrors,
  contextRequestHeaders,
  isFresh,
  normalizeContext,
  parseJson,
  sha256Hex,
  us_per_second,
} from "@countersign/core";
import { LRUCache } from "lru-cache";
import pLimit, { type LimitFunction } from "p-limit";
import type { Answered, Clock, HttpOut, Ids, Log, Sealer, Timers } from "../../ports.ts";
import { type ContextSourceRow, sourceSecretContext } from "../../store/context/context-source.ts";
import type { PullMetrics } from "../runtime.ts";
import type { ContextPulls, Pulled } from "../shared/node-services.ts";

/** What the questions need of the node. */
export interface PullParts {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly timers: Timers;
  readonly log: Log;
  readonly sealer: Sealer;
  readonly httpOut: Pick<HttpOut, "ask">;
  readonly metrics: PullMetrics;
  /**
   * Whether the organization still has this registration. Looked at just before each question: states in memory are refused
   * only by the commit, and an intent would have been sent to an endpoint hours after it was removed.
   */
  isRegistered(org_id: string, source: ContextSourceRow): Promise<boolean>;
}

interface Kept {
  readonly document: ContextDocument;
  readonly received_us: number;
  readonly bytes: number;
}

/** How one organization's source fares, under the registration it was asked under. */
interface Standing {
  readonly revision: string;
  readonly open: LimitFunction;
  /** In a row. */
  failures: number;
  /** Not asked before then; 0: it is well. */
  paused_until_us: number;
  /** After a pause somebody is trying whether it is back. */
  trying: boolean;
}

const organizationsMax = 2_000;
const keptBytesMax = 64 * 1_048_576;
/** As many items of an organization's batches are on their way at once. */
const placesMax = 100;
const kept_us = limits.context_source_kept_seconds_max * us_per_second;
const pause_us = limits.context_source_pause_seconds * us_per_second;

/** Creates the questions of one node. */
export function createContextPulls(parts: PullParts): ContextPulls {
  const { clock, ids, timers, log, sealer, httpOut, metrics } = parts;
  const kept = new LRUCache<string, Kept>({
    maxSize: keptBytesMax,
    sizeCalculation: ({ bytes }) => bytes + 500,
  });
  const asking = new Map<string, Promise<Pulled | null>>();
  const standings = new LRUCache<string, Standing>({ max: organizationsMax });
  const places = new LRUCache<string, LimitFunction>({ max: organizationsMax, memoMethod: () => pLimit(placesMax) });

  function standingOf(org_id: string, revision: string): Standing {
    const known = standings.get(org_id);
    if (known?.revision === revision) return known;
    // A new registration starts well, but questions to the old one still count as open.
    const open = known?.open ?? pLimit(limits.context_source_pulls_max);
    const standing = { revision, open, failures: 0, paused_until_us: 0, trying: false };
    standings.set(org_id, standing);
    return standing;
  }

  /** Waits for one of the organization's places, no longer than the question may take. */
  function ask(org_id: string, source: ContextSourceRow, body: string, key: string): Promise<Pulled | null> {
    const standing = standingOf(org_id, source.secret_sealed);
    const due_us = clock.now_us() + source.timeout_ms * 1000;
    return new Promise((resolve, reject) => {
      const stopWaiting = timers.after(source.timeout_ms, () => resolve({ failed: "source_busy" }));
      const asked = standing.open(async () => {
        // Of a clock that is followed back there would be hours left.
        const leftMs = () => Math.min(Math.ceil((due_us - clock.now_us()) / 1000), source.timeout_ms);
        if (leftMs() <= 0) return resolve({ failed: "source_busy" });
        if (!mayAsk(standing)) {
          stopWaiting();
          return resolve({ failed: "source_paused" });
        }
        try {
          const registered = await parts.isRegistered(org_id, source);
          stopWaiting();
          const left_ms = leftMs();
          if (!registered) resolve(null);
          else if (left_ms <= 0) resolve({ failed: "source_busy" });
          else resolve(await question(org_id, source, body, key, left_ms, standing));
        } finally {
          standing.trying = false;
        }
      });
      asked.catch(reject);
    });
  }

  function mayAsk(standing: Standing): boolean {
    if (standing.paused_until_us === 0) return true;
    const paused_us = standing.paused_until_us - clock.now_us();
    if (standing.trying || (paused_us > 0 && paused_us <= pause_us)) return false;
    standing.trying = true;
    return true;
  }

  async function question(
    org_id: string,
    source: ContextSourceRow,
    body: string,
    key: string,
    timeout_ms: number,
    standing: Standing,
  ): Promise<Pulled> {
    let secret: string;
    try {
      secret = sealer.open(source.secret_sealed, sourceSecretContext(org_id));
    } catch {
      return { failed: "source_secret" };
    }
    const headers = contextRequestHeaders(ids.next("request"), body, secret, clock.now_us());
    const answer = await httpOut.ask(source.url, headers, body, {
      timeout_ms,
      answer_bytes_max: limits.context_source_answer_bytes_max,
    });
    const received_us = clock.now_us();
    note(org_id, standing, answer, received_us);
    const read = readAnswer(answer, received_us);
    if ("failed" in read) return read;
    if (!("failed" in answer) && !/\bno-(?:store|cache)\b/i.test(answer.cache_control ?? ""))
      kept.set(key, { document: read.document, received_us, bytes: answer.body.length });
    return read;
  }

  /** Only what costs time or says that the source is down counts against it: a bad answer to one question is no reason. */
  function note(org_id: string, standing: Standing, answer: Answered, now_us: number): void {
    const down = "failed" in answer ? answer.failed !== "too_large" : answer.status >= 500 || answer.status === 429;
    if (!down) {
      standing.failures = 0;
      standing.paused_until_us = 0;
      return;
    }
    standing.failures += 1;
    if (standing.failures < limits.context_source_failures_max) return;
    if (standing.paused_until_us === 0) {
      const why = "failed" in answer ? answer.text : `status ${answer.status}`;
      log.warn({ org_id, why }, "a context source failed repeatedly and is left alone for some seconds at a time");
    }
    standing.paused_until_us = now_us + pause_us;
  }

  return {
    async pull(org_id, source, intent, ages) {
      const body = JSON.stringify({ contract_version: contextContractVersion, intent });
      const key = sha256Hex(`${org_id}\n${source.secret_sealed}\n${body}`);
      const now_us = clock.now_us();
      const known = kept.get(key);
      if (known !== undefined && known.received_us <= now_us && now_us - known.received_us <= kept_us) {
        if (isFresh(known.document, known.received_us, ages, now_us)) {
          metrics.pulled("kept");
          return known;
        }
      }
      let answering = asking.get(key);
      if (answering === undefined) {
        answering = ask(org_id, source, body, key).finally(() => asking.delete(key));
        asking.set(key, answering);
      }
      const pulled = await answering;
      if (pulled === null) return null;
      metrics.pulled("failed" in pulled ? pulled.failed : "pulled");
      return pulled;
    },

    places: (org_id) => places.memo(org_id),
  };
}

const failedAs = {
  timeout: "source_timeout",
  unreachable: "source_unreachable",
  refused: "source_refused",
  too_large: "source_too_large",
} as const satisfies Record<string, PullFailure>;

/** The document of an answer, checked like any other that is sent here; 204 says that there are no facts. */
function readAnswer(answer: Answered, received_us: number): Pulled {
  if ("failed" in answer) return { failed: failedAs[answer.failed] };
  if (answer.status === 204) return { document: { contract_version: contextContractVersion, facts: {} }, received_us };
  if (answer.status !== 200) return { failed: "source_error" };
  let document: unknown;
  try {
    document = parseJson(answer.body);
  } catch {
    return { failed: "source_invalid" };
  }
  if (contextErrors(document, received_us).length > 0) return { failed: "source_invalid" };
  return { document: normalizeContext(document as ContextDocument), received_us };
}
