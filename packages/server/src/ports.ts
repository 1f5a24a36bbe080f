/** What the store and the operations need from the outside world, as types. The edge, the store, tests and the simulation implement them. */
import type { IdKind } from "@countersign/contract";
import type { AttemptResult, RateTake } from "@countersign/core";

/** The one source of time. */
export interface Clock {
  /** Microseconds since the Unix epoch, an integer; decreases within a process only if the wall clock is set back by over a minute. */
  now_us(): number;
}

/** Wake-ups. A timer is only ever a hint to look again; what is due is decided by the clock and the database. */
export interface Timers {
  /** Calls `run` once after at least `wait_ms` milliseconds; the returned function cancels it. Never keeps the process alive. */
  after(wait_ms: number, run: () => void): () => void;
}

/** How work in the background gives way to requests. */
export interface GiveWay {
  /** A request came a moment ago. */
  asked(): boolean;
  /** Requests come: the next one will soon, and should find no long statement under way. */
  expecting(): boolean;
  /**
   * To be awaited between two small pieces of work. Resolves at once while no requests come. After one came it resolves
   * when none has come for a moment, at the latest when the work has rested long enough for its share.
   */
  rest(): Promise<void>;
}

/** The one source of identity and secrets. */
export interface Ids {
  /** The kind's prefix and 26 Crockford base-32 characters, time-ordered and unique, e.g. `int_01K…`. */
  next(kind: IdKind): string;
  /** `length` random base-62 characters from the system's generator, for secrets. */
  secret(length: number): string;
  /** 16 random bytes in 32 lower-case hex digits: the salt of a document in the ledger. */
  salt(): string;
}

/** Structured log, the shape of pino's: an object of fields, then a short constant message. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/**
 * Runs SQL inside one transaction and answers with the rows of one statement. Numeric and time parameters are cast in the
 * text (`$1::bigint`); `timestamptz` comes back as RFC 3339 UTC text with six fractional digits and `Z`, `int8` as number.
 */
export type Query = <Row extends object = Record<string, unknown>>(
  text: string,
  params?: readonly unknown[],
) => Promise<Row[]>;

/** How new a copy of an organization must be: it has all up to this audit record, or all that is older than so many seconds. */
export type Freshness = { readonly seq: number } | { readonly within_s: number };

/** The database. Outside `tenant`, `reading` and `system` no row of any tenant table is visible. */
export interface Db {
  /** Runs `work` in one transaction that sees and changes only this organization's rows. Rolls back when `work` throws. */
  tenant<T>(org_id: string, work: (query: Query) => Promise<T>): Promise<T>;
  /**
   * Runs `work` in one transaction that only reads this organization's rows, on a replica that is as new as `wanted`, else on the
   * primary. `work` may run several times, so it must have no effect at all.
   */
  reading<T>(org_id: string, wanted: Freshness, work: (query: Query) => Promise<T>): Promise<T>;
  /** Runs `work` in one transaction over all organizations: key lookup, workers, command line. */
  system<T>(work: (query: Query) => Promise<T>): Promise<T>;
  /**
   * One prepared statement, committed by itself, over all organizations and along the indexes whatever the statistics say:
   * for queues. Never run again here: when the connection breaks, its outcome is unknown.
   */
  queued<Row extends object>(statement: QueueStatement, params: readonly unknown[]): Promise<Row[]>;
}

/** A statement that is planned once a session under its name: at most 63 characters, one text a name. */
export interface QueueStatement {
  readonly name: string;
  readonly text: string;
}

/** A whole answer, or why there is none; `text` is a sentence for people. */
export type Answered =
  | {
      readonly status: number;
      readonly body: Buffer;
      readonly cache_control: string | null;
      readonly content_type?: string | null;
    }
  | { readonly failed: "timeout" | "unreachable" | "refused" | "too_large"; readonly text: string };

/** Passwords, hashed so slowly that guessing is dear. Both fault `overloaded` when too many are being hashed already. */
export interface Passwords {
  /** Argon2id in PHC form. */
  hash(password: string): Promise<string>;
  /** Whether the password is that of the hash. Null: nobody's; takes as long as any other. */
  verify(hash: string | null, password: string): Promise<boolean>;
}

