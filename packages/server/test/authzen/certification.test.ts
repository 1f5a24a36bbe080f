/** The certification scenario and the gateway scenario of AuthZEN 1.0. The README in test/data/authzen says where they come from. */
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { activatePolicy } from "../../src/testing/people/policies.ts";
import { type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

interface Case {
  readonly id: string;
  readonly title: string;
  readonly path: string;
  readonly request: object;
  readonly status: number;
  readonly expected?: object;
}

const read = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../../../test/data/authzen/${name}`, import.meta.url), "utf8"));
const { cases } = read("certification-scenario.json") as { cases: Case[] };
const gateway = read("api-gateway-decisions.json").evaluation as { request: object; expected: boolean }[];

const database = await testDatabase();
const settings = { packs: [], default_verdict: "approve" };
const nodes: Record<string, string> = {};
let org: Reviewed;
let gateways: Reviewed;
beforeAll(async () => {
  for (const authzen of ["record", "decide_only"] as const)
    nodes[authzen] = (await serviceNode(database, { config: { authzen } })).url;
  const url = nodes["record"] as string;
  [org, gateways] = [
    await reviewedOrganization(database.db, url, settings),
    await reviewedOrganization(database.db, url, settings),
  ];
  const properties = "params.authzen.resource.properties";
  const role = "params.authzen.subject.properties";
  await activatePolicy(url, org, "archived", {
    match: { verbs: ["write"] },
    when: `has(${properties}.status) && ${properties}.status == "archived" && !(has(${role}.role) && ${role}.role == "admin")`,
    effect: "block",
  });
  await activatePolicy(url, org, "bob-writes-nothing", {
    match: { verbs: ["write"] },
    when: 'agent.id == "bob" && target.identifier == "record-1"',
    effect: "block",
  });
  await activatePolicy(url, org, "soft-deletes-only", {
    match: { verbs: ["delete"] },
    when: "!has(params.soft) || params.soft != true",
    effect: "block",
  });
  // Editors of the scenario: the first three identities.
  const editors = ["0", "1", "2"].map((at) => Buffer.from(`\n$fd${at}614d3-c39a-4781-b7bd-8b96f5a5100d\x12\x05local`));
  await activatePolicy(url, gateways, "editors-write", {
    match: { verbs: ["POST", "PUT", "DELETE"] },
    when: `!(agent.id in ${JSON.stringify(editors.map((each) => each.toString("base64")))})`,
    effect: "block",
  });
});

const ask = (path: string, body: unknown, { mode = "record", key = org.agent, headers = {} } = {}) =>
  call(nodes[mode] as string, "POST", path, { key, body, headers });

/** The expected answer without members that it may have besides. */
function fitted(given: unknown, expected: unknown): unknown {
  if (expected === "<boolean>") return typeof given === "boolean" ? "<boolean>" : given;
  if (typeof given !== "object" || given === null || typeof expected !== "object" || expected === null) return given;
  if (Array.isArray(given)) return given.map((each, at) => fitted(each, (expected as unknown[])[at]));
  return Object.fromEntries(
    Object.entries(expected).map(([name, each]) => [name, fitted((given as Record<string, unknown>)[name], each)]),
  );
}

const single = cases[0] as Case;

describe.each(["record", "decide_only"])("with COUNTERSIGN_AUTHZEN=%s", (mode) => {
  test.each(cases)("$id $title", async ({ path, request, status, expected }) => {
    const answer = await ask(path, request, { mode });
    expect(answer.status, answer.text).toBe(status);
    expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
    if (expected !== undefined) expect(fitted(answer.json, expected)).toEqual(expected);
    else expect(answer.json.error.message).toEqual(expect.any(String));
  });

  test("c-2-4-3 400 for another content type", async () => {
    for (const type of ["text/plain", "application/xml", "application/jsonx"]) {
      const headers = { "Content-Type": type };
      expect((await ask(single.path, JSON.stringify(single.request), { mode, headers })).status, type).toBe(400);
    }
  });

  test("c-2-4-4 and c-2-4-5 400 for malformed JSON, for no body, and for a body that is no object", async () => {
    for (const path of ["/access/v1/evaluation", "/access/v1/evaluations"])
      for (const body of ['{"subject":', "", "[]", '"text"', "null"])
        expect((await ask(path, body, { mode })).status, body).toBe(400);
  });

  test("c-2-5-1 X-Request-ID is echoed by every answer of this edge", async () => {
    const headers = { "X-Request-ID": "bfe9eb29-ab87-4ca3-be83-a1d5d8305716 é" };
    const wrong = { key: "svc_live_org_0000000000000000000000000000000000000000" };
    for (const answer of [
      await ask(single.path, single.request, { mode, headers }),
      await ask("/access/v1/evaluations", single.request, { mode, headers }),
      await ask(single.path, {}, { mode, headers }),
      await ask(single.path, single.request, { mode, headers, ...wrong }),
      await call(nodes[mode] as string, "GET", "/.well-known/authzen-configuration", { headers }),
    ])
      expect(answer.headers.get("x-request-id")).toBe(headers["X-Request-ID"]);
  });

  test("c-2-5-2 an answer without X-Request-ID in the request has the service's own", async () => {
    expect((await ask(single.path, single.request, { mode })).headers.get("x-request-id")).toMatch(/^req_/);
  });

  test("c-2-6 the same request has the same decision each time", async () => {
    for (const { path, request, expected } of cases.filter((each) => each.id === "c-2-2-1" || each.id === "c-2-2-2"))
      for (const _ of [1, 2, 3]) expect((await ask(path, request, { mode })).json).toMatchObject(expected as object);
  });

  test.each(gateway)("gateway scenario: $request.action.name $request.resource.id is $expected", async (each) => {
    const { status, json } = await ask("/access/v1/evaluation", each.request, { mode, key: gateways.agent });
    expect([status, json.decision]).toEqual([200, each.expected]);
  });
});
