/** Tests a command's requests and its handling of answers. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Empty if none was sent. */
  readonly body: { intents?: { intent: { action: { verb: string } }; idempotency_key: string }[] };
}

/** `null` closes the connection without an answer. */
export type FakeAnswer = {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body: unknown;
} | null;

export function refusal(status: number, code: string, headers: Record<string, string> = {}): FakeAnswer {
  return { status, headers, body: { error: { code, message: `it is ${code}`, details: [], request_id: "req_1" } } };
}

/** Escalates `send_money` and approves the rest of a batch. */
export function decide(request: SeenRequest): FakeAnswer {
  const results = (request.body.intents ?? []).map((item) => {
    const verdict = item.intent.action.verb === "send_money" ? "escalate" : "approve";
    return { success: true, intent_id: "int_1", decision: { verdict } };
  });
  return { status: 200, body: { results, total: results.length, succeeded: results.length, failed: 0 } };
}

export async function startFakeService(
  answer: (request: SeenRequest, number: number) => FakeAnswer | Promise<FakeAnswer>,
) {
  const seen: SeenRequest[] = [];
  const server = createServer(async (incoming, outgoing) => {
    let text = "";
    for await (const chunk of incoming) text += chunk;
    const { method = "", url: path = "", headers } = incoming;
    const request = { method, path, headers, body: JSON.parse(text === "" ? "{}" : text) };
    seen.push(request);
    const answered = await answer(request, seen.length);
    if (answered === null) return outgoing.destroy();
    outgoing.writeHead(answered.status, { "content-type": "application/json", ...answered.headers });
    outgoing.end(JSON.stringify(answered.body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, stop };
}
