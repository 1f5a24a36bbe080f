/**
 * Ids of requests and progress tokens are unique for one client only. Clients without a session share a governor, so the
 * proxy gives the second request with an id another one, and its answers the client's own id again.
 */
import { readExactly } from "../protocol/exact-json.ts";
import { isObject, type Json, type JsonObject, type Message, metaOf, type RequestId } from "../protocol/messages.ts";

/** The ids in a request; `token` is null without a progress token. */
export interface Ids {
  readonly id: RequestId;
  readonly token: RequestId | null;
}

/** The ids that the client gave, and those that governor and server know. */
export interface Renaming {
  readonly own: Ids;
  readonly known: Ids;
}

const subscription_key = "io.modelcontextprotocol/subscriptionId";

/** Returns the request with the known ids. Throws `RangeError` if it is nested too deep. */
export function withKnownIds(text: string, { params }: Message, { known }: Renaming): string {
  const { value, write } = readExactly(text);
  const exact = value as Message;
  if (params === undefined || known.token === null) return write({ ...exact, id: known.id });
  const _meta = { ...metaOf(exact.params ?? {}), progressToken: known.token };
  return write({ ...exact, id: known.id, params: { ...exact.params, _meta } });
}

/** Returns the message with the client's own ids. Returns null if it cannot be written. */
export function withOwnIds(line: string, { own, known }: Renaming): string | null {
  const part = (given: Json | undefined): Json | undefined => {
    if (!isObject(given)) return given;
    const progressToken = known.token !== null && given["progressToken"] === known.token ? own.token : undefined;
    const subscription = metaOf(given)[subscription_key] === known.id ? { [subscription_key]: own.id } : undefined;
    return {
      ...given,
      ...(progressToken !== undefined && { progressToken }),
      ...(subscription !== undefined && { _meta: { ...metaOf(given), ...subscription } }),
    };
  };
  try {
    const { value, write } = readExactly(line);
    if (!isObject(value)) return line;
    const { id, params, result }: JsonObject = value;
    return write({
      ...value,
      ...(id === known.id && { id: own.id }),
      ...(params !== undefined && { params: part(params) }),
      ...(result !== undefined && { result: part(result) }),
    });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return null;
  }
}
