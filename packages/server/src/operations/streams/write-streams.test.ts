/** Nodes die at any statement, and the store fails in any way. Then the store must have each entry once. */
import { formatTimestampUs, parseCheckpoint, parseNote, timestampUs } from "@countersign/core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../../scripts/property-runs.ts";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { createSealer } from "../../edge/start/sealer.ts";
import type { Answered, Db } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { createHead, withHead } from "../../store/organizations/heads.ts";
import {
  deleteStream,
  insertStream,
  readStoredStream,
  readStream,
  type StoredStream,
  seqBefore,
  streamContext,
  updateStream,
} from "../../store/streams/streams.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { createLogKeeper } from "../log/keep-log.ts";
import { createStreamWriter, type StreamWriting } from "./write-streams.ts";

const { db } = await testDatabase();
const clock = createClock();
const ids = createIds(clock);
const sealer = createSealer(Buffer.alloc(32, 7));
const stream_id = "str_1";
const begin_us = timestampUs("2026-11-28T10:00:00Z");
const minute_us = 60_000_000;
let organizations = 0;

/** The fate of one request. `late`: it fails, and reaches the store after everything else. */
type Fate = "stores" | "refuses" | "breaks" | "late" | "dies";

interface Store {
  readonly objects: Map<string, Buffer>;
  readonly late: (() => void)[];
  readonly written: string[];
  fate: () => Fate;
}

function newStore(): Store {
  return { objects: new Map(), late: [], written: [], fate: () => "stores" };
}

const broken: Answered = { failed: "unreachable", text: "The receiver closed the connection before it answered." };

function runtimeWith(store: Store, over: Pick<Db, "tenant" | "system" | "reading"> = db): StreamWriting {
  const ask = async (url: string, _headers: object, body: string | Uint8Array): Promise<Answered> => {
    const name = url.replace("http://store.test/bucket/", "");
    const put = () => {
      store.objects.set(name, Buffer.from(body));
      store.written.push(name);
    };
    const fate = store.fate();
    if (fate === "dies") throw new Error("killed");
    if (fate === "late") store.late.push(put);
    if (fate === "stores" || fate === "breaks") put();
    const status = fate === "refuses" ? 503 : 200;
    return fate === "breaks" || fate === "late" ? broken : { status, body: Buffer.alloc(0), cache_control: null };
  };
  const httpOut = { check: async () => ({ refused: "" }), post: async () => never(), ask };
  return { db: { ...db, ...over }, clock, sealer, httpOut, streamFiles: null, log: silentLog };
}

const never = (): never => {
  throw new Error("no stream sends a POST");
};

async function newStream(): Promise<string> {
  organizations += 1;
  const org_id = `org_${String(organizations).padStart(26, "0")}`;
  const settings = {
    endpoint: "http://store.test",
    region: "r",
    bucket: "bucket",
    prefix: "",
    access_key_id: "k",
  };
  const secret_sealed = sealer.seal("secret", streamContext(org_id, stream_id));
  const about = { name: "n", format: "jsonl", target: "s3", settings, secret_sealed, active: true } as const;
  await db.tenant(org_id, async (query) => {
    await createHead(query, org_id, "2026-11");
    const created = { created_at: formatTimestampUs(begin_us), created_by: null, seq: 0 };
    await insertStream(query, org_id, { stream_id, ...about, ...created });
  });
  return org_id;
}

/** Adds entries at these minutes after the begin, in this order. */
async function add(org_id: string, minutes: readonly number[]): Promise<void> {
  const audit = minutes.map((at) => {
    const time = formatTimestampUs(begin_us + at * minute_us);
    return auditRow(ids, { intent_id: null, type: "key_revoked", actor: "usr_1", at: time, data: { at } });
  });
  await db.tenant(org_id, (query) => withHead(query, org_id, { audit }));
  await createLogKeeper({ db, clock, ids, sealer, log: silentLog, logName: () => "log.example" }).pass(() => false);
}

