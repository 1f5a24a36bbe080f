import Type from "typebox";
import { limits } from "../limits.ts";
import {
  closed,
  listed,
  listQuery,
  Passkey,
  PasskeyInput,
  PasskeyOptions,
  PasswordProof,
  wrapped,
} from "../resources/index.ts";
import type { Operation } from "./operation.ts";
import { done, fresh, session } from "./session-answers.ts";

const common = { tag: "People", rate: "general" } as const;
const post = { ...common, method: "POST" } as const;

export const passkeyOperations = {
  beginPasskeyRegistration: {
    ...post,
    body_bytes_max: limits.body_bytes_max,
    path: "/v1/auth/passkeys/registration/options",
    summary: "Begin to register a passkey",
    description: `Answers 409 if the page has an IP address, because browsers allow no passkeys for IP addresses. ${fresh}`,
    auth: "session",
    without_second_factor: true,
    body: PasswordProof,
    body_optional: true,
    answers: { 200: { description: "Options for the browser.", schema: PasskeyOptions } },
    refuses: ["state_conflict", "invalid_credentials", "forbidden", "overloaded"],
  },
  finishPasskeyRegistration: {
    ...post,
    body_bytes_max: limits.body_bytes_max,
    path: "/v1/auth/passkeys/registration",
    summary: "Register a passkey",
    auth: "session",
    without_second_factor: true,
    body: PasskeyInput,
    answers: { 201: { description: "The passkey.", schema: wrapped("passkey", Passkey) } },
    refuses: ["invalid_credentials", "already_exists", "state_conflict"],
  },
  listPasskeys: {
    ...common,
    method: "GET",
    path: "/v1/auth/passkeys",
    summary: "List your own passkeys",
    auth: "session",
    without_second_factor: true,
    query: listQuery({}),
    answers: { 200: { description: "Newest first.", schema: listed("passkeys", Passkey) } },
  },
  deletePasskey: {
    ...common,
    method: "DELETE",
    path: "/v1/auth/passkeys/{passkey_id}",
    summary: "Delete one of your own passkeys",
    auth: "session",
    params: closed({ passkey_id: Type.String({ minLength: 1, maxLength: 1_400 }) }),
    answers: done,
  },
  beginPasskeyLogin: {
    ...post,
    path: "/v1/auth/passkeys/login/options",
    summary: "Begin a login with a passkey",
    auth: "none",
    answers: { 200: { description: "Options for the browser.", schema: PasskeyOptions } },
    refuses: ["forbidden", "state_conflict"],
  },
  finishPasskeyLogin: {
    ...post,
    body_bytes_max: limits.small_body_bytes_max,
    path: "/v1/auth/passkeys/login",
    summary: "Begin a session with a passkey",
    description: "A passkey verifies its user, so it counts as both factors.",
    auth: "none",
    rate: "general",
    body: PasskeyInput,
    answers: session,
    refuses: ["invalid_credentials", "forbidden", "state_conflict"],
  },
} as const satisfies Record<string, Operation>;
