import { limits, type Stream, type StreamInput } from "@countersign/contract";
import { Fault, faultAt, formatTimestampUs } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import type { OnceAnswer } from "../../store/rows/idempotency.ts";
import { countStreams, insertStream, readStream, seqBefore, streamContext } from "../../store/streams/streams.ts";
import { type KnownCaller, refuseEnded } from "../people/caller-ended.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { idempotent } from "../shared/idempotent.ts";
import { storableTime } from "../shared/storable-time.ts";
import { acceptedTarget } from "./stream-target.ts";

/**
 * Creates a stream that begins with an hour. Faults: invalid_request, webhook_url_refused, state_conflict (no directory),
 * already_exists (10 streams), idempotency_conflict, those of refuseEnded.
 */
export async function createStream(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "sealer" | "httpOut" | "streamFiles">,
  caller: KnownCaller & Pick<Caller, "lineage_id" | "user_id">,
  input: StreamInput,
  idempotency_key?: string,
): Promise<OnceAnswer<Stream>> {
  const { org_id, actor } = caller;
  const { name, format, target, from } = input;
  const { settings, secret } = await acceptedTarget(runtime, target, false);
  const stream_id = runtime.ids.next("stream");
  const at = formatTimestampUs(runtime.clock.now_us());
  const secret_sealed = secret == null ? null : runtime.sealer.seal(secret, streamContext(org_id, stream_id));
  const created_by = caller.key_id ?? caller.user_id;
  const work = async (query: Query): Promise<Stream> => {
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      if ((await countStreams(query, org_id)) >= limits.streams_per_organization_max) throw tooMany();
      const seq = await seqBefore(query, org_id, storableTime(from) ?? null);
      const row = { stream_id, name, format, target: target.kind, settings, secret_sealed, active: true };
      await insertStream(query, org_id, { ...row, created_at: at, created_by, seq });
      const data = {
        stream_id,
        name,
        format,
        target: { kind: target.kind, ...settings },
        ...(from === undefined ? {} : { from }),
      };
      return { audit: [auditRow(runtime.ids, { intent_id: null, at, actor, type: "stream_created", data })] };
    });
    return shownStream(query, org_id, stream_id);
  };
  return idempotent(runtime, caller, { operation: "createStream", idempotency_key, request: input }, work);
}

/** Faults: not_found. */
export async function shownStream(query: Query, org_id: string, stream_id: string): Promise<Stream> {
  const stream = await readStream(query, org_id, stream_id);
  if (stream === undefined) throw new Fault("not_found");
  return stream;
}

function tooMany(): Fault {
  const message = `An organization has at most ${limits.streams_per_organization_max} streams; delete one first.`;
  return faultAt("already_exists", "", "out_of_range", message);
}
