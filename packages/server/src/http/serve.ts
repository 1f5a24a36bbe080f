import type { IncomingMessage, ServerResponse } from "node:http";
import { limits, type Operation, refusesBody } from "@countersign/contract";
import { type Fault, type JsonInParts, parseInParts, parseItems } from "@countersign/core";
import { inTurns } from "../operations/shared/turns.ts";
import type { Clock, Log, Spans } from "../ports.ts";
import { faultOf, type Refusal, refusalOf } from "./answer/faults.ts";
import { replyTo, writePieces, writeRefusal, writeReply } from "./answer/respond.ts";
import type { Console } from "./console.ts";
import { bearerChallenge } from "./gate/bearer.ts";
import {
  type Admission,
  admit,
  type GateDeps,
  holderOf,
  ipOf,
  recheck,
  settleRate,
  stillAdmitted,
  type Visit,
} from "./gate/gate.ts";
import { isLocal } from "./gate/local.ts";
import type { Answer, OperationRequest } from "./handler.ts";
import type { Metrics } from "./metrics.ts";
import type { BatchTurns } from "./request/batch-turns.ts";
import { ClientGone, dropRest, hasNoBody, readBody } from "./request/body.ts";
import { refuseProblems } from "./request/body-problems.ts";
import { headFault } from "./request/request-head.ts";
import { idempotencyKeyOf, paramsOf, queryOf, type Route } from "./route.ts";

export interface ServeDeps {
  readonly gate: GateDeps;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly batches: BatchTurns;
  /** Null: no traces. */
  readonly spans: Spans | null;
}

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly params: unknown;
  readonly request_id: string;
}

const unauthorized = 401;

/** For requests that do not pass the gate. */
const outside: Admission = { known: null, recalled: false, fault: null, use: null };

/** Never rejects. Writes exactly one answer, or none if the client has left. */
export async function serve(deps: ServeDeps, route: Route, exchange: Exchange): Promise<void> {
  const { request, response, request_id } = exchange;
  const { operation } = route;
  const unreadable = headFault(request, response);
  const recall = route.recall && unreadable === null;
  const visit: Visit = { operation, recall, request, unreadable, now_us: deps.clock.now_us() };
  let admission = outside;
  try {
    const admitted = admit(deps.gate, visit);
    admission = admitted instanceof Promise ? await admitted : admitted;
    if (admission.fault !== null) return await refuseChecked(deps, route, exchange, visit, admission, admission.fault);

    const answer = await answerOf(deps, route, exchange, visit, admission);
    // Only a commit has checked the key's epoch.
    const revoked = admission.recalled && answer.status !== 201 ? await recheck(deps.gate, visit, admission) : null;
    if (revoked !== null) return refuse(deps, route, exchange, visit.now_us, revoked, revoked.fault as Fault);

    const pieces = writePieces(response, answer, request_id, admission.use);
    if (pieces !== null) {
      const fault = await pieces;
      const code = fault === null ? null : refusalOf(fault, request_id).code;
      return finished(deps, route.id, exchange, visit.now_us, admission, answer.status, code, fault);
    }
    const reply = replyTo(answer, operation.conditional === true, request);
    const settled = settleRate(deps.gate, admission, reply.status === 304, deps.clock.now_us());
    admission = settled instanceof Promise ? await settled : settled;
    if (admission.fault !== null) return refuse(deps, route, exchange, visit.now_us, admission, admission.fault);
    writeReply(response, reply, shownId(operation, exchange), admission.use);
    finished(deps, route.id, exchange, visit.now_us, admission, reply.status, null, null);
  } catch (error) {
    admission = await settleRate(deps.gate, admission, false, deps.clock.now_us());
    if (error instanceof ClientGone) return gone(deps, route, exchange, visit.now_us, admission);
    await refuseChecked(deps, route, exchange, visit, admission, admission.fault ?? faultOf(error));
  }
}

/** The operation of an unknown path. Callers without a valid key do not learn which paths exist. */
const unserved: Operation = {
  method: "GET",
  path: "/v1/*",
  tag: "Operating",
  summary: "",
  auth: "any",
  rate: "general",
  answers: {},
};

