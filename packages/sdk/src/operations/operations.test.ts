import { type OperationId, operationRows, type operations } from "@countersign/contract";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type Client, createClient } from "../index.ts";

const input = {} as never; // Only the path matters here.
const context = { contract_version: "1" as const, facts: {} };
const target = { type: "a", identifier: "b" };

/** One call of every operation. */
const calls: Partial<Record<OperationId, (client: Client) => Promise<unknown>>> = {
  quickstart: (client) => client.quickstart(input),
  intake: (client) => client.intake(input),
  createApiKey: (client) => client.createApiKey(input),
  listApiKeys: (client) => client.listApiKeys({ limit: 1 }),
  changeApiKey: (client) => client.bindApiKey("key_id", null),
  getObservedBindings: (client) => client.getObservedBindings("key_id"),
  revokeApiKey: (client) => client.revokeApiKey("key_id"),
  rotateApiKey: (client) => client.rotateApiKey("key_id"),
  submitIntent: (client) => client.submitIntent(input),
  submitIntentBatch: (client) => client.submitIntentBatch([input]),
  listIntents: (client) => client.listIntents({ verdict: "block" }),
  getIntent: (client) => client.getIntent("intent_id"),
  getDecision: (client) => client.getDecision("intent_id", { wait: 1 }),
  listIntentAudit: (client) => client.listIntentAudit("intent_id"),
  getIntentReceipt: (client) => client.getIntentReceipt("intent_id"),
  claimIntent: (client) => client.claimIntent("intent_id", "nonce"),
  recordObservation: (client) => client.recordObservation("intent_id", { status: "executed" }),
  answerClaudeCodeHook: (client) => client.answerClaudeCodeHook(input),
  validateContext: (client) => client.validateContext(context),
  putOrgContext: (client) => client.putOrgContext(context),
  getOrgContext: (client) => client.getOrgContext(),
  deleteOrgContext: (client) => client.deleteOrgContext(),
  putAgentContext: (client) => client.putAgentContext("agent_id", context),
  getAgentContext: (client) => client.getAgentContext("agent_id"),
  deleteAgentContext: (client) => client.deleteAgentContext("agent_id"),
  putTargetContext: (client) => client.putTargetContext(target, context),
  getTargetContext: (client) => client.getTargetContext(target),
  deleteTargetContext: (client) => client.deleteTargetContext(target),
  putContextSource: (client) => client.putContextSource(input),
  getContextSource: (client) => client.getContextSource(),
  deleteContextSource: (client) => client.deleteContextSource(),
  listMembranes: (client) => client.listMembranes(),
  createMembrane: (client) => client.createMembrane(input),
  getMembrane: (client) => client.getMembrane("membrane_id"),
  changeMembrane: (client) => client.changeMembrane("membrane_id", {}),
  getCoverage: (client) => client.getCoverage("membrane_id"),
  findBlockedTools: (client) => client.findBlockedTools(input),
  getMembraneReadiness: (client) => client.getMembraneReadiness("membrane_id"),
  labelHold: (client) => client.labelHold("intent_id", true),
  goLive: (client) => client.goLive("membrane_id"),
  returnToShadow: (client) => client.returnToShadow("membrane_id", "reason"),
  getRollout: (client) => client.getRollout("membrane_id"),
  planRollout: (client) => client.planRollout("membrane_id"),
  removeRollout: (client) => client.removeRollout("membrane_id"),
  advanceRollout: (client) => client.advanceRollout("membrane_id"),
  stopRollout: (client) => client.stopRollout("membrane_id", input),
  returnRollout: (client) => client.returnRollout("membrane_id", input),
  eraseSubject: (client) => client.eraseSubject("person", "subject"),
  eraseIntent: (client) => client.eraseIntent("intent_id"),
  listErasures: (client) => client.listErasures(),
  getErasure: (client) => client.getErasure("erasure_id"),
  getRetention: (client) => client.getRetention(),
  putRetention: (client) => client.putRetention(input),
  createLegalHold: (client) => client.createLegalHold(input),
  listLegalHolds: (client) => client.listLegalHolds(),
  deleteLegalHold: (client) => client.deleteLegalHold("hold_id"),
  createStream: (client) => client.createStream(input),
  listStreams: (client) => client.listStreams(),
  getStream: (client) => client.getStream("stream_id"),
  changeStream: (client) => client.changeStream("stream_id", input),
  deleteStream: (client) => client.deleteStream("stream_id"),
  testStream: (client) => client.testStream("stream_id"),
  getAttention: (client) => client.getAttention(),
  listEscalations: (client) => client.listEscalations({ status: "pending" }),
  getEscalation: (client) => client.getEscalation("escalation_id"),
  takeEscalation: (client) => client.takeEscalation("escalation_id"),
  commentOnEscalation: (client) => client.commentOnEscalation("escalation_id", "comment"),
  snoozeEscalation: (client) => client.snoozeEscalation("escalation_id", null),
  decideEscalation: (client) => client.decideEscalation("escalation_id", input),
  beginConfirmation: (client) => client.beginConfirmation("escalation_id", input),
  cancelEscalation: (client) => client.cancelEscalation("escalation_id"),
  withdrawEscalation: (client) => client.withdrawEscalation("escalation_id"),
  revokeApproval: (client) => client.revokeApproval("escalation_id"),
  reassignEscalation: (client) => client.reassignEscalation("escalation_id", input),
  overrideBlock: (client) => client.overrideBlock("intent_id", input),
  listOverrides: (client) => client.listOverrides({ agent_id: "a" }),
  listCounters: (client) => client.listCounters({ name: "spent", agent_id: "a" }),
  adjustCounter: (client) => client.adjustCounter("name", input),
  createGrant: (client) => client.createGrant(input),
  listGrants: (client) => client.listGrants({ agent_id: "a", live: "true" }),
  getGrant: (client) => client.getGrant("grant_id"),
  revokeGrant: (client) => client.revokeGrant("grant_id"),
  revokeOverride: (client) => client.revokeOverride("override_id"),
  listFreezes: (client) => client.listFreezes(),
  previewFreeze: (client) => client.previewFreeze({ kind: "agent", agent_id: "a" }),
  listAgents: (client) => client.listAgents({ prefix: "a", limit: 2, cursor: "c" }),
  getAgent: (client) => client.getAgent("agent_id"),
  registerAgent: (client) => client.registerAgent("agent_id", input),
  freezeAgent: (client) => client.freezeAgent("agent_id", input),
  unfreezeAgent: (client) => client.unfreezeAgent("agent_id", input),
  freezeKey: (client) => client.freezeKey("key_id", input),
  unfreezeKey: (client) => client.unfreezeKey("key_id", input),
  freezeOrganization: (client) => client.freezeOrganization(input),
  unfreezeOrganization: (client) => client.unfreezeOrganization(input),
  getOrganization: (client) => client.getOrganization(),
  addTokenIssuer: (client) => client.addTokenIssuer(input),
  listTokenIssuers: (client) => client.listTokenIssuers(),
  replaceTokenIssuer: (client) => client.replaceTokenIssuer("issuer_id", input),
  removeTokenIssuer: (client) => client.removeTokenIssuer("issuer_id"),
  changeOrganization: (client) => client.changeOrganization({ unfreeze_needs_second_person: true }),
  getReviewerPace: (client) => client.getReviewerPace(),
  registerWebhook: (client) => client.registerWebhook(input),
  listWebhooks: (client) => client.listWebhooks({ limit: 1 }),
  getWebhook: (client) => client.getWebhook("webhook_id"),
  changeWebhook: (client) => client.changeWebhook("webhook_id", {}),
  rotateWebhookSecret: (client) => client.rotateWebhookSecret("webhook_id"),
  resumeWebhook: (client) => client.resumeWebhook("webhook_id"),
  testWebhook: (client) => client.testWebhook("webhook_id"),
  listWebhookHealth: (client) => client.listWebhookHealth({ hours: 24 }),
  listDeliveries: (client) => client.listDeliveries({ webhook_id: "webhook_id", status: "failed", from: "f", to: "t" }),
  replayDeliveries: (client) => client.replayDeliveries("webhook_id", { from: "f", to: "t" }),
  deleteWebhook: (client) => client.deleteWebhook("webhook_id"),
  listFailedDeliveries: (client) => client.listFailedDeliveries({ webhook_id: "webhook_id" }),
  retryDelivery: (client) => client.retryDelivery("delivery_id"),
  retryFailedDeliveries: (client) => client.retryFailedDeliveries({ webhook_id: "webhook_id" }),
  getChannels: (client) => client.getChannels(),
  putSlackChannel: (client) => client.putSlackChannel(input),
  deleteSlackChannel: (client) => client.deleteSlackChannel(),
  putTeamsChannel: (client) => client.putTeamsChannel(input),
  deleteTeamsChannel: (client) => client.deleteTeamsChannel(),
  getOwnChannels: (client) => client.getOwnChannels(),
  beginSlackLink: (client) => client.beginSlackLink(),
  endSlackLink: (client) => client.endSlackLink(),
  addPushDevice: (client) => client.addPushDevice(input),
  deletePushDevice: (client) => client.deletePushDevice("device_id"),
  createPolicy: (client) => client.createPolicy(input),
  listPolicies: (client) => client.listPolicies({ status: "live" }),
  getPolicy: (client) => client.getPolicy("policy_id"),
  listPolicyVersions: (client) => client.listPolicyVersions("policy_id"),
  replacePolicy: (client) => client.replacePolicy("policy_id", input),
  activatePolicy: (client) => client.activatePolicy("policy_id", "shadow"),
  getPolicyReadiness: (client) => client.getPolicyReadiness("policy_id", 2),
  getFiredRules: (client) => client.getFiredRules(),
  retirePolicy: (client) => client.retirePolicy("policy_id"),
  listBacktests: (client) => client.listBacktests(),
  getBacktest: (client) => client.getBacktest("backtest_id"),
  checkPolicy: (client) => client.checkPolicy(input),
  getPolicySchema: (client) => client.getPolicySchema(),
  backtest: (client) => client.backtest(input),
  listPacks: (client) => client.listPacks({ limit: 1 }),
  getPack: (client) => client.getPack("security"),
  getCaller: (client) => client.getCaller(),
  getOverview: (client) => client.getOverview({ mode: "live" }),
  listAudit: (client) => client.listAudit({ type: "decided" }),
  exportDecisions: (client) => client.exportDecisions({ format: "csv" }, { on_part: () => undefined }),
  exportReceipts: (client) => client.exportReceipts({ from: "2026-11-01T00:00:00Z" }, { on_part: () => undefined }),
  exportAudit: (client) => client.exportAudit({ format: "csv", type: "decided" }, { on_part: () => undefined }),
  getLogCheckpoint: (client) => client.getLogCheckpoint({ cosigned: "true" }),
  getLogTile: (client) => client.getLogTile("0/x001/234.p/5"),
  getLogConsistency: (client) => client.getLogConsistency({ from: 1, to: 2 }),
  listLogWitnesses: (client) => client.listLogWitnesses(),
  listLogKeys: (client) => client.listLogKeys(),
  rotateLogKey: (client) => client.rotateLogKey({ overlap_days: 1 }),
  getUsage: (client) => client.getUsage(),
  signup: (client) => client.signup(input),
  verifyEmail: (client) => client.verifyEmail(input),
  login: (client) => client.login(input),
  verifyMfa: (client) => client.verifyMfa("123456"),
  logout: (client) => client.logout(),
  getSession: (client) => client.getSession(),
  listSessions: (client) => client.listSessions(),
  endSession: (client) => client.endSession("session_id"),
  endAllSessions: (client) => client.endAllSessions(),
  changeProfile: (client) => client.changeProfile({ notify: false }),
  changePassword: (client) => client.changePassword(input),
  forgotPassword: (client) => client.forgotPassword("a@example.com"),
  listResetPasskeys: (client) => client.listResetPasskeys("token"),
  resetPassword: (client) => client.resetPassword(input),
  enrolTotp: (client) => client.enrolTotp(),
  confirmTotp: (client) => client.confirmTotp("123456"),
  disableTotp: (client) => client.disableTotp("123456"),
  replaceRecoveryCodes: (client) => client.replaceRecoveryCodes("123456"),
  inviteUser: (client) => client.inviteUser(input),
  listInvitations: (client) => client.listInvitations({ limit: 1 }),
  revokeInvitation: (client) => client.revokeInvitation("invitation_id"),
  leaveOrganization: (client) => client.leaveOrganization({}),
  acceptInvitation: (client) => client.acceptInvitation(input),
  beginPasskeyRegistration: (client) => client.beginPasskeyRegistration(),
  finishPasskeyRegistration: (client) => client.finishPasskeyRegistration(input),
  listPasskeys: (client) => client.listPasskeys(),
  deletePasskey: (client) => client.deletePasskey("passkey_id"),
  beginPasskeyLogin: (client) => client.beginPasskeyLogin(),
  finishPasskeyLogin: (client) => client.finishPasskeyLogin(input),
  putSingleSignOn: (client) => client.putSingleSignOn(input),
  getSingleSignOn: (client) => client.getSingleSignOn(),
  deleteSingleSignOn: (client) => client.deleteSingleSignOn(),
  beginSingleSignOn: (client) => client.beginSingleSignOn({ email: "a@example.com" }),
  finishSingleSignOn: (client) => client.finishSingleSignOn({ org_id: "org_id", callback_query: "code=c&state=s" }),
  listPeople: (client) => client.listPeople({ role: "admin" }),
  changeRole: (client) => client.changeRole("user_id", "reviewer"),
  removePerson: (client) => client.removePerson("user_id", {}),
  setAbsence: (client) => client.setAbsence("user_id", { until: "2027-01-01T00:00:00Z", delegate: "usr_1" }),
  endAbsence: (client) => client.endAbsence("user_id"),
  unsubscribe: (client) => client.unsubscribe("token"),
};

