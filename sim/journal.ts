import type { CommitOutcome, DecisionRows } from "../packages/server/src/store/commit/commit-writer.ts";
import type { Epochs } from "../packages/server/src/store/organizations/epochs.ts";
import type { HeadChanges } from "../packages/server/src/store/organizations/heads.ts";

/** `unknown`: a Fault `unavailable`, or a dead process. */
type Told = CommitOutcome | { readonly outcome: "waiting" | "unknown" | "refused" };

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
  readonly epochs: Epochs;
}

export interface Journal {
  readonly organizations: string[];
  /** By intent_id. */
  readonly submissions: Map<string, Submission>;
  /** By audit_id. */
  readonly headChanges: Map<string, HeadChange>;
  /** Epochs raised by committed changes. */
  readonly epochs: Map<string, Epochs>;
  readonly broken: string[];
  readonly trace: string[];
}
