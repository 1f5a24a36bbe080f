import type { Stream } from "@countersign/contract";
import { readStreams } from "../../store/streams/streams.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { shownStream } from "./create-stream.ts";

export function listStreams({ db }: Pick<Runtime, "db">, { org_id }: Pick<Caller, "org_id">): Promise<Stream[]> {
  return db.tenant(org_id, (query) => readStreams(query, org_id));
}

/** Faults: not_found. */
export function getStream(
  { db }: Pick<Runtime, "db">,
  { org_id }: Pick<Caller, "org_id">,
  stream_id: string,
): Promise<Stream> {
  return db.tenant(org_id, (query) => shownStream(query, org_id, stream_id));
}
