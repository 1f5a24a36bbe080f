/** What the world did and was told: the truth that the database is compared with. */

import type { CommitOutcome, DecisionRows } from "../packages/server/src/store/commit/commit-writer.ts";
import type { Epochs } from "../packages/server/src/store/organizations/epochs.ts";
import type { HeadChanges } from "../packages/server/src/store/organizations/heads.ts";

/** What a caller was told. `unknown`: the promise of a Fault `unavailable`, or of a process that died. */
type Told = CommitOutcome | { readonly outcome: "waiting" | "unknown" | "refused" };

/** One row set that was given to a writer. */
export interface Submission {
  readonly rows: DecisionRows;
  /** No database takes it. */
  readonly poison: boolean;
  told: Told;
}

/** One transaction through `withHead`, known by its audit row. */
interface HeadChange {
  readonly org_id: string;
  readonly audit_id: string;
  readonly changes: HeadChanges;
  /** Of the head after it. */
  readonly epochs: Epochs;
}

/** Everything that happened in one run. */
export interface Journal {
  readonly organizations: string[];
  /** By intent_id. */
  readonly submissions: Map<string, Submission>;
  /** By audit_id. */
  readonly headChanges: Map<string, HeadChange>;
  /** What was raised by committed changes. */
  readonly epochs: Map<string, Epochs>;
  /** Answers that were wrong at the moment they were given. */
  readonly broken: string[];
  /** For whoever has to understand a failure. */
  readonly trace: string[];
}
