/** Sends nearly valid requests to every operation in every role. `RUNS_SHARE` sets their number, `FC_SEED` the seed. */
import { type IdKind, type Operation, operationRows, roleNames } from "@countersign/contract";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClock } from "../../packages/server/src/edge/clock.ts";
import { createIds } from "../../packages/server/src/edge/ids.ts";
import { loadPacks } from "../../packages/server/src/edge/start/pack-files.ts";
import { beginSession } from "../../packages/server/src/operations/people/session.ts";
import { insertPerson, type Person, readPerson } from "../../packages/server/src/store/people/people.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call, testOrganization } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { blockedBody, heldBody } from "../../packages/server/src/testing/people/review.ts";
import { softwareAuthenticator } from "../../packages/server/src/testing/people/software-authenticator.ts";
import { unreadableRecords } from "../../packages/server/src/testing/readable-records.ts";
import { fewRuns } from "../../scripts/property-runs.ts";
import { fitting, jsonText, nearly, parameter, type Schema } from "./hostile-requests.ts";

const numRuns = fewRuns(40);

const failures: string[] = [];
const note = (line: { readonly status?: number; readonly err?: unknown }, message: string) => {
  if (message === "request" && (line.status ?? 0) >= 500) failures.push(String((line.err as Error)?.stack ?? line.err));
};
const log = { debug: () => undefined, warn: () => undefined, info: note, error: note };
const database = await testDatabase();
const node = await serviceNode(database, { log });
const { packs } = await loadPacks();
const documents = [...packs.values()].flatMap((pack) => pack.rules.slice(0, 3));
const keys: Record<string, string> = {};
const pool: Partial<Record<IdKind, string[]>> = {};
const clock = createClock();
const ids = createIds(clock);
let person: Person;

/** A new session for every request, because many requests end it. */
async function cookie(): Promise<string> {
  const { token, session } = await database.db.system(async (query) => {
    const current = (await readPerson(query, person.org_id, person.user_id)) ?? person;
    return beginSession({ ids }, query, current, { ip: null, user_agent: null });
  });
  pool.session = [session.session_id];
  return `countersign_session=${token}`;
}

beforeAll(async () => {
  const org = await testOrganization(database.db);
  for (const role of roleNames) keys[role] = (await org.key({ role })).api_key;
  keys["test"] = (await org.key({ environment: "test" })).api_key;
  keys["one agent"] = (await org.key({ role: "agent", scope: "agent", agent_id: "agent-1" })).api_key;
  pool.api_key = [(await org.key()).key_id];
  const people = (["admin", "admin", "reviewer"] as const).map((role, n) => ({
    org_id: org.org_id,
    user_id: ids.next("user"),
    email: n === 0 ? "someone@example.com" : `person-${n}@example.com`,
    role,
    password_hash: null,
    created_at: new Date().toISOString(),
  }));
  await database.db.system(async (query) => {
    for (const each of people) await insertPerson(query, each);
    person = (await readPerson(query, org.org_id, people[0]?.user_id as string)) as Person;
  });
  // Keeps the first person out of the pool, so that their sessions survive.
  pool.user = people.slice(1).map(({ user_id }) => user_id);
  const key = keys["admin"] as string;
  const post = async (path: string, body?: unknown) => (await call(node.url, "POST", path, { key, body })).json;
  const invitation = { email: "invited@example.com", role: "reviewer" };
  pool.invitation = [(await post("/v1/auth/invitations", invitation)).invitation.invitation_id];
  const { membranes } = (await call(node.url, "GET", "/v1/membranes", { key })).json;
  const held = (await post("/v1/membranes", { name: "all packs", packs: [...packs.keys()] })).membrane.membrane_id;
  pool.membrane = [membranes[0].membrane_id, held];
  for (const id of pool.membrane) await post(`/v1/membranes/${id}/go-live`);
  const agent = { key: keys["agent"] as string };
  const made = [];
  for (const body of [heldBody, heldBody, blockedBody, { intent: heldBody.intent }])
    made.push((await call(node.url, "POST", "/v1/intents", { ...agent, body })).json.decision);
  pool.intent = made.map(({ intent_id }) => intent_id);
  pool.escalation = made.flatMap(({ escalation_id }) => escalation_id ?? []);
  expect(pool.escalation).not.toHaveLength(0);
  pool.override = [
    (await post(`/v1/intents/${made[2].intent_id}/override`, { reason: "it is fine" })).override.override_id,
  ];
  pool.webhook = [(await post("/v1/escalations/webhooks", { url: "https://hooks.example.com/x" })).webhook.id];
  pool.policy = [(await post("/v1/policies", { policy: documents[0] })).policy.policy_id];
});
afterAll(async () => {
  expect(failures).toEqual([]);
  expect(await unreadableRecords(database.db)).toEqual([]);
});

