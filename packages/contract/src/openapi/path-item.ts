import type { TObject, TSchema } from "typebox";
import { type ErrorCode, errorCodes } from "../error-codes.ts";
import { limits, rateCategories } from "../limits.ts";
import { type Answer, type Operation, refusalsOf } from "../operations/index.ts";
import { ErrorObject } from "../resources/index.ts";
import { type Role, roleMeets, roleNames } from "../roles.ts";
import type { Components, Json } from "./components.ts";
import { type AnswerHeader, headerReferences, rateHeaders } from "./headers.ts";

export function operationObject(operationId: string, operation: Operation, components: Components): Json {
  const parameters = parametersOf(operation, components);
  return {
    operationId,
    tags: [operation.tag],
    summary: operation.summary,
    ...descriptionOf(operation),
    ...securityOf(operation),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(operation.body === undefined
      ? {}
      : {
          requestBody: {
            required: operation.body_optional !== true,
            content: {
              [operation.form === true ? "application/x-www-form-urlencoded" : "application/json"]: {
                schema: components.place(operation.body),
              },
            },
          },
        }),
    responses: responsesOf(operation, components),
  };
}

function descriptionOf(operation: Operation): { description: string } {
  const parts = [operation.description, rolesSentence(operation), rateSentence(operation)].filter(
    (part) => part !== undefined,
  );
  return { description: parts.join("\n\n") };
}

function rolesSentence({ auth }: Operation): string | undefined {
  if (typeof auth === "string") return undefined;
  const able: readonly Role[] = roleNames.filter((role) => roleMeets(role, auth));
  return `Roles: ${able.join(", ")}.`;
}

function rateSentence({ rate }: Operation): string {
  if (rate === null) return "Rate limit: none.";
  const { requests_max, counted_by } = rateCategories[rate];
  const holder = counted_by === "ip" ? "client address" : "API key, signed-in person, or client address without either";
  return `Rate limit: category \`${rate}\`, ${requests_max} requests in any ${limits.rate_window_seconds} s for each ${holder}.`;
}

/** Absent: a key or a session. */
function securityOf({ auth, refuses, bearer }: Operation): { security?: Json } {
  if (bearer === true) return { security: [{ ApiKey: [] }, { BearerApiKey: [] }, { Session: [] }] };
  if (auth === "session" || refuses?.includes("missing_api_key")) return { security: [{ Session: [] }] };
  return auth === "none" ? { security: [] } : {};
}

function parametersOf(operation: Operation, components: Components): Json[] {
  const header = (name: string, description: string, schema: Json): Json => ({
    name,
    in: "header",
    description,
    schema,
  });
  return [
    ...fieldsAs("path", operation.params, components),
    ...fieldsAs("query", operation.query, components),
    ...(operation.idempotent
      ? [
          header("Idempotency-Key", "The same key with the same body returns the first answer again.", {
            type: "string",
            pattern: "^[\\x20-\\x7e]+$",
            minLength: 1,
            maxLength: limits.idempotency_key_chars_max,
          }),
        ]
      : []),
    ...(operation.agent_token
      ? [
          header("Agent-Token", "A JWT of a trusted issuer, which proves who the agent is.", {
            type: "string",
            maxLength: limits.agent_token_bytes_max,
          }),
        ]
      : []),
    ...(operation.conditional ? [header("If-None-Match", "An ETag of an earlier answer.", { type: "string" })] : []),
  ];
}

function fieldsAs(place: "path" | "query", fields: TObject | undefined, components: Components): Json[] {
  const required: readonly string[] = fields?.required ?? [];
  return Object.entries((fields?.properties ?? {}) as Record<string, TSchema>).map(([name, schema]) => {
    const { description, ...rest } = components.place(schema) as { readonly [key: string]: Json };
    return {
      name,
      in: place,
      ...(description === undefined ? {} : { description }),
      ...(required.includes(name) ? { required: true } : {}),
      schema: rest,
    };
  });
}

function responsesOf(operation: Operation, components: Components): Json {
  const always: AnswerHeader[] = ["X-Request-Id", ...(operation.rate === null ? [] : rateHeaders)];
  const responses: Record<string, Json> = {};
  for (const [status, answer] of Object.entries(operation.answers)) {
    // A first vote answers 200. Operations with other statuses get the replayed answer below.
    const replayed: AnswerHeader[] = operation.idempotent && status === "200" ? ["Idempotent-Replayed"] : [];
    responses[status] = answerObject(answer, [...always, ...replayed, ...(answer.headers ?? [])], components);
  }
  const created = operation.answers[201] ?? operation.answers[202];
  if (operation.idempotent && created !== undefined) {
    const replay = { ...created, description: "The first answer again: this Idempotency-Key was used before." };
    responses["200"] = answerObject(replay, [...always, "Idempotent-Replayed", ...(created.headers ?? [])], components);
  }
  if (operation.conditional) {
    responses["304"] = {
      description: "Unchanged since the ETag in If-None-Match. The request does not count in the rate limit.",
      headers: headerReferences([...always, "ETag"]),
    };
  }
  for (const [status, codes] of refusalsByStatus(operation)) {
    const challenged = status === 401 && operation.bearer === true;
    const marks = [...(operation.rate === null ? ["unlimited"] : []), ...(challenged ? ["bearer"] : [])];
    const name = [status, ...codes, ...marks].join(".");
    responses[status] = components.response(name, () => ({
      description: codes.map((code) => `\`${code}\`: ${errorCodes[code].meaning}`).join("\n\n"),
      headers: headerReferences([
        ...always,
        ...refusalHeaders(status),
        ...(challenged ? (["WWW-Authenticate"] as const) : []),
      ]),
      content: { "application/json": { schema: components.place(ErrorObject) } },
    }));
  }
  // Before the gate, so it has no headers of the rate limit.
  responses["431"] = components.response("431.invalid_request", () => ({
    description: "`invalid_request`: The request line and headers are too long, or there are too many headers.",
    headers: headerReferences(["X-Request-Id"]),
    content: { "application/json": { schema: components.place(ErrorObject) } },
  }));
  return responses;
}

function answerObject(answer: Answer, headers: readonly AnswerHeader[], components: Components): Json {
  const types = answer.media_types ?? ["application/json"];
  return {
    description: answer.description,
    headers: headerReferences(headers),
    ...(answer.schema === null
      ? {}
      : {
          content: {
            ...Object.fromEntries(types.map((type) => [type, { schema: components.place(answer.schema as TSchema) }])),
            ...(answer.text === true ? { "text/plain": { schema: { type: "string" } } } : {}),
            ...(answer.line === undefined ? {} : { "application/x-ndjson": { schema: components.place(answer.line) } }),
          },
        }),
  };
}

function refusalsByStatus(operation: Operation): Map<number, ErrorCode[]> {
  const byStatus = new Map<number, ErrorCode[]>();
  const possible = refusalsOf(operation);
  for (const code of (Object.keys(errorCodes) as ErrorCode[]).filter((known) => possible.has(known))) {
    const { status } = errorCodes[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return byStatus;
}

function refusalHeaders(status: number): AnswerHeader[] {
  if (status === 401) return ["X-Service-Key-Expired"];
  return status === 429 || status === 503 ? ["Retry-After"] : [];
}
