import { leafHash } from "@countersign/core";
import type { Db } from "../packages/server/src/ports.ts";
import { genesisRoot, nextRoot } from "../packages/server/src/store/audit/audit.ts";
import { createState, isBehind, takeStep } from "../packages/server/src/store/figures/reconcile.ts";
import type { Epochs } from "../packages/server/src/store/organizations/epochs.ts";
import type { Head } from "../packages/server/src/store/organizations/heads.ts";
import type { Journal } from "./journal.ts";

export class InvariantBroken extends Error {
  constructor(message: string) {
    super(message);
    this.name = "InvariantBroken";
  }
}

interface Tables {
  readonly heads: readonly Head[];
  readonly intents: readonly {
    org_id: string;
    intent_id: string;
    mode: string;
    intent: string;
    facts: string;
    decision: string;
  }[];
  readonly ledger: readonly Entry[];
  readonly events: readonly { org_id: string; event_id: string; intent_id: string | null }[];
  readonly keys: readonly { org_id: string; idempotency_key: string; intent_id: string; request_sha256: string }[];
  readonly periods: readonly { org_id: string; used: number }[];
  readonly escalations: ReadonlySet<string>;
}

interface Entry {
  readonly org_id: string;
  readonly seq: number;
  readonly entry: number;
  readonly audit_id: string | null;
  readonly intent_id: string | null;
  readonly records: number;
  readonly leaf: string;
  readonly hash: string;
  readonly root: string | null;
}

/** Reads one snapshot and checks everything. Throws InvariantBroken. */
export async function checkInvariants(db: Db, journal: Journal): Promise<void> {
  demand(journal.broken.length === 0, journal.broken.join("; "));
  const tables = await readTables(db, journal.organizations);
  for (const head of tables.heads) checkOrganization(head, tables, journal);
  checkAnswers(tables, journal);
  const wrong = await wrongFigures(db, journal.organizations);
  demand(wrong.length === 0, wrong.join("; "));
}

function readTables(db: Db, organizations: readonly string[]): Promise<Tables> {
  return db.system(async (query) => {
    await query("set transaction isolation level repeatable read");
    const of = <Row extends object>(select: string, order = "") =>
      query<Row>(`select ${select} where org_id = any ($1) ${order}`, [organizations]);
    return {
      heads: await of<Head>("*, encode(audit_root, 'hex') as audit_root from org_heads"),
      intents: await of(
        "org_id, intent_id, mode, intent::text as intent, facts::text as facts, decision::text as decision from intents",
      ),
      ledger: await of(
        `org_id, seq, entry, audit_id, intent_id, ledger_leaf(l) as leaf, encode(hash, 'hex') as hash, encode(root, 'hex') as root,
         (select count(*) from audit a where a.org_id = l.org_id and a.entry_seq = l.seq) as records from ledger l`,
        "order by org_id, seq",
      ),
      events: await of("org_id, event_id, intent_id from events"),
      keys: await of(
        "org_id, idempotency_key, intent_id, encode(request_sha256, 'hex') as request_sha256 from idempotency_keys",
      ),
      periods: await of("org_id, used from usage_periods"),
      escalations: new Set(
        (await of<{ escalation_id: string }>("escalation_id from escalations")).map((row) => row.escalation_id),
      ),
    };
  });
}

/** Replays the ledger, which is in commit order. */
function checkOrganization(head: Head, tables: Tables, journal: Journal): void {
  const { org_id } = head;
  const entries = tables.ledger.filter((row) => row.org_id === org_id);
  let epochs: Epochs = { auth: 0, policy: 0, context: 0 };
  let webhooks = 0;
  let seq = 0;
  let root = genesisRoot;
  let hashes: string[] = [];
  const decided = new Set<string>();
  const expectedEvents = new Set<string>();
  entries.forEach((row, index) => {
    seq += row.records;
    demand(row.seq === seq && row.entry === index, `${org_id}: entry ${index} has seq ${row.seq}, not ${seq}`);
    demand(leafHash(row.leaf) === row.hash, `${org_id}: entry ${index} does not have its hash`);
    hashes.push(row.hash);
    if (row.root !== null) {
      root = nextRoot(root, hashes);
      hashes = [];
      demand(row.root === root, `${org_id}: the chain breaks at ${row.seq}`);
    }
    const change = row.audit_id === null ? undefined : journal.headChanges.get(row.audit_id);
    if (change !== undefined) {
      const { raise = [] } = change.changes;
      for (const epoch of ["auth", "policy", "context"] as const) {
        const raised = raise.includes(epoch) || (epoch === "context" && raise.includes("policy"));
        demand(
          raised ? change.epochs[epoch] > epochs[epoch] : change.epochs[epoch] === epochs[epoch],
          `${org_id}: the change of ${row.audit_id} left the epochs ${JSON.stringify(change.epochs)} behind`,
        );
      }
      epochs = change.epochs;
      webhooks += change.changes.webhooks_delta ?? 0;
      return;
    }
    const submission = journal.submissions.get(row.intent_id ?? "");
    demand(submission !== undefined, `${org_id}: nobody wrote entry ${index}`);
    const { epochs: assumed, entry, events } = submission.rows;
    demand(row.hash === entry.hash, `${entry.intent_id}: entry ${index} differs from the submission`);
    demand(!decided.has(entry.intent_id), `${entry.intent_id} is stored twice`);
    decided.add(entry.intent_id);
    demand(
      assumed.auth === epochs.auth && assumed.policy === epochs.policy && assumed.context === epochs.context,
      `${entry.intent_id} was committed under ${JSON.stringify(assumed)}, but the epochs were ${JSON.stringify(epochs)}`,
    );
    if (webhooks > 0) for (const event of events) expectedEvents.add(event.event_id);
  });
  demand(
    seq === head.audit_seq && entries.length === head.entries,
    `${org_id}: ${seq} records, the head says ${head.audit_seq}`,
  );
  demand(root === head.audit_root && hashes.length === 0, `${org_id}: the head's root is not the chain's`);
  demand(
    epochs.auth === head.auth_epoch && epochs.policy === head.policy_epoch && epochs.context === head.context_epoch,
    `${org_id}: an epoch was raised without its audit row`,
  );
  checkTotals(head, tables, decided, expectedEvents);
}