const segment = (name: string): fc.Arbitrary<string> => {
  const known = pool[name.replace(/_id$/, "").replace(/^key$/, "api_key") as IdKind] ?? [
    "agent-1",
    "security",
    "service",
    "shop",
  ];
  const odd = [
    "%00",
    "%F0%9F%98%80",
    "constructor",
    "__proto__",
    "a".repeat(128),
    "a".repeat(129),
    "%EF%BF%BF",
    "a%2Fb",
  ];
  const long = encodeURIComponent(
    Array.from({ length: 1_000 }, (_, n) => String.fromCodePoint(0x4e00 + ((n * 7_919) % 20_000))).join(""),
  );
  return fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...known) },
    { weight: 1, arbitrary: fc.constantFrom(...odd, long) },
  );
};

function requests(operation: Operation) {
  const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
  const path = fc
    .tuple(...names.map(segment))
    .map((parts) => names.reduce((path, name, at) => path.replace(`{${name}}`, parts[at] as string), operation.path));
  const known = Object.entries((operation.query?.properties ?? {}) as Record<string, Schema>);
  const given = known.map(([name, schema]) =>
    fc.oneof(
      { weight: 3, arbitrary: fc.constant<string[]>([]) },
      {
        weight: 2,
        arbitrary: parameter(name, schema, pool).map((values) => values.map((value) => `${name}=${encoded(value)}`)),
      },
    ),
  );
  const stray = fc.oneof(
    { weight: 15, arbitrary: fc.constant("") },
    { weight: 1, arbitrary: fc.constantFrom("x=1", "__proto__=1", "constructor", "=", "&&") },
  );
  const query = fc
    .tuple(fc.tuple(...given), stray)
    .map(([parts, more]) => [...parts.flat(), more].filter((part) => part !== "").join("&"));
  const body =
    operation.body === undefined
      ? fc.constant(undefined)
      : nearly(fitting(operation.body as Schema, pool, documents)).map(jsonText);
  const rarely = (...values: string[]) =>
    fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.constantFrom(...values) });
  const headers = fc.record({
    "Idempotency-Key": rarely("once", "k".repeat(255), "k".repeat(256), "é", " "),
    "If-None-Match": rarely("*", '"', 'W/"x", "y"', "x".repeat(5_000), ",,,"),
    "X-Forwarded-For": rarely("junk", "1.2.3.4, ::1", "[::1]:80", ",", "999.1.1.1"),
    traceparent: rarely("00-junk", "x".repeat(2_000)),
  });
  // Later tests use this person's sessions, so the person must not leave the organization.
  const person_role = operation.path === "/v1/auth/leave" ? "admin" : "person";
  const role = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.constant(operation.auth === "session" || operation.auth === "none" ? person_role : "admin"),
    },
    { weight: 1, arbitrary: fc.constant(person_role) },
    { weight: 2, arbitrary: fc.constantFrom(...Object.keys(keys)) },
  );
  return fc.record({ path, query, body, headers, role });
}

const encoded = (text: string) => (/^%[0-9a-f]{0,2}$/i.test(text) ? text : encodeURIComponent(text));

describe.each(operationRows)("%s", (_id, operation: Operation) => {
  test("answers as openapi.json says, below 500", { timeout: 30_000 + numRuns * 500 }, async () => {
    await fc.assert(
      fc.asyncProperty(requests(operation), async ({ path, query, body, headers, role }) => {
        const url = query === "" ? path : `${path}?${query}`;
        const sent = body === undefined ? {} : { body };
        const latin = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)) as Record<
          string,
          string
        >;
        const answer = await call(node.url, operation.method, url, {
          ...(role === "person" ? {} : { key: keys[role] as string }),
          headers: role === "person" ? { ...latin, cookie: await cookie() } : latin,
          ...sent,
        });
        expect(answer.status, failures.at(-1) ?? answer.text).toBeLessThan(500);
      }),
      { numRuns, endOnFailure: true },
    );
  });
});

describe("passkeys of a valid challenge, with broken places", () => {
  const path = "/v1/auth/passkeys";
  const home = () => `http://localhost:${new URL(node.url).port}`;

  test.each(["registration", "login"] as const)("%s", { timeout: 30_000 + numRuns * 500 }, async (use) => {
    const authenticator = softwareAuthenticator(home());
    // Deletes passkeys of earlier tests, because a person may have only a limited number.
    for (const table of ["passkeys", "passkey_index"])
      await database.db.system((query) => query(`delete from ${table} where user_id = $1`, [person.user_id]));
    const ask = async (where: string, body?: unknown) =>
      call(home(), "POST", path + where, { headers: { cookie: await cookie() }, body });
    const session = await cookie();
    const register = (where: string, body?: unknown) =>
      call(home(), "POST", path + where, { headers: { cookie: session }, body });
    const { options } = (await register("/registration/options")).json;
    expect((await register("/registration", { credential: authenticator.create(options) })).status).toBe(201);

    const send = use === "registration" ? register : ask;
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (choice) => {
        const { options: asked } = (await send(`/${use}/options`)).json;
        const credential = use === "registration" ? authenticator.create(asked) : authenticator.get(asked);
        const [body] = fc.sample(nearly(fc.constant({ credential })), { numRuns: 1, seed: choice });
        const answer = await call(home(), "POST", `${path}/${use}`, {
          headers: { cookie: session },
          body: jsonText(body),
        });
        expect(answer.status, failures.at(-1) ?? answer.text).toBeLessThan(500);
      }),
      { numRuns, endOnFailure: true },
    );
  });
});
