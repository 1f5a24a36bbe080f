import { Fault, formatTimestampUs } from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { deleteStream as deleteRows, readStoredStream } from "../../store/streams/streams.ts";
import { type KnownCaller, refuseEnded } from "../people/caller-ended.ts";
import type { Recording } from "../runtime.ts";

/** Deletes a stream. At most the object that a node is writing still reaches the store. Faults: not_found, those of refuseEnded. */
export async function deleteStream(runtime: Recording, caller: KnownCaller, stream_id: string): Promise<void> {
  const { org_id, actor } = caller;
  const at = formatTimestampUs(runtime.clock.now_us());
  await runtime.db.tenant(org_id, (query) =>
    withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      const stream = await readStoredStream(query, org_id, stream_id, "for update");
      if (stream === undefined || !(await deleteRows(query, org_id, stream_id))) throw new Fault("not_found");
      const data = { stream_id, name: stream.name };
      return { audit: [auditRow(runtime.ids, { intent_id: null, at, actor, type: "stream_deleted", data })] };
    }),
  );
}
