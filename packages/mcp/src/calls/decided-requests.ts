/** The requests of a client that are decided before the server gets them: calls of tools, and reads. */
import {
  type Asked,
  askedBy,
  errorCodes,
  hasLookAlike,
  hasTwins,
  idKey,
  isObject,
  type Json,
  type JsonObject,
  type Message,
  noResult,
  refusal,
} from "../protocol/messages.ts";
import { tooManyDigits, twins } from "./refusals.ts";

/** Members of a further round. */
const roundNames = ["requestState", "inputResponses"] as const;

/** `resources/subscribe` passes: it only makes the server report that a resource changed. Reading it is decided. */
const shapes = {
  "tools/call": {
    names: ["name", "arguments", "task", ...roundNames],
    form: "Give the tool's name, and its arguments as an object.",
    again: "Call the tool again with the same arguments",
  },
  "resources/read": {
    names: ["uri", ...roundNames],
    form: "Give the resource's URI as a text.",
    again: "Read the resource again",
  },
  "prompts/get": {
    names: ["name", "arguments", ...roundNames],
    form: "Give the prompt's name, and its arguments as an object.",
    again: "Get the prompt again with the same arguments",
  },
} as const;

export type DecidedMethod = keyof typeof shapes;

interface DecidedRequest {
  /** The tool's name; for a read its method. */
  readonly verb: string;
  readonly content: JsonObject;
}

/** A client's message: parsed, and with the digits of its numbers (`exact`). */
export interface Heard {
  readonly message: Message;
  readonly exact: Message;
  readonly write: (value: JsonObject) => string;
  /** Returns the place of the first number that would be rounded; null: none. */
  readonly inexactIn: (part: Json | undefined) => string | null;
  /** Sends the client a message that contains parts of `exact`. */
  readonly answer: (said: JsonObject) => void;
}

/** A request that can be decided. */
export interface CheckedRequest extends DecidedRequest {
  readonly key: string;
  readonly as: Asked;
  readonly method: DecidedMethod;
  /** The state that the client brings back from an earlier round; undefined: a new request. */
  readonly state: string | undefined;
}

export function isDecided(method: string | undefined): method is DecidedMethod {
  return method !== undefined && Object.hasOwn(shapes, method);
}

/** Returns what the client asks for; null: its parameters are malformed or a lenient server may read others. */
function requestIn(method: DecidedMethod, params: JsonObject): DecidedRequest | null {
  if (hasLookAlike(params, shapes[method].names)) return null;
  const { name, uri, arguments: given } = params;
  if (method === "resources/read") return typeof uri === "string" ? { verb: method, content: { uri } } : null;
  if (typeof name !== "string" || (given !== undefined && !isObject(given))) return null;
  if (method === "tools/call") return { verb: name, content: given ?? {} };
  return { verb: method, content: given === undefined ? { name } : { name, arguments: given } };
}

/** Returns the client's request, or the answer to one that cannot be decided. */
export function checkRequest({ message, exact, inexactIn }: Heard): CheckedRequest | { readonly refused: JsonObject } {
  const { method, params = {} } = message;
  const { id } = exact;
  if (message.id === undefined || id === undefined || !isDecided(method)) throw new Error("this is no decided request");
  const asked = requestIn(method, params);
  const refuse = (text: string) => ({ refused: refusal(id, errorCodes.invalid_params, text) });
  if (asked === null) return refuse(shapes[method].form);
  const { requestState: state } = params;
  if (state !== undefined && typeof state !== "string") return refuse("requestState is a text.");
  const as = method === "tools/call" ? askedBy(id, params) : { ...askedBy(id, params), as_task: false, is_read: true };
  const inexact = inexactIn(exact.params?.["arguments"]);
  if (inexact !== null) return { refused: noResult(as, tooManyDigits(inexact)) };
  if (hasTwins(asked.content)) return { refused: noResult(as, twins) };
  return { key: idKey(message.id), as, method, state, ...asked };
}

/** Tells the model how to go on waiting. */
export const againOf = (method: DecidedMethod): string => shapes[method].again;
