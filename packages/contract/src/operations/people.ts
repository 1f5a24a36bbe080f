import Type from "typebox";
import { limits } from "../limits.ts";
import {
  AcceptInvitationInput,
  all_others,
  closed,
  EmailInput,
  givenId,
  Invitation,
  InvitationInput,
  LinkInput,
  LoginInput,
  listed,
  listQuery,
  MfaInput,
  OpenSession,
  Passkey,
  PasswordChangeInput,
  PasswordProof,
  PasswordResetInput,
  PersonListQuery,
  PersonRemoval,
  ProfileChange,
  RecoveryCodes,
  RoleChange,
  Session,
  SignupInput,
  TotpEnrolment,
  User,
  VerifyEmailInput,
  wrapped,
} from "../resources/index.ts";
import type { Operation } from "./operation.ts";
import { done, fresh, session, signedOut } from "./session-answers.ts";

const mailed = {
  202: { description: "Answered alike whether or not the address is known; a mail says more.", schema: null },
} as const;
const tag = "People";
const post = { method: "POST", tag, rate: "general", body_bytes_max: limits.body_bytes_max } as const;
const postOutside = { ...post, body_bytes_max: limits.small_body_bytes_max } as const;
const { body_bytes_max: _, ...postEmpty } = post;
const get = { method: "GET", tag, rate: "general" } as const;
const made =
  "Where the person made keys, webhooks or invitations that are still in force, or a key of that person did, the answer is 409 with " +
  "the list in `details[0].made`, until `made` says keep or revoke for each of these ids, and for no other. With an entry " +
  `\`${all_others}\` for everything that is not named, one request is enough: \`{"${all_others}": "revoke"}\` revokes all.`;
const userParam = closed({ user_id: givenId("the person") });

/**
 * People and their sessions. A session is a cookie that login sets; with it a person may do everywhere what its role may.
 * A write with the cookie has to come from the service's own pages: anything else answers 403. Source: api.md §9.
 */
