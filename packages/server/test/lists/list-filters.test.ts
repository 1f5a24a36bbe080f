/** Filters that the service ignored would show more rows than requested. */
import type { OperationId, operations } from "@countersign/contract";
import { expect, test } from "vitest";
import type { listAgents } from "../../src/operations/agents/read-agents.ts";
import type { TrailFilter } from "../../src/operations/audit/read-trail.ts";
import type { listCounters } from "../../src/operations/counters/list-counters.ts";
import type { listGrants } from "../../src/operations/grants/read-grants.ts";
import type { readOverview } from "../../src/operations/membranes/read-overview.ts";
import type { listPeople } from "../../src/operations/people/people.ts";
import type { listPolicies } from "../../src/operations/policies/read-policies.ts";
import type { listDeliveries } from "../../src/operations/webhooks/list-deliveries.ts";
import type { listFailedDeliveries } from "../../src/operations/webhooks/list-failed-deliveries.ts";
import type { retryFailedDeliveries } from "../../src/operations/webhooks/retry-failed-deliveries.ts";
import type { EscalationFilter } from "../../src/store/escalations/escalations.ts";
import type { IntentFilter } from "../../src/store/intents/intents.ts";
import type { OverrideFilter } from "../../src/store/overrides/overrides.ts";

/** Filters of each list, by operation. Lists not named here have none. */
interface Narrowing {
  listAudit: TrailFilter;
  listEscalations: EscalationFilter;
  listIntents: IntentFilter;
  listOverrides: OverrideFilter;
  listCounters: Parameters<typeof listCounters>[2];
  listGrants: Parameters<typeof listGrants>[2];
  listFailedDeliveries: NonNullable<Parameters<typeof listFailedDeliveries>[2]>;
  retryFailedDeliveries: NonNullable<Parameters<typeof retryFailedDeliveries>[2]>;
  listDeliveries: NonNullable<Parameters<typeof listDeliveries>[2]>;
  listAgents: Parameters<typeof listAgents>[2];
  listPeople: Parameters<typeof listPeople>[2];
  listPolicies: Parameters<typeof listPolicies>[2];
  getOverview: Parameters<typeof readOverview>[3];
}

type Table = typeof operations;
type QueryNames<Id extends OperationId> = Table[Id] extends { query: { properties: infer P } }
  ? keyof P & string
  : never;
type Filtering = { [Id in OperationId]: "cursor" extends QueryNames<Id> ? Id : never }[OperationId] | "getOverview";
type Known<Id> = "limit" | "cursor" | (Id extends keyof Narrowing ? keyof Narrowing[Id] : never);
/** `listEscalations: group` if the contract has a filter `group` that the service does not use. */
type Forgotten = { [Id in Filtering]: `${Id}: ${Exclude<QueryNames<Id>, Known<Id>>}` }[Filtering];

test("the service uses every filter of the contract (the compiler names a missing one)", () => {
  const none: Record<Forgotten, never> = {};
  expect(none).toEqual({});
});
