/** Server-Sent Events (SSE), in the part that the Model Context Protocol uses. */
import { StringDecoder } from "node:string_decoder";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { LineTooLong } from "../protocol/json-lines.ts";

/** Yields the events of a stream. Throws `LineTooLong` if one is longer than `chars_max`. */
export async function* eventsIn(
  stream: AsyncIterable<Buffer>,
  chars_max: number,
  onRetry: (wait_ms: number) => void,
): AsyncGenerator<EventSourceMessage> {
  const decoder = new StringDecoder("utf8");
  let heard: EventSourceMessage[] = [];
  let is_too_long = false;
  const parser = createParser({
    maxBufferSize: chars_max,
    onRetry,
    onEvent: (event) => void heard.push(event),
    onError: ({ type }) => {
      is_too_long ||= type === "max-buffer-size-exceeded";
    },
  });
  for await (const chunk of stream) {
    parser.feed(decoder.write(chunk));
    const complete = heard;
    heard = [];
    yield* complete;
    if (is_too_long) throw new LineTooLong(chars_max);
  }
}

/** `data` must be one line. */
export const eventText = (id: string | null, data: string): string =>
  `${id === null ? "" : `id: ${id}\n`}data: ${data}\n\n`;