async function pass(runtime: StreamWriting, object_bytes_max: number): Promise<void> {
  const writer = createStreamWriter(runtime, new AbortController().signal, object_bytes_max);
  await writer.pass();
  await writer.idle();
}

/** A lease or a wait after a failure is over. */
const passTime = (org_id: string) =>
  db.query("update streams set due_at = statement_timestamp() where org_id = $1", [org_id]);

/** The node dies at the n-th statement. */
function dying(statement: number): Pick<Db, "tenant" | "system" | "reading"> {
  let asked = 0;
  const counted =
    <T>(work: (query: Parameters<Parameters<Db["tenant"]>[1]>[0]) => Promise<T>) =>
    (query: Parameters<Parameters<Db["tenant"]>[1]>[0]) =>
      work((text, params) => {
        asked += 1;
        if (asked >= statement) throw new Error("killed");
        return query(text, params);
      });
  return {
    system: (work) => db.system(work),
    tenant: (org_id, work) => db.tenant(org_id, counted(work)),
    reading: (org_id, wanted, work) => db.reading(org_id, wanted, counted(work)),
  };
}

async function setBack(org_id: string, hours: number): Promise<void> {
  await db.tenant(org_id, async (query) => {
    const stored = (await readStoredStream(query, org_id, stream_id)) as StoredStream;
    const from = formatTimestampUs(begin_us + hours * 60 * minute_us);
    const seq = Math.min(stored.seq, await seqBefore(query, org_id, from));
    await updateStream(query, org_id, { ...stored, seq }, true);
  });
}

async function drain(org_id: string, store: Store, bytes: number): Promise<void> {
  store.fate = () => "stores";
  for (let n = 0; n < 100; n += 1) {
    await passTime(org_id);
    const before = store.written.length;
    await pass(runtimeWith(store), bytes);
    if (store.written.length === before) return;
  }
  throw new Error("the stream does not end");
}

interface Line {
  readonly entry: number;
  readonly at: string;
}

/** The lines of all objects, in the order of their names. */
function linesOf({ objects }: Store): { readonly name: string; readonly lines: readonly Line[] }[] {
  const names = [...objects.keys()].filter((name) => name.endsWith(".jsonl")).sort();
  return names.map((name) => {
    const text = String(objects.get(name));
    return {
      name,
      lines: text
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Line),
    };
  });
}

/** Each entry is in one object, the objects are in order, and the last one of each hour has a checkpoint over it. */
function expectWhole(store: Store, entries: number): void {
  const objects = linesOf(store);
  const found = objects.flatMap(({ lines }) => lines.map(({ entry }) => entry));
  expect(found).toEqual(Array.from({ length: entries }, (_, at) => at));
  let latest = "";
  for (const [at_object, { name, lines }] of objects.entries()) {
    const hour = name.slice(0, "2026/11/28/10".length);
    for (const { at } of lines) {
      const own = `${at.slice(0, 10).replaceAll("-", "/")}/${at.slice(11, 13)}`;
      latest = own > latest ? own : latest;
      expect(latest).toBe(hour);
    }
    if (objects[at_object + 1]?.name.startsWith(hour)) continue;
    const note = parseNote(String(store.objects.get(name.replace(".jsonl", ".checkpoint"))));
    const size = note === null ? null : parseCheckpoint(note.text)?.size;
    expect(size).toBeGreaterThan(lines.at(-1)?.entry ?? entries);
  }
}

const fates = fc.array(fc.constantFrom<Fate>("stores", "stores", "refuses", "breaks", "late", "dies"), {
  minLength: 1,
  maxLength: 6,
});
const step = fc.record({
  /** Minutes between an entry and the one before; times of nodes differ. */
  gaps: fc.array(fc.integer({ min: -9, max: 45 }), { maxLength: 25 }),
  fates,
  dies_at: fc.option(fc.integer({ min: 1, max: 25 })),
  bytes: fc.constantFrom(1, 1_500, 4_194_304),
  back_to_hour: fc.option(fc.integer({ min: 0, max: 6 }), { freq: 4 }),
  nodes: fc.constantFrom(1, 2),
});

