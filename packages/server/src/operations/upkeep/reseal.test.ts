/** Changes the master key with two nodes that seal with different keys. Source: decision 0019. */

import { networkList } from "@countersign/core";
import { Secret, TOTP } from "otpauth";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createHttpOut } from "../../edge/outgoing/http-out.ts";
import { createSealer, masterKeyId } from "../../edge/start/sealer.ts";
import type { KeyRing } from "../../ports.ts";
import { subjectContext } from "../../store/erasure/erasures.ts";
import { seedContext } from "../../store/log/log-keys.ts";
import { streamContext } from "../../store/streams/streams.ts";
import { type SealedPlace, sealedPlaces } from "../../store/upkeep/sealed-texts.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { testCertificates } from "../../testing/network/certificates.ts";
import { missing, outcome, pulling } from "../../testing/network/context-source.ts";
import { resolveToLoopback, testReceiver } from "../../testing/network/receiver.ts";
import { call } from "../../testing/nodes/http-node.ts";
import { password, peopleNodes } from "../../testing/nodes/people-nodes.ts";
import { serviceNode } from "../../testing/nodes/service-node.ts";
import { mailContext } from "../people/mail.ts";
import { unsubscribeToken } from "../people/people.ts";
import { clientSecretContext } from "../people/single-sign-on.ts";
import { startedContext } from "../people/single-sign-on-login.ts";
import { resealAll, sealedStatus, unreadablePlaces } from "./reseal.ts";

const [key_a, key_b, key_c] = [1, 2, 3].map((byte) => Buffer.alloc(32, byte)) as [Buffer, Buffer, Buffer];
const [id_a, id_b] = [masterKeyId(key_a), masterKeyId(key_b)];
const [former, current] = [createSealer(key_a, [key_b]), createSealer(key_b, [key_a])];
const ignore = () => undefined;

async function needed(db: Parameters<typeof sealedStatus>[0]["db"], ring: KeyRing, rows_at_once?: number) {
  const sums: Record<string, number> = {};
  for (const { place, by_key, unreadable, total } of await sealedStatus({ db, ring }, rows_at_once)) {
    // The nodes make these at any time.
    if (place === "log_keys") continue;
    expect(Object.values(by_key).reduce((sum, n) => sum + n, unreadable)).toBe(total);
    for (const [key_id, count] of Object.entries({ ...by_key, none: unreadable }))
      if (count > 0) sums[key_id] = (sums[key_id] ?? 0) + count;
  }
  return sums;
}

test("every column with sealed texts is a place", async () => {
  const { db } = await testDatabase();
  const columns = await db.query<{ name: string }>(
    `select table_name || '.' || column_name as name from information_schema.columns
     where table_schema = 'public' and column_name like '%sealed%' order by 1`,
  );
  expect(columns.map(({ name }) => name)).toEqual([
    "channels.secret_sealed",
    "context_sources.secret_sealed",
    "erasures.subject_sealed",
    "log_keys.seed_sealed",
    "mails.sealed",
    "people.totp_sealed",
    "push_devices.subscription_sealed",
    "single_sign_on.secret_sealed",
    "streams.secret_sealed",
    "webhooks.headers_sealed",
    "webhooks.next_secret_sealed",
    "webhooks.secret_sealed",
  ]);
  expect(sealedPlaces).toHaveLength(columns.length + 1);
});

