/** Cases that the clients of all languages share. */
import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import type { Decision } from "@countersign/contract";
import { describe, expect, test, vi } from "vitest";
import { apiErrorOf } from "./errors.ts";
import { ApiError, ConnectionError, carryOut, createClient, verifyWebhook, type WebhookRejected } from "./index.ts";
import { answering } from "./testing/answering.ts";
import { serve } from "./testing/serve.ts";
import { type CallOptions, createTransport, type TransportOptions } from "./transport.ts";

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

function vectors<Vector extends { readonly name: string }>(file: string): (readonly [string, Vector])[] {
  const url = new URL(`../../../clients/vectors/${file}.json`, import.meta.url);
  const read: Vector[] = JSON.parse(readFileSync(url, "utf8"));
  return read.map((vector) => [vector.name, vector] as const);
}

const sending =
  ({ status, headers, body }: Answer) =>
  (response: ServerResponse) =>
    void response.writeHead(status, headers).end(body);

const breaking = (response: ServerResponse) => void response.socket?.destroy();

describe("an error answer is read", () => {
  interface Vector extends Answer {
    readonly name: string;
    readonly error: object;
  }
  const statusTexts: Record<number, string> = {
    200: "OK",
    403: "Forbidden",
    500: "Internal Server Error",
    503: "Service Unavailable",
  };
  test.each(vectors<Vector>("errors"))("%s", (_, { status, headers, body, error }) => {
    const response = { status, statusText: statusTexts[status] ?? "", headers: new Headers(headers) };
    const read = apiErrorOf(response, body);
    expect(read).toMatchObject({ status, ...error });
  });
});

describe("requests are retried", () => {
  interface Vector {
    readonly name: string;
    readonly request: Pick<CallOptions, "query" | "over_outages" | "idempotency_key"> & {
      readonly method: string;
      readonly path: string;
    };
    readonly options?: Partial<TransportOptions>;
    readonly answers: readonly (Answer | "broken")[];
    readonly requests: number;
    readonly waits_seconds: readonly number[];
    readonly outcome: { readonly answer?: object; readonly error?: string };
    readonly urls?: readonly string[];
  }
  test.each(vectors<Vector>("retries"))("%s", async (_, vector) => {
    const served = await serve(...vector.answers.map((each) => (each === "broken" ? breaking : sending(each))));
    const waits: number[] = [];
    const wait = async (wait_ms: number) => void waits.push(wait_ms / 1000);
    const call = createTransport({ base_url: served.base_url, wait, ...vector.options });
    const { method, path, ...options } = vector.request;
    const outcome = await call(method, path, options).then(
      (answer) => ({ answer }),
      (error: unknown) => ({ error: error instanceof ConnectionError ? "connection" : (error as ApiError).code }),
    );
    expect(outcome).toEqual(vector.outcome);
    expect(waits).toEqual(vector.waits_seconds);
    expect(served.received).toHaveLength(vector.requests);
    if (vector.urls !== undefined) expect(served.received.map(({ url }) => url)).toEqual(vector.urls);
  });
});

describe("an action is claimed", () => {
  interface Vector {
    readonly name: string;
    readonly claim: readonly [nonce: string, next_nonce?: string];
    readonly answers: readonly (Answer | "broken")[];
    readonly sent: readonly object[];
    readonly outcome: object;
  }
  test.each(vectors<Vector>("claims"))("%s", async (_, { claim, answers, sent, outcome }) => {
    const served = await serve(...answers.map((each) => (each === "broken" ? breaking : sending(each))));
    const client = createClient({ base_url: served.base_url, wait: async () => undefined });
    const claimed = await client.claimIntent("int_1", ...claim).then(
      (answer) => ({ answer }),
      (error: ApiError) => ({ error: error.code }),
    );
    expect(claimed).toEqual(outcome);
    expect(served.received.map(({ url, body }) => [url, JSON.parse(body)])).toEqual(
      sent.map((body) => ["/v1/intents/int_1/claim", body]),
    );
  });
});

describe("an action is carried out only as approved", () => {
  interface Vector {
    readonly name: string;
    readonly content: Record<string, unknown>;
    readonly first: Partial<Decision>;
    readonly ruling?: Partial<Decision>;
    readonly claim_error?: Pick<ApiError, "status" | "code" | "details">;
    readonly raises?: string;
    readonly ran: object | null;
    readonly observed: readonly object[];
    readonly error: string | null;
    readonly message: string | null;
  }
  test.each(vectors<Vector>("guard"))("%s", async (_, vector) => {
    const { client, observed, submitted } = answering(vector.first, vector.ruling);
    if (vector.claim_error !== undefined) {
      const fields = { ...vector.claim_error, message: vector.claim_error.code };
      client.claimIntent.mockRejectedValue(new ApiError({ ...fields, request_id: null, retry_after_seconds: null }));
    }
    const own = vector.raises === undefined ? null : new Error(vector.raises);
    const run = vi.fn((content: object) => {
      if (own !== null) throw own;
      return content;
    });
    const intent = { agent: { id: "bot" }, action: { verb: "pay" }, payload: { content: vector.content } };
    const error = await carryOut(client, { intent }, run).then(
      () => null,
      (thrown: Error) => thrown,
    );
    expect(submitted).toEqual([{ intent, claim: "required" }]);
    expect(run.mock.calls.map(([content]) => content)).toEqual(vector.ran === null ? [] : [vector.ran]);
    expect(observed).toEqual(vector.observed);
    expect(error === null ? null : error === own ? "its own" : error.name).toBe(vector.error);
    if (vector.message !== null) expect(error?.message).toBe(vector.message);
  });
});

describe("a webhook is verified", () => {
  interface Vector {
    readonly name: string;
    readonly body: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly secrets: readonly (string | null)[];
    readonly outcome: string;
    readonly manual_retry?: boolean;
  }
  test.each(vectors<Vector>("webhooks"))("%s", async (_, { body, headers, secrets, outcome, manual_retry }) => {
    const given = secrets.map((secret) => secret ?? undefined);
    const verified = verifyWebhook(body, headers, given);
    if (outcome === "accepted") {
      expect(await verified).toMatchObject({ event: JSON.parse(body), delivery_id: "dlv_1", manual_retry });
    } else {
      const error = await verified.catch((thrown: WebhookRejected) => thrown);
      expect(error).toMatchObject({ name: "WebhookRejected", reason: outcome });
    }
  });
});
