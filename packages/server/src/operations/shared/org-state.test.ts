import type { PolicyDocument } from "@countersign/core";
import { expect, test } from "vitest";
import type { Db } from "../../ports.ts";
import { writeStoredContext } from "../../store/context/stored-context.ts";
import { CommitLost } from "../../store/database/connection.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { insertPolicy, insertPolicyVersion } from "../../store/policies/policies.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { testOrganization } from "../../testing/nodes/http-node.ts";
import { createOrgStates } from "./org-state.ts";

const { db } = await testDatabase();

function telling(told: (text: string) => void): Db {
  return {
    ...db,
    tenant: (org_id, work) =>
      db.tenant(org_id, (query) =>
        work(async (text, params) => {
          told(text);
          return query(text, params);
        }),
      ),
  };
}

const isOfDocuments = (text: string) => text.includes("octet_length(document::text)");

test("documents of all organizations are kept up to a number of bytes, and read again after eviction", async () => {
  let reads = 0;
  const counting = telling((text) => {
    if (isOfDocuments(text)) reads += 1;
  });
  const states = createOrgStates(counting, () => ({}) as never);
  const filler = "x".repeat(1_000_000);
  const targets = async (count: number) => {
    const { org_id } = await testOrganization(db);
    const subjects = Array.from(
      { length: count },
      (_, n) => ({ scope: "target", type: "t", identifier: `${n}` }) as const,
    );
    await db.tenant(org_id, async (query) => {
      for (const subject of subjects) {
        const document = { contract_version: "1", facts: { security: { filler } } } as never;
        await writeStoredContext(query, org_id, subject, document, new Date().toISOString(), null);
      }
    });
    const state = await states.get(org_id);
    return async () => {
      for (const subject of subjects) expect(await state.storedContext([subject])).toHaveLength(1);
    };
  };
  const few = await targets(5);
  await few();
  expect(reads).toBe(5);
  await few();
  expect(reads).toBe(5);
  const many = await targets(40);
  await many();
  await few();
  expect(reads).toBe(5 + 40 + 5);
});

test("membranes and policies are kept up to a number of bytes, and a single larger organization is kept too", async () => {
  let reads: string[] = [];
  const counting: Db = {
    ...db,
    tenant: (org_id, work) => {
      reads.push(org_id);
      return db.tenant(org_id, work);
    },
  };
  const set = { live: { placed: Array(30) }, shadow: { placed: [] } };
  const states = createOrgStates(counting, async () => set as never, 100_000);
  const entry = { type: "communication.email", data_classes: Array(9).fill("c".repeat(100)) };
  const organization = async (entries: number) => {
    const { org_id } = await testOrganization(db);
    const catalogue = Array.from({ length: entries }, (_, n) => ({ verb: `verb-${n}`, ...entry }));
    await db.query("update membranes set action_catalogue = $2::json where org_id = $1", [
      org_id,
      JSON.stringify(catalogue),
    ]);
    return org_id;
  };
  const readAgain = async (...orgs: readonly string[]) => {
    reads = [];
    for (const org_id of orgs) await states.get(org_id);
    return reads.map((org_id) => orgs.indexOf(org_id));
  };
  const small = await organization(1);
  const others = [await organization(30), await organization(30)] as const;
  expect(await readAgain(small, ...others)).toEqual([0, 1, 2]);
  expect(await readAgain(small, ...others)).toEqual([]);
  const huge = await organization(500);
  expect(await readAgain(huge)).toEqual([0]);
  expect(await readAgain(huge, others[1])).toEqual([]);
  expect(await readAgain(others[0])).toEqual([0]);
  const owners = [await organization(1), await organization(1), await organization(1)] as const;
  expect(await readAgain(...owners)).toEqual([0, 1, 2]);
  expect(await readAgain(...owners)).toEqual([]);
  for (const org_id of owners) await putPolicyInForce(org_id);
  for (const org_id of owners) states.forget(org_id, await states.get(org_id));
  expect(await readAgain(...owners)).toEqual([0, 1, 2]);
  expect(await readAgain(owners[2], owners[1], owners[0])).toEqual([2]);
});

