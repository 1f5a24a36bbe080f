/** Whatever fails, no call is made without a decision, and the model reads that nothing was done. */
import { ConnectionError } from "@countersign/sdk";
import { expect, test } from "vitest";
import { fakeService, refusal } from "./testing/fake-service.ts";
import { callOf, governed, line, soon } from "./testing/governed.ts";

const faults = [
  ["the service is away or slow", new ConnectionError("https://countersign.test/v1/intents", "no answer"), /https:/],
  ["too many requests", refusal(429, "rate_limited"), /rate_limited/],
  ["the key was revoked", refusal(401, "invalid_api_key"), /invalid_api_key/],
  ["the review queue is full", refusal(429, "review_queue_full"), /review_queue_full/],
] as const;

test.each(
  faults.flatMap((fault) =>
    (["submitIntent", "waitForOutcome", "claimIntent"] as const).map((at) => [at, ...fault] as const),
  ),
)("%s fails because %s", async (at, _, error, reason) => {
  const held = at === "waitForOutcome";
  const service = fakeService(() =>
    held ? { outcome: null, status: "pending", escalation_id: "esc_1" } : { outcome: "approve" },
  );
  const client = { ...service.client, [at]: () => Promise.reject(error) };
  const { governor, toServer, toClient, notes } = governed(undefined, { client });
  governor.fromClient(callOf(1));
  await soon(() => expect(toClient).toHaveLength(1));
  const { isError, content } = JSON.parse(toClient[0] ?? "").result;
  expect([isError, content[0].text]).toEqual([true, expect.stringMatching(/^Not decided, so nothing was done: /)]);
  expect(content[0].text).toMatch(reason);
  expect(notes).toHaveLength(1);
  await governor.end();
  expect(toServer).toEqual([]);
});

test("an outcome that the service does not take is reported to the operator, and the client gets its answer", async () => {
  const service = fakeService();
  const recordObservation = () => Promise.reject(refusal(401, "invalid_api_key"));
  const { governor, toServer, toClient, notes } = governed(undefined, {
    client: { ...service.client, recordObservation },
  });
  governor.fromClient(callOf(1));
  await soon(() => expect(toServer).toHaveLength(1));
  const answer = line({ id: 1, result: { content: [] } });
  governor.fromServer(answer);
  await soon(() =>
    expect(notes).toEqual([expect.stringMatching(/outcome of int_1 could not be recorded.*invalid_api_key/)]),
  );
  expect(toClient).toEqual([answer]);
});

test("frames of the server that are not JSON pass, and the answer to the call still counts", async () => {
  const { governor, toServer, toClient, observed } = governed();
  governor.fromClient(callOf(1));
  await soon(() => expect(toServer).toHaveLength(1));
  const answer = line({ id: 1, result: { content: [] } });
  for (const said of ['{"jsonrpc":', "[1,", "starting…", answer]) governor.fromServer(said);
  await soon(() => expect(toClient).toEqual(['{"jsonrpc":', "[1,", "starting…", answer]));
  expect(observed).toMatchObject([{ status: "executed" }]);
});

test("a service that answers after the client gave up makes no call", async () => {
  const service = fakeService();
  let decide: () => void = () => undefined;
  const deciding = new Promise<void>((resolve) => {
    decide = resolve;
  });
  const submitIntent: typeof service.client.submitIntent = async (submission) => {
    await deciding;
    return service.client.submitIntent(submission);
  };
  const { governor, toServer, toClient } = governed(undefined, { client: { ...service.client, submitIntent } });
  governor.fromClient(callOf(1));
  governor.fromClient(line({ method: "notifications/cancelled", params: { requestId: 1 } }));
  decide();
  await soon(() => expect(service.observed).toMatchObject([{ status: "skipped" }]));
  await governor.end();
  expect([service.submitted.length, toServer, toClient]).toEqual([1, [], []]);
});
