import {
  ApiKeyInput,
  IntentSubmission,
  MembraneInput,
  ObservationInput,
  operationRows,
  ReassignInput,
} from "@countersign/contract";
import { describe, expect, test } from "vitest";
import { queryReader } from "./query.ts";
import { compileCheck } from "./validate.ts";

const check = compileCheck(IntentSubmission);
const places = (value: unknown, bytes = 100) =>
  check(value, bytes)?.map((problem) => `${problem["path"]} ${problem["code"]}`) ?? null;
const good = { intent: { agent: { id: "a" }, action: { verb: "v" } } };

describe("compileCheck", () => {
  test.each(operationRows)("compiles the schemas of %s, which a start does not do", (_id, { params, query, body }) => {
    const schemas = [params, query, body].filter((schema) => schema !== undefined);
    for (const schema of schemas) expect(() => compileCheck(schema)("no object", 100)).not.toThrow();
  });

  test("accepts a valid value and does not change it", () => {
    const value = structuredClone(good);
    expect(places(value)).toBeNull();
    expect(value).toEqual(good);
  });

  test("names all problems at once, each at its place", () => {
    expect(places({ intent: { agent: { id: 5, nam: "x" }, action: {} }, extra: 1 })?.sort()).toEqual([
      "/extra unknown_field",
      "/intent/action/verb required",
      "/intent/agent/id wrong_type",
      "/intent/agent/nam unknown_field",
    ]);
  });

  test("converts nothing: a numeral is not a number, a list of one is not a text, an array is not an object", () => {
    const impact = (financial_exposure_usd: unknown) => ({
      intent: { ...good.intent, estimated_impact: { financial_exposure_usd } },
    });
    expect(places(impact("5"))).toEqual(["/intent/estimated_impact/financial_exposure_usd wrong_type"]);
    expect(places({ intent: { agent: { id: ["a"] }, action: { verb: "v" } } })).toEqual([
      "/intent/agent/id wrong_type",
    ]);
    expect(places({ intent: [] })).toEqual(["/intent wrong_type"]);
  });

  test("names the invalid character of a verb, an agent id and a verb of the catalogue", () => {
    const told = (schema: object, value: object) =>
      compileCheck(schema)(value, 100)?.map(({ path, code, message }) => `${path} ${code} ${message}`);
    const intent = { agent: { id: " b" }, action: { verb: "send_money\u200b" } };
    expect(told(IntentSubmission, { intent })).toEqual([
      "/intent/agent/id forbidden_character Remove the white space U+0020 around the name.",
      "/intent/action/verb forbidden_character Remove the character U+200B: names have no control or format characters.",
    ]);
    const entry = { verb: "send\u00admoney", type: "payment.transfer" };
    expect(told(MembraneInput, { name: "m", action_catalogue: [entry] })).toMatchObject([
      expect.stringMatching(/^\/action_catalogue\/0\/verb forbidden_character .*U\+00AD/),
    ]);
    expect(told(ApiKeyInput, { scope: "agent", agent_id: "b\n" })).toMatchObject([
      expect.stringMatching(/^\/agent_id .*U\+000A/),
    ]);
    expect(places({ intent: { agent: { id: "Büro 7" }, action: { verb: "送金 実行" } } })).toBeNull();
  });

  test("lists at most 50 problems, and one of a large body", () => {
    const data_classes = Array.from({ length: 200 }, () => 1);
    const value = { intent: { ...good.intent, data_classes } };
    expect(places(value)).toHaveLength(50);
    expect(places(value, 1_000_000)).toHaveLength(1);
  });

  test.each([
    [{ type: "user", id: "usr_x" }, ["/reviewers/0/id bad_format"]],
    [{ type: "role", id: "agent" }, ["/reviewers/0/id not_allowed"]],
    [{ type: "role", id: "admin", name: "x" }, ["/reviewers/0/name unknown_field"]],
    [{ type: "user" }, ["/reviewers/0/id required"]],
    [{ type: "group", id: "x" }, ["/reviewers/0/type not_allowed"]],
    [5, ["/reviewers/0 wrong_type"]],
    [{}, ["/reviewers/0/type required", "/reviewers/0/id required"]],
  ])("for the reviewer %j, lists the problems of the intended kind", (reviewer, told) => {
    const problems = compileCheck(ReassignInput)({ reviewers: [reviewer, { type: "role", id: "admin" }] }, 100);
    expect(problems?.map(({ path, code }) => `${path} ${code}`)).toEqual(told);
  });

  test("lists all allowed kinds if a value fits none", () => {
    const group = compileCheck(ReassignInput)({ reviewers: [{ type: "group", id: "x" }] }, 100);
    expect(group?.[0]?.["message"]).toBe('Send one of "role", "user".');
    const told = (detail: unknown) => compileCheck(ObservationInput)({ status: "executed", detail }, 100);
    expect(told(5)?.map(({ message }) => message)).toEqual(["Send a string or an object."]);
    const reviewer = compileCheck(ReassignInput)({ reviewers: ["role:admin"] }, 100);
    expect(reviewer?.map(({ message }) => message)).toEqual(["Send an object."]);
    expect(told("x".repeat(4_001))?.map(({ message }) => message)).toEqual(["Send at most 4000 characters."]);
  });

  test("every message says what to do", () => {
    const keys = compileCheck(ApiKeyInput);
    const value = { name: " ", environment: "prod", expires_in_days: 0, expires_at: "tomorrow", agent_id: "" };
    const messages = keys(value, 10)?.map((problem) => problem["message"]);
    expect(messages).toHaveLength(5);
    for (const message of messages ?? []) expect(message).toMatch(/^(Send|Add|Remove|Rename) /);
  });
});

describe("queryReader", () => {
  const schema = {
    type: "object",
    properties: { limit: { type: "integer", maximum: 9 }, live: { type: "boolean" }, name: { type: "string" } },
    additionalProperties: false,
  };
  const read = queryReader(schema);

  test("returns numbers and booleans where the schema requires them, texts elsewhere", () => {
    expect(read("/x?limit=5&live=true&name=7")).toEqual({ query: { limit: 5, live: true, name: "7" } });
    expect(read("/x")).toEqual({ query: {} });
    expect(read("/x?")).toEqual({ query: {} });
  });

  test.each([
    "limit=5x",
    "limit=",
    "limit=10",
    "live=1",
    "nam=a",
    "?name=a",
    "name=a&name=b",
    "name=%00",
    "__proto__=1",
    "constructor=1",
  ])("refuses ?%s", (query) => {
    expect(read(`/x?${query}`)).toHaveProperty("problems");
  });

  test("an operation without parameters accepts none", () => {
    expect(queryReader(undefined)("/x?a=1")).toHaveProperty("problems");
  });
});