async function putPolicyInForce(org_id: string): Promise<void> {
  const at = "2026-11-01T00:00:00Z";
  const document: PolicyDocument = {
    apiVersion: "countersign/v1",
    kind: "Policy",
    metadata: { name: "p" },
    spec: { when: "true", effect: "block" },
  };
  const policy = { policy_id: "pol_1", version: 1, sha256: "0".repeat(64), document, created_at: at };
  const named = { name: "p", title: null, status: "live", active_version: 1, updated_at: at } as const;
  await db.tenant(org_id, async (query) => {
    await insertPolicy(query, org_id, { ...policy, ...named });
    await insertPolicyVersion(query, org_id, { ...policy, created_by: "test" });
    await withHead(query, org_id, { raise: ["policy"], audit: [] });
  });
}

test("after a push of facts one statement makes a state with the cached rules; after a change of rules they are read again", async () => {
  let statements = 0;
  const counting = telling(() => {
    statements += 1;
  });
  let compiled = 0;
  const states = createOrgStates(counting, async () => {
    compiled += 1;
    return { compiled } as never;
  });
  const { org_id } = await testOrganization(db);
  const set = async () => (await states.get(org_id)).membrane(undefined)?.policySet;
  const after = async (raise: "context" | "policy") => {
    const state = await states.get(org_id);
    await db.tenant(org_id, (query) => withHead(query, org_id, { raise: [raise], audit: [] }));
    states.forget(org_id, state);
    statements = 0;
    return set();
  };
  expect(await set()).toEqual({ compiled: 1 });
  expect(await after("context")).toEqual({ compiled: 1 });
  expect(statements).toBe(1);
  expect(await after("policy")).toEqual({ compiled: 2 });
  expect(statements).toBeGreaterThan(1);
  expect(await after("context")).toEqual({ compiled: 2 });
});

test("a read whose session is lost at its commit is repeated once, unless the commit got no answer", async () => {
  const { org_id } = await testOrganization(db);
  const org = { scope: "org" } as const;
  const document = { contract_version: "1", facts: {} } as const;
  await db.tenant(org_id, (query) => writeStoredContext(query, org_id, org, document, new Date().toISOString(), null));
  let losses: Error[] = [];
  const losing: Db = {
    ...db,
    async tenant(of, work) {
      const answer = await db.tenant(of, work);
      const loss = losses.shift();
      if (loss !== undefined) throw new CommitLost("lost", { cause: loss });
      return answer;
    },
  };
  const states = createOrgStates(losing, () => ({}) as never);
  const reset = new Error("Connection terminated unexpectedly");
  losses = [reset];
  const decisions = await Promise.all(Array.from({ length: 10 }, () => states.get(org_id)));
  const [state] = decisions as [(typeof decisions)[number]];
  losses = [reset];
  expect(await Promise.all(decisions.map((each) => each.storedContext([org])))).toHaveLength(10);
  losses = [reset];
  expect(await states.isOutdated(org_id, state)).toBe(false);
  states.forget(org_id, state);
  losses = [new Error("Query read timeout"), reset];
  await expect(states.get(org_id)).rejects.toThrow(CommitLost);
  expect(losses).toEqual([reset]);
});

test("concurrent readers of a document share the read and its failure; the next reader reads again", async () => {
  let reads = 0;
  let broken = false;
  const counting = telling((text) => {
    if (!isOfDocuments(text)) return;
    reads += 1;
    if (broken) throw new Error("lost");
  });
  const { org_id } = await testOrganization(db);
  const org = { scope: "org" } as const;
  const agent = { scope: "agent", agent_id: "agent-1" } as const;
  await db.tenant(org_id, async (query) => {
    for (const subject of [org, agent])
      await writeStoredContext(
        query,
        org_id,
        subject,
        { contract_version: "1", facts: {} },
        new Date().toISOString(),
        null,
      );
  });
  const state = await createOrgStates(counting, () => ({}) as never).get(org_id);
  const many = () => Array.from({ length: 100 }, () => state.storedContext([org]));
  broken = true;
  const failed = await Promise.allSettled(many());
  expect(new Set(failed.map(({ status }) => status))).toEqual(new Set(["rejected"]));
  expect(reads).toBe(1);
  broken = false;
  const both = [state.storedContext([org]), state.storedContext([org, agent])];
  const scopes = (await Promise.all([...many(), ...both])).map((found) => found.map(({ scope }) => scope));
  expect(scopes).toEqual([...Array.from({ length: 101 }, () => ["org"]), ["org", "agent"]]);
  expect(reads).toBe(3);
  expect(await state.storedContext([agent])).toHaveLength(1);
  expect(reads).toBe(3);
});
