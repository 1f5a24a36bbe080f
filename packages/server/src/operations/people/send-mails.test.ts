import { formatTimestampUs } from "@countersign/core";
import { beforeAll, expect, test } from "vitest";
import { timers } from "../../edge/timers.ts";
import type { Clock, Mail, Timers } from "../../ports.ts";
import { claimMails } from "../../store/people/mails.ts";
import { insertPerson, writeMailWishes } from "../../store/people/people.ts";
import { insertToken } from "../../store/people/person-tokens.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { call, testOrganization } from "../../testing/nodes/http-node.ts";
import { serviceNode } from "../../testing/nodes/service-node.ts";
import { sending_ms_max } from "../../worker/mails.ts";
import { writeMail } from "./mail.ts";
import { sendMails } from "./send-mails.ts";
import { tokenHash } from "./session.ts";

const database = await testDatabase();
let offset_us = 0;
const clock: Clock = { now_us: () => Date.now() * 1000 + offset_us };
const sent: Mail[] = [];
let refusing = true;
let asked = 0;
const mailer = {
  delivers: true,
  async send(mail: Mail) {
    asked += 1;
    if (refusing) throw new Error("451 try again later");
    sent.push(mail);
  },
};
let node: Awaited<ReturnType<typeof serviceNode>>;
beforeAll(async () => {
  node = await serviceNode(database, { clock, mailer });
});

const signup = (email: string) =>
  call(node.url, "POST", "/v1/auth/signup", { body: { org_name: "Acme", email, password: "long enough" } });
const waiting = async () =>
  (await database.db.query("select kind, sealed from mails")) as { kind: string; sealed: string }[];
const pass = async (seconds: number) => {
  offset_us += seconds * 1_000_000;
  await database.db.query("update mails set due_at = due_at - make_interval(secs => $1::integer)", [seconds]);
  await sendMails(node.runtime);
  return sent.length;
};

test("a refused mail is retried and sent once; its links are sealed meanwhile", async () => {
  expect((await signup("first@example.com")).status).toBe(202);
  await expect.poll(() => asked).toBe(1);
  const [row] = await waiting();
  expect(row).toMatchObject({ kind: "signup" });
  expect(row?.sealed).not.toContain("first@example.com");
  refusing = false;
  await expect.poll(() => pass(10)).toBeGreaterThanOrEqual(1);
  await expect.poll(async () => (await waiting()).length).toBe(0);
  const all = sent.length;
  expect(await pass(86_400)).toBe(all);
});

test("a mail claimed by a dead node is sent by another after its lease", async () => {
  refusing = true;
  const before = sent.length;
  await signup("second@example.com");
  await expect.poll(async () => (await waiting()).length).toBe(1);
  await database.db.query("update mails set due_at = now()");
  await database.db.system((query) => claimMails(query, 120, 10, []));
  refusing = false;
  await expect.poll(() => pass(130)).toBeGreaterThan(before);
});

test("a mail that no server accepts is dropped", async () => {
  refusing = true;
  await signup("third@example.com");
  const left = async () => {
    await pass(30_000);
    return (await waiting()).length;
  };
  await expect.poll(left).toBe(0);
  expect(sent.some((mail) => mail.to === "third@example.com")).toBe(false);
  expect(await node.metrics.text()).toContain('countersign_mail_attempts_total{outcome="given_up"} 1');
});

test("a delayed mail is not sent to removed or unsubscribed people, nor with a withdrawn link", async () => {
  refusing = false;
  const { org_id } = await testOrganization(database.db);
  const created_at = formatTimestampUs(clock.now_us());
  await database.db.system(async (query) => {
    for (const name of ["stays", "unsubscribed", "removed"]) {
      const [user_id, to] = [`usr_${name}`, `${name}@example.com`];
      const person = { org_id, user_id, email: to, role: "reviewer", password_hash: null, created_at } as const;
      if (name !== "removed") await insertPerson(query, person);
      if (name === "unsubscribed")
        await writeMailWishes(query, org_id, user_id, { notify: false, mail_rhythm: "at_once", digest_hour: 7 });
      await writeMail(node.runtime, query, "escalations", { to, org_id, user_id, waiting: [], more: 2 });
    }
    for (const token of ["stands", "withdrawn"]) {
      if (token === "stands") await insertToken(query, "invitation", tokenHash(token), org_id, {});
      await writeMail(node.runtime, query, "invitation", {
        to: `${token}@example.com`,
        org_name: "A",
        role: "admin",
        token,
      });
    }
  });
  await pass(1);
  await expect.poll(async () => (await waiting()).length).toBe(0);
  const told = ["stays", "unsubscribed", "removed", "stands", "withdrawn"];
  expect(told.filter((name) => sent.some(({ to }) => to === `${name}@example.com`))).toEqual(["stays", "stands"]);
});

