/**
 * Finds the caller of the X-API-Key header.
 *
 * Every operation reads the key from the database, except the submission of one intent. That one may use memory,
 * because its commit checks the key's epoch. So a revoked key fails on every node once the revocation commits.
 *
 * The database says how long a key is still valid. Memory keeps it no longer, by the monotonic clock, so the node's
 * wall clock does not matter.
 */
import { open_mode_org_id } from "@countersign/contract";
import { bindingsOf, equalInConstantTime, Fault, hashApiKeyText, parseApiKey } from "@countersign/core";
import { LRUCache } from "lru-cache";
import { type Caller, type Callers, open_mode_actor } from "../../operations/shared/caller.ts";
import type { Clock } from "../../ports.ts";
import type { PresentedKey } from "../../store/keys/keys.ts";
import { type RateAgreement, rateLimitsUnder } from "../answer/rate-limit.ts";
import type { KeyReader } from "./key-reader.ts";
import { type Known, reload, remember } from "./known.ts";

export interface KeyUses {
  /** `submits`: the request submits intents. */
  note(org_id: string, key_id: string, now_us: number, submits: boolean): void;
  /** Null: of all keys. */
  flush(org_id: string | null): Promise<void>;
}

const known_max = 20_000;
/** The monotonic clock stops while a machine sleeps. */
const known_ms_max = 60_000;

export class Keys implements Callers {
  readonly #reader: KeyReader;
  readonly #clock: Clock;
  readonly #uses: KeyUses;
  readonly #agreement: RateAgreement;
  readonly #known = new LRUCache<string, Known>({ max: known_max, ttlResolution: 0 });

  constructor(reader: KeyReader, clock: Clock, uses: KeyUses, agreement: RateAgreement) {
    this.#reader = reader;
    this.#clock = clock;
    this.#uses = uses;
    this.#agreement = agreement;
  }

  /** Returns a caller from memory: possibly revoked or bound meanwhile, never expired. Undefined: not in memory. */
  recall(key: string, now_us: number): Known | undefined {
    const known = this.#known.get(hashApiKeyText(key));
    if (known === undefined) return undefined;
    this.#uses.note(known.caller.org_id, known.caller.key_id as string, now_us, true);
    return known;
  }

  /** `submits`: see `KeyUses`. Faults: invalid_api_key, expired_api_key. */
  async identify(key: string, submits = false): Promise<Known> {
    if (parseApiKey(key) === null) throw new Fault("invalid_api_key");
    return this.#read(hashApiKeyText(key), submits);
  }

  writeUses(org_id: string | null): Promise<void> {
    return this.#uses.flush(org_id);
  }

  /** Faults: missing_api_key. */
  async openMode(): Promise<Known> {
    const { key_ever_created, auth_epoch } = await this.#reader.openMode();
    if (key_ever_created || auth_epoch === null) throw new Fault("missing_api_key");
    return remember({
      caller: { ...openModeCaller, auth_epoch },
      limits: rateLimitsUnder(this.#agreement),
      again: () => this.openMode(),
    });
  }

  /** See `Callers`. The same for callers with a session. */
  reload(caller: Caller): Promise<Caller> {
    return reload(caller);
  }

  async #read(hash: string, submits: boolean): Promise<Known> {
    const asked_ms = this.#known.perf.now();
    const key = await this.#reader.read(hash);
    const mine = key !== undefined && equalInConstantTime(key.key_sha256, Buffer.from(hash, "base64"));
    if (!mine || key.state !== "valid") {
      this.#known.delete(hash);
      throw new Fault(mine && key.state === "expired" ? "expired_api_key" : "invalid_api_key");
    }
    const known = remember({
      caller: callerOf(key),
      limits: rateLimitsUnder(this.#agreement, key.rate_limits),
      again: () => this.#read(hash, submits),
    });
    const left_ms = Math.min(Math.floor(key.left_us / 1000), known_ms_max);
    if (left_ms > 0) this.#known.set(hash, known, { ttl: left_ms, start: asked_ms });
    this.#uses.note(key.org_id, key.key_id, this.#clock.now_us(), submits);
    return known;
  }
}

function callerOf(key: PresentedKey): Caller {
  return {
    org_id: key.org_id,
    key_id: key.key_id,
    user_id: null,
    session_id: null,
    lineage_id: key.lineage_id,
    role: key.role,
    scope: key.scope,
    agent_id: key.agent_id,
    bindings: bindingsOf(key.bindings),
    environment: key.environment,
    actor: key.key_id,
    auth_epoch: key.auth_epoch,
  };
}

const openModeCaller = {
  org_id: open_mode_org_id,
  key_id: null,
  user_id: null,
  session_id: null,
  lineage_id: null,
  role: "admin",
  scope: "org",
  agent_id: null,
  bindings: null,
  environment: "live",
  actor: open_mode_actor,
} as const;
