/**
 * Keeps the figures of all organizations: counts the decisions that were made since. It works in turns, one page of one organization
 * after the other, so an organization with a long history does not delay the others. Source: docs/decisions/0032.
 */
import type { Db } from "../../ports.ts";
import {
  createState,
  entriesBehind,
  isBehind,
  type PageSize,
  readProgressPage,
  takeStep,
} from "../../store/figures/reconcile.ts";
import type { FiguresKeeper } from "../shared/node-services.ts";

/** One page: 0.1 to 0.2 s of the database's time at most. */
export const largestPage: PageSize = { seqs: 20_000, rows: 5_000 };
/**
 * An organization gets its turn after this many decisions, else with all others every 30 passes. One page costs the database 1 ms
 * even for a single decision, and readers count the newest decisions themselves.
 */
const busy_entries = 1_000;
const passes_of_a_round = 30;
/** Work of one pass: entries that are counted, and what a turn costs besides, in the same unit. */
const work_max = 200_000;
const turn_work = 200;
/** Organizations that one pass looks up, and the passes between the end of the list and its next beginning. */
const looked_up_max = 500;
const resting_passes = 120;

/** Creates the keeper of one node. */
export function createFiguresKeeper(
  db: Pick<Db, "queued" | "system" | "tenant">,
  page: PageSize = largestPage,
): FiguresKeeper {
  /** Organizations with work, and how many entries each is behind, as far as this node knows. */
  const behind = new Map<string, number>();
  let after = "";
  let resting = 0;
  let passes = 0;

  /** Finds the organizations of which nobody told this node: those of a node that died, and after an upgrade all of them. */
  async function lookUp(): Promise<void> {
    resting -= 1;
    if (resting > 0) return;
    const found = await db.system((query) => readProgressPage(query, after, looked_up_max));
    for (const each of found) if (isBehind(each)) behind.set(each.org_id, entriesBehind(each));
    after = found.at(-1)?.org_id ?? "";
    if (found.length < looked_up_max) [after, resting] = ["", resting_passes];
  }

  /** Returns whether another turn must follow in this pass. */
  async function takeTurn(org_id: string): Promise<boolean> {
    const known = behind.get(org_id) ?? 0;
    // A decision from here on puts the organization back by itself.
    behind.delete(org_id);
    const keep = (entries: number) => behind.set(org_id, Math.max(entries, behind.get(org_id) ?? 0));
    try {
      const progress = await takeStep(db, org_id, page);
      if (progress === null) {
        keep(known);
        // No state yet; or another node works on this organization, and the next pass looks again.
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
 * Counts one page of an organization's newest decisions now, for a reader who expects to see them. Does nothing while another node counts
 * for this organization.
 */
export async function countNewest(db: Pick<Db, "queued" | "tenant">, org_id: string): Promise<void> {
  if ((await takeStep(db, org_id, largestPage)) !== null) return;
  if (await db.tenant(org_id, (query) => createState(query, org_id))) await takeStep(db, org_id, largestPage);
}
