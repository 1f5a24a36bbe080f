import type { Stream, StreamChange } from "@countersign/contract";
import { Fault, faultAt, formatTimestampUs } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import {
  readStoredStream,
  type StoredStream,
  seqBefore,
  streamContext,
  updateStream,
} from "../../store/streams/streams.ts";
import { type KnownCaller, refuseEnded } from "../people/caller-ended.ts";
import type { Runtime } from "../runtime.ts";
import { storableTime } from "../shared/storable-time.ts";
import { shownStream } from "./create-stream.ts";
import { type AcceptedTarget, acceptedTarget } from "./stream-target.ts";

/**
 * Replaces the given settings. A node that writes the stream stores nothing more under the earlier ones. Faults:
 * not_found, invalid_request, webhook_url_refused, state_conflict (another kind, or `from` is later than the
 * position), those of refuseEnded.
 */
export async function changeStream(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "sealer" | "httpOut" | "streamFiles">,
  caller: KnownCaller,
  stream_id: string,
  change: StreamChange,
): Promise<Stream> {
  const { org_id, actor } = caller;
  const target = change.target === undefined ? undefined : await acceptedTarget(runtime, change.target, true);
  const at = formatTimestampUs(runtime.clock.now_us());
  return runtime.db.tenant(org_id, async (query) => {
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      const before = await readStoredStream(query, org_id, stream_id, "for update");
      if (before === undefined) throw new Fault("not_found");
      if (change.target !== undefined && change.target.kind !== before.target) throw otherKind(before);
      const seq = change.from === undefined ? before.seq : await setBack(query, org_id, before, change.from);
      const after = { ...before, ...changed(change), ...targetOf(runtime, org_id, before, target), seq };
      await updateStream(query, org_id, after, change.from !== undefined);
      const data = {
        stream_id,
        ...changed(change),
        ...auditedTarget(change, target),
        ...(change.from === undefined ? {} : { from: change.from }),
      };
      return { audit: [auditRow(runtime.ids, { intent_id: null, at, actor, type: "stream_changed", data })] };
    });
    return shownStream(query, org_id, stream_id);
  });
}

function changed({ name, active }: StreamChange): Partial<Pick<StoredStream, "name" | "active">> {
  return { ...(name === undefined ? {} : { name }), ...(active === undefined ? {} : { active }) };
}

function targetOf(
  { sealer }: Pick<Runtime, "sealer">,
  org_id: string,
  { stream_id, secret_sealed }: StoredStream,
  target: AcceptedTarget | undefined,
): Partial<Pick<StoredStream, "settings" | "secret_sealed">> {
  if (target === undefined) return {};
  const { settings, secret } = target;
  const sealed = secret == null ? secret_sealed : sealer.seal(secret, streamContext(org_id, stream_id));
  return { settings, secret_sealed: sealed };
}

/** Of the secret only whether it is new. */
function auditedTarget({ target: given }: StreamChange, target: AcceptedTarget | undefined): object {
  if (given === undefined || target === undefined) return {};
  const new_secret = target.secret == null ? {} : { new_secret: true };
  return { target: { kind: given.kind, ...target.settings }, ...new_secret };
}

async function setBack(query: Query, org_id: string, { seq }: StoredStream, from: string): Promise<number> {
  const wanted = await seqBefore(query, org_id, storableTime(from) ?? null);
  if (wanted <= seq) return wanted;
  throw faultAt(
    "state_conflict",
    "/from",
    "out_of_range",
    "The stream has not come so far. Give a time before written_to, because a stream skips nothing.",
  );
}

function otherKind({ target }: StoredStream): Fault {
  return faultAt(
    "state_conflict",
    "/target/kind",
    "not_allowed",
    `A stream keeps the kind of its target, which is ${target}. Create another stream.`,
  );
}
