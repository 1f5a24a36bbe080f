import Type from "typebox";
import { limits } from "../limits.ts";
import {
  Absence,
  AbsenceInput,
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
  202: {
    description: "Accepted. The answer is the same for known and unknown addresses; the mail says more.",
    schema: null,
  },
} as const;
const tag = "People";
const post = { method: "POST", tag, rate: "general", body_bytes_max: limits.body_bytes_max } as const;
const postOutside = { ...post, body_bytes_max: limits.small_body_bytes_max } as const;
const { body_bytes_max: _, ...postEmpty } = post;
const get = { method: "GET", tag, rate: "general" } as const;
const made =
  "If the person, or a key of the person, made keys, webhooks or invitations that are still valid, the answer is 409 with " +
  "the list in `details[0].made`. Then repeat the request with `made`: keep or revoke for each of these ids, and for no other. An entry " +
  `\`${all_others}\` for everything that is not named, one request is enough: \`{"${all_others}": "revoke"}\` revokes all.`;
const userParam = closed({ user_id: givenId("the person") });

/**
 * People and sessions. A write with the session cookie must come from the service's own pages, otherwise it answers
 * 403.
 */
export const peopleOperations = {
  signup: {
    ...postOutside,
    path: "/v1/auth/signup",
    summary: "Request an organization and its first admin",
    description: `Sends a mail with a link. The link and the password together create the organization (verify-email). An address gets at most ${limits.link_mails_per_minute_max} mails a minute; further mails wait.`,
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
      "Creates the organization and its first admin, who can then log in. Also needs the password of the signup, " +
      "so that the owner of the mailbox cannot confirm an account with a stranger's password. A link works once; a wrong " +
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
      "An unknown e-mail and a wrong password get the same answer after the same time. If mfa_required is true, continue with mfa/verify.",
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
      "A code works once. After five wrong codes the login must begin again. After fifteen within ten minutes, from any address, " +
      "a TOTP code answers 429 for up to ten minutes. A recovery code still works.",
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
    description: "Ends the session of the cookie, if there is one, and removes the cookie.",
    auth: "none",
    answers: signedOut,
    refuses: ["forbidden"],
  },
  getSession: {
    ...get,
    path: "/v1/auth/session",
    summary: "Read the session",
    description: "Answers 401 without a session. Also works for a login that waits for its second factor.",
    auth: "none",
    answers: { 200: { description: "The session.", schema: wrapped("session", Session) } },
    refuses: ["missing_api_key"],
  },
  listSessions: {
    ...get,
    path: "/v1/auth/sessions",
    summary: "List your own sessions",
    auth: "session",
    query: listQuery({}),
    answers: { 200: { description: "Newest first.", schema: listed("sessions", OpenSession) } },
  },
  endSession: {
    method: "DELETE",
    tag,
    rate: "general",
    path: "/v1/auth/sessions/{session_id}",
    summary: "End one of your own sessions",
    auth: "session",
    params: closed({ session_id: givenId("the session") }),
    answers: done,
  },
  endAllSessions: {
    method: "DELETE",
    tag,
    rate: "general",
    path: "/v1/auth/sessions",
    summary: "Sign out everywhere, also here",
    auth: "session",
    answers: signedOut,
  },
  changeProfile: {
    ...post,
    method: "PATCH",
    path: "/v1/auth/profile",
    summary: "Change your own settings",
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
    summary: "Request a link that sets a new password",
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
      "A link works once, for an hour, until the next change of the password. The second factor stays, and so " +
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
    description:
      "Check the list, because a person who knew the old password may have added a passkey. The link stays valid.",
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
    description: `Replaces an unconfirmed seed. The second factor is required after it is confirmed. ${fresh}`,
    auth: "session",
    body: PasswordProof,
    body_optional: true,
    answers: { 200: { description: "The seed, shown once.", schema: TotpEnrolment } },
    refuses: ["state_conflict", "invalid_credentials", "forbidden", "overloaded"],
  },
  confirmTotp: {
    ...post,
    path: "/v1/auth/totp/confirm",
    summary: "Enable TOTP with a first code",
    description: "Ends every other session. This session continues with a new cookie.",
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
    summary: "Disable TOTP",
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
      "Sends a mail with a link that is valid for a week. A new invitation to the address replaces it. An address gets at most " +
      `${limits.link_mails_per_minute_max} mails a minute; further mails wait. With ${limits.open_invitations_per_organization_max} open invitations the answer is 409.`,
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
    description: "The password is optional if the organization's provider signs in people of the address's domain.",
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
    description: `The last admin keeps the role (409). ${made}`,
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
      `The last admin stays (409). ${made} Invitations to the person's address are withdrawn. Signing in at the ` +
      "organization's provider does not bring the person back; an invitation does. The person's approvals of pending reviews no longer " +
      "count. Reviews that name the person wait until they are reassigned or time out.",
    auth: ["admin"],
    params: userParam,
    body: PersonRemoval,
    body_optional: true,
    body_bytes_max: limits.body_bytes_max,
    answers: done,
    refuses: ["state_conflict"],
  },
  setAbsence: {
    ...post,
    method: "PUT",
    path: "/v1/people/{user_id}/absence",
    summary: "Set a person's absence and delegate",
    description:
      "For yourself, or for anybody as an admin. Until the absence ends, mails about reviews go to the delegate. If an admin names " +
      "the delegate, the delegate votes in place of the absent person in panels that name that person: the two have one vote. " +
      "Replaces an earlier absence.",
    auth: ["reviewer"],
    params: userParam,
    body: AbsenceInput,
    answers: { 200: { description: "The absence.", schema: wrapped("absence", Absence) } },
  },
  endAbsence: {
    method: "DELETE",
    tag,
    rate: "general",
    path: "/v1/people/{user_id}/absence",
    summary: "End a person's absence now",
    description: "For yourself, or for anybody as an admin. Answers 404 without an absence.",
    auth: ["reviewer"],
    params: userParam,
    answers: done,
  },
  leaveOrganization: {
    ...post,
    path: "/v1/auth/leave",
    summary: "Leave the organization",
    description: `Removes the caller like an admin does. The last admin stays (409). ${made}`,
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
