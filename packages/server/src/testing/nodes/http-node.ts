/** The real gate and key operations, and stand-ins for all others. */

import { open_mode_org_id, operationRows } from "@countersign/contract";
import { networkList } from "@countersign/core";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { createSealer } from "../../edge/start/sealer.ts";
import { timers } from "../../edge/timers.ts";
import { type RateAgreement, rateLimitsUnder, Unsettled } from "../../http/answer/rate-limit.ts";
import { sessionCookies } from "../../http/gate/cookie.ts";
import { createKeyReader } from "../../http/gate/key-reader.ts";
import { createKeyUses } from "../../http/gate/key-uses.ts";
import { Keys } from "../../http/gate/keys.ts";
import { createSessions } from "../../http/gate/sessions.ts";
import type { Handler, Handlers } from "../../http/handler.ts";
import { createMetrics } from "../../http/metrics.ts";
import { keyRoutes } from "../../http/routes/keys.ts";
import { operatingHandlers } from "../../http/routes/operating.ts";
import { buildServer } from "../../http/server.ts";
import { insertNewKey, type KeyToCreate } from "../../operations/keys/create-key.ts";
import { createOrganization, ensureOpenModeOrganization } from "../../operations/organizations/create-organization.ts";
import type { Caller } from "../../operations/shared/caller.ts";
import type { Clock, Log, RateWindows } from "../../ports.ts";
import type { Database } from "../../store/database/db.ts";
import { NodeRateWindows } from "../../store/rate-windows/rate-windows.ts";
import { checkAnswer, exemptStandIns } from "../answer-check.ts";
import { whenFileIsDone } from "../when-file-is-done.ts";
import { silentLog } from "./silent-log.ts";

/** Default: a service without settings, with high rate limits. */
export interface HttpNodeOptions {
  readonly clock?: Clock;
  readonly log?: Log;
  readonly rate_limits?: RateAgreement;
  readonly trust_proxy?: readonly string[];
  readonly public_url?: string;
  readonly metrics_token?: string;
  readonly windows?: RateWindows;
  readonly handlers?: Partial<Record<string, Handler>>;
  readonly ready?: () => Promise<boolean>;
}

const roomy = { intents: 1_000_000, general: 1_000_000, onboarding: 1_000_000 };

export async function httpNode(db: Database, options: HttpNodeOptions = {}) {
  const clock = options.clock ?? createClock();
  const log = options.log ?? silentLog;
  const ids = createIds(createClock());
  const agreement = options.rate_limits ?? roomy;
  const metrics = createMetrics();
  const uses = createKeyUses(db, timers, log);
  const keys = new Keys(createKeyReader(db, open_mode_org_id), clock, uses, agreement);
  const runtime = { db, clock, ids, log, sealer: createSealer(Buffer.alloc(32, 1)), callers: keys };
  await ensureOpenModeOrganization(runtime);

  /** Checks the caller's epoch as the commit writer does. */
  const standInCommit: Handler = async ({ caller }) => {
    let current = caller as Caller;
    for (;;) {
      const [head] = await db.query<{ auth_epoch: number }>("select auth_epoch from org_heads where org_id = $1", [
        current.org_id,
      ]);
      if (head?.auth_epoch === current.auth_epoch) return { status: 201, body: { as: current } };
      current = await keys.reload(current);
    }
  };
  const standIn: Handler = async ({ caller, params, query, body }) => ({
    status: 200,
    body: { as: caller, params, query, body },
  });
  const handlers = {
    ...Object.fromEntries(operationRows.map(([id]) => [id, standIn])),
    submitIntent: standInCommit,
    ...keyRoutes(runtime),
    ...operatingHandlers({
      ready: options.ready ?? (async () => true),
      metrics,
      metrics_token: options.metrics_token ?? null,
      openapi_text: '{"openapi":"3.1.0"}',
    }),
    ...options.handlers,
  } as unknown as Handlers;

  const app = buildServer({
    ids,
    clock,
    timers,
    log,
    metrics,
    spans: null,
    handlers,
    gate: {
      keys,
      sessions: createSessions(runtime, agreement),
      cookies: sessionCookies(() => "http://127.0.0.1"),
      public_url: () => options.public_url ?? "http://127.0.0.1",
      signup_open: true,
      windows: options.windows ?? new NodeRateWindows(),
      unsettled: new Unsettled(),
      limits: rateLimitsUnder(agreement),
      trust: networkList(options.trust_proxy ?? []),
    },
  });
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  exemptStandIns(url);
  whenFileIsDone(() => app.close());
  return { url, app, metrics, uses, runtime, port: Number(new URL(url).port) };
}

export interface TestOrganization {
  readonly org_id: string;
  key(more?: Partial<KeyToCreate>): Promise<{ readonly api_key: string; readonly key_id: string }>;
}

export async function testOrganization(db: Database, clock: Clock = createClock()): Promise<TestOrganization> {
  const runtime = { clock, ids: createIds(createClock()) };
  const org_id = runtime.ids.next("organization");
  const about = { org_id, name: "Test", email: null, description: "A test", actor: "system" };
  await db.system((query) => createOrganization(runtime, query, about));
  const usual = { org_id, name: null, environment: "live", scope: "org", role: "admin", agent_id: null } as const;
  return {
    org_id,
    key: (more = {}) =>
      db.system((query) => insertNewKey(runtime, query, { ...usual, created_by: null, actor: "system", ...more })),
  };
}

/**
 * Parses a JSON answer, but no lines of JSON. With a cookie the request has the service's origin, unless `headers` has one. Fails if
 * openapi.json does not describe the answer.
 */
export async function call(
  base: string,
  method: string,
  path: string,
  { key, body, headers = {} }: { key?: string; body?: unknown; headers?: Record<string, string> } = {},
) {
  const response = await fetch(base + path, {
    method,
    headers: {
      ...(key === undefined ? {} : { "X-API-Key": key }),
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...("cookie" in headers ? { origin: base } : {}),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  checkAnswer(base, method, path, { status: response.status, headers: response.headers, text });
  const has_lines = response.headers.get("content-type")?.startsWith("application/jsonl");
  const json = text.startsWith("{") && has_lines !== true ? JSON.parse(text) : null;
  return { status: response.status, headers: response.headers, text, json };
}
