/** All operations of the API, by the name of their use case. Source: spec §4. */

import type { Static, TSchema } from "typebox";
import { authzenOperations } from "./adapters/authzen.ts";
import { channelOperations } from "./adapters/channels.ts";
import { claudeCodeOperations } from "./adapters/claude-code.ts";
import { agentOperations } from "./agents.ts";
import { apiKeyOperations } from "./api-keys.ts";
import { contextOperations } from "./context.ts";
import { escalationOperations } from "./escalations.ts";
import { freezeOperations } from "./freezes.ts";
import { grantOperations } from "./grants.ts";
import { intentOperations, overrideOperations } from "./intents.ts";
import { rolloutOperations } from "./membranes/rollouts.ts";
import { membraneOperations } from "./membranes.ts";
import { onboardingOperations } from "./onboarding.ts";
import { operatingOperations } from "./operating.ts";
import type { Operation } from "./operation.ts";
import { exportOperations, organizationOperations } from "./organization.ts";
import { passkeyOperations } from "./passkeys.ts";
import { peopleOperations } from "./people.ts";
import { policyOperations } from "./policies.ts";
import { erasureOperations } from "./records/erasure.ts";
import { logOperations } from "./records/log.ts";
import { streamOperations } from "./records/streams.ts";
import { singleSignOnOperations } from "./single-sign-on.ts";
import { tokenIssuerOperations } from "./token-issuers.ts";
import { webhookOperations } from "./webhooks.ts";

export { type Answer, type Operation, refusalsOf, refusesBody } from "./operation.ts";

/** All operations by operation id, in the order of openapi.json. */
export const operations = {
  ...operatingOperations,
  ...onboardingOperations,
  ...apiKeyOperations,
  ...intentOperations,
  ...claudeCodeOperations,
  ...authzenOperations,
  ...contextOperations,
  ...tokenIssuerOperations,
  ...membraneOperations,
  ...rolloutOperations,
  ...escalationOperations,
  ...overrideOperations,
  ...agentOperations,
  ...grantOperations,
  ...freezeOperations,
  ...webhookOperations,
  ...channelOperations,
  ...policyOperations,
  ...peopleOperations,
  ...passkeyOperations,
  ...singleSignOnOperations,
  ...organizationOperations,
  ...exportOperations,
  ...logOperations,
  ...erasureOperations,
  ...streamOperations,
} as const satisfies Record<string, Operation>;

/** The name of an operation, its use case and its SDK method; `operationId` in openapi.json. */
export type OperationId = keyof typeof operations;

export const operationRows = Object.entries(operations) as readonly [OperationId, Operation][];

type AnswerRow<Id extends OperationId> = (typeof operations)[Id]["answers"][keyof (typeof operations)[Id]["answers"]];
type BodyOf<Row> = Row extends { readonly schema: infer S } ? (S extends TSchema ? Static<S> : null) : never;

/** The body of an answer below 400; null without a body; a union if statuses differ. */
export type AnswerBody<Id extends OperationId> = BodyOf<AnswerRow<Id>>;