export const peopleOperations = {
  signup: {
    ...postOutside,
    path: "/v1/auth/signup",
    summary: "Ask for an organization and its first admin",
    description: `Mails a link; with the password it makes the organization (verify-email). More than ${limits.link_mails_per_minute_max} a minute to an address wait.`,
    auth: "none",
    rate: "authentication",
    body: SignupInput,
    answers: mailed,
    refuses: ["signup_closed", "forbidden", "overloaded"],
  },
  verifyEmail: {
    ...postOutside,
    path: "/v1/auth/verify-email",
    summary: "Confirm the e-mail address of a signup",
    description:
      "Creates the organization and its first admin, who can log in from now on. Takes the password of the signup, too: " +
      "whoever reads the mail confirms no account that somebody else chose the password of. A link serves once; a wrong " +
      "password does not use it up.",
    auth: "none",
    rate: "general",
    body: VerifyEmailInput,
    answers: done,
    refuses: ["signup_closed", "invalid_credentials", "not_found", "forbidden", "overloaded"],
  },
  login: {
    ...postOutside,
    path: "/v1/auth/login",
    summary: "Begin a session with e-mail and password",
    description:
      "Unknown e-mail and wrong password answer alike, in like time. Where mfa_required is true, go on with mfa/verify.",
    auth: "none",
    rate: "authentication",
    body: LoginInput,
    answers: session,
    refuses: ["invalid_credentials", "forbidden", "overloaded"],
  },
  verifyMfa: {
    ...postOutside,
    path: "/v1/auth/mfa/verify",
    summary: "Finish a login with a TOTP or recovery code",
    description:
      "A code serves once. After five wrong ones the login has to begin again; after fifteen within ten minutes, wherever they " +
      "come from, a TOTP code answers 429 for up to ten minutes, and a recovery code still serves.",
    auth: "none",
    rate: "authentication",
    body: MfaInput,
    answers: session,
    refuses: ["invalid_credentials", "missing_api_key", "forbidden", "state_conflict"],
  },
  logout: {
    ...postEmpty,
    path: "/v1/auth/logout",
    summary: "End the session",
    description: "Ends the session of the cookie, if it has one, and takes the cookie away.",
    auth: "none",
    answers: signedOut,
    refuses: ["forbidden"],
  },
  getSession: {
    ...get,
    path: "/v1/auth/session",
    summary: "Read the session",
    description: "401 without one. Answers a login that still waits for its second factor, too.",
    auth: "none",
    answers: { 200: { description: "The session.", schema: wrapped("session", Session) } },
    refuses: ["missing_api_key"],
  },
  listSessions: {
    ...get,
    path: "/v1/auth/sessions",
    summary: "List one's own sessions",
    auth: "session",
    query: listQuery({}),
    answers: { 200: { description: "Newest first.", schema: listed("sessions", OpenSession) } },
  },
  endSession: {
    method: "DELETE",
    tag,
    rate: "general",
    path: "/v1/auth/sessions/{session_id}",
    summary: "End one of one's own sessions",
    auth: "session",
    params: closed({ session_id: givenId("the session") }),
    answers: done,
  },
  endAllSessions: {
    method: "DELETE",
    tag,
    rate: "general",
    path: "/v1/auth/sessions",
    summary: "Sign out everywhere, here too",
    auth: "session",
    answers: signedOut,
  },
  changeProfile: {
    ...post,
    method: "PATCH",
    path: "/v1/auth/profile",
    summary: "Change one's own settings",
    auth: "session",
    body: ProfileChange,
    answers: { 200: { description: "The person.", schema: wrapped("user", User) } },
  },
  changePassword: {
    ...post,
    path: "/v1/auth/password",
    summary: "Set another password; every other session ends",
    description: "After five wrong current passwords the session ends.",
    auth: "session",
    body: PasswordChangeInput,
    answers: session,
    refuses: ["invalid_credentials", "overloaded"],
  },
  forgotPassword: {
    ...postOutside,
    path: "/v1/auth/password/forgot",
    summary: "Ask for a link that sets a new password",
    description: "An address gets at most one such mail a minute.",
    auth: "none",
    body: EmailInput,
    answers: mailed,
    refuses: ["forbidden"],
  },
  resetPassword: {
    ...postOutside,
    path: "/v1/auth/password/reset",
    summary: "Set a new password with a mailed link; every session ends",
    description:
      "A link serves once, for an hour, and is over with the next change of the password. The second factor stays as it is, and so " +
      "do passkeys unless `remove_passkeys` is true (password/reset/passkeys lists them).",
    auth: "none",
    body: PasswordResetInput,
    answers: done,
    refuses: ["not_found", "forbidden", "overloaded"],
  },
  listResetPasskeys: {
    ...postOutside,
    path: "/v1/auth/password/reset/passkeys",
    summary: "List the passkeys of a person with a mailed link",
    description: "Whoever knew the old password may have added one. Does not use the link up.",
    auth: "none",
    body: LinkInput,
    answers: {
      200: { description: "Newest first.", schema: Type.Object({ passkeys: Type.Array(Passkey) }) },
    },
    refuses: ["not_found", "forbidden"],
  },
  enrolTotp: {
    ...post,
    path: "/v1/auth/totp/enrol",
    summary: "Begin to set up TOTP",
    description: `Replaces a seed that was not confirmed. The second factor is asked for only once it is confirmed. ${fresh}`,
    auth: "session",
    body: PasswordProof,
    body_optional: true,
    answers: { 200: { description: "The seed, shown once.", schema: TotpEnrolment } },
    refuses: ["state_conflict", "invalid_credentials", "forbidden", "overloaded"],
  },
  confirmTotp: {
    ...post,
    path: "/v1/auth/totp/confirm",
    summary: "Switch TOTP on with a first code",
    description: "Ends every other session; this one goes on under a new cookie.",
    auth: "session",
    rate: "general",
    body: MfaInput,
    answers: {
      200: { description: "Recovery codes, shown once.", schema: RecoveryCodes, headers: ["Set-Cookie"] },
    },
    refuses: ["state_conflict", "invalid_credentials"],
  },
  disableTotp: {
    ...post,
    path: "/v1/auth/totp/disable",
    summary: "Switch TOTP off",
    description: "Five wrong codes end the session.",
    auth: "session",
    rate: "general",
    body: MfaInput,
    answers: done,
    refuses: ["state_conflict", "invalid_credentials"],
  },
  replaceRecoveryCodes: {
    ...post,
    path: "/v1/auth/recovery-codes",
    summary: "Replace the recovery codes",
    description: "Five wrong codes end the session.",
    auth: "session",
    rate: "general",
    body: MfaInput,
    answers: { 200: { description: "The new codes, shown once.", schema: RecoveryCodes } },
    refuses: ["state_conflict", "invalid_credentials"],
  },
  inviteUser: {
    ...post,
    path: "/v1/auth/invitations",
    summary: "Invite a person with a role",
    description:
      "Sends a mail with a link that serves for a week; inviting the same address again replaces it. Of more than " +
      `${limits.link_mails_per_minute_max} mails a minute to one address the others wait. At most ${limits.open_invitations_per_organization_max} invitations are open: 409.`,
    auth: ["admin"],
    body: InvitationInput,
    idempotent: true,
    answers: { 201: { description: "The invitation.", schema: wrapped("invitation", Invitation) } },
    refuses: ["already_exists"],
  },
  listInvitations: {
    ...get,
    path: "/v1/auth/invitations",
    summary: "List open invitations",
    auth: ["admin"],
    query: listQuery({}),
    answers: { 200: { description: "Newest first.", schema: listed("invitations", Invitation) } },
  },
  revokeInvitation: {
    method: "DELETE",
    tag,
    rate: "general",
    path: "/v1/auth/invitations/{invitation_id}",
    summary: "Withdraw an invitation",
    auth: ["admin"],
    params: closed({ invitation_id: givenId("the invitation") }),
    answers: done,
  },
  acceptInvitation: {
    ...postOutside,
    path: "/v1/auth/invitations/accept",
    summary: "Join an organization",
    description:
      "The password may be left out where the organization's provider signs people of the address's domain in.",
    auth: "none",
    body: AcceptInvitationInput,
    answers: session,
    refuses: ["not_found", "already_exists", "forbidden", "overloaded"],
  },
  listPeople: {
    ...get,
    path: "/v1/people",
    summary: "List the people of the organization",
    auth: ["reviewer", "auditor"],
    query: PersonListQuery,
    answers: { 200: { description: "Newest first.", schema: listed("people", User) } },
  },
  changeRole: {
    ...post,
    method: "PATCH",
    path: "/v1/people/{user_id}",
    summary: "Give a person another role; its sessions end",
    description: `The last admin keeps its role: 409. ${made}`,
    auth: ["admin"],
    params: userParam,
    body: RoleChange,
    answers: { 200: { description: "The person.", schema: wrapped("user", User) } },
    refuses: ["state_conflict"],
  },
  removePerson: {
    method: "DELETE",
    tag,
    rate: "general",
    path: "/v1/people/{user_id}",
    summary: "Remove a person; its sessions end",
    description:
      `The last admin stays: 409. ${made} Invitations to the person's address are withdrawn. Signing in at the ` +
      "organization's provider does not bring the person back; an invitation does. Reviews that name the person wait " +
      "until they are reassigned or their time is over.",
    auth: ["admin"],
    params: userParam,
    body: PersonRemoval,
    body_optional: true,
    body_bytes_max: limits.body_bytes_max,
    answers: done,
    refuses: ["state_conflict"],
  },
  leaveOrganization: {
    ...post,
    path: "/v1/auth/leave",
    summary: "Leave the organization",
    description: `Removes the caller as an admin would. The last admin stays: 409. ${made}`,
    auth: "session",
    body: PersonRemoval,
    body_optional: true,
    answers: signedOut,
    refuses: ["state_conflict"],
  },
  unsubscribe: {
    ...postEmpty,
    path: "/v1/unsubscribe",
    summary: "Stop notification mails with one click (RFC 8058)",
    auth: "none",
    query: closed({ token: Type.String({ minLength: 1, maxLength: 512 }) }),
    answers: done,
    refuses: ["not_found"],
  },
} as const satisfies Record<string, Operation>;
