import { beforeAll, describe, expect, test } from "vitest";
import type { Mail } from "../../src/ports.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call, testOrganization } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";

const database = await testDatabase();
const { db } = database;
const mails: Mail[] = [];
let url: string;
beforeAll(async () => {
  ({ url } = await serviceNode(database, { mailer: { delivers: true, send: async (mail) => void mails.push(mail) } }));
});

let people = 0;

/** An organization with a membrane in shadow, two admins, and an admin with an address. */
async function organization(settings: object) {
  const org = await testOrganization(db);
  const [ann, bob] = [(await org.key()).api_key, (await org.key()).api_key];
  people += 1;
  const email = `admin-${people}@example.com`;
  await db.query(
    "insert into people (org_id, user_id, email, role, notify, created_at) values ($1, $2, $3, 'admin', true, now())",
    [org.org_id, `usr_${String(people).padStart(26, "0")}`, email],
  );
  const ask = (method: string, path: string, key: string, body?: object) =>
    call(url, method, `/v1${path}`, { key, ...(body && { body }) });
  const [{ membrane_id, name }] = (await ask("GET", "/membranes", ann)).json.membranes;
  const set = (key: string, change: object) => ask("PATCH", "/organization", key, change);
  expect((await set(ann, settings)).status).toBe(200);
  return {
    ...{ org, ann, bob, name, set, email, membrane_id },
    goLive: (key: string, body?: object) => ask("POST", `/membranes/${membrane_id}/go-live`, key, body),
    back: (key: string, body: object = { reason: "It holds too much." }) =>
      ask("POST", `/membranes/${membrane_id}/return-to-shadow`, key, body),
    change: (body: object) => ask("PATCH", `/membranes/${membrane_id}`, ann, body),
    read: async () => (await ask("GET", `/membranes/${membrane_id}`, ann)).json.membrane,
    records: async (type: string) =>
      (await ask("GET", `/audit?type=${type}`, ann)).json.audit.map(({ data }: { data: object }) => data),
    mailed: () => mails.filter(({ to }) => to === email),
  };
}

const two = { go_live_needs_second_person: true };

describe("settings for going live", () => {
  test("refuse nothing before somebody switches them on: an empty body is enough", async () => {
    const { goLive, ann } = await organization({ go_live_needs_ready: false });
    const live = await goLive(ann, {});
    expect([live.status, live.json.moved, live.json.membrane.status]).toEqual([200, true, "live"]);
  });

  test("refuse a membrane that is not ready, with every reason", async () => {
    const { goLive, ann, read } = await organization({ go_live_needs_ready: true });
    const { status, json } = await goLive(ann);
    expect([status, json.error.code]).toEqual([409, "state_conflict"]);
    expect(json.error.details).toMatchObject([
      { code: "not_ready", message: expect.stringContaining("0 decisions in shadow") },
      { code: "not_ready", message: expect.stringContaining("from 0 days") },
    ]);
    expect((await read()).status).toBe("shadow");
  });

  test("ask for the membrane's name; a wrong name is refused without the setting, too", async () => {
    const { goLive, ann, name, set } = await organization({ go_live_needs_name: true });
    for (const body of [undefined, {}, { name: `${name} ` }]) {
      const { status, json } = await goLive(ann, body);
      expect([status, json.error.details[0].path]).toEqual([400, "/name"]);
    }
    await set(ann, { go_live_needs_name: false });
    expect((await goLive(ann, { name: "another" })).status).toBe(400);
    expect((await goLive(ann, { name })).json.moved).toBe(true);
  });
});

