import { expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { testPeople } from "../../testing/people/person.ts";
import {
  claimMails,
  deleteMail,
  insertMail,
  markUntold,
  postponeMail,
  putOffMail,
  readNotified,
  takeUntold,
} from "./mails.ts";
import { writeMailWishes } from "./people.ts";

const { db } = await testDatabase();

test("kinds in `first` are claimed before others, in that order, and within a kind the longest due", async () => {
  const kinds = [...Array<string>(12).fill("escalations"), "signup", "escalations", "password", "signup"];
  for (const [n, kind] of kinds.entries()) {
    await insertMail(db.query, { mail_id: `mail_${String(n).padStart(2, "0")}`, kind, sealed: "" });
  }
  const claim = async (limit: number) => {
    const mails = await claimMails(db.query, 120, limit, ["password", "signup"]);
    return mails.map(({ mail_id }) => mail_id).sort();
  };
  expect(await claim(1)).toEqual(["mail_14"]);
  expect(await claim(3)).toEqual(["mail_00", "mail_12", "mail_15"]);
  expect(await claim(20)).toHaveLength(12);
  expect(await claim(1)).toEqual([]);
});

test("one node claims a mail, with its earlier attempts; it is due again after its lease or wait", async () => {
  await db.query("delete from mails");
  await db.system(async (query) => {
    for (const mail_id of ["m1", "m2", "m3"]) await insertMail(query, { mail_id, kind: "password", sealed: "s" });
  });
  const claim = async (limit = 9) =>
    (await db.system((query) => claimMails(query, 60, limit, []))).map(({ mail_id, attempts }) => [mail_id, attempts]);
  await db.system(async (query) => {
    await query("select from mails where mail_id = 'm1' for update");
    expect((await claim()).sort()).toEqual([
      ["m2", 0],
      ["m3", 0],
    ]);
  });
  expect(await claim()).toEqual([["m1", 0]]);
  expect(await claim()).toEqual([]);
  const due = () => db.query("update mails set due_at = now() - interval '1 second'");
  await due();
  expect(await claim(2)).toHaveLength(2);
  await due();
  await db.query("update mails set attempts = 1");
  await claim();
  await db.system(async (query) => {
    await postponeMail(query, "m1", 3_600);
    await putOffMail(query, "m2", 3_600);
  });
  expect(await claim()).toEqual([]);
  const waits = await db.query<{ mail_id: string; attempts: number; minutes: number }>(
    "select mail_id, attempts, round(extract(epoch from due_at - now()) / 60)::integer as minutes from mails order by 1",
  );
  expect(waits).toEqual([
    { mail_id: "m1", attempts: 2, minutes: 60 },
    { mail_id: "m2", attempts: 1, minutes: 60 },
    { mail_id: "m3", attempts: 2, minutes: 1 },
  ]);
  await db.system((query) => deleteMail(query, "m1"));
  expect(await db.query("select from mails")).toHaveLength(2);
});

test("a claimed mail has its age", async () => {
  await db.query("delete from mails");
  await db.system((query) => insertMail(query, { mail_id: "m1", kind: "password", sealed: "s" }));
  await db.query("update mails set created_at = now() - interval '601 seconds'");
  const [mail] = await db.system((query) => claimMails(query, 60, 1, []));
  expect(Math.abs((mail?.age_seconds ?? 0) - 601)).toBeLessThan(30);
});

test("reviewers get one mail about each waiting review, and none about closed reviews or test mode", async () => {
  const escalation = (org_id: string, escalation_id: string, status = "pending", mode = "live") =>
    db.query(
      `insert into escalations (org_id, escalation_id, intent_id, decision_id, agent_id, status, mode, record, created_at, expires_at, demands)
       values ($1, $2, $2, $2, 'a', $3, $4, '{}', now(), now(), '[]')`,
      [org_id, escalation_id, status, mode],
    );
  await escalation("org_1", "esc_1");
  await escalation("org_1", "esc_2");
  await escalation("org_2", "esc_1");
  await escalation("org_1", "esc_3", "decided");
  await escalation("org_1", "esc_4", "pending", "test");
  const take = async (limit = 9) =>
    (await db.system((query) => takeUntold(query, limit))).map((each) => `${each.org_id} ${each.escalation_id}`).sort();
  await db.system(async (query) => {
    await query("select from escalations where org_id = 'org_1' and escalation_id = 'esc_1' for update");
    expect(await take(2)).toEqual(["org_1 esc_2"]);
  });
  expect([await take(), await take()]).toEqual([["org_1 esc_1", "org_2 esc_1"], []]);
  for (const escalation_id of ["esc_1", "esc_3"]) await db.system((query) => markUntold(query, "org_1", escalation_id));
  expect([await take(), await take()]).toEqual([["org_1 esc_1"], []]);
});

test("people of the organization get mails unless they disabled them", async () => {
  const [own, quiet] = await testPeople(db);
  await db.system((query) =>
    writeMailWishes(query, own.org_id, quiet.user_id, { notify: false, mail_rhythm: "at_once", digest_hour: 7 }),
  );
  expect(await db.tenant(own.org_id, (query) => readNotified(query, own.org_id))).toEqual([
    { user_id: own.user_id, email: own.email, role: "reviewer", notify: true, mail_rhythm: "at_once", devices: [] },
  ]);
});