describe("with two nodes, one of which still seals with the former key", () => {
  const context = { rules: { allow_http: false, allow_networks: networkList(["127.0.0.0/8"]) } };
  const httpOut = createHttpOut({ ...context, resolve: resolveToLoopback, ca: testCertificates().ca });
  let database: Awaited<ReturnType<typeof testDatabase>>;
  let nodes: Awaited<ReturnType<typeof peopleNodes>>;
  beforeAll(async () => {
    database = await testDatabase();
    nodes = await peopleNodes(database, [
      { sealer: former, httpOut },
      { sealer: current, httpOut },
    ]);
  });

  const codeAt = (secret: string, shift_seconds: number) =>
    new TOTP({ secret: Secret.fromBase32(secret) }).generate({
      timestamp: Date.now() + shift_seconds * 1000,
    });

  async function madeAt(url: string, hook: string) {
    const org = await pulling(database, url);
    const webhook = { url: hook, event_types: ["decision.blocked"], headers: { "x-team": "a" } };
    const registered = await call(url, "POST", "/v1/escalations/webhooks", { key: org.admin, body: webhook });
    expect(registered.status).toBe(201);
    const rotate = `/v1/escalations/webhooks/${registered.json.webhook.id}/rotate-secret`;
    await call(url, "POST", rotate, { key: org.admin, body: { overlap_seconds: 3_600 } });
    await org.register(hook);
    const person = await nodes.signedUp();
    const device = { name: "n", endpoint: hook, keys: { p256dh: "A".repeat(87), auth: "A".repeat(22) } };
    const push = { cookie: person.cookie, body: device };
    expect((await nodes.send("POST", "/v1/auth/channels/push", push, url)).status).toBe(201);
    const enrolled = await nodes.send("POST", "/v1/auth/totp/enrol", { cookie: person.cookie }, url);
    const { secret } = enrolled.json;
    const code = codeAt(secret, 0);
    const confirm = { cookie: person.cookie, body: { code } };
    expect((await nodes.send("POST", "/v1/auth/totp/confirm", confirm, url)).status).toBe(200);
    const proveAt = async (base: string) => {
      const asked = await org.submit({}, base);
      expect((await outcome(org, asked, base)).unknown).toMatchObject([{ path: missing, reason: "source_invalid" }]);
      const login = await nodes.send("POST", "/v1/auth/login", { body: { email: person.email, password } }, base);
      const body = { code: codeAt(secret, 30) };
      const verified = await nodes.send("POST", "/v1/auth/mfa/verify", { cookie: login.cookie as string, body }, base);
      expect(verified.json.session).toMatchObject({ mfa_required: false });
    };
    return { org, proveAt };
  }

  async function writeByHand(org_id: string, sealer: KeyRing, n: number): Promise<void> {
    const hash = String(n).padStart(64, "0");
    await database.db.system(async (query) => {
      await query(
        `insert into log_keys (org_id, key_id, public_key, seed_sealed, created_at, retired_at)
         values ($1, '00000000', '', $2, '2026-01-01', '2026-01-02')`,
        [org_id, sealer.seal("seed", seedContext(org_id, "00000000"))],
      );
      await query(
        `insert into erasures (org_id, erasure_id, kind, subject_sealed, subject_sha256, status, seq, to_seq, counts, requested_by, created_at,
           done_at)
         values ($1, 'ers_1', 'person', $2, '', 'done', 0, 0, '{}', 'usr_1', now(), now())`,
        [org_id, sealer.seal("ann", subjectContext(org_id, "ers_1"))],
      );
      await query(
        `insert into streams (org_id, stream_id, name, format, target, settings, secret_sealed, active, created_at, seq, due_at)
         values ($1, 'str_1', 'n', 'jsonl', 's3', '{}', $2, false, now(), 0, now())`,
        [org_id, sealer.seal("key", streamContext(org_id, "str_1"))],
      );
      await query(
        `insert into single_sign_on (org_id, issuer, client_id, secret_sealed, email_domains, default_role, updated_at)
         values ($1, 'https://id.example.com', 'c', $2, '[]', 'auditor', now())`,
        [org_id, sealer.seal("client secret", clientSecretContext(org_id))],
      );
      await query(
        `insert into person_tokens (token_sha256, kind, org_id, subject, expires_at)
         values (decode($1, 'hex'), 'sso', $2, $3::json, now() + interval '1 day')`,
        [hash, org_id, JSON.stringify({ sealed: sealer.seal("begun", startedContext(hash)) })],
      );
      await query(
        `insert into mails (mail_id, kind, sealed, created_at, due_at) values ($1, 'signup', $2, now(), now() + interval '1 day')`,
        [`mail_${n}`, sealer.seal("mail", mailContext(`mail_${n}`))],
      );
    });
  }

  test("all texts are resealed while both write; then a node with only the current key opens everything", async () => {
    const receiver = await testReceiver();
    const [one, two] = [await madeAt(nodes.url, receiver.url), await madeAt(nodes.other, receiver.url)];
    await writeByHand(one.org.org.org_id, former, 1);
    await writeByHand(two.org.org.org_id, current, 2);
    const mailed = async () => {
      const [{ n } = { n: -1 }] = await database.db.query<{ n: number }>("select count(*)::integer as n from mails");
      return n;
    };
    await expect.poll(mailed).toBe(2);
    const places = sealedPlaces.length - 1;
    expect(await needed(database.db, current, 1)).toEqual({ [id_a]: places, [id_b]: places });
    await two.proveAt(nodes.url);

    const progress: { place: SealedPlace; resealed: number }[] = [];
    const more = (url: string, n: number) =>
      call(url, "POST", "/v1/escalations/webhooks", {
        key: one.org.admin,
        body: { url: `${receiver.url}/${n}`, event_types: ["decision.blocked"] },
      });
    const [done, ...registered] = await Promise.all([
      resealAll({ db: database.db, ring: current }, (each) => progress.push(each), 1),
      ...Array.from({ length: 10 }, (_, n) => more(n % 2 === 0 ? nodes.url : nodes.other, n)),
    ]);
    expect(registered.map(({ status }) => status)).toEqual(Array(10).fill(201));
    expect(done.map(({ place }) => place)).toEqual(sealedPlaces);
    for (const { place, resealed, unreadable } of done) {
      expect([place, resealed >= 1, unreadable]).toEqual([place, true, 0]);
      expect(progress.filter((each) => each.place === place).at(-1)?.resealed).toBe(resealed);
    }

    await nodes.close();
    await resealAll({ db: database.db, ring: current }, ignore);
    expect(Object.keys(await needed(database.db, current))).toEqual([id_b]);
    const ofLogs = (await sealedStatus({ db: database.db, ring: current })).find(({ place }) => place === "log_keys");
    expect(Object.keys(ofLogs?.by_key ?? {})).toEqual([id_b]);
    const alone = createSealer(key_b);
    expect(Object.keys(await needed(database.db, alone))).toEqual([id_b]);
    const { url } = await serviceNode(database, { ...nodes.parts, sealer: alone, httpOut });
    await one.proveAt(url);
    expect(receiver.received.length).toBeGreaterThan(0);
  });
});