// Operators use the first, gateways use the second with clients of their own, and chats send forms.
const called = operationRows.filter(([, { tag, form }]) => tag !== "Operating" && tag !== "AuthZEN" && form !== true);

// All of `crypto` that browsers keep in a page over plain http from another machine.
beforeAll(() => vi.stubGlobal("crypto", { getRandomValues: (bytes: Uint8Array) => bytes.fill(7) }));
afterAll(() => vi.unstubAllGlobals());

test.each(called)("%s: the client has this method and sends it where the contract says", async (id, operation) => {
  const call = calls[id];
  if (call === undefined) throw new Error(`the client has no method ${id}`);
  let sent: Request | undefined;
  const fetch: typeof globalThis.fetch = async (url, init) => {
    sent = new Request(url, init);
    return Response.json({});
  };
  await call(createClient({ base_url: "http://service", api_key: "k", fetch }));
  if (sent === undefined) throw new Error("nothing was sent");
  const one = operation.rest === true ? "(?:[^/]+/)*[^/]+" : "[^/]+";
  const pattern = new RegExp(`^${operation.path.replaceAll(/\{\w+\}/g, one)}$`);
  expect(sent.method).toBe(operation.method);
  expect(new URL(sent.url).pathname).toMatch(pattern);
  expect(sent.headers.get("idempotency-key") !== null).toBe(operation.idempotent === true);
  expect(sent.headers.get("content-type")).toBe(operation.body === undefined ? null : "application/json");
  expect(sent.headers.get("x-api-key")).toBe("k");
  for (const name of new URL(sent.url).searchParams.keys())
    expect(Object.keys(operation.query?.properties ?? {})).toContain(name);
});