test("after crashes, failures of the store, requests that arrive late, and steps back, the store has each entry once", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), async (steps) => {
      const org_id = await newStream();
      const store = newStore();
      let minute = 0;
      let entries = 0;
      for (const { gaps, fates: next, dies_at, bytes, back_to_hour, nodes } of steps) {
        const minutes = gaps.map((gap) => (minute = Math.max(0, minute + gap)));
        await add(org_id, minutes);
        entries += minutes.length;
        let asked = 0;
        store.fate = () => next[asked++ % next.length] ?? "stores";
        const runtime = runtimeWith(store, dies_at === null ? db : dying(dies_at));
        const passes = Array.from({ length: nodes }, () => pass(runtime, bytes));
        if (back_to_hour !== null) passes.push(setBack(org_id, back_to_hour));
        await Promise.all(passes);
        await passTime(org_id);
      }
      await drain(org_id, store, 1_500);
      expectWhole(store, entries);
      for (const arrive of store.late) arrive();
      expectWhole(store, entries);
      const stream = await db.tenant(org_id, (query) => readStream(query, org_id, stream_id));
      expect(stream).toMatchObject({ lag_entries: 0, lag_seconds: 0, problem: null });
    }),
    { numRuns: runs(300) },
  );
});

test("an object ends with the entry that fills it, and its second attempt has the same bytes", async () => {
  const org_id = await newStream();
  const store = newStore();
  await add(org_id, [0, 1, 2, 3, 4]);
  store.fate = () => "breaks";
  await pass(runtimeWith(store), 1_500);
  const [first = ""] = store.written;
  const bytes = store.objects.get(first);
  await add(org_id, [5, 6]);
  await drain(org_id, store, 4_194_304);
  expect(store.objects.get(first)).toEqual(bytes);
  expectWhole(store, 7);
});

test("entries that are younger than a minute wait, and the checkpoint of the hour waits for its end", async () => {
  const org_id = await newStream();
  const store = newStore();
  const now_minute = (clock.now_us() - begin_us) / minute_us;
  await add(org_id, [now_minute]);
  await drain(org_id, store, 1_500);
  expect(store.written).toEqual([]);
  await add(org_id, [now_minute - 2]);
  await db.tenant(org_id, (query) => query("update streams set seq = 1 where org_id = $1", [org_id]));
  await drain(org_id, store, 1_500);
  expect(store.written).toEqual([expect.stringMatching(/-00001\.jsonl$/)]);
});

test("a stream that is deleted while an object is written stores no further one", async () => {
  const org_id = await newStream();
  const store = newStore();
  await add(org_id, [0, 1, 2, 3]);
  const runtime = runtimeWith(store);
  const ask = runtime.httpOut.ask;
  const deleting: StreamWriting = {
    ...runtime,
    httpOut: {
      ...runtime.httpOut,
      async ask(...request) {
        await db.tenant(org_id, (query) => deleteStream(query, org_id, stream_id));
        return ask(...request);
      },
    },
  };
  await pass(deleting, 1);
  expect(store.written).toHaveLength(1);
  expect(await db.query("select from stream_hours where org_id = $1", [org_id])).toEqual([]);
});

