/** Writes the API reference from the contract. */
import {
  type Auth,
  errorCodes,
  type Operation,
  openapiDocument,
  operationRows,
  refusalsOf,
  tagDescriptions,
} from "@countersign/contract";
import { generatedPage, proseText, table } from "./markdown.ts";

interface Schema {
  readonly [member: string]: unknown;
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
}

interface Call {
  readonly description?: string;
  readonly parameters?: readonly {
    name: string;
    in: string;
    required?: boolean;
    description?: string;
    schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<
    Record<string, { readonly description?: string; readonly content?: Record<string, { schema: Schema }> }>
  >;
}

const source = "the operations of packages/contract";

export function apiPages(): Map<string, string> {
  const { paths, components } = openapiDocument() as unknown as {
    paths: Record<string, Record<string, Call>>;
    components: { schemas: Record<string, Schema> };
  };
  const tags = [...new Set(operationRows.map(([, { tag }]) => tag))];
  const pages = new Map([["docs/reference/api.md", listPage(tags)]]);
  for (const tag of tags) {
    const sections = operationRows
      .filter(([, operation]) => operation.tag === tag)
      .map(([id, operation]) => {
        const call = paths[operation.path]?.[operation.method.toLowerCase()] as Call;
        return operationSection(id, operation, call);
      });
    const lead = `For programs that call the HTTP API. ${tagDescriptions[tag]} [All operations](../api.md), [all schemas](schemas.md).`;
    pages.set(`docs/reference/api/${slugOf(tag)}.md`, generatedPage(`API: ${tag}`, source, lead, ...sections));
  }
  const schemas = Object.entries(components.schemas).map(([name, schema]) => schemaSection(name, schema));
  const lead = "For programs that call the HTTP API. Members without a mark are optional.";
  return pages.set("docs/reference/api/schemas.md", generatedPage("API: Schemas", source, lead, ...schemas));
}

const slugOf = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");

function listPage(tags: readonly Operation["tag"][]): string {
  const sections = tags.map((tag) => {
    const rows = operationRows
      .filter(([, operation]) => operation.tag === tag)
      .map(([id, { method, path, summary, auth }]) => [
        `[\`${method} ${path}\`](api/${slugOf(tag)}.md#${slugOf(id)})`,
        proseText(summary),
        rolesText(auth),
      ]);
    return `## ${tag}\n\n${table(["operation", "what it does", "who may"], rows)}`;
  });
  const example = '```sh\ncurl -s http://127.0.0.1:8080/v1/me -H "X-API-Key: $ADMIN_KEY"\n```';
  return generatedPage(
    "API",
    source,
    "For programs that call the HTTP API. Send the key in `X-API-Key`. Bodies are JSON. The service serves the same as OpenAPI 3.1 at `/openapi.json`.",
    example,
    "An admin may do what every other role may, except where an operation says so.",
    ...sections,
    "[All schemas](api/schemas.md)",
  );
}

function rolesText(auth: Auth): string {
  if (typeof auth === "string") return auth === "none" ? "everybody, without a key" : auth;
  return Array.isArray(auth) ? auth.join(", ") : JSON.stringify(auth);
}

function operationSection(id: string, operation: Operation, call: Call): string {
  const parameters = (call.parameters ?? []).map((parameter) => [
    `\`${parameter.name}\``,
    parameter.in,
    `${typeText(parameter.schema)}${parameter.required === true ? ", required" : ""}`,
    proseText(parameter.description ?? parameter.schema.description ?? ""),
  ]);
  const body = Object.values(call.requestBody?.content ?? {})[0]?.schema;
  const answers = Object.entries(call.responses)
    .filter(([status]) => Number(status) < 400)
    .map(([status, { description, content }]) => {
      const schema = Object.values(content ?? {})[0]?.schema;
      return [status, proseText(description ?? ""), schema === undefined ? "none" : typeText(schema)];
    });
  const refusals = [...refusalsOf(operation)].map((code) => `${errorCodes[code].status} \`${code}\``).sort();
  return [
    `## ${id}`,
    `\`${operation.method} ${operation.path}\``,
    `${proseText(operation.summary)}.`,
    proseText(call.description ?? ""),
    // The description lists the roles where the operation asks for some.
    typeof operation.auth === "string" ? `Callers: ${rolesText(operation.auth)}.` : "",
    parameters.length === 0 ? "" : table(["parameter", "in", "type", "meaning"], parameters),
    body === undefined ? "" : `Body: ${typeText(body)}`,
    table(["status", "meaning", "body"], answers),
    `[Refusals](../errors.md): ${refusals.join(", ")}.`,
  ]
    .filter((block) => block !== "")
    .join("\n\n");
}

function schemaSection(name: string, schema: Schema): string {
  const rows = Object.entries(schema.properties ?? {}).map(([member, inner]) => [
    `\`${member}\``,
    `${typeText(inner)}${schema.required?.includes(member) === true ? ", required" : ""}`,
    proseText(inner.description ?? ""),
  ]);
  const members =
    rows.length === 0 ? `Type: ${typeText({ ...schema, properties: {} })}` : table(["member", "type", "meaning"], rows);
  return [`## ${name}`, proseText(schema.description ?? ""), members].filter((block) => block !== "").join("\n\n");
}

function typeText(schema: Schema): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split("/").at(-1) ?? "";
    return `[${name}](schemas.md#${name.toLowerCase()})`;
  }
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${JSON.stringify(value)}\``).join(", ");
  const several = schema.anyOf ?? schema.allOf;
  if (several !== undefined) return several.map(typeText).join(schema.anyOf === undefined ? " and " : " or ");
  if (schema.items !== undefined) return `array of ${typeText(schema.items)}`;
  if (schema.properties !== undefined && Object.keys(schema.properties).length > 0)
    return `object: ${Object.keys(schema.properties)
      .map((name) => `\`${name}\``)
      .join(", ")}`;
  return typeof schema.type === "string" ? schema.type : (schema.type?.join(" or ") ?? "any value");
}