function checkTotals(
  head: Head,
  tables: Tables,
  decided: ReadonlySet<string>,
  expectedEvents: ReadonlySet<string>,
): void {
  const { org_id } = head;
  const intents = tables.intents.filter((row) => row.org_id === org_id);
  demand(
    intents.length === decided.size && intents.every((row) => decided.has(row.intent_id)),
    `${org_id}: ${intents.length} intents, entries for ${decided.size}`,
  );
  const live = intents.filter((row) => row.mode === "live").length;
  const closed = tables.periods.filter((row) => row.org_id === org_id).map((row) => row.used);
  const counted = closed.reduce((sum, used) => sum + used, head.usage_used);
  demand(counted === live, `${org_id}: ${live} live decisions, ${counted} counted`);
  // Limits only rise in this world, so every month must be within the current limit.
  for (const used of [...closed, head.usage_used])
    demand(used <= (head.hard_limit ?? Infinity), `${org_id}: ${used} decisions of ${head.hard_limit}`);
  const events = tables.events.filter((row) => row.org_id === org_id).map((row) => row.event_id);
  demand(
    events.length === expectedEvents.size && events.every((event_id) => expectedEvents.has(event_id)),
    `${org_id}: ${events.length} events, ${expectedEvents.size} expected`,
  );
}

function checkAnswers(tables: Tables, journal: Journal): void {
  const stored = new Map(tables.intents.map((row) => [row.intent_id, row]));
  const keys = new Map(tables.keys.map((row) => [`${row.org_id} ${row.idempotency_key}`, row]));
  for (const [intent_id, { rows, told, poison }] of journal.submissions) {
    const row = stored.get(intent_id);
    const first =
      rows.idempotency === null ? undefined : keys.get(`${rows.org_id} ${rows.idempotency.idempotency_key}`);
    switch (told.outcome) {
      case "committed":
        demand(row !== undefined, `${intent_id} was acknowledged and is lost`);
        break;
      case "waiting":
      case "unknown":
        break;
      case "duplicate":
        demand(
          first?.intent_id === told.intent_id &&
            first.request_sha256 === told.request_sha256 &&
            told.intent_id !== intent_id,
          `${intent_id} was answered with ${told.intent_id}; the first with its key is ${first?.intent_id}`,
        );
        demand(row === undefined, `${intent_id} is a duplicate and is stored`);
        break;
      case "stale":
      case "override_spent":
      case "counted":
      case "quota_exceeded":
      case "refused":
        demand(row === undefined, `${intent_id} was answered ${told.outcome} and is stored`);
        break;
      default:
        told satisfies never;
    }
    if (row === undefined) continue;
    demand(!poison, `${intent_id} is poison and is stored`);
    const { intent, facts, decision } = rows.entry;
    demand(
      row.intent === intent && row.facts === facts && row.decision === decision,
      `${intent_id}: a document changed`,
    );
    demand(
      rows.idempotency === null || first?.intent_id === intent_id,
      `${intent_id} is stored, its key belongs to ${first?.intent_id}`,
    );
    demand(
      rows.escalation === null || tables.escalations.has(rows.escalation.escalation_id),
      `${intent_id}: its escalation is lost`,
    );
  }
}

/** Small, so that figures are behind in most steps. */
const page = { seqs: 3, rows: 3 };

export async function countSome(db: Db, organizations: readonly string[]): Promise<void> {
  for (const org_id of organizations) {
    await db.system((query) => createState(query, org_id));
    await takeStep(db, org_id, page);
  }
}

export async function countAll(db: Db, organizations: readonly string[]): Promise<void> {
  for (const org_id of organizations) {
    await db.system((query) => createState(query, org_id));
    for (let left = true; left; ) {
      const progress = await takeStep(db, org_id, page);
      left = progress === null || isBehind(progress);
    }
  }
}

/** Returns the figures that differ from the decisions up to their seq. */
async function wrongFigures(db: Db, organizations: readonly string[]): Promise<string[]> {
  const rows = await db.system((query) =>
    query<{ org_id: string; mode: string; verdict: string; counted: number; decided: number }>(
      `with counted as (
         select org_id, mode, item as verdict, sum(count)::integer as counted from figures
         where kind = 'verdict' and span = 'hour' and membrane_id = '' group by 1, 2, 3),
       decided as (
         select i.org_id, i.mode, i.verdict, count(*)::integer as decided
         from figures_state s join intents i on i.org_id = s.org_id and i.seq <= s.as_of
         group by 1, 2, 3)
       select org_id, mode, verdict, coalesce(counted, 0) as counted, coalesce(decided, 0) as decided
       from counted full join decided using (org_id, mode, verdict)
       where org_id = any ($1::text[]) and counted is distinct from decided`,
      [organizations],
    ),
  );
  return rows.map(
    ({ org_id, mode, verdict, counted, decided }) =>
      `${org_id}: the figures have ${counted} decisions ${mode} ${verdict}, and there are ${decided}`,
  );
}

function demand(holds: boolean, message: string): asserts holds {
  if (!holds) throw new InvariantBroken(message);
}
