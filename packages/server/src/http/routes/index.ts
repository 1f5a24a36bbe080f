import { BatchItem, IntentSubmission, openapiDocument } from "@countersign/contract";
import { Fault } from "@countersign/core";
import type { ItemCheck } from "../../operations/intents/submit-batch.ts";
import type { Packs } from "../../operations/policies/read-packs.ts";
import type { Runtime } from "../../operations/runtime.ts";
import { oneLook } from "../../operations/shared/one-look.ts";
import { takesWrites } from "../../store/upkeep/readiness.ts";
import type { SessionCookies } from "../gate/cookie.ts";
import type { Handlers } from "../handler.ts";
import type { Metrics } from "../metrics.ts";
import { refuseProblems } from "../request/body-problems.ts";
import { compileCheck } from "../request/validate.ts";
import { authzenRoutes } from "./adapters/authzen.ts";
import { hookRoutes } from "./adapters/hooks.ts";
import { agentRoutes } from "./agents.ts";
import { backtestRoutes } from "./backtest.ts";
import { channelRoutes } from "./channels.ts";
import { contextRoutes } from "./context.ts";
import { counterRoutes } from "./counters.ts";
import { escalationRoutes } from "./escalations.ts";
import { freezeRoutes } from "./freezes.ts";
import { grantRoutes } from "./grants.ts";
import { intentRoutes } from "./intents.ts";
import { keyRoutes } from "./keys.ts";
import { membraneRoutes } from "./membranes/membranes.ts";
import { rolloutRoutes } from "./membranes/rollouts.ts";
import { onboardingRoutes } from "./onboarding.ts";
import { operatingHandlers } from "./operating.ts";
import { organizationRoutes } from "./organization.ts";
import { overrideRoutes } from "./overrides.ts";
import { packRoutes } from "./packs.ts";
import { passkeyRoutes } from "./people/passkeys.ts";
import { peopleRoutes } from "./people/people.ts";
import { singleSignOnRoutes } from "./people/single-sign-on.ts";
import { policyRoutes } from "./policies.ts";
import { erasureRoutes } from "./records/erasure.ts";
import { exportRoutes } from "./records/exports.ts";
import { logRoutes } from "./records/log.ts";
import { receiptRoutes } from "./records/receipts.ts";
import { streamRoutes } from "./records/streams.ts";
import { tokenIssuerRoutes } from "./token-issuers.ts";
import { webhookRoutes } from "./webhooks.ts";

export interface RouteDeps {
  readonly runtime: Runtime;
  readonly packs: Packs;
  readonly cookies: SessionCookies;
  readonly metrics: Metrics;
  /** Null: GET /metrics answers loopback peers only. */
  readonly metrics_token: string | null;
  readonly stopping: () => boolean;
}

/** Readiness checks share one session, and get an answer even if it hangs. */
const readyLook = { wait_ms: 5_000, past_late: true };

export function allRoutes({ runtime, packs, cookies, metrics, metrics_token, stopping }: RouteDeps): Handlers {
  const checkBatchItem = compileCheck(BatchItem);
  const checkItem: ItemCheck = (item, examine) => {
    const unstorable = examine(item);
    if (unstorable.length === 0 && checkBatchItem(item, Number.MAX_SAFE_INTEGER) === null) return;
    // The size decides how many problems are collected.
    const bytes = JSON.stringify(item).length;
    refuseProblems(unstorable, checkBatchItem(item, bytes) ?? [], {
      value: item,
      bytes,
      now_us: runtime.clock.now_us(),
    });
  };
  const checkSubmission = compileCheck(IntentSubmission);
  const checkHook = (submission: IntentSubmission): void => {
    const bytes = JSON.stringify(submission).length;
    const problems = checkSubmission(submission, bytes);
    if (problems !== null) throw new Fault("invalid_request", { details: problems });
  };
  const writable = oneLook(runtime.timers, readyLook, () => runtime.db.system(takesWrites));
  const ready = async () => !stopping() && !runtime.clockWatch.isFarOff() && (await writable()) === true;
  return {
    ...operatingHandlers({ ready, metrics, metrics_token, openapi_text: JSON.stringify(openapiDocument()) }),
    ...onboardingRoutes(runtime),
    ...keyRoutes(runtime),
    ...intentRoutes(runtime, checkItem),
    ...hookRoutes(runtime, checkHook),
    ...authzenRoutes(runtime),
    ...contextRoutes(runtime),
    ...tokenIssuerRoutes(runtime),
    ...membraneRoutes(runtime, packs),
    ...rolloutRoutes(runtime),
    ...escalationRoutes(runtime),
    ...organizationRoutes(runtime, packs),
    ...exportRoutes(runtime),
    ...logRoutes(runtime),
    ...erasureRoutes(runtime),
    ...receiptRoutes(runtime),
    ...streamRoutes(runtime),
    ...overrideRoutes(runtime),
    ...agentRoutes(runtime),
    ...counterRoutes(runtime),
    ...grantRoutes(runtime),
    ...freezeRoutes(runtime),
    ...peopleRoutes(runtime, cookies),
    ...passkeyRoutes(runtime, cookies),
    ...singleSignOnRoutes(runtime, cookies),
    ...packRoutes(packs),
    ...policyRoutes(runtime, packs),
    ...backtestRoutes(runtime, packs),
    ...webhookRoutes(runtime),
    ...channelRoutes(runtime),
  };
}