describe("one place", () => {
  async function withWebhooks(count: number, sealer: KeyRing) {
    const database = await testDatabase();
    const contextOf = (n: number) => `org_1 webhooks wh_${n} secret`;
    for (let n = 1; n <= count; n += 1) {
      await database.db.query(
        `insert into webhooks (org_id, webhook_id, url, event_types, secret_sealed, active, description, created_at)
         values ('org_1', $1, 'https://x.example', '[]', $2, true, '', now())`,
        [`wh_${n}`, sealer.seal(`secret ${n}`, contextOf(n))],
      );
    }
    const sealedTexts = async () => {
      const rows = await database.db.query<{ webhook_id: string; secret_sealed: string }>(
        "select webhook_id, secret_sealed from webhooks order by webhook_id",
      );
      return rows.map(({ secret_sealed }) => secret_sealed);
    };
    return { ...database, contextOf, sealedTexts };
  }

  test("a text that changes between reading and writing is left, and resealed by the next run", async () => {
    const { db, contextOf, sealedTexts } = await withWebhooks(3, former);
    const written = former.seal("another secret", contextOf(2));
    let looks = 0;
    const seal = (text: string, context: string) => {
      looks += 1;
      return current.seal(text, context);
    };
    const overtaken: Parameters<typeof resealAll>[0] = {
      ring: { ...current, seal },
      db: {
        system: (work) =>
          db.system((query) =>
            work(async (text, params) => {
              if (looks === 3 && text.startsWith("update webhooks")) {
                looks += 1;
                await db.query("update webhooks set secret_sealed = $1 where webhook_id = 'wh_2'", [written]);
              }
              return query(text, params);
            }),
          ),
      },
    };
    const [webhooks] = await resealAll(overtaken, ignore);
    expect(webhooks).toEqual({ place: "webhooks", resealed: 3, unreadable: 0 });
    const texts = (await sealedTexts()).map((sealed, n) => createSealer(key_b).open(sealed, contextOf(n + 1)));
    expect(texts).toEqual(["secret 1", "another secret", "secret 3"]);
  });

  test("an unreadable text stays, is counted, and delays nothing", async () => {
    const { db, contextOf, sealedTexts } = await withWebhooks(3, former);
    const lost = createSealer(key_c).seal("lost", contextOf(2));
    await db.query("update webhooks set secret_sealed = $1 where webhook_id = 'wh_2'", [lost]);
    expect(await needed(db, current)).toEqual({ [id_a]: 2, none: 1 });
    // Most texts open, so a value is damaged and no key is missing.
    expect(await unreadablePlaces({ db, ring: current })).toEqual([]);
    const [webhooks] = await resealAll({ db, ring: current }, ignore, 1);
    expect(webhooks).toEqual({ place: "webhooks", resealed: 2, unreadable: 1 });
    expect((await sealedTexts())[1]).toBe(lost);
    expect(await needed(db, current)).toEqual({ [id_b]: 2, none: 1 });
    expect(await unreadablePlaces({ db, ring: current })).toEqual(["webhooks"]);
    expect(await unreadablePlaces({ db, ring: createSealer(key_b, [key_c]) })).toEqual([]);
    expect(await needed(db, createSealer(key_b, [key_c]))).toEqual({ [id_b]: 2, [masterKeyId(key_c)]: 1 });
  });

  test("texts of the current key are not resealed", async () => {
    const alone = createSealer(key_b);
    const { db, sealedTexts } = await withWebhooks(3, alone);
    const before = await sealedTexts();
    for (const done of await resealAll({ db, ring: alone }, ignore)) expect(done).toMatchObject({ resealed: 0 });
    expect(await sealedTexts()).toEqual(before);
  });

  test("a text under another row's context is unreadable and not resealed", async () => {
    const { db, sealedTexts } = await withWebhooks(2, former);
    const [first] = await sealedTexts();
    await db.query("update webhooks set secret_sealed = $1 where webhook_id = 'wh_2'", [first]);
    const [webhooks] = await resealAll({ db, ring: current }, ignore);
    expect(webhooks).toEqual({ place: "webhooks", resealed: 1, unreadable: 1 });
    expect((await sealedTexts())[1]).toBe(first);
  });
});