/** A mail, ready to be sent. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** One click there stops mails of this kind (RFC 8058); absent: mails that answer a request. */
  readonly unsubscribe_url?: string;
}

/** The way out for mails. */
export interface Mailer {
  /**
   * Resolves once the mail is another server's, or a file; rejects when it is to be tried again, after a minute at the latest.
   * `stop` breaks it off: then it rejects, and whether the server has taken the mail is not known.
   */
  send(mail: Mail, stop?: AbortSignal): Promise<void>;
}

/** The one way out to addresses that somebody else named. */
export interface HttpOut {
  /**
   * Judges a receiver's URL as of now: its text, and the addresses that its name has. A name that does not resolve (yet)
   * passes: each attempt looks again. Gives the one spelling to store, or the reason as a sentence.
   */
  check(url: string): Promise<{ readonly href: string } | { readonly refused: string }>;
  /**
   * One POST; never rejects. Ends after 10 s at the latest with the head of an answer or a reason, and connects to no
   * address that it has not judged in this call or the second before. Redirects are not followed.
   */
  post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
  ): Promise<AttemptResult & { readonly duration_ms: number }>;
  /**
   * One POST whose answer matters; never rejects. Guarded like `post`. `timeout_ms` run over everything from the lookup of
   * the name to the last byte of the answer; an answer of more than `answer_bytes_max` is cut off and dropped. With the
   * method GET the body is not sent.
   */
  ask(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    terms: { readonly timeout_ms: number; readonly answer_bytes_max: number; readonly method?: "GET" | "POST" },
  ): Promise<Answered>;
}

/** Reads TXT records of the DNS. */
export interface TxtRecords {
  /** The texts at a name, none where it has no such record; null: the name servers gave no answer. Never rejects. */
  read(name: string): Promise<readonly string[] | null>;
}

/** One piece of work that has ended, for a trace. Never carries a secret, a body, or an agent's text. */
interface EndedSpan {
  readonly name: string;
  readonly kind: "server" | "client";
  readonly started_us: number;
  readonly ended_us: number;
  /** The caller's W3C `traceparent`; undefined: this is where the trace begins. */
  readonly traceparent?: string | undefined;
  readonly failed: boolean;
  readonly attributes: Readonly<Record<string, string | number>>;
}

/** Where ended pieces of work are told. Must return at once. */
export interface Spans {
  ended(span: EndedSpan): void;
}

/** Encrypts short secrets, so that readers of the database do not learn them. See decision 0019. */
export interface Sealer {
  /** Returns the sealed text. It opens only with the same context, which names its organization, table and row. */
  seal(text: string, context: string): string;
  /** Returns the text. Throws if it was sealed for another context or with an unknown key, or was changed. */
  open(sealed: string, context: string): string;
}

/** A sealer that also says which of its keys opens a text. The name of a key reveals nothing about the key. */
export interface KeyRing extends Sealer {
  /** The name of the key that seals. */
  readonly key_id: string;
  /** The prefix of every text that names this key and was sealed with it. */
  readonly prefix: string;
  /** The names of the other keys. They only open. */
  readonly other_key_ids: readonly string[];
  /** Returns the name of the key that opens the text. Null: none of these keys opens it. */
  openedBy(sealed: string, context: string): string | null;
}

/** Counts requests by bucket (category and caller). Returns a value, not a promise, where it can: the hot path awaits nothing. */
export interface RateWindows {
  /** Counts a request, or refuses it if `limit` requests count already. Never rejects. */
  take(bucket: string, limit: number, now_ms: number): RateTake | Promise<RateTake>;
  /** Returns what `take` would return, and counts nothing: for requests that may get a 304. Never rejects. */
  look(bucket: string, limit: number, now_ms: number): RateTake | Promise<RateTake>;
  /** Uncounts a request that `take` counted for the wrong caller, and returns what is left. Never rejects. */
  refund(bucket: string, taken: RateTake, now_ms: number): RateTake | Promise<RateTake>;
}