/** Refuses a request without an operation. `open`: an operation of the same path that needs no key. Never rejects. */
export async function refuseUnserved(
  deps: ServeDeps,
  exchange: Exchange,
  fault: Fault,
  open?: Operation,
): Promise<void> {
  const now_us = deps.clock.now_us();
  const admission = await admitUnserved(deps, exchange, now_us, open);
  refuse(deps, null, exchange, now_us, admission, admission.fault ?? fault);
}

async function admitUnserved(
  { gate }: ServeDeps,
  { request, response }: Exchange,
  now_us: number,
  open?: Pick<Operation, "auth" | "rate">,
): Promise<Admission> {
  const unreadable = headFault(request, response);
  if (!request.url?.startsWith("/v1/")) return { ...outside, fault: unreadable };
  const operation = open === undefined ? unserved : { ...unserved, auth: open.auth, rate: open.rate };
  return admit(gate, { operation, recall: false, request, unreadable, now_us });
}

/** Public, without a rate limit. */
export function serveConsole(
  deps: ServeDeps,
  console: Console,
  file: NonNullable<ReturnType<Console["find"]>>,
  exchange: Exchange,
): void {
  const { request, response, request_id } = exchange;
  const started_us = deps.clock.now_us();
  const fault = headFault(request, response);
  if (fault !== null) return void refuse(deps, null, exchange, started_us, outside, fault);
  const status = console.send(request, response, file, request_id);
  finished(deps, "console", exchange, started_us, outside, status, null, null);
}

/**
 * Answers OPTIONS without CORS headers, so that no page of another origin can use the API. Under /v1 the request counts
 * for its address. Never rejects.
 */
export async function answerOptions(deps: ServeDeps, exchange: Exchange, allow: string): Promise<void> {
  const started_us = deps.clock.now_us();
  const admission = await admitUnserved(deps, exchange, started_us, { auth: "none", rate: "general" });
  if (admission.fault !== null) return refuse(deps, null, exchange, started_us, admission, admission.fault);
  const reply = { status: 204, text: null, headers: { Allow: allow } };
  writeReply(exchange.response, reply, exchange.request_id, admission.use);
  finished(deps, null, exchange, started_us, admission, 204, null, null);
}

async function answerOf(
  deps: Pick<ServeDeps, "gate" | "clock" | "batches">,
  route: Route,
  exchange: Exchange,
  visit: Visit,
  { known }: Admission,
): Promise<Answer> {
  const { operation } = route;
  const { request, response, params, request_id } = exchange;
  const caller = known?.caller ?? null;
  const handler_request: HandlerRequest = {
    caller,
    params: operation.params === undefined ? params : paramsOf(route, params),
    query: queryOf(route, request.url as string),
    body: undefined,
    body_problems: [],
    body_bytes: 0,
    examine: () => [],
    idempotency_key: idempotencyKeyOf(route, request.headers["idempotency-key"]),
    headers: request.headers,
    request_id,
    left: () => leftSignal(response),
    local: operation.auth === "none" && isLocal(request),
    client_ip: () => ipOf(deps.gate, request),
  };
  const takes_body = operation.body !== undefined || (refusesBody(operation) && !hasNoBody(request));
  if (!takes_body) return route.handler(handler_request as OperationRequest);
  const holder = () => holderOf(deps.gate, request, caller);
  const bytes = await readBody(request, response, operation, holder);
  if (operation.form === true)
    return route.handler({ ...handler_request, body: bytes.toString("utf8") } as OperationRequest);
  if (operation.examines !== "items") {
    const parts = parseInParts(bytes, limits.json_depth_max, operation.body_values_max);
    return answerBody(deps, route, handler_request, visit, known, bytes.length, parts);
  }
  return deps.batches.within(holder(), bytes.length, async () => {
    if (response.destroyed) throw new ClientGone();
    const parts = await inTurns(parseItems(bytes, "intents", limits.batch_intents_max));
    return answerBody(deps, route, handler_request, visit, known, bytes.length, parts);
  });
}

type HandlerRequest = { -readonly [Name in keyof OperationRequest]: unknown };

