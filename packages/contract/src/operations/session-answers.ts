import { limits } from "../limits.ts";
import { Session, wrapped } from "../resources/index.ts";

export const session = {
  200: {
    description: "The session. The answer sets its cookie.",
    schema: wrapped("session", Session),
    headers: ["Set-Cookie"],
  },
} as const;

export const done = { 204: { description: "Done.", schema: null } } as const;

export const signedOut = {
  204: { description: "Done. The answer removes the cookie.", schema: null, headers: ["Set-Cookie"] },
} as const;

export const fresh =
  `If the session began more than ${limits.session_fresh_seconds / 60} minutes ago, send the password or sign in again, ` +
  "otherwise the answer is 403. Five wrong passwords end the session. So a stolen cookie cannot add a permanent way in.";
