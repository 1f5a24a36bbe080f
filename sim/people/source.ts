/** The context source, which either node registers, replaces or removes. It answers well, slowly or with nonsense. */

import {
  registerContextSource,
  removeContextSource,
} from "../../packages/server/src/operations/context/context-source.ts";
import type { Runtime } from "../../packages/server/src/operations/runtime.ts";
import type { Caller } from "../../packages/server/src/operations/shared/caller.ts";
import type { Answered, Db, HttpOut } from "../../packages/server/src/ports.ts";
import { InvariantBroken } from "../invariants.ts";
import type { Random } from "../random.ts";

export interface SimSource {
  readonly httpOut: HttpOut;
  /** `submit` races a change on the other node. Returns the outcome. */
  act(told: Told, runtime: Runtime, caller: Caller, submit: () => Promise<string>): Promise<string>;
  /** Throws InvariantBroken if this intent's facts come from an inactive registration. */
  demandCurrent(db: Db, org_id: string, intent_id: string): Promise<void>;
}

type Told = (work: () => Promise<string>) => Promise<string>;

const moods = ["well", "well", "slow", "down", "odd"] as const;

export function createSource(random: Random): SimSource {
  let mood: (typeof moods)[number] = "well";
  let registrations = 0;
  /** Registrations that may be active: several during a change or after a crash. Null: none. */
  let current = new Set<number | null>([null]);

  function answer(url: string): Answered {
    const n = Number(new URL(url).pathname.slice(1));
    if (mood === "slow") return { failed: "timeout", text: "slow" };
    if (mood === "down") return { failed: "unreachable", text: "down" };
    const facts = { security: { siem_ref: String(n) } };
    const text = mood === "odd" ? "{" : JSON.stringify({ contract_version: "1", facts });
    return { status: 200, body: Buffer.from(text), cache_control: null };
  }

  /** Before the acknowledgement either one may be active; afterwards only the new one. */
  async function change(told: Told, to: number | null, work: () => Promise<void>, race?: () => Promise<string>) {
    const before = current;
    current = new Set([...before, to]);
    const [outcome, raced] = await Promise.all([
      told(async () => {
        await work();
        return "done";
      }),
      race?.() ?? "",
    ]);
    if (outcome === "done") current = new Set([to]);
    else if (outcome !== "crashed") current = before;
    return `${outcome} ${raced}`.trim();
  }

  return {
    httpOut: {
      check: async (href) => ({ href }),
      post: async () => ({ response_status: null, error: "not simulated", duration_ms: 0 }),
      ask: async (url) => answer(url),
    },

    async act(told, runtime, caller, submit) {
      const draw = random.below(10);
      if (draw < 4) {
        mood = random.pick(moods);
        return `the source is ${mood}`;
      }
      if (draw < 6) return `no source: ${await change(told, null, () => removeContextSource(runtime, caller))}`;
      registrations += 1;
      const n = registrations;
      const input = { url: `https://source.test/${n}` };
      const register = async () => void (await registerContextSource(runtime, caller, input));
      return `source: ${await change(told, n, register, draw === 9 ? submit : undefined)}`;
    },

    async demandCurrent(db, org_id, intent_id) {
      const sql = "select facts from intents where org_id = $1 and intent_id = $2";
      const [row] = await db.tenant(org_id, (query) =>
        query<{ facts: { not_pulled?: string; security?: { values: { siem_ref?: string } } } }>(sql, [
          org_id,
          intent_id,
        ]),
      );
      const said = row?.facts.security?.values.siem_ref;
      if (said !== undefined) {
        if (!current.has(Number(said))) throw new InvariantBroken("a decision rests on a source that was replaced");
      } else if (row?.facts.not_pulled !== undefined) {
        if ([...current].every((each) => each === null)) throw new InvariantBroken("a removed source was queried");
      } else if (!current.has(null)) throw new InvariantBroken("a decision does not say that its facts are missing");
    },
  };
}