async function answerBody(
  { gate, clock }: Pick<ServeDeps, "gate" | "clock">,
  route: Route,
  handler_request: HandlerRequest,
  visit: Visit,
  known: Admission["known"],
  bytes: number,
  { value, examine }: JsonInParts,
): Promise<Answer> {
  const { operation } = route;
  const problems = operation.examines === "items" ? [] : examine(value);
  if (known !== null) {
    const caller = stillAdmitted(gate, visit, known, clock.now_us());
    handler_request.caller = caller instanceof Promise ? await caller : caller;
  }
  const unstorable = operation.examines === "body" ? [] : problems;
  const of_shape = route.checkBody(value, bytes);
  if (unstorable.length > 0 || of_shape !== null) {
    const submitted = route.id === "submitIntent" ? { value, bytes, now_us: clock.now_us() } : null;
    refuseProblems(unstorable, of_shape ?? [], submitted);
  }
  if (operation.body !== undefined) handler_request.body = value;
  handler_request.body_problems = problems;
  handler_request.body_bytes = bytes;
  handler_request.examine = examine;
  return route.handler(handler_request as OperationRequest);
}

/** Aborted when the connection closes early. */
function leftSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (response.destroyed) controller.abort();
  else response.once("close", () => response.writableFinished || controller.abort());
  return controller.signal;
}

/** If the caller came from memory, reads the key first, because a revoked key must get only that fault. */
async function refuseChecked(
  deps: ServeDeps,
  route: Route,
  exchange: Exchange,
  visit: Visit,
  admission: Admission,
  fault: Fault,
): Promise<void> {
  const revoked = await recheck(deps.gate, visit, admission);
  if (revoked === null) refuse(deps, route, exchange, visit.now_us, admission, fault);
  else refuse(deps, route, exchange, visit.now_us, revoked, revoked.fault as Fault);
}

function refuse(
  deps: ServeDeps,
  route: Route | null,
  exchange: Exchange,
  started_us: number,
  admission: Admission,
  fault: Fault,
): void {
  const { request, response, request_id } = exchange;
  const refusal = refusalOf(fault, request_id);
  deps.metrics.refused(refusal.code);
  if (response.headersSent) {
    // A partial answer must not look complete.
    response.destroy();
  } else writeRefusal(response, challenged(route, refusal), shownId(route?.operation, exchange), admission.use);
  dropRest(request);
  finished(deps, route?.id ?? null, exchange, started_us, admission, refusal.status, refusal.code, fault);
}

/** The id in X-Request-Id. The error object and the log have the service's own id. */
function shownId(operation: Operation | undefined, { request, request_id }: Exchange): string {
  const given = request.headers["x-request-id"];
  return operation?.standard === "authzen" && typeof given === "string" && given !== "" ? given : request_id;
}

function challenged(route: Route | null, refusal: Refusal): Refusal {
  if (route?.operation.bearer !== true || refusal.status !== unauthorized) return refusal;
  const challenge = bearerChallenge(refusal.code !== "missing_api_key");
  return { ...refusal, headers: { ...refusal.headers, "www-authenticate": challenge } };
}

function gone(deps: ServeDeps, route: Route, exchange: Exchange, started_us: number, admission: Admission): void {
  exchange.response.destroy();
  finished(deps, route.id, exchange, started_us, admission, 0, "client_gone", null);
}

/** Logs neither path (identifiers, `?api_key=`) nor headers nor body. */
function finished(
  deps: ServeDeps,
  route: string | null,
  { request, request_id }: Exchange,
  started_us: number,
  { known }: Admission,
  status: number,
  error_code: string | null,
  fault: Fault | null,
): void {
  const ended_us = deps.clock.now_us();
  const elapsed_us = ended_us - started_us;
  deps.metrics.requested(route ?? "none", status, elapsed_us);
  const traceparent = request.headers["traceparent"];
  deps.spans?.ended({
    name: route ?? "unrouted",
    kind: "server",
    started_us,
    ended_us,
    traceparent: typeof traceparent === "string" ? traceparent : undefined,
    failed: status >= 500,
    attributes: {
      "http.request.method": request.method ?? "",
      "http.response.status_code": status,
      "countersign.request_id": request_id,
      "countersign.org_id": known?.caller.org_id ?? "",
      "error.type": error_code ?? "",
    },
  });
  const line: Record<string, unknown> = {
    request_id,
    method: request.method,
    route,
    status,
    ms: elapsed_us / 1000,
    org_id: known?.caller.org_id ?? null,
    key_id: known?.caller.key_id ?? null,
    user_id: known?.caller.user_id ?? null,
    error_code,
  };
  if (fault?.internal !== undefined) line["internal"] = fault.internal;
  if (status < 500) deps.log.info(line, "request");
  else deps.log.error({ ...line, err: fault?.cause ?? fault }, "request");
}