type Table = typeof operations;
type QueryNames<Id extends OperationId> = Table[Id] extends { query: { properties: infer P } }
  ? keyof P & string
  : never;
/** Operations with a list, and the overview, which has the same filters. */
type Filtering = { [Id in OperationId]: "cursor" extends QueryNames<Id> ? Id : never }[OperationId] | "getOverview";
/** Names in the last argument of a method. */
type Taken<Id extends keyof Client> =
  Required<Parameters<Client[Id]>> extends [...unknown[], infer Q] ? keyof Q : never;
type Differing<A, B> = Exclude<A | B, A & B>;
/** `listEscalations: group` if only one of the contract and the client has that filter. */
type Forgotten = {
  [Id in Filtering]: `${Id}: ${Differing<QueryNames<Id>, Taken<Id> & string>}`;
}[Filtering];

test("a list's method takes the filters of the contract (the compiler names a forgotten one)", () => {
  const none: Record<Forgotten, never> = {};
  expect(none).toEqual({});
});

test("saving a policy returns the policy with its failed tests", async () => {
  const saved = { policy: { policy_id: "pol_1", version: 1 }, diagnostics: [{ code: "test_failed" }] };
  const client = createClient({ base_url: "http://service", fetch: async () => Response.json(saved) });
  const whole = { ...saved.policy, diagnostics: saved.diagnostics };
  expect(await client.createPolicy(input)).toEqual(whole);
  expect(await client.replacePolicy("pol_1", input)).toEqual(whole);
});
