import type { Json } from "./components.ts";

const text = { type: "string" } as const;
const integer = { type: "integer" } as const;

/** Headers of answers. Source: spec §5 rule 6, §8 rules 7 and 8. */
export const headerComponents = {
  "X-Request-Id": {
    description: "The id of this request in the service's log, the same as error.request_id.",
    schema: text,
  },
  "RateLimit-Limit": { description: "Requests per window.", schema: integer },
  "RateLimit-Remaining": { description: "Requests left in the window.", schema: integer },
  "RateLimit-Reset": {
    description: "Unix second at which the oldest counted request leaves the window.",
    schema: integer,
  },
  "RateLimit-Policy": { description: 'The window, such as "intents";q=120;w=60.', schema: text },
  RateLimit: { description: 'Requests and seconds left in the window, such as "intents";r=119;t=60.', schema: text },
  "Retry-After": { description: "Seconds to wait.", schema: integer },
  ETag: { description: "Strong validator. Send it in If-None-Match.", schema: text },
  "Set-Cookie": { description: "Sets or removes a cookie.", schema: text },
  "Content-Disposition": { description: "Names the file.", schema: text },
  "X-Export-As-Of-Seq": {
    description: "The newest record of the audit trail that the file covers.",
    schema: integer,
  },
  Location: { description: "Path of the new resource.", schema: text },
  "Idempotent-Replayed": { description: "Present on a repeated answer.", schema: { type: "string", const: "true" } },
  "WWW-Authenticate": { description: "Says that an API key is accepted as bearer token.", schema: text },
  "X-Service-Key-Expired": {
    description: "Present when the key has reached its expires_at.",
    schema: { type: "string", const: "true" },
  },
} as const satisfies Record<string, Json>;

export type AnswerHeader = keyof typeof headerComponents;

export const rateHeaders = [
  "RateLimit-Limit",
  "RateLimit-Remaining",
  "RateLimit-Reset",
  "RateLimit-Policy",
  "RateLimit",
] as const satisfies readonly AnswerHeader[];

export function headerReferences(names: readonly AnswerHeader[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
