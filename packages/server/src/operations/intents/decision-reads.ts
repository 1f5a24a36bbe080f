/**
 * Reads decisions for many requests with few statements. With one transaction each, 2,244 of 8,000 waiting requests got
 * a 503.
 */

import { setImmediate } from "node:timers/promises";
import { Fault } from "@countersign/core";
import type { Db, Timers } from "../../ports.ts";
import { readDecisions, type StoredDecision } from "../../store/intents/intents.ts";
import type { DecisionReads } from "../shared/node-services.ts";
import { readAgain } from "../shared/read-again.ts";

/** Concurrent statements per organization. Further requests share the next ones. */
const statements_max = 2;
/** A decision can have 2 MiB. */
const decisions_per_statement = 16;

/** Answers per turn of the event loop. 8,000 at once delayed other decisions by 3 s. */
const answers_per_turn = 32;

/** How long an intent waits for a statement. 8,000 intents need 1.4 s. */
const patience_ms = 10_000;

interface Asking {
  readonly resolve: (decision: StoredDecision | undefined) => void;
  readonly reject: (error: unknown) => void;
}

interface Asked {
  readonly askings: Asking[];
  readonly taken: () => void;
}

interface Organization {
  under_way: number;
  readonly asked: Map<string, Asked>;
}

export function createDecisionReads(db: Pick<Db, "tenant">, timers: Timers): DecisionReads {
  const organizations = new Map<string, Organization>();

  async function readSome(org_id: string, some: ReadonlyMap<string, readonly Asking[]>): Promise<void> {
    let answer: (asking: Asking, intent_id: string) => void;
    try {
      const rows = await readAgain(db, org_id, (query) => readDecisions(query, org_id, [...some.keys()]));
      const found = new Map(rows.map((row) => [row.intent_id, row]));
      answer = ({ resolve }, intent_id) => resolve(found.get(intent_id));
    } catch (error) {
      answer = ({ reject }) => reject(error);
    }
    let answered = 0;
    for (const [intent_id, asking] of some) {
      for (const each of asking) {
        answer(each, intent_id);
        answered += 1;
        if (answered % answers_per_turn === 0) await setImmediate();
      }
    }
  }

  function readNext(org_id: string, organization: Organization): void {
    const { asked } = organization;
    while (asked.size > 0 && organization.under_way < statements_max) {
      const some = new Map<string, readonly Asking[]>();
      for (const [intent_id, { askings, taken }] of asked) {
        if (some.size === decisions_per_statement) break;
        taken();
        some.set(intent_id, askings);
        asked.delete(intent_id);
      }
      organization.under_way += 1;
      void readSome(org_id, some).then(() => {
        organization.under_way -= 1;
        readNext(org_id, organization);
      });
    }
    if (organization.under_way === 0) organizations.delete(org_id);
  }

  function ask(asked: Organization["asked"], intent_id: string): Asked {
    const askings: Asking[] = [];
    const taken = timers.after(patience_ms, () => {
      asked.delete(intent_id);
      for (const { reject } of askings) reject(new Fault("unavailable", { internal: "reads of decisions hang" }));
    });
    const first = { askings, taken };
    asked.set(intent_id, first);
    return first;
  }

  return {
    read(org_id, intent_id) {
      const organization = organizations.get(org_id) ?? { under_way: 0, asked: new Map<string, Asked>() };
      organizations.set(org_id, organization);
      return new Promise((resolve, reject) => {
        const { askings } = organization.asked.get(intent_id) ?? ask(organization.asked, intent_id);
        askings.push({ resolve, reject });
        readNext(org_id, organization);
      });
    },
  };
}
