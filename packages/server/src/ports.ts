/** Types of everything that store and operations need from outside. */
import type { IdKind } from "@countersign/contract";
import type { AttemptResult, RateTake } from "@countersign/core";

export interface Clock {
  /** Integer microseconds since the Unix epoch. Decreases only if the wall clock is set back by more than a minute. */
  now_us(): number;
}

/** A timer is only a hint. The clock and the database decide what is due. */
export interface Timers {
  /** Calls `run` once. The returned function cancels. Never keeps the process alive. */
  after(wait_ms: number, run: () => void): () => void;
}

/** Lets requests go before background work. */
export interface GiveWay {
  /** A request came a moment ago. */
  asked(): boolean;
  /** The next request is expected soon, so no long statement should run. */
  expecting(): boolean;
  /**
   * Await this between two pieces of work. Resolves at once without requests. While requests come, resolves after a
   * moment without them, or when the work has rested for its share of time.
   */
  rest(): Promise<void>;
}

export interface Ids {
  /** The kind's prefix and 26 Crockford base-32 characters, time-ordered and unique: `int_01K…`. */
  next(kind: IdKind): string;
  /** Random base-62 characters. */
  secret(length: number): string;
  /** 16 random bytes in lower-case hex: the salt of a document in the ledger. */
  salt(): string;
}

/** The shape of pino's log: fields, then a short constant message. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/**
 * Runs SQL inside one transaction and returns the rows. Numeric and time parameters are cast in the text
 * (`$1::bigint`). `timestamptz` is returned as RFC 3339 UTC text with six fractional digits, `int8` as number.
 */
export type Query = <Row extends object = Record<string, unknown>>(
  text: string,
  params?: readonly unknown[],
) => Promise<Row[]>;

/** The copy has this audit record, or all changes older than `within_s` seconds. */
export type Freshness = { readonly seq: number } | { readonly within_s: number };

/** Outside `tenant`, `reading` and `system` no row of a tenant table is visible. */
export interface Db {
  /** One transaction on this organization's rows. Rolls back when `work` throws. */
  tenant<T>(org_id: string, work: (query: Query) => Promise<T>): Promise<T>;
  /**
   * One transaction that only reads, on a replica as new as `wanted`, else on the primary. `work` may run several
   * times, so it must have no effects.
   */
  reading<T>(org_id: string, wanted: Freshness, work: (query: Query) => Promise<T>): Promise<T>;
  /** One transaction over all organizations: key lookup, workers, command line. */
  system<T>(work: (query: Query) => Promise<T>): Promise<T>;
  /**
   * For queues: one prepared statement in its own transaction over all organizations, always along the indexes. Never
   * retries. If the connection breaks, the outcome is unknown.
   */
  queued<Row extends object>(statement: QueueStatement, params: readonly unknown[]): Promise<Row[]>;
}

/** Planned once a session under its name (at most 63 characters). One name has one text. */
export interface QueueStatement {
  readonly name: string;
  readonly text: string;
}

/** `text` is a sentence for people. */
export type Answered =
  | {
      readonly status: number;
      readonly body: Buffer;
      readonly cache_control: string | null;
      readonly content_type?: string | null;
    }
  | { readonly failed: "timeout" | "unreachable" | "refused" | "too_large"; readonly text: string };

/** Faults: overloaded. */
export interface Passwords {
  /** Argon2id in PHC form. */
  hash(password: string): Promise<string>;
  /** Null: returns false after the same time. */
  verify(hash: string | null, password: string): Promise<boolean>;
}

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** One-click unsubscribe address (RFC 8058). Absent: the mail answers a request. */
  readonly unsubscribe_url?: string;
}

export interface Mailer {
  /** False: mails are only written to files. */
  readonly delivers: boolean;
  /**
   * Resolves when another server has the mail, or when it is a file. Rejects if a retry is needed, after a minute at
   * the latest. After `stop`, the server may or may not have the mail.
   */
  send(mail: Mail, stop?: AbortSignal): Promise<void>;
}

