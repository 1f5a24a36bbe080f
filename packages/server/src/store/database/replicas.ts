/**
 * Reads on standbys. The primary must confirm a replica's snapshot: the newest root of the organization's audit chain
 * in it must be in the primary's ledger. So a replica with another history is never used, such as a former primary
 * (decision 0033).
 *
 * - new: the first read waits for the first check
 * - in use: serves reads
 * - resting: failed or unusable; checked again every few seconds
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Freshness, Log, Query } from "../../ports.ts";
import { newestHead } from "../rows/newest-head.ts";
import {
  type ConnectionOptions,
  isConnectionLost,
  isOutOfService,
  isUnanswered,
  NoSession,
  sqlState,
} from "./connection.ts";
import { reasonOf } from "./session.ts";
import { SessionPool, type SessionPoolTerms } from "./session-pool.ts";
import { createSessionShares, type SessionShares } from "./session-shares.ts";

type Work<T> = (query: Query) => Promise<T>;

interface ChainEnd {
  readonly audit_seq: number;
  /** Hex. */
  readonly audit_root: string;
}

interface Confirmation {
  /** The primary has this root at this seq. */
  readonly same: boolean;
  /** The primary does not show the replica's newest change: a commit waits for standbys, or the history differs. */
  readonly ahead: boolean;
  /** Age of the oldest missing change, in seconds. Null: none is missing. */
  readonly missing_s: number | null;
}

type Confirm = (org_id: string, end: ChainEnd) => Promise<Confirmation>;

/** "not_here": too old, or not reachable. `unusable`: the reason why it must not be read. */
type Served<T> = { readonly value: T } | "not_here" | { readonly unusable: string };

export interface Replicas {
  /** Null: no replica could; ignore the effects of `work`. */
  read<T>(org_id: string, wanted: Freshness, work: Work<T>): Promise<{ readonly value: T } | null>;
  inUse(): number;
  /** Sends a goodbye on every session when its work is done. */
  end(): Promise<void>;
  /** Resolves when the servers have closed all sessions. */
  ended(): Promise<void>;
}

export const rest_ms_default = 5_000;

export function openReplicas(
  connections: readonly ConnectionOptions[],
  primary: SessionPool,
  log: Log,
  terms: SessionPoolTerms,
  rest_ms: number,
): Replicas {
  const replicas = connections.map((each) => new Replica(each, confirmOn(primary), log, terms, rest_ms));
  let turn = 0;
  return {
    async read(org_id, wanted, work) {
      turn += 1;
      for (let at = 0; at < replicas.length; at += 1) {
        const outcome = await (replicas[(turn + at) % replicas.length] as Replica).read(org_id, wanted, work);
        if (outcome === "failed") return null;
        if (outcome !== "not_here") return outcome;
      }
      return null;
    },
    inUse: () => replicas.filter((replica) => replica.in_use).length,
    async end() {
      await Promise.all(replicas.map((replica) => replica.end()));
    },
    async ended() {
      await Promise.all(replicas.map((replica) => replica.ended()));
    },
  };
}

/** SQL that compares the end of a chain with the primary's ledger. An empty chain is part of every history. */
const confirmation = `select
    $2::bigint = 0 or exists (select from ledger where org_id = $1 and seq = $2::bigint and root = decode($3, 'hex')) as same,
    $2::bigint > coalesce(${newestHead("$1", "audit_seq")}, 0) as ahead,
    (select extract(epoch from clock_timestamp() - at)::float8 from ledger
      where org_id = $1 and seq > $2::bigint order by seq limit 1) as missing_s`;

function confirmOn(primary: SessionPool): Confirm {
  return async function confirm(org_id, { audit_seq, audit_root }) {
    const statement = { name: "confirm_replica", text: confirmation, values: [org_id, audit_seq, audit_root] };
    const [row] = await primary.statement<Confirmation>(org_id, statement);
    return row as Confirmation;
  };
}

const chain_end = `select pg_is_in_recovery() as standby, h.audit_seq, encode(h.audit_root, 'hex') as audit_root
  from (select 1) one left join lateral ${newestHead("$1", "audit_seq, audit_root")} h on true`;

export const snapshot = "isolation level repeatable read, read only";
/** A failed read runs on the primary without a retry here. */
const once = { mode: snapshot, runs: 1 };

class Replica {
  readonly #name: string;
  readonly #pool: SessionPool;
  readonly #shares: SessionShares;
  readonly #confirm: Confirm;
  readonly #log: Log;
  readonly #rest_ms: number;
  #state: "new" | "in_use" | "resting" = "new";
  #first_look: Promise<void> | null = null;
  #looks = false;
  #closed = false;
  #warned = false;