test("links in earlier mails stop notifications while the former key is configured", async () => {
  const database = await testDatabase();
  const nodes = await peopleNodes(database, [{ sealer: createSealer(key_a) }, { sealer: createSealer(key_a) }]);
  onTestFinished(() => nodes.close().then(ignore));
  const admin = await nodes.signedUp();
  const reviewer = await nodes.joined(admin.cookie, "reviewer");
  const [{ org_id } = { org_id: "" }] = await database.db.query<{ org_id: string }>(
    "select org_id from people limit 1",
  );
  const token = unsubscribeToken({ sealer: createSealer(key_a) }, org_id, reviewer.user_id);
  const stopAt = async (sealer: KeyRing) => {
    const node = await serviceNode(database, { ...nodes.parts, sealer });
    return (await nodes.send("POST", `/v1/unsubscribe?token=${encodeURIComponent(token)}`, {}, node.url)).status;
  };
  expect(await stopAt(createSealer(key_b))).toBe(404);
  expect(await stopAt(createSealer(key_c, [key_b, key_a]))).toBe(204);
  const { people } = (await nodes.send("GET", "/v1/people?role=reviewer", { cookie: admin.cookie })).json;
  expect(people).toMatchObject([{ user_id: reviewer.user_id, notify: false }]);
});
