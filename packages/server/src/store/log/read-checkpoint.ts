import type { TreeHead } from "@countersign/core";
import type { Query } from "../../ports.ts";

/** `note`: signed by the log, without cosignatures. `signed_at`: RFC 3339 UTC. */
export interface SignedCheckpoint extends TreeHead {
  readonly origin: string;
  readonly note: string;
  readonly signed_at: string;
}

/** Returns the newest checkpoint. Null: the organization is so new that none is signed yet. */
export async function readCheckpoint(query: Query, org_id: string): Promise<SignedCheckpoint | null> {
  const [row] = await query<SignedCheckpoint>(
    "select origin, size, root, note, signed_at from logs where org_id = $1",
    [org_id],
  );
  return row ?? null;
}
