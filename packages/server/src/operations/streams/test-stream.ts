import type { StreamTest } from "@countersign/contract";
import { Fault, formatTimestampUs } from "@countersign/core";
import { readStoredStream } from "../../store/streams/streams.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { objectName, objectWriter, type TargetRuntime } from "./stream-target.ts";

const test_object = "countersign-test.json";

/** Writes a small object to the store of a stream, which may be stopped. Faults: not_found. */
export async function testStream(
  runtime: TargetRuntime & Pick<Runtime, "db">,
  { org_id }: Pick<Caller, "org_id">,
  stream_id: string,
): Promise<StreamTest> {
  const stream = await runtime.db.tenant(org_id, (query) => readStoredStream(query, org_id, stream_id));
  if (stream === undefined) throw new Fault("not_found");
  const at = formatTimestampUs(runtime.clock.now_us());
  const text = `${JSON.stringify({ message: "This is a test.", stream_id, at })}\n`;
  const problem = await objectWriter(runtime, org_id, stream)(test_object, Buffer.from(text, "utf8"));
  return { object: objectName(org_id, stream, test_object), written: problem === null, problem };
}
