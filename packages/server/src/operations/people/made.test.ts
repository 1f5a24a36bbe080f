import { expect, test } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import type { Db } from "../../ports.ts";
import { insertInvitation } from "../../store/people/invitations.ts";
import { insertToken } from "../../store/people/person-tokens.ts";
import { insertWebhook, readWebhooks } from "../../store/webhooks/webhooks.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { plainSettings } from "../../testing/deliveries.ts";
import { testOrganization } from "../../testing/nodes/http-node.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { testPerson } from "../../testing/people/person.ts";
import { insertNewKey } from "../keys/create-key.ts";
import type { Caller } from "../shared/caller.ts";
import { removePerson } from "./people.ts";

const { db } = await testDatabase();
const clock = createClock();
const ids = createIds(clock);
const at = "2026-11-21T03:00:00.000000Z";

async function maker(count: number) {
  const { org_id, key } = await testOrganization(db);
  const { key_id } = await key({ role: "admin" });
  const { user_id } = await testPerson(db, org_id);
  const made: string[] = [];
  await db.system(async (query) => {
    for (let n = 0; n < count; n += 1) {
      const more = { name: null, environment: "live", scope: "org", role: "operator", agent_id: null } as const;
      made.push((await insertNewKey({ ids }, query, { org_id, ...more, created_by: user_id, actor: user_id })).key_id);
      const [id, invitation_id] = [ids.next("webhook"), ids.next("invitation")];
      const hears = { event_types: [], escalation_id: null, active: false, description: "", secret: "***" } as const;
      const url = "https://receiver.example/hook";
      const webhook = {
        organization_id: org_id,
        id,
        url,
        created_at: at,
        created_by: user_id,
        ...hears,
        ...plainSettings,
      };
      await insertWebhook(query, webhook, "sealed", null);
      const email = `${invitation_id}@example.com`;
      const token_sha256 = Buffer.from(invitation_id.padEnd(32).slice(-32)).toString("hex");
      await insertInvitation(query, org_id, { invitation_id, email, name: null, role: "admin", token_sha256 }, user_id);
      await insertToken(query, "invitation", token_sha256, org_id, {});
      made.push(id, invitation_id);
    }
  });
  const caller: Caller = {
    ...{ org_id, key_id, lineage_id: key_id, actor: key_id, user_id: null, session_id: null, auth_epoch: 0 },
    ...{ role: "admin", scope: "org", agent_id: null, bindings: null, environment: "live" },
  };
  return { org_id, caller, user_id, made };
}

function counting() {
  let statements = 0;
  const counted: Db = {
    ...db,
    system: (work) =>
      db.system((query) =>
        work(async (text, params) => {
          statements += 1;
          return query(text, params);
        }),
      ),
  };
  return { db: counted, statements: () => statements };
}

test.each(["keep", "revoke"] as const)(
  "uses as many statements to %s many things as for one of each kind",
  async (choice) => {
    const statementsFor = async (count: number) => {
      const { org_id, caller, user_id, made } = await maker(count);
      const { db: counted, statements } = counting();
      const choices = Object.fromEntries(made.map((id) => [id, choice]));
      await removePerson({ db: counted, clock, ids, log: silentLog }, caller, user_id, choices);
      const told = await db.query<{ type: string; n: number }>(
        "select type, count(*)::int as n from audit where org_id = $1 and type ~ 'revoked|deleted' group by type order by type",
        [org_id],
      );
      const types = choice === "keep" ? [] : ["invitation_revoked", "key_revoked", "webhook_deleted"];
      expect(told).toEqual(types.map((type) => ({ type, n: count })));
      const webhooks = await db.tenant(org_id, (query) => readWebhooks(query, org_id, 100, null));
      expect(webhooks).toHaveLength(choice === "keep" ? count : 0);
      return statements();
    };
    expect(await statementsFor(20)).toBe(await statementsFor(1));
  },
);
