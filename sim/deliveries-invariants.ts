import type { Db } from "../packages/server/src/ports.ts";
import { verifyAudit } from "../packages/server/src/store/audit/verify-audit.ts";
import { InvariantBroken } from "./invariants.ts";

export interface Sent {
  readonly delivery_id: string;
  readonly webhook_id: string;
  readonly number: number;
  readonly body: string;
  /** The signature matches body and secret. */
  readonly genuine: boolean;
  readonly retry: boolean;
  readonly taken: boolean;
}

/** The knowledge of the world outside the database. */
export interface DeliveryMemory {
  readonly org_id: string;
  /** `audience`: the watching webhooks, and how often each had been switched or deleted before. */
  readonly events: {
    readonly event_id: string;
    readonly body: string;
    readonly audience: ReadonlyMap<string, number>;
  }[];
  readonly sent: Sent[];
  readonly disruptions: Map<string, number>;
  readonly retried: {
    readonly delivery_id: string;
    readonly of: string;
    readonly original_delivery_id: string | null;
  }[];
}

interface Row {
  readonly delivery_id: string;
  readonly webhook_id: string;
  readonly event_id: string;
  readonly status: "pending" | "delivered" | "failed" | "cancelled";
  readonly attempts: number;
  readonly body: string;
  readonly outcomes: readonly { readonly number: number; readonly error: string | null }[];
  readonly original_delivery_id: string | null;
}

function demand(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new InvariantBroken(otherwise);
}

const rowsOf = (db: Db, org_id: string) =>
  db.tenant(org_id, (query) =>
    query<Row>(
      `select delivery_id, webhook_id, event_id, status, attempts, body, outcomes, original_delivery_id from deliveries
       where org_id = $1 order by delivery_id`,
      [org_id],
    ),
  );

/**
 * Checks the invariants after a step. `gone`: a webhook just deleted or switched off, which must have nothing pending.
 */
export async function checkDeliveries(db: Db, memory: DeliveryMemory, gone?: string): Promise<void> {
  const rows = await rowsOf(db, memory.org_id);
  const known = new Map(rows.map((row) => [row.delivery_id, row]));
  for (const sent of memory.sent) {
    const row = known.get(sent.delivery_id);
    demand(row !== undefined, `${sent.delivery_id} was sent and is not stored`);
    demand(sent.body === row.body, `${sent.delivery_id} was sent with other bytes than are stored`);
    demand(sent.genuine, `${sent.delivery_id} was sent with a wrong signature`);
    demand(sent.retry === (row.original_delivery_id !== null), `${sent.delivery_id} has a wrong X-Service-Retry`);
    demand(sent.number <= 3, `${sent.delivery_id} was sent a fourth time`);
  }
  const seen = new Set(memory.sent.map(({ delivery_id, number }) => `${delivery_id} ${number}`));
  demand(seen.size === memory.sent.length, "one attempt was sent twice");
  const dispatched = new Set<string>();
  const retries = new Map<string, number>();
  for (const row of rows) {
    const { delivery_id, status, attempts, outcomes, original_delivery_id } = row;
    const mine = memory.sent.filter((sent) => sent.delivery_id === delivery_id);
    demand(mine.length <= attempts, `${delivery_id} was sent more often than attempts were begun`);
    demand(
      gone === undefined || row.webhook_id !== gone || status !== "pending",
      `${delivery_id} waits for a webhook that is gone`,
    );
    demand(
      outcomes.every(({ number }, index) => number === index + 1),
      `${delivery_id} has attempts out of order`,
    );
    if (status === "failed")
      demand(
        outcomes.length === 3 && outcomes.every(({ error }) => error !== null),
        `${delivery_id} failed without three reasons`,
      );
    if (status === "delivered") {
      demand(outcomes.at(-1)?.error === null, `${delivery_id} is delivered and its last attempt failed`);
      demand(
        mine.some(({ taken }) => taken),
        `${delivery_id} is delivered and nobody took it`,
      );
    }
    const event = memory.events.find(({ event_id }) => event_id === row.event_id);
    demand(event !== undefined, `${delivery_id} reports no event`);
    if (original_delivery_id === null) {
      const one = `${row.event_id} ${row.webhook_id}`;
      demand(!dispatched.has(one), `${one} was dispatched twice`);
      dispatched.add(one);
      demand(event.audience.has(row.webhook_id), `${row.webhook_id} got an event that it does not watch`);
      demand(
        row.body === `${event.body.slice(0, -1)},"webhook_id":"${row.webhook_id}"}`,
        `${delivery_id} has a wrong body`,
      );
    } else {
      const original = known.get(original_delivery_id);
      demand(original?.original_delivery_id === null, `${delivery_id} does not name the start of its chain`);
      demand(original.status === "failed", `${delivery_id} retries what did not fail`);
      demand(
        JSON.parse(row.body).data.original_delivery_id === original_delivery_id,
        `${delivery_id} does not say what it retries`,
      );
      if (status === "pending") retries.set(original_delivery_id, (retries.get(original_delivery_id) ?? 0) + 1);
    }
  }
  for (const [original, n] of retries) demand(n === 1, `${n} retries of ${original} are running`);
  for (const { delivery_id, of } of memory.retried)
    demand(known.has(delivery_id), `the retry ${delivery_id} of ${of} is lost`);
}

/** Checks that nothing waits or is lost after receivers accept everything, and that the audit trail agrees. */
export async function checkAtTheEnd(db: Db, memory: DeliveryMemory): Promise<void> {
  const { org_id } = memory;
  const rows = await rowsOf(db, org_id);
  for (const { delivery_id, status } of rows) demand(status !== "pending", `${delivery_id} stays pending`);
  for (const { event_id, audience } of memory.events) {
    for (const [webhook_id, disruptions] of audience) {
      if (memory.disruptions.get(webhook_id) !== disruptions) continue;
      const row = rows.find((each) => each.event_id === event_id && each.webhook_id === webhook_id);
      demand(row !== undefined, `${webhook_id} never got ${event_id}`);
      demand(row.status !== "cancelled", `${row.delivery_id} was cancelled without a reason`);
    }
  }
  const audit = await db.tenant(org_id, async (query) => {
    const finding = await verifyAudit(query, org_id);
    demand(finding.sound, "the audit trail does not verify");
    return query<{ type: string; delivery_id: string }>(
      `select type, data ->> 'delivery_id' as delivery_id from audit where org_id = $1 and type in ('delivered', 'delivery_failed')`,
      [org_id],
    );
  });
  const told = audit.map(({ type, delivery_id }) => `${delivery_id} ${type}`).sort();
  const expected = rows
    .filter(({ status }) => status === "delivered" || status === "failed")
    .map(({ delivery_id, status }) => `${delivery_id} ${status === "failed" ? "delivery_failed" : "delivered"}`)
    .sort();
  demand(told.join() === expected.join(), "the audit trail differs from the deliveries");
}
