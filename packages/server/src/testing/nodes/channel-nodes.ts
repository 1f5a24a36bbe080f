/** Nodes whose outgoing requests reach the test's own servers, with organizations of people. */
import { networkList } from "@countersign/core";
import { expect } from "vitest";
import { createHttpOut } from "../../edge/outgoing/http-out.ts";
import type { TestDatabase } from "../database/database.ts";
import { testCertificates } from "../network/certificates.ts";
import { resolveToLoopback } from "../network/receiver.ts";
import { heldBody } from "../people/review.ts";
import { whenFileIsDone } from "../when-file-is-done.ts";
import { peopleNodes } from "./people-nodes.ts";

export async function channelNodes(database: TestDatabase) {
  const httpOut = createHttpOut({
    rules: { allow_http: false, allow_networks: networkList(["127.0.0.0/8"]) },
    resolve: resolveToLoopback,
    ca: testCertificates().ca,
  });
  whenFileIsDone(() => httpOut.close());
  const nodes = await peopleNodes(database, [{ httpOut }, { httpOut }]);

  /** An admin, the key of an agent, and a membrane that enforces. */
  async function organization(membrane: object = {}) {
    const admin = await nodes.signedUp();
    const send = (method: string, path: string, cookie: string, body?: unknown) =>
      nodes.send(method, path, { cookie, ...(body === undefined ? {} : { body }) });
    const agent: string = (await send("POST", "/v1/api-keys", admin.cookie, { role: "agent" })).json.api_key;
    const { membranes } = (await send("GET", "/v1/membranes", admin.cookie)).json;
    const at = `/v1/membranes/${membranes[0].membrane_id}`;
    expect((await send("POST", `${at}/go-live`, admin.cookie)).status).toBe(200);
    expect((await send("PATCH", at, admin.cookie, membrane)).status).toBe(200);
    async function held(body: object = heldBody) {
      const { json } = await nodes.send("POST", "/v1/intents", { key: agent, body });
      expect(json.decision.verdict).toBe("escalate");
      const id: string = json.decision.escalation_id;
      const read = async () => (await send("GET", `/v1/escalations/${id}`, admin.cookie)).json.escalation;
      return { id, read };
    }
    return { admin, org_id: admin.session.org_id as string, send, agent, held };
  }
  return { ...nodes, organization };
}
