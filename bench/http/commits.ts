/**
 * The floor of the commit: a bare node:http server that commits a prepared decision. The difference to the service is
 * the cost of keys, limits, checks, policies and logs.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readConfig } from "@countersign/server";
import { openDatabase } from "../../packages/server/src/edge/instance/open-database.ts";
import { timers } from "../../packages/server/src/edge/timers.ts";
import { createOrganization } from "../../packages/server/src/operations/organizations/create-organization.ts";
import {
  type CommitOutcome,
  connectCommit,
  createCommitWriter,
  type DecisionRows,
} from "../../packages/server/src/store/commit/commit-writer.ts";
import { decisionEntry } from "../../packages/server/src/store/commit/commit-writer-rows.ts";
import { decisionRows } from "../../packages/server/src/testing/database/decision-rows.ts";
import { silentLog } from "../../packages/server/src/testing/nodes/silent-log.ts";

const instance = await openDatabase(readConfig(process.env), silentLog);
const { clock, ids, connection, db } = instance;
const org_id = ids.next("organization");
await db.system((query) =>
  createOrganization({ clock, ids }, query, {
    org_id,
    name: "Bench",
    email: null,
    description: "Commits and nothing else.",
    actor: "bench",
  }),
);
const writer = createCommitWriter({ connect: connectCommit(connection), log: silentLog, clock, timers });

const made = decisionRows(ids, org_id, { intent: "{}" });

/** Prepared rows; only unique members are new. */
function rowsFor(intent: string): DecisionRows {
  const intent_id = ids.next("intent");
  return {
    ...made,
    entry: decisionEntry(ids, { ...made.entry, intent_id, decision_id: ids.next("decision"), intent }),
  };
}

function statusOf(outcome: CommitOutcome): number {
  return outcome.outcome === "committed" ? 201 : 500;
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", async () => {
    const body = Buffer.concat(chunks).toString();
    JSON.parse(body);
    const status = await writer.commit(rowsFor(body)).then(statusOf, () => 500);
    const text = made.entry.decision;
    response.writeHead(status, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) });
    response.end(text);
  });
});
server.listen(0, "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.once("SIGTERM", async () => {
  server.close();
  server.closeAllConnections();
  await writer.close();
  await instance.close();
});
