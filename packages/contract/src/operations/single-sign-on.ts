import { limits } from "../limits.ts";
import {
  domain_record_label,
  domain_record_prefix,
  Session,
  SingleSignOn,
  SingleSignOnBegin,
  SingleSignOnFinish,
  SingleSignOnInput,
  SingleSignOnStart,
  wrapped,
} from "../resources/index.ts";
import type { Operation } from "./operation.ts";

const path = "/v1/auth/sso";
const common = { path, tag: "People", rate: "general" } as const;
const login = {
  method: "POST",
  tag: "People",
  auth: "none",
  rate: "general",
  body_bytes_max: limits.small_body_bytes_max,
} as const;
const shown = { 200: { description: "The configuration.", schema: wrapped("single_sign_on", SingleSignOn) } } as const;

/** Sign-in through an organization's OpenID provider (code flow with PKCE). */
export const singleSignOnOperations = {
  putSingleSignOn: {
    ...common,
    method: "PUT",
    summary: "Let people sign in through your OpenID provider",
    description:
      "The service reads the provider's metadata at once and refuses unreadable metadata. People whom the provider vouches for " +
      "(`email_verified`) with an address in one of the domains may sign in. To prove a domain, publish a TXT record at " +
      `${domain_record_label}.<domain> with the text ${domain_record_prefix}<org_id>. The service checks the record daily, and ` +
      "the claim ends when the record is gone. A domain where another organization has people or an open invitation is refused " +
      "(409), and the admins of that organization get a mail.",
    auth: ["admin"],
    body: SingleSignOnInput,
    body_bytes_max: limits.body_bytes_max,
    answers: shown,
    refuses: ["state_conflict"],
  },
  getSingleSignOn: {
    ...common,
    method: "GET",
    summary: "Read how people sign in through your OpenID provider",
    auth: ["admin", "auditor"],
    answers: shown,
    refuses: ["not_found"],
  },
  deleteSingleSignOn: {
    ...common,
    method: "DELETE",
    summary: "Stop single sign-on",
    description: "Existing sessions continue. People without a password can set one with password/forgot.",
    auth: ["admin"],
    answers: { 204: { description: "Single sign-on is off.", schema: null } },
    refuses: ["not_found"],
  },
  beginSingleSignOn: {
    ...login,
    path: `${path}/begin`,
    summary: "Begin a login at the organization's OpenID provider",
    description:
      "Needs the organization, or an e-mail address in one of its domains. Sets a cookie that ties the login to the " +
      "browser. Answers 404 if no organization, or more than one, has single sign-on for the domain.",
    body: SingleSignOnBegin,
    answers: {
      200: {
        description: "The address for the browser.",
        schema: wrapped("single_sign_on", SingleSignOnStart),
        headers: ["Set-Cookie"],
      },
    },
    refuses: ["not_found", "forbidden", "unavailable"],
  },
  finishSingleSignOn: {
    ...login,
    path: `${path}/finish`,
    summary: "Finish a login that the OpenID provider sent back",
    description:
      "`org_id` is the last part of the callback address. Works once for each begin, in " +
      "the same browser, for ten minutes. A second factor that the person has set up " +
      "here is still required (mfa_required). A person who is not yet in the organization gets a mail with an invitation, " +
      "and 403 (`mailbox_asked`). The owner of the address accepts the invitation and signs in again. An open invitation keeps its role.",
    body: SingleSignOnFinish,
    answers: {
      200: {
        description: "The session. The answer sets its cookie.",
        schema: wrapped("session", Session),
        headers: ["Set-Cookie"],
      },
    },
    refuses: ["invalid_credentials", "forbidden", "already_exists", "unavailable"],
  },
} as const satisfies Record<string, Operation>;
