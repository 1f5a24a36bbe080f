import { deliveryHeaders } from "../event-types.ts";
import { limits } from "../limits.ts";
import { operationRows } from "../operations/index.ts";
import { EventBody } from "../resources/index.ts";
import { product_version } from "../version.ts";
import { Components, type Json } from "./components.ts";
import { headerComponents } from "./headers.ts";
import { operationObject } from "./path-item.ts";
import { rateTable } from "./rate-table.ts";
import { tagDescriptions } from "./tags.ts";

export interface OpenapiDocument {
  readonly openapi: "3.1.0";
  readonly paths: { readonly [path: string]: Json };
  readonly [field: string]: Json;
}

/** Returns the OpenAPI 3.1 document: openapi.json and GET /openapi.json. */
export function openapiDocument(): OpenapiDocument {
  const components = new Components();
  const paths: Record<string, Record<string, Json>> = {};
  for (const [operationId, operation] of operationRows) {
    const item = { [operation.method.toLowerCase()]: operationObject(operationId, operation, components) };
    paths[operation.path] = { ...paths[operation.path], ...item };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Countersign",
      version: product_version,
      summary: "Decides and records the actions that software agents propose.",
      description: rateDescription(),
      contact: { name: "The maintainers of Countersign" },
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/", description: "The service that serves this document." }],
    security: [{ ApiKey: [] }, { Session: [] }],
    tags: [...new Set(operationRows.map(([, operation]) => operation.tag))].map((name) => ({
      name,
      description: tagDescriptions[name],
    })),
    paths,
    webhooks: { event: eventObject(components) },
    components: {
      securitySchemes: {
        ApiKey: {
          type: "apiKey",
          in: "header",
          name: "X-API-Key",
          description: "svc_<environment>_<scope>_<random>. The key determines the organization.",
        },
        BearerApiKey: {
          type: "http",
          scheme: "bearer",
          description: "The same API key, for clients that send no other header than Authorization.",
        },
        Session: {
          type: "apiKey",
          in: "cookie",
          name: "__Host-countersign_session",
          description:
            "A person's session. The cookie is named countersign_session if the service is reached by http on the " +
            "loopback address. Writes must come from the service's own pages.",
        },
      },
      headers: headerComponents,
      responses: components.responses(),
      schemas: components.schemas(),
    },
  };
}

function rateDescription(): string {
  return [
    "## Rate limits",
    `Each operation under /v1 belongs to one category, which allows this many requests in any ${limits.rate_window_seconds} seconds:`,
    rateTable(),
    `The window slides: a request counts until it is ${limits.rate_window_seconds} seconds old. A refused request (429) does not count, ` +
      "and its answer says in `Retry-After` when to ask again. The operator can set other limits.",
  ].join("\n\n");
}

function eventObject(components: Components): Json {
  return {
    post: {
      operationId: "receiveEvent",
      summary: "Delivers an event to a registered webhook",
      security: [],
      parameters: deliveryHeaders
        .filter(({ name }) => name !== "Content-Type")
        .map(({ name, value }) => ({ name, in: "header", description: value, schema: { type: "string" } })),
      requestBody: { required: true, content: { "application/json": { schema: components.place(EventBody) } } },
      responses: { "2XX": { description: "Acknowledged. Answer within 10 seconds." } },
    },
  };
}
