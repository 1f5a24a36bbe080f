import { createStreamWriter, type StreamWriting } from "../operations/streams/write-streams.ts";
import type { Timers } from "../ports.ts";
import { type Loop, startPasses } from "./passes.ts";

const pass_every_ms = 2_000;

export function startStreams(runtime: StreamWriting & { readonly timers: Timers }): Loop {
  const stopping = new AbortController();
  const writer = createStreamWriter(runtime, stopping.signal);
  const loop = startPasses(runtime, pass_every_ms, "looking for streams to write failed", () => writer.pass());
  return {
    async stop() {
      stopping.abort();
      await loop.stop();
      await writer.idle();
    },
  };
}