describe("a second person", () => {
  test("confirms going live and returning to shadow; each step is in the audit trail", async () => {
    const { goLive, back, ann, bob, read, records } = await organization(two);
    const asked = await goLive(ann, { reason: "Two good weeks." });
    expect([asked.status, asked.json.moved, asked.json.membrane.status]).toEqual([202, false, "shadow"]);
    expect((await read()).requested_move).toMatchObject({ to: "live", reason: "Two good weeks." });
    expect((await goLive(ann)).json.error.code).toBe("state_conflict");
    const live = await goLive(bob);
    expect([live.status, live.json.moved, live.json.membrane.requested_move]).toEqual([200, true, null]);
    expect([(await read()).status, (await read()).requested_move]).toEqual(["live", null]);
    const first = asked.json.membrane.requested_move.requested_by;
    expect(await records("membrane_move_requested")).toMatchObject([{ to: "live", reason: "Two good weeks." }]);
    expect(await records("membrane_went_live")).toMatchObject([{ requested_by: first }]);

    expect((await back(bob)).json).toMatchObject({ moved: false, membrane: { status: "live" } });
    expect((await back(bob)).status).toBe(409);
    expect((await back(ann)).json).toMatchObject({ moved: true, membrane: { status: "shadow" } });
    expect(await records("membrane_returned_to_shadow")).toMatchObject([{ reason: "It holds too much." }]);
  });

  test("has 24 hours, and does not confirm what changed since the request", async () => {
    const { org, goLive, change, ann, bob, read } = await organization(two);
    await goLive(ann);
    await db.query(
      `update membranes set requested_move = (jsonb_set(requested_move::jsonb, '{requested_at}', '"2020-01-01T00:00:00Z"'))::json
       where org_id = $1`,
      [org.org_id],
    );
    expect((await read()).requested_move).toBeNull();
    expect((await goLive(bob)).json.moved).toBe(false);
    expect((await change({ default_verdict: "block" })).json.membrane.requested_move).toBeNull();
    expect((await goLive(ann)).json.moved).toBe(false);
    expect((await goLive(bob)).json.moved).toBe(true);
  });

  test("is not replaced by another key of the first one", async () => {
    const { goLive, ann } = await organization(two);
    const made = await call(url, "POST", "/v1/api-keys", { key: ann, body: { role: "admin", name: "mine, too" } });
    await goLive(ann);
    expect((await goLive(made.json.api_key)).status).toBe(409);
  });

  test("must confirm that nobody needs a second person any more", async () => {
    const { set, goLive, ann, bob, records } = await organization(two);
    const asked = await set(ann, { go_live_needs_second_person: false });
    expect(asked.json.organization).toMatchObject({
      go_live_needs_second_person: true,
      go_live_alone_requested_by: expect.any(String),
    });
    expect((await set(ann, { go_live_needs_second_person: false })).status).toBe(409);
    expect((await goLive(ann)).json.moved).toBe(false);
    const off = await set(bob, { go_live_needs_second_person: false });
    expect(off.json.organization).toMatchObject({
      go_live_needs_second_person: false,
      go_live_alone_requested_by: null,
    });
    expect((await goLive(ann)).json.moved).toBe(true);
    expect(await records("organization_change_requested")).toMatchObject([{ go_live_needs_second_person: false }]);
    expect((await records("organization_changed"))[0]).toMatchObject({ requested_by: expect.any(String) });
  });
});

describe("returning to shadow", () => {
  test("needs a reason, and mails it to the admins", async () => {
    const { goLive, back, ann, mailed } = await organization({ go_live_needs_ready: false });
    await goLive(ann);
    for (const body of [{}, { reason: " " }]) expect((await back(ann, body)).status).toBe(400);
    expect((await back(ann, { reason: "The refunds wait too long." })).json.moved).toBe(true);
    await expect.poll(() => mailed().map(({ subject }) => subject)).toEqual(["A membrane returned to shadow"]);
    expect(mailed()[0]?.text).toContain("Reason: The refunds wait too long");
  });

  test("mails the admins before, if a second person has to confirm", async () => {
    const { goLive, back, ann, bob, mailed } = await organization(two);
    await goLive(ann);
    await goLive(bob);
    await back(ann);
    await back(bob);
    await expect
      .poll(() =>
        mailed()
          .map(({ subject }) => subject)
          .sort(),
      )
      .toEqual([
        "A membrane returned to shadow",
        "A second person is needed to return a membrane to shadow",
        "A second person is needed to take a membrane live",
      ]);
  });
});
