/**
 * Asks organizations' own endpoints for facts. See docs/decisions/0015.
 *
 * A waiting request holds no lock, no database session and no place in the commit writer. Each organization has at most
 * `context_source_pulls_max` open requests. Equal concurrent requests share one. Answers are kept while all their facts
 * are fresh, for a minute at most. The key covers the whole intent, because the source may use any part of it.
 */

import {
  type ContextDocument,
  context_contract_version,
  type FactCategoryName,
  factCategoryNames,
  limits,
  type Problem,
  type PullFailure,
} from "@countersign/contract";
import {
  contextErrors,
  contextRequestHeaders,
  type InexactFacts,
  isFresh,
  normalizeContext,
  type PreparedMembrane,
  parseInParts,
  sha256Hex,
  us_per_second,
} from "@countersign/core";
import { LRUCache } from "lru-cache";
import pLimit, { type LimitFunction } from "p-limit";
import type { Answered, Clock, HttpOut, Ids, Log, Sealer, Timers } from "../../ports.ts";
import { type ContextSourceRow, sourceSecretContext } from "../../store/context/context-source.ts";
import type { PullMetrics } from "../runtime.ts";
import type { ContextPulls, Pulled } from "../shared/node-services.ts";
import { SourceStanding } from "./source-standing.ts";

export interface PullParts {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly timers: Timers;
  readonly log: Log;
  readonly sealer: Sealer;
  readonly httpOut: Pick<HttpOut, "ask">;
  readonly metrics: PullMetrics;
  /**
   * Returns true if the organization still has this registration. Checked before each request, because cached states
   * may be stale.
   */
  isRegistered(org_id: string, source: ContextSourceRow): Promise<boolean>;
}

interface Kept {
  readonly document: ContextDocument;
  readonly received_us: number;
  readonly inexact: InexactFacts;
  readonly bytes: number;
}

interface Question {
  readonly org_id: string;
  readonly source: ContextSourceRow;
  readonly body: string;
  readonly key: string;
}

const organizations_max = 2_000;
const kept_bytes_max = 64 * 1_048_576;
const places_max = 100;
const kept_us = limits.context_source_kept_seconds_max * us_per_second;

export function createContextPulls(parts: PullParts): ContextPulls {
  const questions = new ContextQuestions(parts);
  const places = new LRUCache<string, LimitFunction>({ max: organizations_max, memoMethod: () => pLimit(places_max) });
  return {
    async pull(org_id, source, intent, ages) {
      const { metrics } = parts;
      const body = JSON.stringify({ contract_version: context_contract_version, intent });
      const key = sha256Hex(`${org_id}\n${source.secret_sealed}\n${body}`);
      const kept = questions.keptAnswer(key, ages);
      if (kept !== null) {
        metrics.pulled("kept");
        return kept;
      }
      const pulled = await questions.ask({ org_id, source, body, key });
      if (pulled !== null) metrics.pulled("failed" in pulled ? pulled.failed : "pulled");
      return pulled;
    },
    places: (org_id) => places.memo(org_id),
  };
}