  constructor(connection: ConnectionOptions, confirm: Confirm, log: Log, terms: SessionPoolTerms, rest_ms: number) {
    this.#name = nameOf(connection);
    this.#pool = new SessionPool(connection, withoutWarnings(log), terms);
    this.#shares = createSessionShares(Math.ceil(terms.sessions_max / 2), terms.acquire_timeout_ms);
    this.#confirm = confirm;
    this.#log = log;
    this.#rest_ms = rest_ms;
  }

  get in_use(): boolean {
    return this.#state === "in_use";
  }

  /** Throws only errors of `work`. `failed`: `work` may have run partly. */
  async read<T>(
    org_id: string,
    wanted: Freshness,
    work: Work<T>,
  ): Promise<{ readonly value: T } | "not_here" | "failed"> {
    if (this.#state === "new") {
      this.#first_look ??= this.#look();
      await this.#first_look;
    }
    if (!this.in_use) return "not_here";
    let entered = false;
    try {
      const served = await this.#shares.within(org_id, () => {
        entered = true;
        return this.#pool.transaction(org_id, (query) => this.#serve(query, org_id, wanted, work), once);
      });
      if (served === "not_here") return served;
      if ("unusable" in served) {
        this.#rest(served.unusable);
        return "not_here";
      }
      this.#tellUse();
      return served;
    } catch (error) {
      if (!isOfDatabase(error)) throw error;
      this.#log.debug({ err: error, replica: this.#name }, "a read on a replica failed and is done on the primary");
      // A full pool or a refused statement does not make the server bad.
      if (entered && isServersFailure(error)) this.#rest(reasonOf(error));
      return "failed";
    }
  }

  async end(): Promise<void> {
    this.#closed = true;
    await this.#pool.end();
  }

  ended(): Promise<void> {
    return this.#pool.ended();
  }

  async #serve<T>(query: Query, org_id: string, wanted: Freshness, work: Work<T>): Promise<Served<T>> {
    const [end] = await query<{ standby: boolean; audit_seq: number | null; audit_root: string }>(chain_end, [org_id]);
    if (end === undefined || !end.standby) return { unusable: no_standby };
    const { audit_seq, audit_root } = end;
    if (audit_seq === null || ("seq" in wanted && audit_seq < wanted.seq)) return "not_here";
    let confirmed: Confirmation;
    try {
      confirmed = await this.#confirm(org_id, { audit_seq, audit_root });
    } catch (error) {
      // The primary failed. The caller gets its error when the read runs there.
      this.#log.debug({ err: error }, "the primary did not confirm a replica");
      return "not_here";
    }
    if (!confirmed.same) return confirmed.ahead ? "not_here" : { unusable: other_history };
    if ("within_s" in wanted && (confirmed.missing_s ?? 0) > wanted.within_s) return "not_here";
    return { value: await work(query) };
  }

  async #look(): Promise<void> {
    try {
      const asked = { text: "select pg_is_in_recovery() as standby" };
      const [row] = await this.#pool.statement<{ standby: boolean }>("*", asked);
      if (row?.standby === true) this.#state = "in_use";
      else this.#rest(no_standby);
    } catch (error) {
      this.#rest(reasonOf(error));
    }
  }

  #rest(reason: string): void {
    if (!this.#warned)
      this.#log.warn({ replica: this.#name, reason }, "a replica is not used: reads go to the primary");
    this.#warned = true;
    this.#state = "resting";
    if (!this.#looks) void this.#lookUntilUsed();
  }

  async #lookUntilUsed(): Promise<void> {
    this.#looks = true;
    while (this.#state === "resting" && !this.#closed) {
      await pause(this.#rest_ms, undefined, { ref: false });
      if (!this.#closed) await this.#look();
    }
    this.#looks = false;
  }

  /** Called after a read, because only reads compare the history. */
  #tellUse(): void {
    if (this.#warned) this.#log.info({ replica: this.#name }, "a replica is used again");
    this.#warned = false;
  }
}

const no_standby = "it is a primary, not a standby";
const other_history = "its data is not a part of the primary's: rebuild it from the primary";

function isOfDatabase(error: unknown): boolean {
  return sqlState(error) !== null || isServersFailure(error);
}

function isServersFailure(error: unknown): boolean {
  // Every replica refuses writes.
  if (sqlState(error) === "25006") return false;
  return error instanceof NoSession || isConnectionLost(error) || isUnanswered(error) || isOutOfService(error);
}

export function nameOf(connection: ConnectionOptions): string {
  if ("host" in connection) return `${connection.host}:${connection.port}`;
  return connection.connectionString.replace(/\/\/[^/]*@/, "//").replace(/\?.*/, "");
}

/** Drops warnings, because a replica's rest is logged once. */
function withoutWarnings(log: Log): Log {
  const debug: Log["debug"] = (fields, message) => log.debug(fields, message);
  return { debug, info: debug, warn: debug, error: debug };
}
