/**
 * Counts new decisions of all organizations, one page per organization in turn, so that a long history does not delay
 * others. See docs/decisions/0032.
 */
import type { Db } from "../../ports.ts";
import {
  createState,
  entriesBehind,
  isBehind,
  type PageSize,
  readProgressPage,
  takeStep,
  takeStepInTurn,
} from "../../store/figures/reconcile.ts";
import type { FiguresKeeper } from "../shared/node-services.ts";

export const largestPage: PageSize = { seqs: 20_000, rows: 5_000 };
/**
 * Decisions that give an organization a turn; others get one every 30 passes. A page costs 1 ms even for one decision,
 * and readers count the newest themselves.
 */
const busy_entries = 1_000;
const passes_of_a_round = 30;
const work_max = 200_000;
const turn_work = 200;
const looked_up_max = 500;
const resting_passes = 120;

export function createFiguresKeeper(
  db: Pick<Db, "queued" | "system" | "tenant">,
  page: PageSize = largestPage,
): FiguresKeeper {
  /** Organizations with work, and the known number of entries that are not counted yet. */
  const behind = new Map<string, number>();
  let after = "";
  let resting = 0;
  let passes = 0;

  /** Finds organizations unknown to this node, such as those of a dead node, and all after an upgrade. */
  async function lookUp(): Promise<void> {
    resting -= 1;
    if (resting > 0) return;
    const found = await db.system((query) => readProgressPage(query, after, looked_up_max));
    for (const each of found) if (isBehind(each)) behind.set(each.org_id, entriesBehind(each));
    after = found.at(-1)?.org_id ?? "";
    if (found.length < looked_up_max) [after, resting] = ["", resting_passes];
  }

  async function takeTurn(org_id: string): Promise<boolean> {
    const known = behind.get(org_id) ?? 0;
    // Later decisions add the organization again.
    behind.delete(org_id);
    const keep = (entries: number) => behind.set(org_id, Math.max(entries, behind.get(org_id) ?? 0));
    try {
      const progress = await takeStep(db, org_id, page);
      if (progress === null) {
        keep(known);
        return await db.system((query) => createState(query, org_id));
      }
      if (isBehind(progress)) keep(entriesBehind(progress));
      return isBehind(progress);
    } catch (error) {
      keep(known);
      throw error;
    }
  }

  return {
    decided: (org_id) => void behind.set(org_id, (behind.get(org_id) ?? 0) + 1),
    behind: () => [...behind.values()].reduce((sum, entries) => sum + entries, 0),
    async pass(stopped) {
      await lookUp();
      const all = passes % passes_of_a_round === 0;
      passes += 1;
      const turns = [...behind].flatMap(([org_id, entries]) => (all || entries >= busy_entries ? [org_id] : []));
      for (let work = 0; work < work_max && !stopped(); ) {
        const next = turns.shift();
        if (next === undefined) return;
        work += turn_work + Math.min(behind.get(next) ?? 0, page.seqs);
        if (await takeTurn(next)) turns.push(next);
      }
    },
  };
}

/**
 * Counts one page of an organization's newest decisions now. Waits for another count, because a reader that went on would
 * miss what that one is about to store.
 */
export async function countNewest(db: Pick<Db, "queued" | "tenant">, org_id: string): Promise<void> {
  if ((await takeStep(db, org_id, largestPage)) === null) await takeStepInTurn(db, org_id, largestPage);
}
