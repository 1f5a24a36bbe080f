import type { Db, Timers } from "../../ports.ts";
import {
  beginRebuild,
  type FiguresProgress,
  type ListedProgress,
  type PageSize,
  readProgressPage,
  takeStep,
} from "../../store/figures/reconcile.ts";
import { largestPage } from "./keep-figures.ts";

export interface Rebuilt {
  readonly continued: boolean;
  readonly as_of: number;
}

const busy_wait_ms = 100;

/**
 * Deletes an organization's figures and counts again while the service may run. An interrupted rebuild resumes. `told`
 * receives the progress after each step.
 */
export async function rebuildFigures(
  { db, timers }: { readonly db: Pick<Db, "queued" | "system" | "tenant">; readonly timers: Timers },
  org_id: string,
  told: (progress: FiguresProgress) => void,
  page: PageSize = largestPage,
): Promise<Rebuilt> {
  const begun = await db.system((query) => beginRebuild(query, org_id));
  for (;;) {
    const progress = await takeStep(db, org_id, page);
    if (progress === null) await new Promise<void>((resolve) => void timers.after(busy_wait_ms, resolve));
    else {
      told(progress);
      if (progress.rebuild_to === null) return { continued: !begun, as_of: progress.as_of };
    }
  }
}

const page_organizations = 500;

export async function listProgress(db: Pick<Db, "system">): Promise<ListedProgress[]> {
  const all: ListedProgress[] = [];
  for (let after = ""; ; after = all.at(-1)?.org_id ?? "") {
    const page = await db.system((query) => readProgressPage(query, after, page_organizations));
    all.push(...page);
    if (page.length < page_organizations) return all;
  }
}
