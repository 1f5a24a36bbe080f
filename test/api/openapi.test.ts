import { readFileSync } from "node:fs";
import {
  errorCodes,
  openapiDocument,
  operationRows,
  operations,
  product_version,
  rateCategories,
  refusalsOf,
} from "@countersign/contract";
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";

describe("the OpenAPI document", () => {
  it("is valid OpenAPI 3.1", async () => {
    const validator = new Validator({ strict: false });
    const result = await validator.validate(structuredClone(openapiDocument()));
    expect(result).toEqual({ valid: true });
    expect(validator.version).toBe("3.1");
  });

  it("a broken document is invalid, so the validator works", async () => {
    const { info: _, ...broken } = openapiDocument();
    expect((await new Validator().validate(broken)).valid).toBe(false);
  });

  it("describes exactly the operations of the table", () => {
    const described = Object.entries(openapiDocument().paths).flatMap(([path, item]) =>
      Object.entries(item as object).map(
        ([method, { operationId }]) => `${operationId} ${method.toUpperCase()} ${path}`,
      ),
    );
    const expected = operationRows.map(([id, { method, path }]) => `${id} ${method} ${path}`);
    expect(described.sort()).toEqual(expected.sort());
  });

  it("defines everything it refers to, and uses everything it defines", () => {
    const document = openapiDocument();
    const text = JSON.stringify(document);
    const components = document.components as { schemas: object; responses: object };
    for (const kind of ["schemas", "responses"] as const) {
      const references = text.matchAll(new RegExp(`"\\$ref":"#/components/${kind}/([^"]+)"`, "g"));
      const used = new Set([...references].map(([, name]) => name));
      expect(Object.keys(components[kind])).toEqual([...used].sort());
    }
  });

  it("gives every operation the error object for each of its refusals", () => {
    const { paths, components } = openapiDocument();
    const { responses: shared } = components as {
      responses: Record<string, { description: string; content: unknown }>;
    };
    for (const [id, operation] of operationRows) {
      const item = paths[operation.path] as Record<string, { responses: Record<string, { $ref?: string }> }>;
      const responses = item[operation.method.toLowerCase()]?.responses ?? {};
      for (const code of refusalsOf(operation)) {
        const name = responses[String(errorCodes[code].status)]?.$ref?.split("/").at(-1) ?? "";
        expect(shared[name]?.description, `${id} ${code}`).toContain(`\`${code}\``);
        expect(shared[name]?.content).toEqual({
          "application/json": { schema: { $ref: "#/components/schemas/Error" } },
        });
      }
    }
  });

  interface Described {
    readonly security?: unknown;
    readonly responses: Readonly<Record<string, { readonly headers?: object; readonly content?: object }>>;
  }
  const { paths } = openapiDocument();
  const described = (id: keyof typeof operations) => {
    const { path, method } = operations[id];
    return (paths[path] as unknown as Record<string, Described>)[method.toLowerCase()] as Described;
  };

  it("names the credential that an operation takes", () => {
    expect(openapiDocument()["security"]).toEqual([{ ApiKey: [] }, { Session: [] }]);
    expect(described("listIntents").security).toBeUndefined();
    for (const id of ["listSessions", "verifyMfa", "getSession"] as const)
      expect(described(id).security, id).toEqual([{ Session: [] }]);
    for (const id of ["login", "intake"] as const) expect(described(id).security, id).toEqual([]);
  });

  it("declares 503 unavailable for every operation that uses the database", () => {
    const without = new Set(["getHealth", "getMetrics", "getOpenapi", "getAuthzenConfiguration"]);
    for (const [id, operation] of operationRows)
      expect(refusalsOf(operation).has("unavailable"), id).toBe(!without.has(id));
  });

  it("gives the requests of each rate category and their counting unit, as in docs/reference/rate-limits.md", () => {
    const { description } = openapiDocument()["info"] as { readonly description: string };
    const page = readFileSync(new URL("../../docs/reference/rate-limits.md", import.meta.url), "utf8");
    for (const [name, { requests_max, applies_to, counted_by }] of Object.entries(rateCategories)) {
      const holder = counted_by === "ip" ? "client address" : "API key, else signed-in person, else client address";
      const row = `| \`${name}\` | ${requests_max} | ${applies_to} | ${holder} |`;
      expect([description.includes(row), page.includes(row)], name).toEqual([true, true]);
    }
    expect(description).toContain("60 seconds");
  });

  it("says how answers are replayed, and which operations answer in lines", () => {
    for (const [id, operation] of operationRows) {
      const { responses } = described(id);
      expect("Idempotent-Replayed" in (responses["200"]?.headers ?? {}), id).toBe(operation.idempotent === true);
    }
    expect(Object.keys(described("backtest").responses["200"]?.content ?? {})).toEqual([
      "application/json",
      "application/x-ndjson",
    ]);
  });

  it("carries the version of every package", () => {
    for (const name of ["contract", "cel", "core", "server", "sdk", "cli"]) {
      const file = new URL(`../../packages/${name}/package.json`, import.meta.url);
      expect(JSON.parse(readFileSync(file, "utf8")).version, name).toBe(product_version);
    }
  });
});