/** The only client for addresses that customers choose. */
export interface HttpOut {
  /**
   * Checks a URL and the current addresses of its name. A name that does not resolve passes, because each attempt
   * checks again. Returns the spelling to store, or the reason as a sentence.
   */
  check(url: string): Promise<{ readonly href: string } | { readonly refused: string }>;
  /**
   * Sends one POST within 10 s, only to addresses that were checked within the last second. Does not follow redirects.
   * Never rejects.
   */
  post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
  ): Promise<AttemptResult & { readonly duration_ms: number }>;
  /**
   * Reads the answer, guarded like `post`. `timeout_ms` covers lookup to last byte. Drops an answer of more than
   * `answer_bytes_max`. GET sends no body. `stopping` ends the request. Never rejects.
   */
  ask(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string | Uint8Array,
    terms: {
      readonly timeout_ms: number;
      readonly answer_bytes_max: number;
      readonly method?: "GET" | "POST" | "PUT";
      readonly stopping?: AbortSignal;
    },
  ): Promise<Answered>;
}

/** Files of streams, below the directory that the operator set. */
export interface StreamFiles {
  /** Replaces the file at once, after its bytes are on disk. Rejects if that fails. */
  write(path: string, bytes: Uint8Array): Promise<void>;
}

interface PushKeys {
  /** Base64url of the uncompressed point, as browsers take it. */
  readonly public_key: string;
  readonly private_jwk: string;
}

/** Builds requests for push services of browsers. `HttpOut` sends them. */
export interface PushRequests {
  newKeys(): Promise<PushKeys>;
  /** `contact`: an address of this service, for the people of the push service. */
  build(
    keys: PushKeys & { readonly contact: string },
    subscription: { readonly endpoint: string; readonly keys: { readonly p256dh: string; readonly auth: string } },
    message: string,
    terms: { readonly ttl_seconds: number; readonly urgency: "normal" | "high" },
  ): Promise<{ readonly headers: Readonly<Record<string, string>>; readonly body: Uint8Array }>;
}

export interface TxtRecords {
  /** Null: the name servers did not answer. Never rejects. */
  read(name: string): Promise<readonly string[] | null>;
}

/** Without secrets, bodies, and texts of agents. */
interface EndedSpan {
  readonly name: string;
  readonly kind: "server" | "client";
  readonly started_us: number;
  readonly ended_us: number;
  /** The caller's W3C `traceparent`. Undefined: the trace begins here. */
  readonly traceparent?: string | undefined;
  readonly failed: boolean;
  readonly attributes: Readonly<Record<string, string | number>>;
}

/** Must return at once. */
export interface Spans {
  ended(span: EndedSpan): void;
}

/** Encrypts short secrets, so that readers of the database do not learn them. See decision 0019. */
export interface Sealer {
  /** `context` names organization, table and row. */
  seal(text: string, context: string): string;
  /** Throws if the text was changed, or sealed for another context or with an unknown key. */
  open(sealed: string, context: string): string;
}

/** A sealer whose keys have names. */
export interface KeyRing extends Sealer {
  /** The sealing key. */
  readonly key_id: string;
  /** Of every text that this key has sealed. */
  readonly prefix: string;
  /** Only for opening. */
  readonly other_key_ids: readonly string[];
  /** Returns the key's name. Null: no key opens the text. */
  openedBy(sealed: string, context: string): string | null;
}

/**
 * Counts requests by bucket (category and caller). Returns a value if possible, so that the hot path does not await.
 */
export interface RateWindows {
  /** Refuses the request if `limit` requests count already. Never rejects. */
  take(bucket: string, limit: number, now_ms: number): RateTake | Promise<RateTake>;
  /** Like `take`, but counts nothing. Never rejects. */
  look(bucket: string, limit: number, now_ms: number): RateTake | Promise<RateTake>;
  /** Uncounts a request. Never rejects. */
  refund(bucket: string, taken: RateTake, now_ms: number): RateTake | Promise<RateTake>;
}