test("a problem is stored with its begin, attempts wait longer after each failure, and a success ends it", async () => {
  const org_id = await newStream();
  const store = newStore();
  store.fate = () => "refuses";
  await add(org_id, [0]);
  const waits: number[] = [];
  let since: string | null | undefined;
  for (let n = 0; n < 8; n += 1) {
    await passTime(org_id);
    await pass(runtimeWith(store), 1_500);
    const [row] = await db.query<{ wait: number }>(
      "select round(extract(epoch from due_at - statement_timestamp()) / 10)::integer * 10 as wait from streams where org_id = $1",
      [org_id],
    );
    waits.push(row?.wait ?? 0);
    const stream = await db.tenant(org_id, (query) => readStream(query, org_id, stream_id));
    expect(stream).toMatchObject({ problem: "The store answered 503.", lag_entries: 1 });
    expect(stream?.failing_since).toEqual(since ?? expect.any(String));
    since = stream?.failing_since;
  }
  expect(waits).toEqual([10, 20, 40, 80, 160, 320, 600, 600]);
  await drain(org_id, store, 1_500);
  const stream = await db.tenant(org_id, (query) => readStream(query, org_id, stream_id));
  expect(stream).toMatchObject({ problem: null, failing_since: null, lag_entries: 0 });
});

test("a node that stops begins no turn", async () => {
  const org_id = await newStream();
  const store = newStore();
  await add(org_id, [0]);
  const writer = createStreamWriter(runtimeWith(store), AbortSignal.abort());
  await writer.pass();
  await writer.idle();
  expect(store.written).toEqual([]);
});

test("a node that stops ends its request, leaves no problem, and another node writes the object at once", async () => {
  const org_id = await newStream();
  const store = newStore();
  await add(org_id, [0]);
  const stopping = new AbortController();
  const runtime = runtimeWith(store);
  let isAsked = () => {};
  const asked = new Promise<void>((resolve) => (isAsked = resolve));
  const hanging: StreamWriting = {
    ...runtime,
    httpOut: {
      ...runtime.httpOut,
      ask: (_url, _headers, _body, terms) =>
        new Promise((resolve) => {
          // A stream of another test may be asked for after the stop.
          if (terms.stopping?.aborted) resolve(broken);
          terms.stopping?.addEventListener("abort", () => resolve(broken));
          isAsked();
        }),
    },
  };
  const writer = createStreamWriter(hanging, stopping.signal);
  await writer.pass();
  await asked;
  stopping.abort();
  await writer.idle();
  const stream = await db.tenant(org_id, (query) => readStream(query, org_id, stream_id));
  expect(stream).toMatchObject({ problem: null, lag_entries: 1 });
  await pass(runtime, 1_500);
  expectWhole(store, 1);
});

test("without the master key of the secret nothing is sent, and the stream says so", async () => {
  const org_id = await newStream();
  const store = newStore();
  await add(org_id, [0]);
  await pass({ ...runtimeWith(store), sealer: createSealer(Buffer.alloc(32, 8)) }, 1_500);
  expect(store.written).toEqual([]);
  const stream = await db.tenant(org_id, (query) => readStream(query, org_id, stream_id));
  expect(stream?.problem).toBe("The secret access key was sealed with another master key than this service has.");
});

test("a stream waits while the log has a problem, because its entries are under no checkpoint", async () => {
  const org_id = await newStream();
  const store = newStore();
  await add(org_id, [0, 1]);
  await db.query("update logs set seq = 1 where org_id = $1", [org_id]);
  await pass(runtimeWith(store), 1_500);
  expect(linesOf(store).flatMap(({ lines }) => lines)).toHaveLength(1);
});

test("an entry that is missing in the ledger stops the stream, which says so and does not go past it", async () => {
  const org_id = await newStream();
  const store = newStore();
  await add(org_id, [0, 1, 2]);
  store.fate = () => "refuses";
  await pass(runtimeWith(store), 1);
  await db.query("delete from ledger where org_id = $1 and seq = 1", [org_id]);
  await passTime(org_id);
  store.fate = () => "stores";
  await pass(runtimeWith(store), 1);
  expect(store.written).toEqual([]);
  const stream = await db.tenant(org_id, (query) => readStream(query, org_id, stream_id));
  expect(stream?.problem).toBe("The service could not read the entries. Its log has the reason.");
});
