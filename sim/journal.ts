/** The world's actions and the answers it got, for comparison with the database. */

import type { CommitOutcome, DecisionRows } from "../packages/server/src/store/commit/commit-writer.ts";
import type { Epochs } from "../packages/server/src/store/organizations/epochs.ts";
import type { HeadChanges } from "../packages/server/src/store/organizations/heads.ts";

/** A caller's answer. `unknown`: a Fault `unavailable`, or a dead process. */
type Told = CommitOutcome | { readonly outcome: "waiting" | "unknown" | "refused" };

/** One row set given to a writer. */
export interface Submission {
  readonly rows: DecisionRows;
  /** No database accepts it. */
  readonly poison: boolean;
  told: Told;
}

/** One transaction through `withHead`, identified by its audit row. */
interface HeadChange {
  readonly org_id: string;
  readonly audit_id: string;
  readonly changes: HeadChanges;
  /** Epochs of the head after the change. */
  readonly epochs: Epochs;
}

/** Everything that happened in one run. */
export interface Journal {
  readonly organizations: string[];
  /** By intent_id. */
  readonly submissions: Map<string, Submission>;
  /** By audit_id. */
  readonly headChanges: Map<string, HeadChange>;
  /** Epochs raised by committed changes. */
  readonly epochs: Map<string, Epochs>;
  /** Answers that were wrong when they were given. */
  readonly broken: string[];
  /** Steps, to explain a failure. */
  readonly trace: string[];
}
