import { createHash } from "node:crypto";
import { equalInConstantTime, Fault, faultAt } from "@countersign/core";
import { bearerToken } from "../gate/bearer.ts";
import type { Handlers } from "../handler.ts";
import type { Metrics } from "../metrics.ts";

export interface OperatingDeps {
  /**
   * True: the database accepts writes, its schema fits, the node's clock is close to the database's, and the service is
   * not stopping.
   */
  readonly ready: () => Promise<boolean>;
  readonly metrics: Metrics;
  /** Null: loopback peers only. */
  readonly metrics_token: string | null;
  readonly openapi_text: string;
}

/** Faults: unavailable (getReadiness), forbidden (getMetrics). */
export function operatingHandlers(
  deps: OperatingDeps,
): Pick<Handlers, "getHealth" | "getReadiness" | "getMetrics" | "getOpenapi"> {
  return {
    getHealth: async () => ({ status: 200, json_text: '{"status":"ok"}' }),

    getReadiness: async () => {
      if (!(await deps.ready().catch(() => false))) throw new Fault("unavailable");
      return { status: 200, json_text: '{"status":"ready"}' };
    },

    getMetrics: async ({ local, headers }) => {
      if (!local && !hasToken(headers["authorization"], deps.metrics_token)) throw metricsForbidden();
      return {
        status: 200,
        json_text: await deps.metrics.text(),
        headers: { "Content-Type": deps.metrics.content_type },
      };
    },

    getOpenapi: async () => ({
      status: 200,
      json_text: deps.openapi_text,
      headers: { "Cache-Control": "public, max-age=300" },
    }),
  };
}

function metricsForbidden(): Fault {
  const message =
    "Metrics are for callers on this machine (loopback), and for callers that send COUNTERSIGN_METRICS_TOKEN as Authorization: Bearer <token>.";
  return faultAt("forbidden", "/Authorization", "not_allowed", message);
}

/** Compares hashes, so that timing reveals nothing about the token. */
function hasToken(header: string | readonly string[] | undefined, token: string | null): boolean {
  if (token === null || typeof header !== "string") return false;
  const sent = bearerToken(header);
  if (sent === undefined) return false;
  const hash = (text: string) => createHash("sha256").update(text).digest();
  return equalInConstantTime(hash(sent), hash(token));
}