test("an address gets three invitation mails a minute from all senders; then the newest valid one of each", async () => {
  refusing = false;
  const to = "everybodys-guest@example.com";
  const hosts = [await testOrganization(database.db), await testOrganization(database.db)];
  const keys = await Promise.all(hosts.map((host) => host.key()));
  const invite = (n: number) =>
    call(node.url, "POST", "/v1/auth/invitations", {
      key: keys[n % 2]?.api_key as string,
      body: { email: n % 3 ? to : to.toUpperCase(), role: "reviewer" },
    });
  const got = () => sent.filter((mail) => mail.to.toLowerCase() === to).length;
  for (let n = 0; n < 8; n++) {
    const before = { got: got(), put_off: await putOff() };
    expect((await invite(n)).status).toBe(201);
    await expect.poll(async () => got() > before.got || (await putOff()) > before.put_off).toBe(true);
  }
  expect(got()).toBe(3);
  await pass(61);
  await expect.poll(async () => (await waiting()).length).toBe(0);
  expect(got()).toBe(5);
  const tokens = sent
    .filter((mail) => mail.to.toLowerCase() === to)
    .slice(-2)
    .map((mail) => /\?token=([\w%.-]+)/.exec(mail.text)?.[1] as string);
  const stand = await database.db.system((query) =>
    query("select from person_tokens where token_sha256 = any (select decode(h, 'hex') from unnest($1::text[]) h)", [
      tokens.map(tokenHash),
    ]),
  );
  expect(stand).toHaveLength(2);
});

test("an address gets three signup mails a minute, known or not; mails that wait long are dropped", async () => {
  refusing = false;
  await database.db.query("delete from mails");
  const { org_id } = await testOrganization(database.db);
  const at = formatTimestampUs(clock.now_us());
  const known = {
    org_id,
    user_id: "usr_known",
    email: "known@example.com",
    role: "reviewer",
    password_hash: null,
  } as const;
  await database.db.system((query) => insertPerson(query, { ...known, created_at: at }));
  for (const to of ["known@example.com", "unknown@example.com"]) {
    offset_us += 61_000_000;
    const got = () => sent.filter((mail) => mail.to.toLowerCase() === to).length;
    for (let n = 0; n < 5; n++) {
      const before = { got: got(), put_off: await putOff() };
      expect((await signup(n % 2 ? to : to.toUpperCase())).status).toBe(202);
      await expect.poll(async () => got() > before.got || (await putOff()) > before.put_off).toBe(true);
    }
    expect(got()).toBe(3);
    await pass(61);
    await expect.poll(async () => (await waiting()).length).toBe(0);
    expect(got()).toBe(5);
  }
  const to = "flooded@example.com";
  offset_us += 61_000_000;
  for (let n = 0; n < 5; n++) await signup(to);
  await expect.poll(putOff).toBe(2);
  await database.db.query("update mails set created_at = now() - interval '601 seconds', due_at = now()");
  await sendMails(node.runtime);
  await expect.poll(async () => (await waiting()).length).toBe(0);
  expect(sent.filter((mail) => mail.to === to)).toHaveLength(3);
});

async function putOff(): Promise<number> {
  const rows = await database.db.query("select from mails where due_at > now() + interval '1 second' and attempts = 0");
  return rows.length;
}

const hanging = (asked: string[], by: string) => ({
  delivers: true,
  send: (_mail: Mail, stop?: AbortSignal) => {
    asked.push(by);
    return new Promise<void>((_, reject) => stop?.addEventListener("abort", () => reject(new Error("aborted"))));
  },
});

const impatient: Timers = {
  after: (wait_ms, run) => timers.after(wait_ms === sending_ms_max ? 0 : wait_ms, run),
};

test("a stopping node does not wait for a hanging mail server: the mail is put off", async () => {
  const under_way: string[] = [];
  await database.db.query("delete from mails");
  const stopping = await serviceNode(database, { mailer: hanging(under_way, "it"), timers: impatient });
  await node.close();
  await call(stopping.url, "POST", "/v1/auth/signup", {
    body: { org_name: "Acme", email: "late@example.com", password: "long enough" },
  });
  await expect.poll(() => under_way).toEqual(["it"]);
  await stopping.close();
  expect(await waiting()).toMatchObject([{ kind: "signup" }]);
});

test("an attempt aborted by a stop does not count, even if it was the last", async () => {
  await database.db.query("delete from mails");
  const under_way: string[] = [];
  const stopping = await serviceNode(database, { mailer: hanging(under_way, "it"), timers: impatient });
  await database.db.system(async (query) => {
    await writeMail(stopping.runtime, query, "account", { to: "last@example.com", change: "password_changed" });
    await query("update mails set attempts = 6", []);
  });
  stopping.runtime.mails.wake();
  await expect.poll(() => under_way).toEqual(["it"]);
  await stopping.close();
  expect(await database.db.query("select kind, attempts from mails")).toEqual([{ kind: "account", attempts: 6 }]);
});

test("no other node sends a mail that one node is sending, whatever their clocks say", async () => {
  await database.db.query("delete from mails");
  const under_way: string[] = [];
  const off = (minutes: number): Clock => ({ now_us: () => (Date.now() + minutes * 60_000) * 1000 });
  const behind = await serviceNode(database, { clock: off(-10), mailer: hanging(under_way, "behind") });
  await call(behind.url, "POST", "/v1/auth/signup", {
    body: { org_name: "Acme", email: "once@example.com", password: "long enough" },
  });
  await expect.poll(() => under_way).toEqual(["behind"]);
  const ahead = await serviceNode(database, { clock: off(10), mailer: hanging(under_way, "ahead") });
  await sendMails(ahead.runtime);
  expect(under_way).toEqual(["behind"]);
});