/** A request waits for a place, checks standing and registration, asks, and records the answer. */
class ContextQuestions {
  readonly #parts: PullParts;
  readonly #kept = new LRUCache<string, Kept>({
    maxSize: kept_bytes_max,
    sizeCalculation: ({ bytes }) => bytes + 500,
  });
  readonly #asking = new Map<string, Promise<Pulled | null>>();
  readonly #standings = new LRUCache<string, SourceStanding>({ max: organizations_max });

  constructor(parts: PullParts) {
    this.#parts = parts;
  }

  keptAnswer(key: string, ages: PreparedMembrane["limits"]): Kept | null {
    const now_us = this.#parts.clock.now_us();
    const known = this.#kept.get(key);
    if (known === undefined || known.received_us > now_us || now_us - known.received_us > kept_us) return null;
    return isFresh(known.document, known.received_us, ages, now_us) ? known : null;
  }

  ask(question: Question): Promise<Pulled | null> {
    const under_way = this.#asking.get(question.key);
    if (under_way !== undefined) return under_way;
    const answering = this.#inPlace(question).finally(() => this.#asking.delete(question.key));
    this.#asking.set(question.key, answering);
    return answering;
  }

  #inPlace(question: Question): Promise<Pulled | null> {
    const { clock, timers } = this.#parts;
    const { org_id, source } = question;
    const standing = this.#standingOf(org_id, source.secret_sealed);
    const due_us = clock.now_us() + source.timeout_ms * 1000;
    // Limited to the timeout, because the clock may go backwards.
    const leftMs = () => Math.min(Math.ceil((due_us - clock.now_us()) / 1000), source.timeout_ms);
    return new Promise((resolve, reject) => {
      const stopWaiting = timers.after(source.timeout_ms, () => resolve({ failed: "source_busy" }));
      const asked = standing.open(async () => {
        if (leftMs() <= 0) return resolve({ failed: "source_busy" });
        if (!standing.mayAsk(clock.now_us())) {
          stopWaiting();
          return resolve({ failed: "source_paused" });
        }
        try {
          const registered = await this.#parts.isRegistered(org_id, source);
          stopWaiting();
          const left_ms = leftMs();
          if (!registered) resolve(null);
          else if (left_ms <= 0) resolve({ failed: "source_busy" });
          else resolve(await this.#send(question, left_ms, standing));
        } finally {
          standing.asked();
        }
      });
      asked.catch(reject);
    });
  }

  #standingOf(org_id: string, revision: string): SourceStanding {
    const known = this.#standings.get(org_id);
    if (known?.revision === revision) return known;
    // A new registration begins without failures, but open requests to the old one count.
    const standing = new SourceStanding(revision, known?.open ?? pLimit(limits.context_source_pulls_max));
    this.#standings.set(org_id, standing);
    return standing;
  }

  async #send({ org_id, source, body, key }: Question, timeout_ms: number, standing: SourceStanding): Promise<Pulled> {
    const { clock, ids, log, sealer, httpOut } = this.#parts;
    let secret: string;
    try {
      secret = sealer.open(source.secret_sealed, sourceSecretContext(org_id));
    } catch {
      return { failed: "source_secret" };
    }
    const headers = contextRequestHeaders(ids.next("request"), body, secret, clock.now_us());
    const answer_bytes_max = limits.context_source_answer_bytes_max;
    const answer = await httpOut.ask(source.url, headers, body, { timeout_ms, answer_bytes_max });
    const received_us = clock.now_us();
    const why = standing.note(answer, received_us);
    if (why !== null) log.warn({ org_id, why }, "a context source failed repeatedly and is paused for some seconds");
    const read = readAnswer(answer, received_us);
    if ("failed" in read) return read;
    if (!("failed" in answer) && !/\bno-(?:store|cache)\b/i.test(answer.cache_control ?? ""))
      this.#kept.set(key, { ...read, bytes: answer.body.length });
    return read;
  }
}

const failedAs = {
  timeout: "source_timeout",
  unreachable: "source_unreachable",
  refused: "source_refused",
  too_large: "source_too_large",
} as const satisfies Record<string, PullFailure>;

/**
 * Returns the document of an answer, checked like a pushed one; 204: no facts. Numbers that no double holds become null
 * and are listed as inexact.
 */
function readAnswer(answer: Answered, received_us: number): Pulled {
  if ("failed" in answer) return { failed: failedAs[answer.failed] };
  if (answer.status === 204)
    return { document: { contract_version: context_contract_version, facts: {} }, received_us, inexact: {} };
  if (answer.status !== 200) return { failed: "source_error" };
  let document: unknown;
  let inexact: InexactFacts = {};
  try {
    const { value, examine } = parseInParts(answer.body, limits.json_depth_max);
    document = value;
    if (examine(value).length > 0) inexact = clearInexactFacts(value, examine);
    if (examine(value).length > 0) return { failed: "source_invalid" };
  } catch {
    return { failed: "source_invalid" };
  }
  if (contextErrors(document, received_us).length > 0) return { failed: "source_invalid" };
  return { document: normalizeContext(document as ContextDocument), received_us, inexact };
}

function clearInexactFacts(document: unknown, examine: (part: unknown) => readonly Problem[]): InexactFacts {
  const inexact: Partial<Record<FactCategoryName, string[]>> = {};
  const facts = (document as Partial<ContextDocument> | null)?.facts;
  for (const category of factCategoryNames) {
    const values = facts?.[category] as Record<string, unknown> | null | undefined;
    for (const [field, value] of Object.entries(values ?? {})) {
      const problems = examine(value);
      if (problems.length === 0 || problems.some(({ code }) => code !== "out_of_range")) continue;
      inexact[category] = [...(inexact[category] ?? []), field];
      (values as Record<string, unknown>)[field] = null;
    }
  }
  return inexact;
}
