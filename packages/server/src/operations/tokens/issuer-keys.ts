/**
 * Caches token issuers' keys on this node. A set is fetched again after ten minutes, or if it lacks a token's key, at
 * most every 30 seconds. While its URL is unreachable, a set is used for a day. Concurrent callers share one fetch.
 */
import { limits, type TokenIssuer } from "@countersign/contract";
import { us_per_second } from "@countersign/core";
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import { LRUCache } from "lru-cache";
import type { Clock, HttpOut, Log } from "../../ports.ts";
import { fetchedKeys } from "./key-sets.ts";

export interface KeyParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly httpOut: Pick<HttpOut, "ask">;
}

interface Entry {
  keys: JWTVerifyGetKey | null;
  fetched_us: number | null;
  tried_us: number | null;
  failed: boolean;
  fetching: Promise<void> | null;
}

const issuers_max = 1_000;

export class IssuerKeys {
  readonly #parts: KeyParts;
  readonly #entries = new LRUCache<string, Entry>({ max: issuers_max });
  /** Caches the function, because jose caches imported keys with it. */
  readonly #pasted = new LRUCache<string, JWTVerifyGetKey>({ max: issuers_max });

  constructor(parts: KeyParts) {
    this.#parts = parts;
  }

  /**
   * Returns the keys of an issuer; null: they cannot be fetched. `lacking`: the caller's earlier set, which lacks a
   * key; then null means that there is no newer set.
   */
  async of(
    org_id: string,
    issuer: TokenIssuer,
    lacking: JWTVerifyGetKey | null = null,
  ): Promise<JWTVerifyGetKey | null> {
    const revision = `${org_id} ${issuer.issuer_id} ${issuer.created_at}`;
    if (issuer.jwks !== null) return lacking === null ? this.#pastedSet(revision, issuer.jwks) : null;
    const url = issuer.jwks_url;
    if (url === null) throw new Error(`${issuer.issuer_id} has no keys`);
    const entry = this.#entryOf(revision);
    if (this.#isDue(entry, lacking !== null)) {
      entry.fetching ??= this.#fetch(entry, url, { org_id, issuer_id: issuer.issuer_id }).finally(() => {
        entry.fetching = null;
      });
    }
    if (entry.fetching !== null) await entry.fetching;
    const usable = this.#isYounger(entry.fetched_us, limits.jwks_kept_seconds) ? entry.keys : null;
    return usable === lacking ? null : usable;
  }

  #pastedSet(revision: string, jwks: Readonly<Record<string, unknown>>): JWTVerifyGetKey {
    const known = this.#pasted.get(revision) ?? createLocalJWKSet(jwks as unknown as JSONWebKeySet);
    this.#pasted.set(revision, known);
    return known;
  }

  #entryOf(revision: string): Entry {
    const known = this.#entries.get(revision);
    if (known !== undefined) return known;
    const entry: Entry = { keys: null, fetched_us: null, tried_us: null, failed: false, fetching: null };
    this.#entries.set(revision, entry);
    return entry;
  }

  #isDue(entry: Entry, is_lacking: boolean): boolean {
    if (entry.failed && this.#isYounger(entry.tried_us, limits.jwks_failure_seconds)) return false;
    if (is_lacking) return !this.#isYounger(entry.tried_us, limits.jwks_unknown_key_seconds);
    return !this.#isYounger(entry.fetched_us, limits.jwks_fresh_seconds);
  }

  /** A time in the future means that the clock was set back, so the age is unknown. */
  #isYounger(at_us: number | null, seconds: number): boolean {
    const age_us = at_us === null ? -1 : this.#parts.clock.now_us() - at_us;
    return age_us >= 0 && age_us < seconds * us_per_second;
  }

  /** Never rejects. */
  async #fetch(
    entry: Entry,
    url: string,
    named: { readonly org_id: string; readonly issuer_id: string },
  ): Promise<void> {
    const { clock, log, httpOut } = this.#parts;
    const answer = await httpOut.ask(url, { accept: "application/jwk-set+json, application/json" }, "", {
      timeout_ms: limits.jwks_timeout_ms,
      answer_bytes_max: limits.jwks_bytes_max,
      method: "GET",
    });
    const keys = "status" in answer && answer.status === 200 ? fetchedKeys(answer.body.toString("utf8")) : null;
    entry.tried_us = clock.now_us();
    entry.failed = keys === null;
    if (keys === null) {
      const why = "failed" in answer ? answer.text : `status ${answer.status}`;
      log.warn({ ...named, why }, "the key set of a token issuer cannot be fetched");
      return;
    }
    entry.keys = createLocalJWKSet(keys);
    entry.fetched_us = entry.tried_us;
  }
}
